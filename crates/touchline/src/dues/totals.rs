//! What the dues of a list add up to. The filter is the one of the list, so a total always matches the rows behind it.

use kit::{Currency, text};
use store::{Reader, bind, row, sql};

use super::due::{self, DueFilter};
use crate::accounts::rights::Reach;
use crate::error::Result;

row! {
    /// The totals of some dues in one currency.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct DueTotals {
        pub currency: Currency,
        pub dues: i64,
        /// After discounts, with late fees.
        pub charged: i64,
        /// What was paid for these dues, less refunds.
        pub paid: i64,
        /// What is still owed.
        pub open: i64,
        /// The part of `open` that should have been paid by now.
        pub overdue: i64,
    }
}

/// The totals of the dues that match a filter, one row for each currency.
pub fn of_filter(db: &Reader<'_>, reach: &Reach, filter: &DueFilter) -> Result<Vec<DueTotals>> {
    let DueFilter { team_id, member_id, payer_id, charge_id, status, overdue, category, .. } =
        filter;
    let DueFilter { unpaid, received, currency, .. } = filter;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let (everything, teams) = due::opened(reach);
    let (_, family) = reach.kin();
    Ok(db.all(
        sql!(TOTALS, due::OF_ALL, due::FILTER, BY_CURRENCY),
        bind! { team_id, member_id, payer_id, charge_id, status, overdue, unpaid, received,
        currency, category, pattern, everything, teams, family },
    )?)
}

/// Overdue is everything that is open once the last day has passed, otherwise the instalments whose days have.
const TOTALS: &str = "
    select currency, count(*) as dues,
        cast(sum(amount - discount + late_fee) as bigint) as charged,
        cast(sum(paid) as bigint) as paid,
        cast(sum(amount - discount + late_fee - paid - waived) as bigint) as open,
        cast(sum(case
            when overdue_at is null or overdue_at > :now then 0
            when ends_at <= :now then amount - discount + late_fee - waived - paid
            else (select sum(i.amount) from instalment i
                  where i.account_id = due.account_id and i.due_id = due.id
                    and i.overdue_at <= :now) - paid
            end) as bigint) as overdue
    from due";
const BY_CURRENCY: &str = " group by currency order by currency";
