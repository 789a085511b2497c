//! Formatting of dues on pages: labels, amounts, names and statuses.

use std::collections::BTreeMap;

use crate::dues::charging::SIBLING_DISCOUNT_REASON;
use crate::dues::due::{Category, DueView, LateFee, Status};
use crate::dues::statement;
use crate::i18n::{Locale, format};
use crate::money::ledger::Movement;
use crate::names::Names;
use crate::prelude::*;
use crate::web::form::format_percent;
use crate::web::list::Cell;

/// Labels of the categories.
const CATEGORIES: [(Category, &str); 6] = [
    (Category::Dues, mark!("Dues")),
    (Category::Fee, mark!("Fee")),
    (Category::Tournament, mark!("Tournament")),
    (Category::Uniform, mark!("Uniform")),
    (Category::Travel, mark!("Travel")),
    (Category::Other, mark!("Other")),
];

/// The categories with their labels, for a select field.
pub(super) fn categories() -> Vec<(&'static str, &'static str)> {
    CATEGORIES.iter().map(|(category, words)| (category.as_str(), t!(*words))).collect()
}

/// The label of a category.
pub(super) fn category(of: Category) -> &'static str {
    CATEGORIES.iter().find(|(known, _)| *known == of).map_or("", |(_, words)| t!(*words))
}

/// An amount with its currency.
pub(super) fn money(minor: i64, currency: Currency) -> String {
    format::money(Locale::current_or_english(), Money { minor, currency })
}

/// A late fee.
pub(super) fn late_fee(fee: &LateFee, currency: Currency) -> Option<String> {
    match (fee.amount, fee.percent_bps) {
        (Some(amount), _) => Some(money(amount, currency)),
        (None, Some(points)) => {
            Some(t!("{percent}% of the overdue amount", percent = format_percent(points)))
        }
        (None, None) => None,
    }
}

/// The reason of a discount. Only the part that was not entered by a person is translated.
pub(super) fn discount_reason(due: &DueView) -> Option<String> {
    let reason = due.discount_reason.as_deref()?;
    let entered = reason.strip_suffix(SIBLING_DISCOUNT_REASON);
    Some(match entered.filter(|entered| entered.is_empty() || entered.ends_with("; ")) {
        Some(entered) => format!("{entered}{}", t!(SIBLING_DISCOUNT_REASON)),
        None => reason.to_owned(),
    })
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
        Status::Paid => ("good", t!("Paid")),
        Status::Waived => ("", t!("Waived")),
        _ if due.overdue => ("bad", t!("Overdue")),
        Status::PartiallyPaid => ("warn", t!("Partially paid")),
        Status::Open => ("info", t!("Open", "status")),
    }
}

/// The label of a ledger movement.
pub(super) fn movement(of: Movement) -> &'static str {
    match of {
        Movement::Charge => t!("Charged"),
        Movement::Correction => t!("Changed"),
        Movement::LateFee => t!("Late fee added"),
        Movement::Waiver => t!("Waived"),
        Movement::Payment => t!("Paid"),
        Movement::CreditApplied => t!("Paid from credit"),
        Movement::Refund => t!("Refunded"),
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
            part if part.paid == part.amount => ("good", t!("Paid")),
            _ if is_closed => ("", t!("Waived")),
            part if part.overdue => ("bad", t!("Overdue")),
            part if part.paid > 0 => ("warn", t!("Partially paid")),
            _ => ("info", t!("Open", "status")),
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
