//! `/account/claims`: what one has asked for, and what others ask of a coach.

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use kit::Timestamp;
use store::{Reader, Tx};

use super::link::{self, New};
use crate::accounts::permits::OwnAccount;
use crate::accounts::user::Role;
use crate::app::App;
use crate::error::Error;
use crate::ids::{ClaimId, TeamId};
use crate::joining::claim::{self, ClaimStatus, Waiting};
use crate::joining::desk::{self, Asked};
use crate::joining::invitation::{self, Relation};
use crate::paging::{Order, Page};
use crate::roster::standing;
use crate::web::leaf::{self, Leaf};
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

const CLAIMS: &str = "/account/claims";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(CLAIMS, get(show))
        .route("/account/claims/{id}/approve", post(approve))
        .route("/account/claims/{id}/refuse", post(refuse))
        .route("/account/claims/link", post(open_team))
}

#[derive(Template)]
#[template(path = "joining/claims.html")]
struct Claims {
    /// Where the buttons lead.
    base: &'static str,
    frame: Frame,
    own: Vec<claim::Own>,
    waiting: Vec<Asked>,
    next: String,
    /// The teams whose link this visitor can make.
    teams: Vec<(TeamId, String)>,
    now: Timestamp,
}

async fn show(visitor: Visitor<OwnAccount>) -> Outcome {
    let user = visitor.visit.user;
    let own = move |db: &Reader<'_>| claim::of_user(db, user);
    let own = visitor.app().db.read(visitor.guest.scope("own claims"), own).await?;
    let (mut waiting, mut next, mut teams) = (Vec::new(), String::new(), Vec::new());
    if visitor.visit.club.is_some() {
        let asked = leaf::Asked::of(&visitor, Order::Asc)?;
        let open = move |db: &Reader<'_>, part: &Page<ClaimId>| {
            claim::open_of(db, &standing::of(db, user)?.leads, part)
        };
        let leaf: Leaf<Waiting> = Leaf::read(&visitor, &asked, open).await?;
        let admin = matches!(visitor.visit.role, Some(Role::Owner | Role::Admin));
        let look = move |db: &Reader<'_>| {
            let leads = standing::of(db, user)?.leads;
            let asked = if admin {
                desk::asked(db, leaf.rows)?
            } else {
                desk::asked_of(db, (user, &leads), leaf.rows)?
            };
            Ok((asked, desk::named(db, leads)?))
        };
        (waiting, teams) = visitor.read(look).await?;
        next = leaf.next;
    }
    let now = visitor.app().clock.now();
    let frame = visitor.frame("Joining", Section::Joining);
    Ok(page::html(StatusCode::OK, &Claims { base: CLAIMS, frame, own, waiting, next, teams, now })?)
}

async fn approve(At(id): At<ClaimId>, posted: Posted<OwnAccount>) -> Outcome {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| claim::approve(tx, by, id)).await?;
    Ok(see_other(CLAIMS))
}

async fn refuse(At(id): At<ClaimId>, posted: Posted<OwnAccount>) -> Outcome {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| claim::refuse(tx, by, id)).await?;
    Ok(see_other(CLAIMS))
}

/// Makes a team's link in place of the one it had, and shows it once.
async fn open_team(posted: Posted<OwnAccount>) -> Outcome {
    let Posted { visitor, form } = posted;
    let team: TeamId = form.text("team").parse().map_err(|_| Error::not_found())?;
    let by = visitor.visit.user;
    let open = move |tx: &Tx<'_>| invitation::open_team(tx, by, team);
    let (made, token) = visitor.write(open).await?;
    let frame = visitor.frame("A link for your team", Section::Joining);
    let new = New {
        token: &token,
        expires_at: made.expires_at,
        email: None,
        mailed: false,
        back: CLAIMS,
    };
    Ok(link::show(&visitor, frame, &new)?)
}
