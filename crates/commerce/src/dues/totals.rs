//! Totals of listed dues. They use the same filter as the list, so a total always matches its rows.

use kit::text;

use super::due::{self, DueFilter};
use crate::prelude::*;

row! {
    /// Totals of dues in one currency.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct DueTotals {
        pub currency: Currency,
        pub dues: i64,
        /// Amount charged after discounts, including late fees.
        pub charged: i64,
        /// Amount paid for these dues, less refunds.
        pub paid: i64,
        /// Open balance.
        pub outstanding: i64,
        /// The part of `outstanding` whose due date has passed.
        pub overdue: i64,
    }
}

/// Totals of the dues that match a filter, one row per currency.
pub fn of_filter(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &DueFilter,
) -> Result<Vec<DueTotals>> {
    let DueFilter { team_id, member_id, payer_id, charge_id, status, overdue, category, .. } =
        filter;
    let DueFilter { team_ids, updated_since, unpaid, received, currency, .. } = filter;
    let several_teams = !team_ids.is_empty();
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let (everything, teams) = access.managed_filter();
    let (_, family) = access.own_and_family_ids();
    Ok(db.all(
        sql!(TOTALS, due::OF_ALL, due::FILTER, BY_CURRENCY),
        bind! { team_id, several_teams, team_ids, member_id, payer_id, charge_id, status, overdue,
        updated_since, unpaid, received, currency, category, pattern, everything, teams, family },
    )?)
}

/// After the last due date the whole open balance is overdue; before, only the installments whose due date has passed.
const TOTALS: &str = "
    select currency, count(*) as dues,
        cast(sum(amount - discount + late_fee) as bigint) as charged,
        cast(sum(paid) as bigint) as paid,
        cast(sum(amount - discount + late_fee - paid - waived) as bigint) as outstanding,
        cast(sum(case
            when overdue_at is null or overdue_at > :now then 0
            when ends_at <= :now then amount - discount + late_fee - waived - paid
            else (select sum(i.amount) from installment i
                  where i.account_id = due.account_id and i.due_id = due.id
                    and i.overdue_at <= :now) - paid
            end) as bigint) as overdue
    from due";
const BY_CURRENCY: &str = " group by currency order by currency";
