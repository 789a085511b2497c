//! JSON endpoints for the payment settings, and for payments and refunds of the whole account.

use axum::response::Response;
use kit::Timestamp;
use utoipa_axum::routes;

use super::listing::{self, PaymentFilter, RefundFilter};
use super::payment::{Method, Payment, Refund, RefundStatus};
use super::settings::{self, PaymentSettings, PaymentSettingsChange};
use crate::error::Result;
use crate::ids::{DueId, OrderId, PaymentId, PersonId, TeamId};
use crate::paging::Order;
use crate::web::body::Body;
use crate::web::caller::{Caller, MoneyManage, OrdersRead};
use crate::web::cursor::Paging;
use crate::web::fields::{Fields, FromBody};
use crate::web::query::{FromQuery, MAX_IDS, NoQuery, Params, Query, one_or_several};
use crate::web::reply::{ListResponse, ObjectResponse};
use crate::web::routes::Routes;

/// Maximum number of reminders for one due date.
pub(super) const MAX_REMINDERS: usize = 10;
/// Maximum distance of a reminder from the due date, in days.
pub(super) const MAX_REMINDER_OFFSET_DAYS: i64 = 365;
pub(super) const MAX_HOLD_MINUTES: i64 = 365 * 24 * 60;

/// `/payment_settings`, `/payments` and `/refunds`.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_schema::<Refund>();
    routes.with(routes!(find, change)).with(routes!(payments)).with(routes!(refunds))
}

/// List payments
///
/// Payments for orders and dues, newest first by default. Users see payments of their family. Coaches and managers also
/// see all payments of their teams.
#[utoipa::path(get, path = "/payments", operation_id = "payments_list", tag = "Money",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of payments per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `desc`."),
        ("team_id" = Option<TeamId>, Query, description = "Only those for orders and dues of this team."),
        ("payer_id" = Option<PersonId>, Query, description = "Only payments of this person."),
        ("subject_id" = Option<String>, Query, description = "Only those for the order or due with this ID."),
        ("method" = Option<Method>, Query, description = "Filter by payment method."),
        ("from" = Option<Timestamp>, Query, description = "Only payments made at or after this time. A date means the start of that day in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only payments made before this time. A date means the start of that day in UTC."),
        ("updated_since" = Option<Timestamp>, Query, description = "Only objects that changed at or after this time.")),
    responses((status = 200, description = "A page of payments.", body = ListResponse<Payment>)),
    security(("key" = ["orders:read"])))]
async fn payments(
    caller: Caller<OrdersRead>,
    Query(paging): Query<Paging<PaymentFilter>>,
) -> Result<Response> {
    caller.team_access().check_key_filter(paging.filter.team_id, &paging.filter.team_ids)?;
    caller.page(paging, listing::payments).await
}

/// List refunds
///
/// Refunds of payments for orders and dues, newest first by default. A refund to a card is `pending` until the payment
/// provider completes it. A `failed` refund does not count as refunded.
#[utoipa::path(get, path = "/refunds", operation_id = "refunds_list", tag = "Money",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of refunds per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `desc`."),
        ("team_id" = Option<TeamId>, Query, description = "Only those for orders and dues of this team."),
        ("payment_id" = Option<PaymentId>, Query, description = "Only refunds of this payment."),
        ("subject_id" = Option<String>, Query, description = "Only those for the order or due with this ID."),
        ("status" = Option<RefundStatus>, Query, description = "Filter by refund status."),
        ("from" = Option<Timestamp>, Query, description = "Only refunds created at or after this time. A date means the start of that day in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only refunds created before this time. A date means the start of that day in UTC."),
        ("updated_since" = Option<Timestamp>, Query, description = "Only objects that changed at or after this time.")),
    responses((status = 200, description = "A page of refunds.", body = ListResponse<Refund>)),
    security(("key" = ["orders:read"])))]
async fn refunds(
    caller: Caller<OrdersRead>,
    Query(paging): Query<Paging<RefundFilter>>,
) -> Result<Response> {
    caller.team_access().check_key_filter(paging.filter.team_id, &paging.filter.team_ids)?;
    caller.page(paging, listing::refunds).await
}

/// The ID of an order or a due.
fn subject(params: &mut Params) -> Option<String> {
    let subject = params.line("subject_id", 40)?;
    if subject.parse::<OrderId>().is_err() && subject.parse::<DueId>().is_err() {
        params.fault("subject_id", "invalid_id", "Use the ID of an order or a due.");
    }
    Some(subject)
}

impl FromQuery for PaymentFilter {
    const ORDER: Order = Order::Desc;

    fn read(params: &mut Params) -> Self {
        let (team_id, team_ids) = one_or_several(params.ids("team_id", MAX_IDS));
        Self {
            team_id,
            team_ids,
            payer_id: params.id("payer_id"),
            subject: subject(params),
            method: params.enum_value("method"),
            from: params.timestamp("from"),
            to: params.timestamp("to"),
            updated_since: params.timestamp("updated_since"),
        }
    }
}

impl FromQuery for RefundFilter {
    const ORDER: Order = Order::Desc;

    fn read(params: &mut Params) -> Self {
        let (team_id, team_ids) = one_or_several(params.ids("team_id", MAX_IDS));
        Self {
            team_id,
            team_ids,
            payment_id: params.id("payment_id"),
            subject: subject(params),
            status: params.enum_value("status"),
            from: params.timestamp("from"),
            to: params.timestamp("to"),
            updated_since: params.timestamp("updated_since"),
        }
    }
}

/// Retrieve the payment settings
///
/// Returns the currency, reminders and other payment settings of the account.
#[utoipa::path(get, path = "/payment_settings", operation_id = "payment_settings_get", tag = "Money",
    responses((status = 200, description = "The payment settings.", body = ObjectResponse<PaymentSettings>)),
    security(("key" = ["orders:read"])))]
async fn find(caller: Caller<OrdersRead>, Query(NoQuery): Query<NoQuery>) -> Result<Response> {
    caller.read_object(settings::load).await
}

/// Update the payment settings
///
/// Omitted fields stay unchanged. Existing orders and dues do not change.
#[utoipa::path(patch, path = "/payment_settings", operation_id = "payment_settings_update", tag = "Money",
    request_body(content = PaymentSettingsChange, example = json!({ "currency": "EUR", "reminder_days": [-7, 1] })),
    responses((status = 200, description = "The updated payment settings.", body = ObjectResponse<PaymentSettings>)),
    security(("key" = ["orders:write"])))]
async fn change(
    caller: Caller<MoneyManage>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<PaymentSettingsChange>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.change(body, |tx, change, expected| settings::change(tx, expected, change)).await
}

impl FromBody for PaymentSettingsChange {
    fn read(fields: &mut Fields) -> Self {
        let currency = fields.currency("currency");
        let days = fields.numbers(
            "reminder_days",
            MAX_REMINDERS,
            -MAX_REMINDER_OFFSET_DAYS,
            MAX_REMINDER_OFFSET_DAYS,
        );
        Self {
            currency: fields.non_null("currency", currency),
            unpaid_order_ttl_minutes: fields.number(
                "unpaid_order_ttl_minutes",
                1,
                MAX_HOLD_MINUTES,
            ),
            reminder_days: fields.non_null("reminder_days", days),
        }
    }
}
