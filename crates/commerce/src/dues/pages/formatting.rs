//! Formatting of dues on pages: labels, amounts, names and statuses.

use std::collections::BTreeMap;

use crate::dues::due::{Category, DueView, LateFee, Status};
use crate::dues::statement;
use crate::money::ledger::Movement;
use crate::names::Names;
use crate::prelude::*;
use crate::web::form::format_percent;
use crate::web::list::Cell;
use crate::web::sentence::fill;

/// Labels of the categories.
const CATEGORIES: [(Category, &str); 6] = [
    (Category::Dues, "Dues"),
    (Category::Fee, "Fee"),
    (Category::Tournament, "Tournament"),
    (Category::Uniform, "Uniform"),
    (Category::Travel, "Travel"),
    (Category::Other, "Other"),
];

/// The categories with their labels, for a select field.
pub(super) fn categories() -> Vec<(&'static str, &'static str)> {
    CATEGORIES.iter().map(|(category, words)| (category.as_str(), *words)).collect()
}

/// The label of a category.
pub(super) fn category(of: Category) -> &'static str {
    CATEGORIES.iter().find(|(known, _)| *known == of).map_or("", |(_, words)| *words)
}

/// An amount with its currency.
pub(super) fn money(minor: i64, currency: Currency) -> String {
    Money { minor, currency }.to_string()
}

/// A late fee.
pub(super) fn late_fee(fee: &LateFee, currency: Currency) -> Option<String> {
    match (fee.amount, fee.percent_bps) {
        (Some(amount), _) => Some(money(amount, currency)),
        (None, Some(points)) => {
            Some(fill("{percent}% of the overdue amount", &[("percent", &format_percent(points))]))
        }
        (None, None) => None,
    }
}

/// An amount without the currency.
pub(super) fn plain(minor: i64, currency: Currency) -> String {
    Money { minor, currency }.format_amount()
}

/// An amount with its sign, `–` for zero.
pub(super) fn signed(minor: i64, currency: Currency) -> Cell<'static> {
    let amount = match minor {
        0 => Cell::text("–"),
        1.. => Cell::text(format_args!("+{}", money(minor, currency))),
        _ => Cell::text(money(minor, currency)),
    };
    amount.inside("span", "nowrap")
}

/// The status of a due: kind and label of a badge.
pub(super) fn state(due: &DueView) -> (&'static str, &'static str) {
    match due.status {
        Status::Paid => ("good", "Paid"),
        Status::Waived => ("", "Waived"),
        _ if due.overdue => ("bad", "Overdue"),
        Status::PartiallyPaid => ("warn", "Partially paid"),
        Status::Open => ("info", "Open"),
    }
}

/// The label of a ledger movement.
pub(super) fn movement(of: Movement) -> &'static str {
    match of {
        Movement::Charge => "Charged",
        Movement::Correction => "Changed",
        Movement::LateFee => "Late fee added",
        Movement::Waiver => "Waived",
        Movement::Payment => "Paid",
        Movement::CreditApplied => "Paid from credit",
        Movement::Refund => "Refunded",
    }
}

/// The names of the people and teams of some dues.
#[derive(Debug)]
pub(super) struct DisplayNames {
    people: BTreeMap<PersonId, String>,
    teams: Names,
}

impl DisplayNames {
    pub(super) fn for_dues<'a>(
        db: &Reader<'_>,
        dues: impl Iterator<Item = &'a DueView> + Clone,
    ) -> Result<Self> {
        let people = dues.clone().flat_map(|due| [due.person_id, due.payer_id]).collect();
        let teams: Vec<_> = dues.map(|due| due.team_id.to_string()).collect();
        Ok(Self {
            people: statement::names(db, people)?,
            teams: Names::load(db, teams.iter().map(String::as_str))?,
        })
    }

    pub(super) fn person(&self, id: PersonId) -> String {
        self.people.get(&id).cloned().unwrap_or_default()
    }

    pub(super) fn team(&self, id: TeamId) -> String {
        self.teams.get(&id.to_string()).unwrap_or_default().to_owned()
    }
}

/// A row of the installments table.
#[derive(Debug)]
pub(super) struct InstallmentRow {
    pub(super) day: kit::Day,
    pub(super) amount: String,
    pub(super) paid: String,
    pub(super) state: (&'static str, &'static str),
}

/// The rows of the installments table.
pub(super) fn installment_rows(due: &DueView) -> Vec<InstallmentRow> {
    let is_closed = due.balance == 0;
    let row = |part: &crate::dues::plan::InstallmentView| InstallmentRow {
        day: part.due_on,
        amount: money(part.amount, due.currency),
        paid: money(part.paid, due.currency),
        state: match part {
            part if part.paid == part.amount => ("good", "Paid"),
            _ if is_closed => ("", "Waived"),
            part if part.overdue => ("bad", "Overdue"),
            part if part.paid > 0 => ("warn", "Partially paid"),
            _ => ("info", "Open"),
        },
    };
    due.installments.iter().map(row).collect()
}

/// The overdue amount of a due.
pub(super) fn overdue(due: &DueView) -> i64 {
    let overdue = due.installments.iter().filter(|part| part.overdue);
    let parts: i64 = overdue.map(|part| part.amount - part.paid).sum();
    let all_overdue =
        due.overdue && due.installments.iter().all(|part| part.overdue || part.paid == part.amount);
    if all_overdue { due.balance } else { parts }
}

/// The due date and open amount of the next unpaid installment. The late fee is due with the last one.
pub(super) fn next_installment(due: &DueView) -> Option<(kit::Day, i64)> {
    if due.balance == 0 {
        return None;
    }
    let open = due.installments.iter().find(|part| part.paid < part.amount);
    let last = due.installments.last().map(|part| (part.due_on, due.balance));
    open.map(|part| (part.due_on, part.amount - part.paid)).or(last)
}
