//! The JSON endpoints of deliveries.

use crate::prelude::*;
use crate::web::caller::WebhooksManage;
use crate::web::prelude::*;
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
#[utoipa::path(get, path = "/webhooks/{webhook_id}/deliveries", operation_id = "deliveries_list", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path, description = "ID of the webhook."), Paging<DeliveryFilter>),
    responses((status = 200, description = "A page of deliveries.", body = ListResponse<Delivery>)),
    security(("key" = ["webhooks:write"])))]
async fn list(
    caller: Caller<WebhooksManage>,
    PathParams(id): PathParams<WebhookId>,
    Query(paging): Query<Paging<DeliveryFilter>>,
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
#[utoipa::path(get, path = "/deliveries/{delivery_id}", operation_id = "deliveries_get", tag = "Webhooks",
    params(("delivery_id" = DeliveryId, Path, description = "ID of the delivery.")),
    responses((status = 200, description = "The delivery.", body = ObjectResponse<Delivery>)),
    security(("key" = ["webhooks:write"])))]
async fn find(
    caller: Caller<WebhooksManage>,
    PathParams(id): PathParams<DeliveryId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    let manager = manager(&caller);
    caller
        .bypass_cache()
        .read_object(move |db| access::find_managed_delivery(db, &manager, id))
        .await
}

/// Redeliver a delivery
///
/// Sends the notification again, whatever the status of the delivery. It is sent immediately and then retried as often
/// as a new one, with the same `webhook-id`. If an attempt is in flight at that time, it counts as the first one. The
/// webhook must be enabled.
#[utoipa::path(post, path = "/deliveries/{delivery_id}/redeliver", operation_id = "deliveries_redeliver", tag = "Webhooks",
    params(("delivery_id" = DeliveryId, Path, description = "ID of the delivery.")),
    responses((status = 200, description = "The delivery, pending again.", body = ObjectResponse<Delivery>)),
    security(("key" = ["webhooks:write"])))]
async fn redeliver(
    caller: Caller<WebhooksManage>,
    PathParams(id): PathParams<DeliveryId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    let manager = manager(&caller);
    caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(access::find_managed_delivery(tx, &manager, id))?;
            actions::redeliver(tx, &manager, id)
        })
        .await
}
