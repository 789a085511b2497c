//! The plan of a due: on which days how much of it must have been paid.

use std::ops::RangeInclusive;

use kit::{Currency, Day, Money, Timestamp, Zone};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql};
use utoipa::ToSchema;

use crate::error::{Error, Fault, Result};
use crate::ids::{AccountId, DueId};

/// How many instalments there can be.
pub const MOST_PARTS: usize = 60;
/// The years of days that somebody can mean.
pub const YEARS: RangeInclusive<i16> = 2000..=2199;

record! {
    /// A part of a due and the day by which it must have been paid.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Instalment in instalment {
        pub account_id: AccountId,
        pub due_id: DueId,
        pub position: i64,
        pub due_on: Day,
        pub overdue_at: Timestamp,
        pub amount: i64,
    }
}

/// A part of a due, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(as = NewInstalment)]
pub struct Part {
    pub due_on: Day,
    #[schema(examples(5000), minimum = 1)]
    pub amount: i64,
}

/// A part of a due, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Instalment)]
pub struct ShownPart {
    pub due_on: Day,
    #[schema(examples(5000))]
    pub amount: i64,
    /// As much of it as what was paid covers: what comes in goes to the first days first.
    pub paid: i64,
    /// Whether its day has passed and something of it is still owed.
    pub overdue: bool,
}

/// So many equal parts, a month apart; the first ones carry the remainder. A day that a month does not have
/// is its last. `None` if that would be beyond the days that somebody can mean.
pub fn monthly(first: Day, net: i64, count: u32, currency: Currency) -> Option<Vec<Part>> {
    let amounts = Money { minor: net, currency }.split(count);
    let parts = (0..).zip(amounts).map(|(months, part)| {
        Some(Part { due_on: months_after(first, months)?, amount: part.minor })
    });
    parts.collect()
}

fn months_after(first: Day, months: i16) -> Option<Day> {
    let month = i16::from(first.month()) - 1 + months;
    let (year, month) = (first.year() + month / 12, i8::try_from(month % 12).ok()? + 1);
    let last = Day::new(year, month, 1)?.days_in_month();
    Day::new(year, month, first.day().min(last)).filter(|day| YEARS.contains(&day.year()))
}

/// The same days for another sum: each part in proportion, rounded down, and the first ones carry the remainder, as
/// with equal parts. Together they are exactly the sum. A part of which nothing is left is left out.
pub fn scaled(parts: &[Part], net: i64) -> Vec<Part> {
    let whole: i128 = parts.iter().map(|part| i128::from(part.amount)).sum();
    let share = |part: &Part| i128::from(part.amount) * i128::from(net) / whole.max(1);
    let mut scaled: Vec<_> = parts
        .iter()
        .map(|part| Part { amount: i64::try_from(share(part)).unwrap_or(i64::MAX), ..*part })
        .collect();
    let mut left = net - scaled.iter().map(|part| part.amount).sum::<i64>();
    for part in &mut scaled {
        // Less than one is missing of each, so one more for some of them is all.
        part.amount += left.signum();
        left -= left.signum();
    }
    scaled.retain(|part| part.amount > 0);
    scaled
}

/// What is wrong with instalments for so much.
pub fn faults(parts: &[Part], net: i64) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (place, pair) in (1..).zip(parts.windows(2)) {
        if pair[1].due_on <= pair[0].due_on {
            let detail = "Each instalment is due after the one before.";
            faults.push(Fault::new(format!("/instalments/{place}/due_on"), "not_in_order", detail));
        }
    }
    let sum: i64 = parts.iter().map(|part| part.amount).sum();
    if sum != net {
        let detail = format!("The instalments add up to {sum}, but {net} is to be paid.");
        faults.push(Fault::new("/instalments", "wrong_sum", detail));
    }
    faults
}

/// The parts as they are kept, for a team in this zone.
pub fn kept(tx: &Tx<'_>, due_id: DueId, zone: &Zone, parts: &[Part]) -> Result<Vec<Instalment>> {
    let kept = (1..).zip(parts).map(|(position, part)| {
        Ok(Instalment {
            account_id: tx.account(),
            due_id,
            position,
            due_on: part.due_on,
            overdue_at: end_of(zone, part.due_on)?,
            amount: part.amount,
        })
    });
    kept.collect()
}

/// The moment at which a day ends in a zone.
pub fn end_of(zone: &Zone, day: Day) -> Result<Timestamp> {
    let next = day.plus_days(1).and_then(|next| zone.nearest(next.at_midnight()));
    next.ok_or_else(|| Error::internal("a day without an end"))
}

/// Writes the parts of new dues down.
pub fn insert<'a>(tx: &Tx<'_>, parts: impl IntoIterator<Item = &'a Instalment>) -> Result<()> {
    let rows: Vec<_> = parts.into_iter().map(Instalment::bind).collect();
    Ok(tx.later_all(Instalment::INSERT, &rows)?)
}

/// Puts other parts in the place of those of a due.
pub fn replace(tx: &Tx<'_>, id: DueId, parts: &[Instalment]) -> Result<()> {
    tx.run("delete from instalment where account_id = :account and due_id = :id", bind! { id })?;
    insert(tx, parts)
}

/// The parts of these dues, each due's in order.
pub fn of(db: &Reader<'_>, dues: Vec<DueId>) -> Result<Vec<Instalment>> {
    if dues.is_empty() {
        return Ok(Vec::new());
    }
    let text = sql!(
        Instalment::SELECT,
        " where account_id = :account and due_id in (:dues) order by due_id, position"
    );
    Ok(db.all(text, bind! { dues })?)
}

/// The parts as they are shown when so much was paid and, if so, nothing is open any more.
pub fn shown(parts: &[Instalment], paid: i64, done: bool, now: Timestamp) -> Vec<ShownPart> {
    let mut left = paid;
    let shown = parts.iter().map(|part| {
        let paid = left.clamp(0, part.amount);
        left -= paid;
        let overdue = !done && paid < part.amount && part.overdue_at <= now;
        ShownPart { due_on: part.due_on, amount: part.amount, paid, overdue }
    });
    shown.collect()
}

/// The first part that so much does not cover; the last if only a late fee is open.
pub fn next(parts: &[Instalment], paid: i64) -> Option<&Instalment> {
    let mut sum = 0;
    let open = parts.iter().find(|part| {
        sum += part.amount;
        sum > paid
    });
    open.or(parts.last())
}

/// How much should have been paid by a moment.
pub fn gone(parts: &[Instalment], now: Timestamp) -> i64 {
    parts.iter().filter(|part| part.overdue_at <= now).map(|part| part.amount).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    fn euro() -> Currency {
        "EUR".parse().unwrap()
    }

    #[test]
    fn months_end_where_they_end() {
        let parts = monthly(day("2026-12-31"), 100, 3, euro()).unwrap();
        let days: Vec<_> = parts.iter().map(|part| part.due_on.to_string()).collect();
        assert_eq!(days, ["2026-12-31", "2027-01-31", "2027-02-28"]);
        assert_eq!(parts.iter().map(|part| part.amount).collect::<Vec<_>>(), [34, 33, 33]);
    }

    #[test]
    fn the_first_carry_the_remainder_of_what_shrinks() {
        let parts = monthly(day("2026-01-31"), 10_000, 3, euro()).unwrap();
        let amounts = |net| scaled(&parts, net).iter().map(|part| part.amount).collect::<Vec<_>>();
        assert_eq!(amounts(9_500), [3_168, 3_166, 3_166]);
        assert_eq!(amounts(2), [1, 1]);
        assert_eq!(amounts(30_000), [10_002, 9_999, 9_999]);
    }

    proptest! {
        #[test]
        fn plans_always_sum_to_the_whole(net in 1i64..=1_000_000_000_000, count in 1u32..=60, other in 1i64..=1_000_000_000_000) {
            prop_assume!(net >= i64::from(count));
            let parts = monthly(day("2026-01-31"), net, count, euro()).unwrap();
            prop_assert!(faults(&parts, net).is_empty());
            let scaled = scaled(&parts, other);
            prop_assert_eq!(scaled.iter().map(|part| part.amount).sum::<i64>(), other);
            prop_assert!(scaled.iter().all(|part| part.amount > 0));
        }
    }
}
