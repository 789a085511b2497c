//! The payment plan of a due: its installments, each with an amount and a due date.

use std::ops::RangeInclusive;

use macros::input;

use super::api::charges;
use crate::money::MAX_AMOUNT;
use crate::prelude::*;

/// Maximum number of installments of a due.
pub const MAX_INSTALLMENTS: usize = 60;
/// Years accepted in due dates.
pub const YEARS: RangeInclusive<i16> = 2000..=2199;

record! {
    /// An installment as stored in the database.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Installment in installment {
        pub account_id: AccountId,
        pub due_id: DueId,
        pub position: i64,
        pub due_on: Day,
        pub overdue_at: Timestamp,
        pub amount: i64,
    }
}

/// An installment in a request.
#[input(as = InstallmentInput)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NewInstallment {
    /// Due date, in the team's time zone.
    #[input(with(charges::day), placeholder = Zone::utc().day(Timestamp::from_micros(0)))]
    pub due_on: Day,
    /// Amount in minor units.
    #[schema(examples(5000))]
    #[input(number(1, MAX_AMOUNT))]
    pub amount: i64,
}

/// An installment of a due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Installment)]
pub struct InstallmentView {
    /// Due date, in the team's time zone.
    pub due_on: Day,
    /// Amount in minor units.
    #[schema(examples(5000))]
    pub amount: i64,
    /// Amount of this installment that is paid. Payments cover the earliest installments first.
    pub paid: i64,
    /// Whether the due date has passed and a part of the installment is unpaid.
    pub overdue: bool,
}

/// Splits `net` into `count` equal monthly installments; the first ones carry the rounding remainder. If a month is
/// too short for the day, its last day is used. `None` if a due date would fall outside `YEARS`.
pub fn monthly(
    first: Day,
    net: i64,
    count: u32,
    currency: Currency,
) -> Option<Vec<NewInstallment>> {
    let amounts = Money { minor: net, currency }.split(count);
    let parts = (0..).zip(amounts).map(|(months, part)| {
        Some(NewInstallment { due_on: months_after(first, months)?, amount: part.minor })
    });
    parts.collect()
}

fn months_after(first: Day, months: i16) -> Option<Day> {
    let month = i16::from(first.month()) - 1 + months;
    let (year, month) = (first.year() + month / 12, i8::try_from(month % 12).ok()? + 1);
    let last = Day::new(year, month, 1)?.days_in_month();
    Day::new(year, month, first.day().min(last)).filter(|day| YEARS.contains(&day.year()))
}

/// Scales installments to a new total, keeping their due dates. Each amount is scaled in proportion and rounded down;
/// the first ones carry the remainder, so the sum is exactly `net`. Installments that become zero are dropped.
pub fn scale(parts: &[NewInstallment], net: i64) -> Vec<NewInstallment> {
    let total: i128 = parts.iter().map(|part| i128::from(part.amount)).sum();
    let share = |part: &NewInstallment| i128::from(part.amount) * i128::from(net) / total.max(1);
    let mut scaled: Vec<_> = parts
        .iter()
        .map(|part| NewInstallment {
            amount: i64::try_from(share(part)).unwrap_or(i64::MAX),
            ..*part
        })
        .collect();
    let mut remainder = net - scaled.iter().map(|part| part.amount).sum::<i64>();
    for part in &mut scaled {
        // Rounding loses less than one unit per installment, so one unit each is enough.
        part.amount += remainder.signum();
        remainder -= remainder.signum();
    }
    scaled.retain(|part| part.amount > 0);
    scaled
}

/// Checks that installments are in order of their due dates, add up to `net`, and start on `due_on` if it was sent.
pub fn validate(parts: &[NewInstallment], net: i64, due_on: Option<Day>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, pair) in (1..).zip(parts.windows(2)) {
        if pair[1].due_on <= pair[0].due_on {
            let detail = "Each installment must be due after the one before it.";
            faults.push(Fault::new(
                format!("/installments/{index}/due_on"),
                "not_in_order",
                detail,
            ));
        }
    }
    let sum: i64 = parts.iter().map(|part| part.amount).sum();
    if sum != net {
        let detail = message!(
            "The installments add up to {sum}, but must add up to {net}, the amount less the discount.",
            sum,
            net
        );
        faults.push(Fault::new("/installments", "wrong_sum", detail));
    }
    if due_on.is_some_and(|day| parts.first().is_some_and(|part| part.due_on != day)) {
        let detail = "`due_on` must be the due date of the first installment. Leave out `due_on` or `installments`.";
        faults.push(Fault::new("/due_on", "mismatch", detail));
    }
    faults
}

/// Builds the records to store, for a team in this time zone.
pub fn build(
    tx: &Tx<'_>,
    due_id: DueId,
    zone: &Zone,
    parts: &[NewInstallment],
) -> Result<Vec<Installment>> {
    let installments = (1..).zip(parts).map(|(position, part)| {
        Ok(Installment {
            account_id: tx.account(),
            due_id,
            position,
            due_on: part.due_on,
            overdue_at: end_of_day(zone, part.due_on)?,
            amount: part.amount,
        })
    });
    installments.collect()
}

/// When a day ends in a time zone.
pub fn end_of_day(zone: &Zone, day: Day) -> Result<Timestamp> {
    let next = day.plus_days(1).and_then(|next| zone.resolve(next.at_midnight()));
    next.ok_or_else(|| Error::internal("a day without an end"))
}

/// Inserts the installments of new dues.
pub fn insert<'a>(tx: &Tx<'_>, parts: impl IntoIterator<Item = &'a Installment>) -> Result<()> {
    let rows: Vec<_> = parts.into_iter().map(Installment::bind).collect();
    Ok(tx.execute_deferred_all(Installment::INSERT, &rows)?)
}

/// Replaces the installments of a due.
pub fn replace(tx: &Tx<'_>, id: DueId, parts: &[Installment]) -> Result<()> {
    tx.execute(
        "delete from installment where account_id = :account and due_id = :id",
        bind! { id },
    )?;
    insert(tx, parts)
}

/// The installments of these dues, ordered by due and position.
pub fn for_dues(db: &Reader<'_>, dues: Vec<DueId>) -> Result<Vec<Installment>> {
    if dues.is_empty() {
        return Ok(Vec::new());
    }
    let text = sql!(
        Installment::SELECT,
        " where account_id = :account and due_id in (:dues) order by due_id, position"
    );
    Ok(db.all(text, bind! { dues })?)
}

/// Allocates the amount paid to the installments in order. No installment of a closed due, which owes nothing, is
/// overdue.
pub fn allocate(
    parts: &[Installment],
    paid: i64,
    is_closed: bool,
    now: Timestamp,
) -> Vec<InstallmentView> {
    let mut unallocated = paid;
    let allocated = parts.iter().map(|part| {
        let paid = unallocated.clamp(0, part.amount);
        unallocated -= paid;
        let overdue = !is_closed && paid < part.amount && part.overdue_at <= now;
        InstallmentView { due_on: part.due_on, amount: part.amount, paid, overdue }
    });
    allocated.collect()
}

/// The first installment that is not fully paid; the last one if only the late fee is unpaid.
pub fn next_unpaid(parts: &[Installment], paid: i64) -> Option<&Installment> {
    let mut sum = 0;
    let open = parts.iter().find(|part| {
        sum += part.amount;
        sum > paid
    });
    open.or(parts.last())
}

/// Sum of the installments whose due date has passed at `now`.
pub fn total_past_due(parts: &[Installment], now: Timestamp) -> i64 {
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
    fn monthly_due_dates_are_clamped_to_the_end_of_the_month() {
        let parts = monthly(day("2026-12-31"), 100, 3, euro()).unwrap();
        let days: Vec<_> = parts.iter().map(|part| part.due_on.to_string()).collect();
        assert_eq!(days, ["2026-12-31", "2027-01-31", "2027-02-28"]);
        assert_eq!(parts.iter().map(|part| part.amount).collect::<Vec<_>>(), [34, 33, 33]);
    }

    #[test]
    fn first_installments_carry_the_rounding_remainder() {
        let parts = monthly(day("2026-01-31"), 10_000, 3, euro()).unwrap();
        let amounts = |net| scale(&parts, net).iter().map(|part| part.amount).collect::<Vec<_>>();
        assert_eq!(amounts(9_500), [3_168, 3_166, 3_166]);
        assert_eq!(amounts(2), [1, 1]);
        assert_eq!(amounts(30_000), [10_002, 9_999, 9_999]);
    }

    proptest! {
        #[test]
        fn installments_add_up_to_the_total(net in 1i64..=1_000_000_000_000, count in 1u32..=60, other in 1i64..=1_000_000_000_000) {
            prop_assume!(net >= i64::from(count));
            let parts = monthly(day("2026-01-31"), net, count, euro()).unwrap();
            prop_assert!(validate(&parts, net, None).is_empty());
            let scaled = scale(&parts, other);
            prop_assert_eq!(scaled.iter().map(|part| part.amount).sum::<i64>(), other);
            prop_assert!(scaled.iter().all(|part| part.amount > 0));
        }
    }
}
