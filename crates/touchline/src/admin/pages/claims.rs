//! Who asks to join, for those who look after the whole club.

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use kit::Timestamp;
use store::Tx;

use super::members::DONE;
use crate::accounts::permits::AdminArea;
use crate::app::App;
use crate::ids::ClaimId;
use crate::joining::claim;
use crate::joining::desk::{self, Asked};
use crate::joining::invitation::Relation;
use crate::paging::Order;
use crate::web::leaf::{self, Leaf};
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

const CLAIMS: &str = "/admin/members/claims";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(CLAIMS, get(list))
        .route("/admin/members/claims/{id}/approve", post(approve))
        .route("/admin/members/claims/{id}/refuse", post(refuse))
}

#[derive(Template)]
#[template(path = "admin/members_claims.html")]
struct Claims {
    frame: Frame,
    waiting: Vec<Asked>,
    next: String,
    /// Where the buttons lead.
    base: &'static str,
    now: Timestamp,
}

async fn list(visitor: Visitor<AdminArea>) -> Outcome {
    let asked = leaf::Asked::of(&visitor, Order::Asc)?;
    let Leaf { rows, next } = Leaf::read(&visitor, &asked, claim::open).await?;
    let waiting = visitor.read(move |db| desk::asked(db, rows)).await?;
    let frame =
        visitor.frame("Who wants to join", Section::Members).flash(visitor.guest.done(&DONE));
    let now = visitor.app().clock.now();
    Ok(page::html(StatusCode::OK, &Claims { frame, waiting, next, base: CLAIMS, now })?)
}

async fn approve(At(id): At<ClaimId>, posted: Posted<AdminArea>) -> Outcome {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| claim::approve(tx, by, id)).await?;
    Ok(see_other(&format!("{CLAIMS}?done=approved")))
}

async fn refuse(At(id): At<ClaimId>, posted: Posted<AdminArea>) -> Outcome {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| claim::refuse(tx, by, id)).await?;
    Ok(see_other(&format!("{CLAIMS}?done=refused")))
}
