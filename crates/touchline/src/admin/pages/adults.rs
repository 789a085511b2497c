//! `/admin/members/adults`: adults whom an admin has yet to confirm, as such or as guardians.

use std::collections::BTreeMap;

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use kit::Timestamp;
use store::{Reader, Tx};

use crate::accounts::permits::AdminArea;
use crate::accounts::rights::Reach;
use crate::app::App;
use crate::ids::PersonId;
use crate::paging::Order;
use crate::roster::confirmations::{self, Unconfirmed};
use crate::roster::{guardian, pages, person, safeguarding};
use crate::web::leaf::{Asked, Leaf};
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

const ADULTS: &str = "/admin/members/adults";
const DONE: [(&str, &str); 4] = [
    ("confirmed", "You confirmed them."),
    ("removed", "They are not a guardian of that child any more."),
    ("minor", "They are treated as a minor from now on."),
    ("asked", "We sent them a link to confirm their address."),
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
struct Adults {
    frame: Frame,
    people: Vec<Unconfirmed>,
    descriptions: BTreeMap<PersonId, Vec<String>>,
    next: String,
    /// Whether email can be sent.
    mail: bool,
    now: Timestamp,
}

impl Adults {
    fn describe(&self, id: &PersonId) -> String {
        self.descriptions.get(id).map(|lines| lines.join(", ")).unwrap_or_default()
    }
}

async fn list(visitor: Visitor<AdminArea>) -> Outcome {
    let asked = Asked::of(&visitor, Order::Asc)?;
    let Leaf { rows: people, next } = Leaf::read(&visitor, &asked, confirmations::list).await?;
    let ids = people.iter().map(|one| one.id).collect();
    let look = move |db: &Reader<'_>| confirmations::descriptions(db, ids);
    let descriptions = visitor.read(look).await?;
    let frame =
        visitor.frame("Adults to confirm", Section::Members).flash(visitor.guest.done(&DONE));
    let (mail, now) = (visitor.app().courier.has_server(), visitor.app().clock.now());
    Ok(page::html(StatusCode::OK, &Adults { frame, people, descriptions, next, mail, now })?)
}

async fn confirm(At(id): At<PersonId>, posted: Posted<AdminArea>) -> Outcome {
    let work = move |tx: &Tx<'_>| safeguarding::confirm_adult(tx, &Reach::Everywhere, id).map(drop);
    posted.visitor.write(work).await?;
    Ok(see_other(&format!("{ADULTS}?done=confirmed")))
}

async fn remove_guardian(At(id): At<PersonId>, posted: Posted<AdminArea>) -> Outcome {
    posted.visitor.write(move |tx: &Tx<'_>| guardian::remove_unconfirmed(tx, id)).await?;
    Ok(see_other(&format!("{ADULTS}?done=removed")))
}

async fn mark_minor(At(id): At<PersonId>, posted: Posted<AdminArea>) -> Outcome {
    let work = move |tx: &Tx<'_>| safeguarding::mark_minor(tx, &Reach::Everywhere, id).map(drop);
    posted.visitor.write(work).await?;
    Ok(see_other(&format!("{ADULTS}?done=minor")))
}

async fn ask_for_confirmation(At(id): At<PersonId>, posted: Posted<AdminArea>) -> Outcome {
    let visitor = &posted.visitor;
    let person = visitor.read(move |db: &Reader<'_>| person::find(db, id)).await?;
    pages::send_link(visitor.app(), visitor.club()?, &person).await?;
    Ok(see_other(&format!("{ADULTS}?done=asked")))
}
