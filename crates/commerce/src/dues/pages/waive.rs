//! The form to waive the open balance of a due.

use super::formatting::NamedDue;
use super::{Treasurer, TreasurerForm, detail_path};
use crate::dues::api::charges::MAX_REASON_LENGTH;
use crate::dues::changing::{self, WaiveRequest};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const FIELDS: &[Field] = &[Field::line("reason", "Reason", MAX_REASON_LENGTH)
    .hint("Visible to treasurers and to the family.")
    .required("Enter a reason.")];

fn show_form(visitor: &Treasurer, due: &NamedDue, form: FilledForm) -> PageResult {
    let frame = visitor.frame(t!("Waive open balance"), Section::Dues);
    let lead = Sentence::new("{title}, {person}.");
    let owed = Sentence::new("The family no longer owes {amount}.");
    let mut page = ConfirmPage::new(frame, "Waive", detail_path(due.id))
        .lead(lead.name("title", &due.title).name("person", &due.person()))
        .heading("What happens when you waive the open balance")
        .form(form, "Nothing was waived")
        .effect(owed.word("amount", due.money(due.balance)));
    if due.paid > 0 {
        let paid = Sentence::new("The {amount} already paid is not refunded.");
        page = page.effect(paid.word("amount", due.money(due.paid)));
    }
    page.effect("No more reminders are sent.")
        .effect("You cannot undo this, but you can charge again.")
        .respond()
}

pub(super) async fn form(visitor: Treasurer, PathParams(id): PathParams<DueId>) -> PageResult {
    let due = visitor.read(move |db| NamedDue::load(db, id)).await?;
    show_form(&visitor, &due, FilledForm::empty(FIELDS))
}

pub(super) async fn waive(
    PathParams(id): PathParams<DueId>,
    TreasurerForm { visitor, form }: TreasurerForm,
) -> PageResult {
    let due = visitor.read(move |db| NamedDue::load(db, id)).await?;
    let mut form = FilledForm::submitted(FIELDS, &form);
    if let Some(request) = form.parse::<WaiveRequest>() {
        let waive = move |tx: &Tx<'_>| {
            changing::waive(tx, &TeamAccess::AllTeams, id, &IfMatch::Absent, request)
        };
        if form.accept(visitor.write(waive).await)?.is_some() {
            return Ok(see_other(&format!("{}?done=waived", detail_path(id))));
        }
    }
    show_form(&visitor, &due, form)
}
