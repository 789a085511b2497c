//! The pages about all people of the club, for admins: the directory, one person with everything about them, and merging
//! two records.

mod directory;
mod edit;
mod medical;
mod merging;
mod personal_data;
mod show;

use crate::prelude::*;
use crate::privacy::PeopleManage;
use crate::roster::merge;
use crate::roster::person::{self, Person};
use crate::web::module::Module;
use crate::web::prelude::*;
use crate::web::visitor::PageError;

/// This module.
pub const MODULE: Module = Module { pages: router, ..Module::EMPTY };

/// The directory.
const PEOPLE: &str = "/people";
/// The messages that a page shows after a redirect, by the value of `?done=`.
const FLASH_MESSAGES: [(&str, &str); 5] = [
    ("saved", mark!("Changes saved.")),
    ("merged", mark!("The records were merged.")),
    ("erased", mark!("The personal data was erased.")),
    ("confirmed", mark!("You confirmed this person as an adult.")),
    ("minor", mark!("This person is now treated as a minor.")),
];

/// An admin of the club.
type Admin = Visitor<PeopleManage>;
/// An admin, and the form they sent.
type AdminForm = VisitorForm<PeopleManage>;

fn router() -> Router<App> {
    Router::new()
        .route(PEOPLE, get(directory::list))
        .route("/people/duplicates", get(directory::duplicates))
        .route("/people/{person}", get(show::show))
        .route("/people/{person}/edit", get(edit::form).post(edit::save))
        .route("/people/{person}/medical", get(medical::ask).post(medical::submit))
        .route("/people/{person}/adult", post(show::confirm_adult))
        .route("/people/{person}/minor", post(show::mark_minor))
        .route("/people/{person}/merge", get(merging::choose).post(merging::merge))
        .route(
            "/people/{person}/export",
            get(personal_data::ask_export).post(personal_data::export),
        )
        .route("/people/{person}/erase", get(personal_data::ask_erase).post(personal_data::erase))
}

fn path(id: PersonId) -> String {
    format!("{PEOPLE}/{id}")
}

/// A person of the club. A record that became part of another one leads to the page of that one.
async fn find(visitor: &Admin, id: PersonId) -> PageResult<Person> {
    let read = move |db: &Reader<'_>| {
        Ok((person::find(db, id).or_none()?, merge::find_remaining(db, id)?))
    };
    match visitor.read(read).await? {
        (Some(person), _) => Ok(person),
        (None, Some(remaining)) => Err(PageError::Redirect(path(remaining))),
        (None, None) => Err(Error::not_found().into()),
    }
}

/// A person for a form that was submitted. If the record became part of another one in the meantime, the error page shows
/// what was entered.
async fn find_to_change(visitor: &Admin, id: PersonId) -> PageResult<Person> {
    let detail = "This record was merged into another record of the same person in the meantime, so nothing was saved. \
        Enter your changes there.";
    match find(visitor, id).await {
        Err(PageError::Redirect(_)) => Err(Error::invalid_state(detail).into()),
        found => found,
    }
}
