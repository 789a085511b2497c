//! How an account handles money: its currency, how long unpaid orders wait, when families are reminded.

use kit::{Currency, Timestamp};
use serde::{Serialize, Serializer};
use store::{Reader, Tx, bind, record, sql};
use utoipa::ToSchema;

use crate::accounts::rights::Listed;
use crate::error::Result;
use crate::expected::{Expected, Versioned};
use crate::ids::AccountId;
use crate::signals::{Subject, Tell};

/// Two days.
const HOLD: i64 = 2 * 24 * 60;
/// A week and a day before, a day and two weeks after.
const REMINDERS: [i64; 4] = [-7, -1, 1, 14];
const CURRENCY: &str = "EUR";

record! {
    /// How an account handles money.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "money_settings")]
    pub struct MoneySettings in money_settings {
        /// The account's: it has these settings once.
        #[serde(rename = "id")]
        pub account_id: AccountId,
        /// What prices and dues are in where nobody says otherwise.
        pub currency: Currency,
        /// After so many minutes an order that nobody paid is cancelled and its stock given back; `null`: never.
        #[schema(minimum = 1)]
        pub order_hold_minutes: Option<i64>,
        /// The days before (negative) and after a due date on which families are reminded.
        #[schema(value_type = Vec<i64>)]
        #[serde(serialize_with = "numbers")]
        pub reminder_days: Listed<i64>,
        #[serde(skip)]
        pub order_number: i64,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

/// What is to be changed: members that are left out stay.
#[derive(Debug, ToSchema)]
pub struct MoneySettingsChange {
    pub currency: Option<Currency>,
    /// `null`: unpaid orders wait for ever.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 525_600)]
    pub order_hold_minutes: kit::Change<i64>,
    pub reminder_days: Option<Vec<i64>>,
}

impl Subject for MoneySettings {
    fn subject(&self) -> String {
        self.account_id.to_string()
    }
}

impl Versioned for MoneySettings {
    fn version(&self) -> i64 {
        self.version
    }
}

fn numbers<S: Serializer>(days: &Listed<i64>, to: S) -> std::result::Result<S::Ok, S::Error> {
    days.0.serialize(to)
}

/// How the account handles money: as it was set, or as it is if nobody has set anything.
pub fn of(db: &Reader<'_>) -> Result<MoneySettings> {
    let kept = db.maybe(sql!(MoneySettings::SELECT, " where account_id = :account"), bind! {})?;
    Ok(kept.unwrap_or_else(|| MoneySettings {
        account_id: db.account(),
        currency: CURRENCY.parse().expect("a currency"),
        order_hold_minutes: Some(HOLD),
        reminder_days: Listed(REMINDERS.to_vec()),
        order_number: 0,
        created_at: db.now(),
        updated_at: db.now(),
        version: 1,
    }))
}

/// Changes how the account handles money.
pub fn change(
    tx: &Tx<'_>,
    expected: &Expected,
    change: MoneySettingsChange,
) -> Result<MoneySettings> {
    let before = expected.check(of(tx))?;
    let after = MoneySettings {
        currency: change.currency.unwrap_or(before.currency),
        order_hold_minutes: change.order_hold_minutes.apply(before.order_hold_minutes),
        reminder_days: change.reminder_days.map_or_else(|| before.reminder_days.clone(), Listed),
        ..before.clone()
    };
    if after == before {
        return Ok(before);
    }
    let after = MoneySettings { updated_at: tx.now(), version: before.version + 1, ..after };
    keep(tx, &after)?;
    tx.tell_change("money_settings.updated", &before, &after)?;
    Ok(after)
}

const NEXT_ORDER: &str = "update money_settings set order_number = order_number + 1
    where account_id = :account returning order_number, order_hold_minutes";

/// For a job that will want the number once it has asked for other things: it comes with them.
pub fn next_order_ahead(tx: &Tx<'_>) -> Result<()> {
    Ok(tx.ahead(NEXT_ORDER, bind! {})?)
}

/// The number of the next order, and for how many minutes it waits to be paid.
pub fn next_order(tx: &Tx<'_>) -> Result<(i64, Option<i64>)> {
    if let Some(next) = tx.maybe(NEXT_ORDER, bind! {})? {
        return Ok(next);
    }
    let first = MoneySettings { order_number: 1, ..of(tx)? };
    keep(tx, &first)?;
    Ok((first.order_number, first.order_hold_minutes))
}

fn keep(tx: &Tx<'_>, settings: &MoneySettings) -> Result<()> {
    tx.run(
        sql!(
            MoneySettings::INSERT,
            " on conflict (account_id) do update set currency = excluded.currency,
                 order_hold_minutes = excluded.order_hold_minutes,
                 reminder_days = excluded.reminder_days, order_number = excluded.order_number,
                 updated_at = excluded.updated_at, version = excluded.version"
        ),
        &settings.bind(),
    )?;
    Ok(())
}
