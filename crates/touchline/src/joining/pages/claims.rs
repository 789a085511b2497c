//! `/account/claims`: what one has asked for, and what others ask of a coach.

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use kit::Timestamp;
use store::{Reader, Scope, Tx};

use super::join;
use super::link::{self, New};
use crate::accounts::permits::OwnAccount;
use crate::accounts::user::{self, Role};
use crate::app::App;
use crate::error::{Code, Error};
use crate::ids::{ClaimId, InvitationId, TeamId};
use crate::joining::claim::{self, ClaimStatus, Waiting};
use crate::joining::desk::{self, Asked};
use crate::joining::invitation::{self, Relation};
use crate::joining::waiting;
use crate::paging::{Order, Page};
use crate::roster::standing;
use crate::signin::session;
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
        .route("/account/invitations/{id}/accept", post(accept))
}

/// What is said after something was done.
const DONE: [(&str, &str); 4] = [
    (
        "address",
        "You cannot accept this invitation yet. Confirm your email address in your profile, or ask the club to invite the address you sign in with.",
    ),
    ("asked", "Your request was sent. A coach or an admin of the club decides about it."),
    ("approved", "You approved the request. They can see the team now."),
    ("refused", "You refused the request."),
];

#[derive(Template)]
#[template(path = "joining/claims.html")]
struct Claims {
    /// Where the buttons lead.
    base: &'static str,
    frame: Frame,
    own: Vec<claim::Own>,
    /// Invitations that wait for this visitor.
    invitations: Vec<waiting::Waiting>,
    /// Whether the visitor has confirmed their email address.
    confirmed: bool,
    waiting: Vec<Asked>,
    next: String,
    /// The teams whose link this visitor can make.
    teams: Vec<(TeamId, String)>,
    now: Timestamp,
}

async fn show(visitor: Visitor<OwnAccount>) -> Outcome {
    let user = visitor.visit.user;
    let own = move |db: &Reader<'_>| {
        let user = user::find(db, user)?;
        let confirmed = user.email_verified_at.is_some();
        Ok::<_, Error>((claim::of_user(db, user.id)?, waiting::list(db, &user)?, confirmed))
    };
    let (own, invitations, confirmed) =
        visitor.app().db.read(visitor.guest.scope("own claims"), own).await?;
    let (mut waiting, mut next, mut teams) = (Vec::new(), String::new(), Vec::new());
    if visitor.visit.club.is_some() {
        let asked = leaf::Asked::of(&visitor, Order::Asc)?;
        let open = move |db: &Reader<'_>, part: &Page<ClaimId>| {
            claim::open_of(db, &standing::of(db, user)?, part)
        };
        let leaf: Leaf<Waiting> = Leaf::read(&visitor, &asked, open).await?;
        let admin = matches!(visitor.visit.role, Some(Role::Owner | Role::Admin));
        let look = move |db: &Reader<'_>| {
            let standing = standing::of(db, user)?;
            let asked = if admin {
                desk::asked(db, leaf.rows)?
            } else {
                desk::asked_of(db, (user, &standing), leaf.rows)?
            };
            Ok((asked, desk::named(db, standing.leads)?))
        };
        (waiting, teams) = visitor.read(look).await?;
        next = leaf.next;
    }
    let now = visitor.app().clock.now();
    let frame = visitor.frame("Joining", Section::Joining).flash(visitor.guest.done(&DONE));
    let page =
        Claims { base: CLAIMS, frame, own, invitations, confirmed, waiting, next, teams, now };
    Ok(page::html(StatusCode::OK, &page)?)
}

/// Accepts an invitation that waits for this visitor.
async fn accept(At(id): At<InvitationId>, posted: Posted<OwnAccount>) -> Outcome {
    let visitor = &posted.visitor;
    let (user, session) = (visitor.visit.user, visitor.visit.session);
    let look = move |db: &Reader<'_>| waiting::list(db, &user::find(db, user)?);
    let waiting = visitor.app().db.read(visitor.guest.scope("invitations"), look).await?;
    let found = waiting.into_iter().find(|one| one.id == id && one.team.is_none());
    let club = found.ok_or_else(invitation::gone)?.account_id;
    let can_confirm = visitor.app().courier.has_server();
    let work = move |tx: &Tx<'_>| {
        let role = invitation::accept(tx, id, &user::find(tx, user)?, (false, can_confirm))?;
        session::switch(tx, session, club)?;
        Ok::<_, Error>(role)
    };
    let scope = Scope::account(club, user.to_string()).for_request(visitor.guest.context.id());
    match visitor.app().db.write(scope, work).await {
        Ok(role) => Ok(join::joined(role)),
        Err(error) if error.code == Code::InvalidState => {
            Ok(see_other(&format!("{CLAIMS}?done=address")))
        }
        Err(error) => Err(error.into()),
    }
}

async fn approve(At(id): At<ClaimId>, posted: Posted<OwnAccount>) -> Outcome {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| claim::approve(tx, by, id)).await?;
    Ok(see_other(&format!("{CLAIMS}?done=approved")))
}

async fn refuse(At(id): At<ClaimId>, posted: Posted<OwnAccount>) -> Outcome {
    let (visitor, by) = (&posted.visitor, posted.visitor.visit.user);
    visitor.write(move |tx: &Tx<'_>| claim::refuse(tx, by, id)).await?;
    Ok(see_other(&format!("{CLAIMS}?done=refused")))
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
