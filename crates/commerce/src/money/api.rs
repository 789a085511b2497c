//! JSON endpoints for the payment settings, and for payments and refunds of the whole account.

use super::export::LedgerTable;
use super::listing::{self, PaymentFilter, RefundFilter};
use super::payment::{Payment, Refund};
use super::settings::{self, PaymentSettings, PaymentSettingsChange};
use crate::money::{LedgerRead, MoneyManage, OrdersRead};
use crate::prelude::*;
use crate::web::prelude::*;

/// Maximum number of reminders for one due date.
pub(super) const MAX_REMINDERS: usize = 10;
/// Maximum distance of a reminder from the due date, in days.
pub(super) const MAX_REMINDER_OFFSET_DAYS: i64 = 365;
pub(super) const MAX_HOLD_MINUTES: i64 = 365 * 24 * 60;

/// `/payment_settings`, `/payments` and `/refunds`.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_schema::<Refund>();
    let routes = routes.with(routes!(find, change)).with(routes!(payments)).with(routes!(refunds));
    routes.with(routes!(export))
}

/// List payments
///
/// Payments for orders and dues, newest first by default. Users see payments of their family. Coaches and managers also
/// see all payments of their teams.
#[endpoint(get, "/payments", id = "payments.list", tag = "Money",
    200(ListResponse<Payment>, "A page of payments."))]
async fn payments(caller: Caller<OrdersRead>, paging: Paging<PaymentFilter>) -> Result<Response> {
    caller.team_access().check_key_filter(paging.filter.team_id, &paging.filter.team_ids)?;
    caller.page(paging, listing::payments).await
}

/// List refunds
///
/// Refunds of payments for orders and dues, newest first by default. A refund to a card is `pending` until the payment
/// provider completes it. A `failed` refund does not count as refunded.
#[endpoint(get, "/refunds", id = "refunds.list", tag = "Money",
    200(ListResponse<Refund>, "A page of refunds."))]
async fn refunds(caller: Caller<OrdersRead>, paging: Paging<RefundFilter>) -> Result<Response> {
    caller.team_access().check_key_filter(paging.filter.team_id, &paging.filter.team_ids)?;
    caller.page(paging, listing::refunds).await
}

/// The ID of an order or a due.
pub(super) fn subject(params: &mut Params, name: &str) -> Option<String> {
    let subject = params.line(name, 40)?;
    if subject.parse::<OrderId>().is_err() && subject.parse::<DueId>().is_err() {
        params.fault(name, "invalid_id", "Use the ID of an order or a due.");
    }
    Some(subject)
}

/// Retrieve the payment settings
///
/// Returns the currency, reminders and other payment settings of the account.
#[endpoint(get, "/payment_settings", id = "payment_settings.get", tag = "Money",
    200(ObjectResponse<PaymentSettings>, "The payment settings."))]
async fn find(caller: Caller<OrdersRead>) -> Result<Response> {
    caller.read_object(settings::load).await
}

/// Update the payment settings
///
/// Omitted fields stay unchanged. Existing orders and dues do not change.
#[endpoint(patch, "/payment_settings", id = "payment_settings.update", tag = "Money",
    example = json!({ "currency": "EUR", "reminder_days": [-7, 1] }),
    200(ObjectResponse<PaymentSettings>, "The updated payment settings."))]
async fn change(
    caller: Caller<MoneyManage>,
    body: Body<PaymentSettingsChange>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.change(body, |tx, change, expected| settings::change(tx, expected, change)).await
}

/// Export the ledger
///
/// One row per ledger entry, in order. Amounts are in minor units of the currency. The debits and credits of a movement
/// add up to the same amount. Columns: `movement_id`, `line`, `created_at`, `kind`, `subject_id`, `reference`,
/// `team_id`, `person_id`, `payer_id`, `book`, `currency`, `debit`, `credit`, `actor`. Not
/// available to keys that are limited to certain teams.
#[endpoint(get, "/exports/ledger.csv", id = "exports.ledger", tag = "Exports",
    200(String, "The CSV file.", "text/csv",
        "movement_id,line,created_at,kind,subject_id,reference,team_id,person_id,payer_id,book,currency,\
        debit,credit,actor\n\
        mov_01kbm2x5q8f7vr0n3hd9tzc4wy,1,2026-10-27T17:00:00.000000Z,payment,ord_01kbm2x5q8f7vr0n3hd9tzc4wy,\
        pay_01kbm2x5q8f7vr0n3hd9tzc4wy,team_01kbm2x5q8f7vr0n3hd9tzc4wy,per_01kbm2x5q8f7vr0n3hd9tzc4wy,\
        per_01kbm2x5q8f7vr0n3hd9tzc4wy,bank,EUR,4499,,key_01kbm2x5q8f7vr0n3hd9tzc4wy\n"))]
async fn export(caller: Caller<LedgerRead>, query: Download<LedgerTable>) -> Result<Response> {
    caller.require_all_teams()?;
    query.send(&caller, "ledger.csv").await
}
