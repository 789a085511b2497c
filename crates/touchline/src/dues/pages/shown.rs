//! How dues are written on pages.

use std::collections::BTreeMap;

use kit::word::Word;
use kit::{Currency, Money};
use store::Reader;

use crate::dues::due::{Category, Shown, Status};
use crate::dues::statement;
use crate::error::Result;
use crate::ids::{PersonId, TeamId};
use crate::money::ledger::Movement;
use crate::names::Names;

/// What dues are for, in words.
const CATEGORIES: [(Category, &str); 6] = [
    (Category::Dues, "Dues"),
    (Category::Fee, "Fee"),
    (Category::Tournament, "Tournament"),
    (Category::Uniform, "Uniform"),
    (Category::Travel, "Travel"),
    (Category::Other, "Other"),
];

/// What dues can be for: as it is kept, and in words.
pub(super) fn categories() -> Vec<(&'static str, &'static str)> {
    CATEGORIES.iter().map(|(category, words)| (category.word(), *words)).collect()
}

/// What a due is for, in words.
pub(super) fn category(of: Category) -> &'static str {
    CATEGORIES.iter().find(|(known, _)| *known == of).map_or("", |(_, words)| *words)
}

/// An amount with its currency.
pub(super) fn money(minor: i64, currency: Currency) -> String {
    Money { minor, currency }.to_string()
}

/// An amount where the currency stands elsewhere.
pub(super) fn plain(minor: i64, currency: Currency) -> String {
    Money { minor, currency }.plain()
}

/// An amount with its sign, `–` for nothing.
pub(super) fn signed(minor: i64, currency: Currency) -> String {
    match minor {
        0 => "–".to_owned(),
        1.. => format!("+{}", money(minor, currency)),
        _ => money(minor, currency),
    }
}

/// How a due stands: the kind of a badge, and its word.
pub(super) fn state(due: &Shown) -> (&'static str, &'static str) {
    match due.status {
        Status::Paid => ("good", "Paid"),
        Status::Waived => ("", "Waived"),
        _ if due.overdue => ("bad", "Overdue"),
        Status::PartiallyPaid => ("warn", "Partly paid"),
        Status::Open => ("info", "Open"),
    }
}

/// What moved money, in words.
pub(super) fn movement(of: Movement) -> &'static str {
    match of {
        Movement::Charge => "Charged",
        Movement::Correction => "Changed",
        Movement::LateFee => "Late fee added",
        Movement::Waiver => "Waived",
        Movement::Payment => "Paid",
        Movement::CreditUse => "Paid from credit",
        Movement::Refund => "Given back",
    }
}

/// The names of people and teams that some dues are about.
#[derive(Debug)]
pub(super) struct Around {
    people: BTreeMap<PersonId, String>,
    teams: Names,
}

impl Around {
    pub(super) fn of<'a>(
        db: &Reader<'_>,
        dues: impl Iterator<Item = &'a Shown> + Clone,
    ) -> Result<Self> {
        let people = dues.clone().flat_map(|due| [due.person_id, due.payer_id]).collect();
        let teams: Vec<_> = dues.map(|due| due.team_id.to_string()).collect();
        Ok(Self {
            people: statement::names(db, people)?,
            teams: Names::of(db, teams.iter().map(String::as_str))?,
        })
    }

    pub(super) fn person(&self, id: PersonId) -> String {
        self.people.get(&id).cloned().unwrap_or_default()
    }

    pub(super) fn team(&self, id: TeamId) -> String {
        self.teams.of_id(&id.to_string()).unwrap_or_default().to_owned()
    }
}

/// One part of a due, as a page shows it.
#[derive(Debug)]
pub(super) struct PartRow {
    pub(super) day: kit::Day,
    pub(super) amount: String,
    pub(super) paid: String,
    pub(super) state: (&'static str, &'static str),
}

/// The parts of a due.
pub(super) fn parts(due: &Shown) -> Vec<PartRow> {
    let done = due.balance == 0;
    let row = |part: &crate::dues::plan::ShownPart| PartRow {
        day: part.due_on,
        amount: money(part.amount, due.currency),
        paid: money(part.paid, due.currency),
        state: match part {
            part if part.paid == part.amount => ("good", "Paid"),
            _ if done => ("", "Waived"),
            part if part.overdue => ("bad", "Overdue"),
            part if part.paid > 0 => ("warn", "Partly paid"),
            _ => ("info", "Open"),
        },
    };
    due.instalments.iter().map(row).collect()
}

/// The part of a due that should have been paid by now.
pub(super) fn overdue(due: &Shown) -> i64 {
    let late = due.instalments.iter().filter(|part| part.overdue);
    let parts: i64 = late.map(|part| part.amount - part.paid).sum();
    let all_gone =
        due.overdue && due.instalments.iter().all(|part| part.overdue || part.paid == part.amount);
    if all_gone { due.balance } else { parts }
}

/// The next part that is to be paid: its day, and how much of it is open. A late fee comes with the last.
pub(super) fn next(due: &Shown) -> Option<(kit::Day, i64)> {
    if due.balance == 0 {
        return None;
    }
    let open = due.instalments.iter().find(|part| part.paid < part.amount);
    let last = due.instalments.last().map(|part| (part.due_on, due.balance));
    open.map(|part| (part.due_on, part.amount - part.paid)).or(last)
}
