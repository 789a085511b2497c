//! `/people/{person}/export` and `/people/{person}/erase`: a copy of all data about a person, and its erasure.

use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};

use super::{Admin, AdminForm, find, path};
use crate::dues::statement;
use crate::i18n::{Locale, format};
use crate::money::pages::money_text;
use crate::prelude::*;
use crate::privacy::{api, erasure, person_export};
use crate::roster::person::{self, Person};
use crate::roster::{confirmations, erasure as roster_erasure};
use crate::web::confirm::{ConfirmPage, NoticePage};
use crate::web::form::FilledForm;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// Asks before the data is downloaded.
pub(super) async fn ask_export(PathParams(id): PathParams<PersonId>, visitor: Admin) -> PageResult {
    let person = find(&visitor, id).await?;
    visitor.require_recent_authentication(&format!("{}/export", path(id)))?;
    let lead = Sentence::new("A copy of everything that the club has stored about {name}.");
    let frame = visitor.frame(t!("Export data"), Section::People);
    ConfirmPage::new(frame, "Download", path(id))
        .harmless()
        .lead(lead.name("name", &person::display_name(&person)))
        .effect("You get a JSON file with teams, answers, messages, emails, dues and orders.")
        .effect("It contains the medical note and names of other people. Give it only to the person or their guardians.")
        .effect("The export is recorded in the audit log, with your name.")
        .respond()
}

/// Sends the file.
pub(super) async fn export(PathParams(id): PathParams<PersonId>, posted: AdminForm) -> PageResult {
    let visitor = posted.visitor;
    find(&visitor, id).await?;
    visitor.require_recent_authentication(&format!("{}/export", path(id)))?;
    visitor.write(move |tx: &Tx<'_>| person_export::record(tx, id)).await?;
    let collect = move |db: &Reader<'_>| person_export::collect(db, Scopes::all_named(), id);
    let data = visitor.read(collect).await?;
    let text = serde_json::to_string_pretty(&data)
        .map_err(|error| Error::internal(format!("cannot write the export: {error}")))?;
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{id}.json\"")),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, text).into_response())
}

/// What the erasure page says about a person.
struct Consequences {
    roles: Vec<String>,
    /// The guardians who are erased too.
    guardians: Vec<Person>,
    owed: Vec<String>,
}

fn consequences(db: &Reader<'_>, id: PersonId) -> Result<Consequences> {
    let totals = statement::of_payers(db, &[id], true, &[])?;
    let owed = totals.iter().filter(|total| total.sums.outstanding > 0);
    Ok(Consequences {
        roles: confirmations::descriptions(db, vec![id])?.remove(&id).unwrap_or_default(),
        guardians: roster_erasure::guardians_erased_with(db, id)?,
        owed: owed.map(|total| money_text(total.sums.outstanding, total.currency)).collect(),
    })
}

async fn erasure_page(visitor: &Admin, person: Person, error: Option<&Error>) -> PageResult {
    let (id, name) = (person.id, person::display_name(&person));
    let Consequences { roles, guardians, owed } =
        visitor.read(move |db: &Reader<'_>| consequences(db, id)).await?;
    let mut form = FilledForm::empty(&[]);
    if let Some(error) = error {
        form.add_error(error);
    }
    let frame = visitor.frame(t!("Erase {name}?", name), Section::People);
    let lead = Sentence::new(
        "All data that identifies {name} is erased everywhere. You cannot undo this.",
    );
    let mut page = ConfirmPage::new(frame, "Erase personal data", path(id))
        .lead(lead.name("name", &name))
        .form(form, "The data was not erased")
        .effect("Name, contact data, birth date, medical note, guardians and notes are gone, also from logs and sent emails.");
    let locale = Locale::current_or_english();
    if !owed.is_empty() {
        let text = Sentence::new("They still owe {amount}. You will no longer see who owes it.");
        page = page.warning("Open balance", text.word("amount", format::list(locale, owed)));
    }
    if !roles.is_empty() {
        let roles = format::list(locale, roles);
        page = page.effect(Sentence::new("They lose: {roles}.").name("roles", &roles));
    }
    for guardian in &guardians {
        let text = Sentence::new(
            "{guardian} is erased too, because the club knows them only through this person.",
        );
        page = page.effect(text.name("guardian", &person::display_name(guardian)));
    }
    page.effect(
        "Events, answers, messages in conversations, orders and payments stay, without a name.",
    )
    .effect("If they sign in, their account keeps working for other clubs.")
    .respond_with(error.map_or(StatusCode::OK, |error| error.code.status()))
}

/// Asks before the person is erased.
pub(super) async fn ask_erase(PathParams(id): PathParams<PersonId>, visitor: Admin) -> PageResult {
    let person = find(&visitor, id).await?;
    visitor.require_recent_authentication(&format!("{}/erase", path(id)))?;
    if person.erased_at.is_some() {
        let page = NoticePage {
            frame: visitor.frame(t!("Erase"), Section::People),
            lead: None,
            text: "This person is already erased.".into(),
            back: path(id),
            back_label: mark!("Back"),
        };
        return page.respond();
    }
    erasure_page(&visitor, person, None).await
}

/// Erases the person.
pub(super) async fn erase(PathParams(id): PathParams<PersonId>, posted: AdminForm) -> PageResult {
    let visitor = posted.visitor;
    let person = find(&visitor, id).await?;
    visitor.require_recent_authentication(&format!("{}/erase", path(id)))?;
    let work = move |tx: &Tx<'_>| {
        let (_, ids) = erasure::erase(tx, id)?;
        api::redact_stored_responses(tx, &ids)
    };
    match visitor.write(work).await {
        Ok(()) => {
            api::clear_erased_pages(visitor.app());
            Ok(see_other(&format!("{}?done=erased", path(id))))
        }
        Err(error) if error.code == Code::InvalidState => {
            erasure_page(&visitor, person, Some(&error)).await
        }
        Err(error) => Err(error.into()),
    }
}
