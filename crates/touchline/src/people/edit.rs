//! `/people/{person}/edit`: the data of a person, except for the medical note.

use super::{Admin, AdminForm, find, find_to_change, path};
use crate::prelude::*;
use crate::roster::person::{self, Person};
use crate::roster::profile::{self, ProfileChange};
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[
    Field::pair(
        "Name",
        &[
            Field::line("first_name", "First name", 120).required("Enter a first name."),
            Field::line("last_name", "Last name", 120),
        ],
    ),
    Field::line("preferred_name", "Preferred name", 120)
        .hint("If the person goes by another name."),
    Field::day("birth_date", "Birth date"),
    Field::email("email", "Email"),
    Field::line("phone", "Phone", 40),
    Field::block("address", "Address", 500),
    Field::block("emergency_contact", "Emergency contact", 500).hint("A name and a phone number."),
    Field::check("email_opt_in", "Club emails", "The person accepts emails from the club."),
];

#[derive(Template)]
#[template(path = "people/edit.html")]
struct EditPage {
    frame: Frame,
    back: String,
    form: FilledForm,
    /// Only the page of the medical note shows it.
    saved: String,
}

/// The form with the values of the person.
fn edit_form(person: &Person) -> FilledForm {
    let values = json!({
        "first_name": person.first_name,
        "last_name": person.last_name,
        "preferred_name": person.preferred_name,
        "birth_date": person.birth_date,
        "email": person.email,
        "phone": person.phone,
        "address": person.address,
        "emergency_contact": person.emergency_contact,
        "email_opt_in": person.email_opt_in,
    });
    FilledForm::empty(FIELDS).filled_from(&values).fingerprint()
}

fn show_form(visitor: &Admin, person: &Person, form: FilledForm) -> PageResult {
    let name = person::display_name(person);
    let frame = visitor.frame(t!("Edit {name}", name), Section::People);
    render(form.status(), &EditPage { frame, back: path(person.id), form, saved: String::new() })
}

pub(super) async fn form(PathParams(id): PathParams<PersonId>, visitor: Admin) -> PageResult {
    let person = find(&visitor, id).await?;
    show_form(&visitor, &person, edit_form(&person))
}

pub(super) async fn save(
    PathParams(id): PathParams<PersonId>,
    AdminForm { visitor, form }: AdminForm,
) -> PageResult {
    let person = find_to_change(&visitor, id).await?;
    let mut form = FilledForm::submitted(FIELDS, &form);
    if !form.conflicts_with(&edit_form(&person))
        && let Some(change) = form.parse::<ProfileChange>()
    {
        let expected = IfMatch::Versions(vec![person.version]);
        let save =
            move |tx: &Tx<'_>| profile::change(tx, &TeamAccess::AllTeams, id, &expected, change);
        if form.accept(visitor.write(save).await)?.is_some() {
            return Ok(see_other(&format!("{}?done=saved", path(id))));
        }
    }
    show_form(&visitor, &person, form)
}
