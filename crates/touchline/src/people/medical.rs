//! `/people/{person}/medical`: the medical note. Reading it is recorded in the audit log.

use super::{Admin, AdminForm, find, find_to_change, path};
use crate::prelude::*;
use crate::roster::person::{self, Person};
use crate::roster::private_data::HasPrivateData;
use crate::roster::profile::{self, ProfileChange};
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[Field::block("medical_note", "Medical note", 10_000)
    .hint("For example, allergies and medication.")];

#[derive(Template)]
#[template(path = "people/edit.html")]
struct NotePage {
    frame: Frame,
    back: String,
    form: FilledForm,
    /// The saved note, if somebody else changed it meanwhile.
    saved: String,
}

/// Asks before the note is shown.
pub(super) async fn ask(PathParams(id): PathParams<PersonId>, visitor: Admin) -> PageResult {
    let person = find(&visitor, id).await?;
    let frame = visitor.frame(t!("Medical note"), Section::People);
    let name = person::display_name(&person);
    ConfirmPage::new(frame, "Show medical note", path(id))
        .harmless()
        .lead(crate::web::sentence::Sentence::new("Medical note of {name}.").name("name", &name))
        .effect("The audit log records that you read the note, with your name.")
        .respond()
}

fn show_form(visitor: &Admin, person: &Person, form: FilledForm, saved: String) -> PageResult {
    let name = person::display_name(person);
    let frame = visitor.frame(t!("Medical note of {name}", name), Section::People);
    render(form.status(), &NotePage { frame, back: path(person.id), form, saved })
}

/// Records that the visitor reads the note.
async fn record_reading(visitor: &Admin, id: PersonId) -> Result<()> {
    let read = move |tx: &Tx<'_>| {
        let profile = profile::show(tx, &TeamAccess::AllTeams, id)?;
        match profile.read_audit_entry() {
            Some(entry) => tx.audit(entry.action, &entry.subject, &entry.details),
            None => Ok(()),
        }
    };
    visitor.write(read).await
}

/// Shows the note; saves it if the form contains one.
pub(super) async fn submit(
    PathParams(id): PathParams<PersonId>,
    AdminForm { visitor, form }: AdminForm,
) -> PageResult {
    let person = find_to_change(&visitor, id).await?;
    let current = FilledForm::empty(FIELDS)
        .filled_from(&json!({ "medical_note": person.medical_note }))
        .fingerprint();
    if form.get("medical_note").is_none() {
        record_reading(&visitor, id).await?;
        return show_form(&visitor, &person, current, String::new());
    }
    let mut form = FilledForm::submitted(FIELDS, &form);
    if form.conflicts_with(&current) {
        // The visitor has not seen this note, and would overwrite it.
        record_reading(&visitor, id).await?;
        let saved = person.medical_note.clone().unwrap_or_default();
        return show_form(&visitor, &person, form, saved);
    }
    if let Some(change) = form.parse::<ProfileChange>() {
        let save = move |tx: &Tx<'_>| {
            profile::change(tx, &TeamAccess::AllTeams, id, &IfMatch::Absent, change)
        };
        if form.accept(visitor.write(save).await)?.is_some() {
            return Ok(see_other(&format!("{}?done=saved", path(id))));
        }
    }
    show_form(&visitor, &person, form, String::new())
}
