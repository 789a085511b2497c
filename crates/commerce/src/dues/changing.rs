//! Updating a due before anything is paid, and waiving its open balance.

use macros::input;

use super::api::charges;
use super::charging;
use super::due::{self, Category, Due, DueView, DueWithPlan, LateFee, Status};
use super::plan::{self, NewInstallment};
use super::reminders;
use crate::mail::email;
use crate::money::ledger::{self, Book, Movement};
use crate::prelude::*;
use crate::teams::team;

/// Changes to a due. Omitted fields stay unchanged; `null` clears a field.
#[input(as = UpdateDueRequest)]
#[derive(Default)]
pub struct DueChange {
    /// What the due is for, shown to payers.
    #[input(line(120), non_null)]
    pub title: Option<String>,
    /// What kind of charge it is.
    #[input(non_null)]
    pub category: Option<Category>,
    /// Note shown to payers; `null` removes it.
    #[input(block(1000))]
    pub note: Change<String>,
    /// Amount in minor units, before the discount. The discount stays unchanged.
    #[input(number(1, 1_000_000_000_000), non_null)]
    pub amount: Option<i64>,
    /// New due date of a due with a single installment. If there are several, send `installments` instead.
    #[schema(value_type = Option<String>, format = Date)]
    #[input(with(charges::day), non_null)]
    pub due_on: Option<Day>,
    /// Replaces all installments. If only `amount` changes, the existing installments are scaled in proportion.
    #[schema(value_type = Option<Vec<NewInstallment>>, max_items = 60)]
    #[input(with(charges::parts), non_null)]
    pub installments: Option<Vec<NewInstallment>>,
    /// ID of the person who pays: the member or one of their guardians.
    #[input(non_null)]
    pub payer: Option<PersonId>,
    /// Late fee that is added once when the due becomes overdue; `null` removes it.
    #[input(object)]
    pub late_fee: Change<LateFee>,
    /// Replaces all metadata; `null` clears it.
    pub metadata: Change<Metadata>,
}

/// A waiver of a due's open balance.
#[input(as = WaiveDueRequest)]
pub struct WaiveRequest {
    /// Why the balance is waived. The family can read it.
    #[schema(examples("Moved away"))]
    #[input(line(500))]
    pub reason: String,
}

/// Updates a due that has no payments.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: DueId,
    expected: &IfMatch,
    change: DueChange,
) -> Result<DueView> {
    let before = expected.check(due::find_managed(tx, access, id))?;
    if before.due.status != Status::Open {
        let detail =
            "This due cannot be changed because it is already paid, partly paid or waived.";
        return Err(Error::invalid_state(detail));
    }
    if change.late_fee != Change::Keep && before.due.late_fee_at.is_some() {
        return Err(Error::invalid_state(
            "The late fee cannot be changed because it was already added.",
        ));
    }
    let zone = team::find(tx, before.due.team_id)?.timezone;
    let (due, parts) = apply_change(tx, &before, change)?;
    let plan = plan::build(tx, id, &zone, &parts)?;
    let after = DueWithPlan { due, plan }.recalculate();
    if after == before {
        return Ok(before.view(tx.now()));
    }
    if after.plan != before.plan {
        plan::replace(tx, id, &after.plan)?;
    }
    post_correction(tx, &before.due, &after.due)?;
    let after = due::save_with_plan(tx, after)?;
    reminders::cancel_after_change(tx, id)?;
    tx.publish_change("dues.updated", &before.snapshot(tx.now()), &after.snapshot(tx.now()))?;
    Ok(after.view(tx.now()))
}

/// The due and its installments after the change, or everything that is wrong with it.
fn apply_change(
    tx: &Tx<'_>,
    before: &DueWithPlan,
    change: DueChange,
) -> Result<(Due, Vec<NewInstallment>)> {
    let old = &before.due;
    let mut faults = Vec::new();
    let amount = change.amount.unwrap_or(old.amount);
    let payer_id = change.payer.unwrap_or(old.payer_id);
    if payer_id != old.payer_id && !may_pay(tx, old.person_id, payer_id)? {
        let detail = "The payer must be the member or one of their guardians.";
        faults.push(Fault::new("/payer", "not_a_payer", detail));
    }
    if amount <= old.discount {
        let discount = old.discount;
        let detail =
            message!("The amount must be greater than the discount of {discount}.", discount);
        faults.push(Fault::new("/amount", "nothing_left", detail));
        return Err(Error::invalid(faults));
    }
    let parts =
        new_plan(before, amount - old.discount, change.due_on, change.installments, &mut faults);
    if !faults.is_empty() {
        return Err(Error::invalid(faults));
    }
    let fee = LateFee { amount: old.late_fee_amount, percent_bps: old.late_fee_bps };
    let fee = change.late_fee.apply_or(fee, LateFee { amount: None, percent_bps: None });
    let due = Due {
        title: change.title.unwrap_or_else(|| old.title.clone()),
        category: change.category.unwrap_or(old.category),
        note: change.note.apply(old.note.clone()),
        amount,
        payer_id,
        late_fee_amount: fee.amount,
        late_fee_bps: fee.percent_bps,
        due_on: parts.first().map_or(old.due_on, |part| part.due_on),
        metadata: change.metadata.apply_or(old.metadata.clone(), Metadata::default()),
        ..old.clone()
    };
    Ok((due, parts))
}

/// The installments after a change of due dates or amounts.
fn new_plan(
    before: &DueWithPlan,
    net: i64,
    due_on: Option<Day>,
    installments: Option<Vec<NewInstallment>>,
    faults: &mut Vec<Fault>,
) -> Vec<NewInstallment> {
    if let Some(parts) = installments {
        faults.extend(plan::validate(&parts, net, due_on));
        return parts;
    }
    let current = before.plan.iter();
    let current: Vec<_> =
        current.map(|part| NewInstallment { due_on: part.due_on, amount: part.amount }).collect();
    let parts = if net == before.due.net() { current } else { plan::scale(&current, net) };
    match (due_on, parts.as_slice()) {
        (Some(due_on), [only]) => vec![NewInstallment { due_on, ..*only }],
        (Some(_), _) => {
            let detail =
                "This due has several installments. Set their due dates in `installments`.";
            faults.push(Fault::new("/installments", "required", detail));
            parts
        }
        (None, _) => parts,
    }
}

fn may_pay(tx: &Tx<'_>, person: PersonId, payer: PersonId) -> Result<bool> {
    let guardians = charging::guardians(tx, vec![person])?;
    Ok(payer == person || guardians.get(&person).is_some_and(|own| own.contains(&payer)))
}

/// Posts the difference to the ledger. If the payer changes, the whole amount moves from the old payer to the new one.
fn post_correction(tx: &Tx<'_>, before: &Due, after: &Due) -> Result<()> {
    let all = |due: &Due| {
        [
            (Book::Receivable, due.net() + due.late_fee),
            (Book::Discounts, due.discount),
            (Book::Dues, -due.amount),
            (Book::LateFees, -due.late_fee),
        ]
    };
    if before.payer_id != after.payer_id {
        let reversed = all(before).map(|(book, amount)| (book, -amount));
        ledger::post(tx, Movement::Correction, &before.entry_context(), None, &reversed)?;
        return ledger::post(tx, Movement::Correction, &after.entry_context(), None, &all(after));
    }
    let difference = after.amount - before.amount;
    let amounts = [(Book::Receivable, difference), (Book::Dues, -difference)];
    ledger::post(tx, Movement::Correction, &after.entry_context(), None, &amounts)
}

/// Waives the open balance of a due.
pub fn waive(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: DueId,
    expected: &IfMatch,
    new: WaiveRequest,
) -> Result<DueView> {
    let before = expected.check(due::find_managed(tx, access, id))?;
    let open = before.due.balance();
    if open == 0 {
        let detail = match before.due.status {
            Status::Waived => "This due is already waived.",
            _ => "This due is fully paid. Refund a payment instead.",
        };
        return Err(Error::invalid_state(detail));
    }
    let waived = before.due.waived + open;
    let due = Due { waived, waive_reason: Some(new.reason), ..before.due.clone() };
    let amounts = [(Book::Waived, open), (Book::Receivable, -open)];
    ledger::post(tx, Movement::Waiver, &due.entry_context(), None, &amounts)?;
    let after = due::save_and_publish(tx, "dues.waived", &before, due)?;
    email::cancel(tx, &id.to_string())?;
    Ok(after.view(tx.now()))
}
