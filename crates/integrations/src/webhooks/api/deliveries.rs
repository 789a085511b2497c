//! The JSON endpoints of deliveries.

use crate::prelude::*;
use crate::web::prelude::*;
use crate::webhooks::WebhooksManage;
use crate::webhooks::access::{self, Manager};
use crate::webhooks::actions;
use crate::webhooks::delivery::Delivery;
use crate::webhooks::listing::{self, DeliveryFilter};

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list)).with(routes!(find)).with(routes!(redeliver))
}

/// The caller as a manager of webhooks.
pub(super) fn manager(caller: &Caller<WebhooksManage>) -> Manager {
    let app = caller.credential().app().map(|app| app.to_string());
    Manager { app, access: caller.team_access() }
}

/// List a webhook's deliveries
///
/// Returns deliveries newest first, each with its last 20 attempts: time, duration, status code and the beginning of
/// the response. A delivery is listed as soon as its first attempt has ended or takes long. Deliveries are stored as
/// long as the log: 30 days, unless the operator configured another time.
#[endpoint(get, "/webhooks/{webhook_id}/deliveries", id = "deliveries.list", tag = "Webhooks",
    200(ListResponse<Delivery>, "A page of deliveries."))]
async fn list(
    caller: Caller<WebhooksManage>,
    id: WebhookId,
    paging: Paging<DeliveryFilter>,
) -> Result<Response> {
    let manager = manager(&caller);
    caller
        .bypass_cache()
        .page(paging, move |db, _, filter, page| {
            listing::deliveries(db, &manager, id, filter, page)
        })
        .await
}

/// Retrieve a delivery
///
/// Returns a delivery with its last 20 attempts.
#[endpoint(get, "/deliveries/{delivery_id}", id = "deliveries.get", tag = "Webhooks",
    200(ObjectResponse<Delivery>, "The delivery."))]
async fn find(caller: Caller<WebhooksManage>, id: DeliveryId) -> Result<Response> {
    let manager = manager(&caller);
    let find = move |db: &Reader<'_>| access::find_managed_delivery(db, &manager, id);
    caller.bypass_cache().read_object(find).await
}

/// Redeliver a delivery
///
/// Sends the notification again, whatever the status of the delivery. It is sent immediately and then retried as often
/// as a new one, with the same `webhook-id`. If an attempt is in flight at that time, it counts as the first one. The
/// webhook must be enabled.
#[endpoint(post, "/deliveries/{delivery_id}/redeliver", id = "deliveries.redeliver", tag = "Webhooks",
    200(ObjectResponse<Delivery>, "The delivery, pending again."))]
async fn redeliver(
    caller: Caller<WebhooksManage>,
    id: DeliveryId,
    body: Body<NoBody>,
) -> Result<Response> {
    let manager = manager(&caller);
    caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(access::find_managed_delivery(tx, &manager, id))?;
            actions::redeliver(tx, &manager, id)
        })
        .await
}
