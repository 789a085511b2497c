//! `/admin/members/adults`: people an admin has yet to confirm as adults or as guardians.

use std::collections::BTreeMap;

use super::shared::{Admin, AdminForm};
use crate::prelude::*;
use crate::roster::confirmations::{self, UnconfirmedPerson};
use crate::roster::{guardian, pages, person, safeguarding};
use crate::web::prelude::*;

const ADULTS: &str = "/admin/members/adults";
const FLASH_MESSAGES: [(&str, &str); 4] = [
    ("confirmed", mark!("You confirmed this person.")),
    ("removed", mark!("This person is no longer a guardian of that child.")),
    ("minor", mark!("This person is now treated as a minor.")),
    ("asked", mark!("We sent this person a link to confirm their email address.")),
];

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(ADULTS, get(list))
        .route("/admin/members/adults/{id}/confirm", post(confirm))
        .route("/admin/members/adults/{id}/not_guardian", post(remove_guardian))
        .route("/admin/members/adults/{id}/minor", post(mark_minor))
        .route("/admin/members/adults/{id}/ask", post(ask_for_confirmation))
}

#[derive(Template)]
#[template(path = "admin/members_adults.html")]
struct AdultsPage {
    frame: Frame,
    people: Vec<UnconfirmedPerson>,
    descriptions: BTreeMap<PersonId, Vec<String>>,
    next: String,
    /// Whether email can be sent.
    mail: bool,
    now: Timestamp,
}

impl AdultsPage {
    fn describe(&self, id: &PersonId) -> String {
        self.descriptions.get(id).map(|lines| lines.join(", ")).unwrap_or_default()
    }
}

async fn list(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let RowPage { rows: people, next } =
        RowPage::read(&visitor, &request, confirmations::list).await?;
    let ids = people.iter().map(|one| one.id).collect();
    let read = move |db: &Reader<'_>| confirmations::descriptions(db, ids);
    let descriptions = visitor.read(read).await?;
    let frame = visitor
        .frame(t!("Adults to confirm"), Section::Members)
        .flash(visitor.guest.done_flash(&FLASH_MESSAGES));
    let (mail, now) = (visitor.app().direct_mailer.has_server(), visitor.app().clock.now());
    render(StatusCode::OK, &AdultsPage { frame, people, descriptions, next, mail, now })
}

async fn confirm(PathParams(id): PathParams<PersonId>, posted: AdminForm) -> PageResult {
    let work =
        move |tx: &Tx<'_>| safeguarding::confirm_adult(tx, &TeamAccess::AllTeams, id).map(drop);
    posted.visitor.write(work).await?;
    Ok(see_other(&format!("{ADULTS}?done=confirmed")))
}

async fn remove_guardian(PathParams(id): PathParams<PersonId>, posted: AdminForm) -> PageResult {
    posted.visitor.write(move |tx: &Tx<'_>| guardian::remove_unconfirmed(tx, id)).await?;
    Ok(see_other(&format!("{ADULTS}?done=removed")))
}

async fn mark_minor(PathParams(id): PathParams<PersonId>, posted: AdminForm) -> PageResult {
    let work = move |tx: &Tx<'_>| safeguarding::mark_minor(tx, &TeamAccess::AllTeams, id).map(drop);
    posted.visitor.write(work).await?;
    Ok(see_other(&format!("{ADULTS}?done=minor")))
}

async fn ask_for_confirmation(
    PathParams(id): PathParams<PersonId>,
    posted: AdminForm,
) -> PageResult {
    let visitor = &posted.visitor;
    let person = visitor.read(move |db: &Reader<'_>| person::find(db, id)).await?;
    pages::send_link(visitor.app(), visitor.club()?, &person).await?;
    Ok(see_other(&format!("{ADULTS}?done=asked")))
}
