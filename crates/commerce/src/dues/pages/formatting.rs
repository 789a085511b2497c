//! Formatting of dues on pages: labels, amounts, names and statuses.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Deref;

use crate::dues::charging::SIBLING_DISCOUNT_REASON;
use crate::dues::due::{self, Category, DueView, DueWithPlan, LateFee, Status};
use crate::dues::plan::InstallmentView;
use crate::dues::statement;
use crate::money::ledger::Movement;
pub(super) use crate::money::pages::money_text as money;
use crate::names::Names;
use crate::prelude::*;
use crate::web::form::format_percent;
use crate::web::list::{Cell, Column, List};

/// The categories with their labels, for a select field.
pub(super) fn categories() -> Vec<(&'static str, &'static str)> {
    Category::ALL.iter().map(|(of, value)| (*value, category(*of))).collect()
}

/// The label of a category.
pub(super) fn category(of: Category) -> &'static str {
    match of {
        Category::Dues => t!("Dues"),
        Category::Fee => t!("Fee"),
        Category::Tournament => t!("Tournament"),
        Category::Uniform => t!("Uniform"),
        Category::Travel => t!("Travel"),
        Category::Other => t!("Other"),
    }
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

/// A due with the names of its member, payer and team.
pub(super) struct NamedDue {
    due: DueView,
    names: DisplayNames,
}

impl Deref for NamedDue {
    type Target = DueView;

    fn deref(&self) -> &DueView {
        &self.due
    }
}

impl NamedDue {
    pub(super) fn new(db: &Reader<'_>, record: &DueWithPlan) -> Result<Self> {
        let due = record.view(db.now());
        Ok(Self { names: DisplayNames::for_dues(db, std::iter::once(&due))?, due })
    }

    /// Any due of the club.
    pub(super) fn load(db: &Reader<'_>, id: DueId) -> Result<Self> {
        Self::new(db, &due::load(db, id)?)
    }

    pub(super) fn person(&self) -> String {
        self.names.person(self.due.person_id)
    }

    pub(super) fn payer(&self) -> String {
        self.names.person(self.due.payer_id)
    }

    pub(super) fn team(&self) -> String {
        self.names.team(self.due.team_id)
    }

    /// An amount in the currency of the due. Generic because templates pass references.
    pub(super) fn money(&self, minor: impl Borrow<i64>) -> String {
        money(minor, self.due.currency)
    }

    pub(super) fn category_label(&self) -> &'static str {
        category(self.due.category)
    }

    pub(super) fn badge(&self) -> (&'static str, &'static str) {
        state(self)
    }

    /// A table of the installments.
    pub(super) fn installments(&self) -> List {
        let is_closed = self.due.balance == 0;
        let parts = self.due.installments.iter();
        let rows: Vec<_> = parts.map(|part| (part.clone(), self.due.currency, is_closed)).collect();
        // The table shows no times.
        let times = (Timestamp::from_micros(0), Zone::utc());
        List::new(t!("Installments"), INSTALLMENTS, &rows, &times)
    }
}

/// An installment, its currency, and whether nothing is owed for the due any more.
type InstallmentRow = (InstallmentView, Currency, bool);

const INSTALLMENTS: &[Column<InstallmentRow>] = &[
    Column::page("Due on", |(part, ..)| Cell::Day(part.due_on)),
    Column::number("Amount", |(part, currency, _)| Cell::text(money(part.amount, *currency))),
    Column::number("Paid", |(part, currency, _)| Cell::text(money(part.paid, *currency))),
    Column::page("Status", |(part, _, is_closed)| {
        Cell::Badge(match part {
            part if part.paid == part.amount => ("good", t!("Paid")),
            _ if *is_closed => ("", t!("Waived")),
            part if part.overdue => ("bad", t!("Overdue")),
            part if part.paid > 0 => ("warn", t!("Partially paid")),
            _ => ("info", t!("Open", "status")),
        })
    }),
];

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
