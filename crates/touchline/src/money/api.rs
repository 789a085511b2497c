//! The JSON endpoints of how an account handles money.

use axum::response::Response;
use utoipa_axum::routes;

use super::settings::{self, MoneySettings, MoneySettingsChange};
use crate::error::Result;
use crate::web::body::Body;
use crate::web::caller::{Caller, MoneyManage, OrdersRead};
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::query::{Nothing, Query};
use crate::web::reply::One;
use crate::web::routes::Routes;

/// How often families can be reminded of one due date, and how far from it.
pub(super) const REMINDERS: usize = 10;
pub(super) const FARTHEST: i64 = 365;
pub(super) const LONGEST_HOLD: i64 = 365 * 24 * 60;

/// `/money_settings`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(find, change))
}

/// Get how the account handles money
#[utoipa::path(get, path = "/money_settings", operation_id = "money_settings_get", tag = "Money",
    responses((status = 200, description = "The settings.", body = One<MoneySettings>), Problems),
    security(("key" = ["orders:read"])))]
async fn find(caller: Caller<OrdersRead>, Query(Nothing): Query<Nothing>) -> Result<Response> {
    caller.one(settings::of).await
}

/// Change how the account handles money
///
/// What was ordered or charged before stays as it is.
#[utoipa::path(patch, path = "/money_settings", operation_id = "money_settings_update", tag = "Money",
    request_body(content = MoneySettingsChange, example = json!({ "currency": "EUR", "reminder_days": [-7, 1] })),
    responses((status = 200, description = "The settings after the change.", body = One<MoneySettings>), Problems),
    security(("key" = ["orders:write"])))]
async fn change(
    caller: Caller<MoneyManage>,
    Query(Nothing): Query<Nothing>,
    body: Body<MoneySettingsChange>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller.change(body, |tx, change, expected| settings::change(tx, expected, change)).await
}

impl FromBody for MoneySettingsChange {
    fn read(fields: &mut Fields) -> Self {
        let currency = fields.currency("currency");
        let days = fields.numbers("reminder_days", REMINDERS, -FARTHEST, FARTHEST);
        Self {
            currency: fields.kept("currency", currency),
            order_hold_minutes: fields.number("order_hold_minutes", 1, LONGEST_HOLD),
            reminder_days: fields.kept("reminder_days", days),
        }
    }
}
