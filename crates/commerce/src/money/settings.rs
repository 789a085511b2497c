//! Payment settings of an account: currency, expiry of unpaid orders, and reminders.

use macros::input;
use serde::Serializer;

use super::api::{MAX_REMINDER_OFFSET_DAYS, MAX_REMINDERS};
use crate::prelude::*;
use crate::rights::SpaceSeparated;
use crate::signals::Subject;

/// Two days, in minutes.
const DEFAULT_HOLD_MINUTES: i64 = 2 * 24 * 60;
/// A week and a day before the due date, a day and two weeks after it.
const DEFAULT_REMINDER_DAYS: [i64; 4] = [-7, -1, 1, 14];
const DEFAULT_CURRENCY: &str = "EUR";

record! {
    /// Payment settings of the account.
    #[macros::object("payment_settings")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct PaymentSettings in payment_settings {
        /// ID of the account, which has exactly one of these objects.
        #[serde(rename = "id")]
        pub account_id: AccountId,
        /// Default currency of prices and dues.
        pub currency: Currency,
        /// Minutes after which an unpaid order is cancelled and its stock restored; `null` for never.
        #[schema(minimum = 1)]
        pub unpaid_order_ttl_minutes: Option<i64>,
        /// Days before (negative) and after a due date on which families get a reminder.
        #[schema(value_type = Vec<i64>)]
        #[serde(serialize_with = "serialize_days")]
        pub reminder_days: SpaceSeparated<i64>,
        #[serde(skip)]
        pub order_number: i64,
        /// When the settings were created.
        pub created_at: Timestamp,
        /// When the settings were last changed.
        pub updated_at: Timestamp,
        /// Version of the settings; increases with every change.
        pub version: i64,
    }
}

/// Changes to the payment settings. Omitted fields stay unchanged.
#[input(as = UpdatePaymentSettingsRequest)]
pub struct PaymentSettingsChange {
    /// Default currency of prices and dues.
    #[input(non_null)]
    pub currency: Option<Currency>,
    /// Minutes after which an unpaid order is cancelled; `null` for never.
    #[input(number(1, 525_600))]
    pub unpaid_order_ttl_minutes: kit::Change<i64>,
    /// Days before (negative) and after a due date on which families get a reminder; at most 10, from -365 to 365.
    #[input(numbers(MAX_REMINDERS, -MAX_REMINDER_OFFSET_DAYS, MAX_REMINDER_OFFSET_DAYS), non_null)]
    pub reminder_days: Option<Vec<i64>>,
}

impl Subject for PaymentSettings {
    fn subject(&self) -> String {
        self.account_id.to_string()
    }
}

impl_resource!(PaymentSettings by AccountId: Versioned);

fn serialize_days<S: Serializer>(
    days: &SpaceSeparated<i64>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    days.0.serialize(to)
}

/// The settings of the account, or the defaults if none were saved.
pub fn load(db: &Reader<'_>) -> Result<PaymentSettings> {
    let saved =
        db.optional(sql!(PaymentSettings::SELECT, " where account_id = :account"), bind! {})?;
    Ok(saved.unwrap_or_else(|| PaymentSettings {
        account_id: db.account(),
        currency: DEFAULT_CURRENCY.parse().expect("a currency"),
        unpaid_order_ttl_minutes: Some(DEFAULT_HOLD_MINUTES),
        reminder_days: SpaceSeparated(DEFAULT_REMINDER_DAYS.to_vec()),
        order_number: 0,
        created_at: db.now(),
        updated_at: db.now(),
        version: 1,
    }))
}

/// Changes the settings.
pub fn change(
    tx: &Tx<'_>,
    expected: &IfMatch,
    change: PaymentSettingsChange,
) -> Result<PaymentSettings> {
    let before = expected.check(load(tx))?;
    let after = PaymentSettings {
        currency: change.currency.unwrap_or(before.currency),
        unpaid_order_ttl_minutes: change
            .unpaid_order_ttl_minutes
            .apply(before.unpaid_order_ttl_minutes),
        reminder_days: change
            .reminder_days
            .map_or_else(|| before.reminder_days.clone(), SpaceSeparated),
        ..before.clone()
    };
    if after == before {
        return Ok(before);
    }
    let after = PaymentSettings { updated_at: tx.now(), version: before.version + 1, ..after };
    upsert(tx, &after)?;
    tx.publish_change("payment_settings.updated", &before, &after)?;
    Ok(after)
}

const NEXT_ORDER: &str = "update payment_settings set order_number = order_number + 1
    where account_id = :account returning order_number, unpaid_order_ttl_minutes";

/// Sends the statement of [`next_order`] early, so that its result arrives together with those of other statements.
pub fn prefetch_next_order(tx: &Tx<'_>) -> Result<()> {
    Ok(tx.prefetch(NEXT_ORDER, bind! {})?)
}

/// Allocates the number of the next order. Also returns after how many minutes the order expires.
pub fn next_order(tx: &Tx<'_>) -> Result<(i64, Option<i64>)> {
    if let Some(next) = tx.optional(NEXT_ORDER, bind! {})? {
        return Ok(next);
    }
    let first = PaymentSettings { order_number: 1, ..load(tx)? };
    upsert(tx, &first)?;
    Ok((first.order_number, first.unpaid_order_ttl_minutes))
}

fn upsert(tx: &Tx<'_>, settings: &PaymentSettings) -> Result<()> {
    tx.execute(
        sql!(
            PaymentSettings::INSERT,
            " on conflict (account_id) do update set currency = excluded.currency,
                 unpaid_order_ttl_minutes = excluded.unpaid_order_ttl_minutes,
                 reminder_days = excluded.reminder_days, order_number = excluded.order_number,
                 updated_at = excluded.updated_at, version = excluded.version"
        ),
        &settings.bind(),
    )?;
    Ok(())
}
