//! The JSON endpoints of deliveries.

use axum::response::Response;
use utoipa_axum::routes;

use crate::error::Result;
use crate::ids::{DeliveryId, WebhookId};
use crate::paging::Order;
use crate::web::body::{MaybeBody, NoBody};
use crate::web::caller::{Caller, WebhooksManage};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;
use crate::webhooks::access::{self, Manager};
use crate::webhooks::asking;
use crate::webhooks::delivery::{Delivery, Status};
use crate::webhooks::kinds;
use crate::webhooks::listing::{self, DeliveryFilter};

/// No kind has a longer name.
const KIND: usize = 60;

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list)).with(routes!(find)).with(routes!(redeliver))
}

/// Who asks.
pub(super) fn manager(caller: &Caller<WebhooksManage>) -> Manager {
    let app = caller.credential().app().map(|app| app.to_string());
    Manager { app, reach: caller.reach() }
}

/// List a webhook's deliveries
///
/// Newest first, each with its attempts, the last 20 if there were more: when, how long it took, what the receiver answered and the
/// beginning of the answer. A notification appears when it was tried for the first time. Deliveries are kept as long as the
/// log, 30 days unless the operator says otherwise.
#[utoipa::path(get, path = "/webhooks/{webhook_id}/deliveries", operation_id = "deliveries_list", tag = "Webhooks",
    params(("webhook_id" = WebhookId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many deliveries to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`desc` if left out."),
        ("status" = Option<Status>, Query, description = "Only deliveries of which this has become."),
        ("type" = Option<String>, Query, description = "Only notifications of this kind, such as `event.created`, `event.*` or `ping`.")),
    responses((status = 200, description = "A page of deliveries.", body = Many<Delivery>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn list(
    caller: Caller<WebhooksManage>,
    At(id): At<WebhookId>,
    Query(paging): Query<Paging<DeliveryFilter>>,
) -> Result<Response> {
    let who = manager(&caller);
    caller
        .afresh()
        .page(paging, move |db, _, filter, page| listing::deliveries(db, &who, id, filter, page))
        .await
}

/// Get a delivery
#[utoipa::path(get, path = "/deliveries/{delivery_id}", operation_id = "deliveries_get", tag = "Webhooks",
    params(("delivery_id" = DeliveryId, Path)),
    responses((status = 200, description = "The delivery.", body = One<Delivery>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn find(
    caller: Caller<WebhooksManage>,
    At(id): At<DeliveryId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let who = manager(&caller);
    caller.afresh().one(move |db| access::managed_delivery(db, &who, id)).await
}

/// Deliver once more
///
/// Whatever became of it: it is sent at once and then tried as often as a new one, with the same
/// `webhook-id`. If an attempt is under way just then, that one is the first of them. The webhook must be enabled.
#[utoipa::path(post, path = "/deliveries/{delivery_id}/redeliver", operation_id = "deliveries_redeliver", tag = "Webhooks",
    params(("delivery_id" = DeliveryId, Path)),
    responses((status = 200, description = "The delivery, pending again.", body = One<Delivery>), Problems),
    security(("key" = ["webhooks:write"])))]
async fn redeliver(
    caller: Caller<WebhooksManage>,
    At(id): At<DeliveryId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let who = manager(&caller);
    caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(access::managed_delivery(tx, &who, id))?;
            asking::redeliver(tx, &who, id)
        })
        .await
}

impl FromQuery for DeliveryFilter {
    const ORDER: Order = Order::Desc;

    fn read(params: &mut Params) -> Self {
        let status = params.word("status");
        let kind = params.line("type", KIND);
        if let Some(wish) = kind.as_deref().filter(|wish| !kinds::is_wish(wish)) {
            params.fault("type", "unknown_event", kinds::no_wish(wish));
        }
        Self { status, kind }
    }
}
