//! Changing a due while nothing was paid, and waiving what is open of it.

use kit::{Change, Day};
use store::Tx;
use utoipa::ToSchema;

use super::charging;
use super::due::{self, Category, Due, LateFee, Shown, Status, Whole};
use super::plan::{self, Part};
use super::reminders;
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::{DueId, PersonId};
use crate::mail::letter;
use crate::metadata::Metadata;
use crate::money::ledger::{self, Book, Movement};
use crate::signals::Tell;
use crate::teams::team;

/// What is to be changed: members that are left out stay, `null` clears.
#[derive(Debug, Default, ToSchema)]
pub struct DueChange {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 120)]
    pub title: Option<String>,
    #[schema(value_type = Option<Category>)]
    pub category: Option<Category>,
    #[schema(value_type = Option<String>, max_length = 1000)]
    pub note: Change<String>,
    /// Before any discount, which stays.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1_000_000_000_000_i64)]
    pub amount: Option<i64>,
    /// Of a due in one part.
    #[schema(value_type = Option<String>, format = Date)]
    pub due_on: Option<Day>,
    /// Put in the place of those there are. With another amount and without these, each changes in proportion.
    #[schema(value_type = Option<Vec<Part>>, max_items = 60)]
    pub instalments: Option<Vec<Part>>,
    /// One of the member's guardians, or the member.
    #[schema(value_type = Option<PersonId>)]
    pub payer: Option<PersonId>,
    /// `null`: none.
    #[schema(value_type = Option<LateFee>)]
    pub late_fee: Change<LateFee>,
    /// Replaces all pairs; `null` clears them.
    #[schema(value_type = Option<Metadata>)]
    pub metadata: Change<Metadata>,
}

/// Why something need not be paid any more.
#[derive(Debug, ToSchema)]
pub struct Waiver {
    #[schema(examples("Moved away"), min_length = 1, max_length = 500)]
    pub reason: String,
}

/// Changes a due of which nothing was paid.
pub fn change(
    tx: &Tx<'_>,
    reach: &Reach,
    id: DueId,
    expected: &Expected,
    change: DueChange,
) -> Result<Shown> {
    let before = expected.check(due::managed(tx, reach, id))?;
    if before.due.status != Status::Open {
        return Err(Error::invalid_state("Only a due of which nothing was paid can be changed."));
    }
    if change.late_fee != Change::Keep && before.due.late_fee_at.is_some() {
        return Err(Error::invalid_state("The late fee was added already."));
    }
    let zone = team::find(tx, before.due.team_id)?.timezone;
    let (due, parts) = changed(tx, &before, change)?;
    let plan = plan::kept(tx, id, &zone, &parts)?;
    let after = Whole { due, plan }.settled();
    if after == before {
        return Ok(before.shown(tx.now()));
    }
    if after.plan != before.plan {
        plan::replace(tx, id, &after.plan)?;
    }
    correct(tx, &before.due, &after.due)?;
    let after = due::save(tx, after)?;
    reminders::call_back(tx, id)?;
    tx.tell_change("dues.updated", &before.told(tx.now()), &after.told(tx.now()))?;
    Ok(after.shown(tx.now()))
}

/// The due and its plan as they would be.
fn changed(tx: &Tx<'_>, before: &Whole, change: DueChange) -> Result<(Due, Vec<Part>)> {
    let was = &before.due;
    let mut faults = Vec::new();
    let amount = change.amount.unwrap_or(was.amount);
    let payer_id = change.payer.unwrap_or(was.payer_id);
    if payer_id != was.payer_id && !may_pay(tx, was.person_id, payer_id)? {
        let detail = "The payer is neither the member nor one of their guardians.";
        faults.push(Fault::new("/payer", "not_a_payer", detail));
    }
    if amount <= was.discount {
        let detail = format!("The discount of {} would leave nothing to pay.", was.discount);
        faults.push(Fault::new("/amount", "nothing_left", detail));
        return Err(Error::invalid(faults));
    }
    let parts =
        replanned(before, amount - was.discount, change.due_on, change.instalments, &mut faults);
    if !faults.is_empty() {
        return Err(Error::invalid(faults));
    }
    let fee = LateFee { amount: was.late_fee_amount, percent_bp: was.late_fee_bp };
    let fee = change.late_fee.apply_or(fee, LateFee { amount: None, percent_bp: None });
    let due = Due {
        title: change.title.unwrap_or_else(|| was.title.clone()),
        category: change.category.unwrap_or(was.category),
        note: change.note.apply(was.note.clone()),
        amount,
        payer_id,
        late_fee_amount: fee.amount,
        late_fee_bp: fee.percent_bp,
        due_on: parts.first().map_or(was.due_on, |part| part.due_on),
        metadata: change.metadata.apply_or(was.metadata.clone(), Metadata::default()),
        ..was.clone()
    };
    Ok((due, parts))
}

/// The plan after a change of days or amounts.
fn replanned(
    before: &Whole,
    net: i64,
    due_on: Option<Day>,
    instalments: Option<Vec<Part>>,
    faults: &mut Vec<Fault>,
) -> Vec<Part> {
    if let Some(parts) = instalments {
        faults.extend(plan::faults(&parts, net));
        if due_on.is_some_and(|day| parts.first().is_some_and(|part| part.due_on != day)) {
            let detail = "The day is that of the first instalment; leave one of them out.";
            faults.push(Fault::new("/due_on", "differs", detail));
        }
        return parts;
    }
    let now = before.plan.iter();
    let now: Vec<_> = now.map(|part| Part { due_on: part.due_on, amount: part.amount }).collect();
    let parts = if net == before.due.net() { now } else { plan::scaled(&now, net) };
    match (due_on, parts.as_slice()) {
        (Some(due_on), [only]) => vec![Part { due_on, ..*only }],
        (Some(_), _) => {
            let detail = "This due has several instalments; give their days with them.";
            faults.push(Fault::new("/instalments", "required", detail));
            parts
        }
        (None, _) => parts,
    }
}

fn may_pay(tx: &Tx<'_>, person: PersonId, payer: PersonId) -> Result<bool> {
    let guardians = charging::guardians(tx, vec![person])?;
    Ok(payer == person || guardians.get(&person).is_some_and(|own| own.contains(&payer)))
}

/// Moves in the ledger what a change has changed: a new payer owes everything, the old one nothing.
fn correct(tx: &Tx<'_>, before: &Due, after: &Due) -> Result<()> {
    let all = |due: &Due| {
        [
            (Book::Owed, due.net() + due.late_fee),
            (Book::Discounts, due.discount),
            (Book::Dues, -due.amount),
            (Book::LateFees, -due.late_fee),
        ]
    };
    if before.payer_id != after.payer_id {
        let back = all(before).map(|(book, amount)| (book, -amount));
        ledger::enter(tx, Movement::Correction, &before.about(), None, &back)?;
        return ledger::enter(tx, Movement::Correction, &after.about(), None, &all(after));
    }
    let more = after.amount - before.amount;
    let moved = [(Book::Owed, more), (Book::Dues, -more)];
    ledger::enter(tx, Movement::Correction, &after.about(), None, &moved)
}

/// Waives what is open of a due.
pub fn waive(
    tx: &Tx<'_>,
    reach: &Reach,
    id: DueId,
    expected: &Expected,
    new: Waiver,
) -> Result<Shown> {
    let before = expected.check(due::managed(tx, reach, id))?;
    let open = before.due.balance();
    if open == 0 {
        let refusal = match before.due.status {
            Status::Waived => "The due was waived already.",
            _ => "The due is paid; give something back instead.",
        };
        return Err(Error::invalid_state(refusal));
    }
    let waived = before.due.waived + open;
    let due = Due { waived, waive_reason: Some(new.reason), ..before.due.clone() };
    let moved = [(Book::Waived, open), (Book::Owed, -open)];
    ledger::enter(tx, Movement::Waiver, &due.about(), None, &moved)?;
    let after = due::save(tx, Whole { due, ..before.clone() })?;
    letter::cancel(tx, &id.to_string())?;
    tx.tell_change("dues.waived", &before.told(tx.now()), &after.told(tx.now()))?;
    Ok(after.shown(tx.now()))
}
