//! `/`: the way to where somebody belongs. `/accounts`: choosing another club.

use askama::Template;
use axum::Router;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use store::{Reader, Tx};

use crate::accounts::own;
use crate::accounts::permits::OwnAccount;
use crate::accounts::user::{self, Club, Role};
use crate::app::App;
use crate::error::Error;
use crate::ids::AccountId;
use crate::signin::session;
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{Guest, Outcome, Posted, Visitor, see_other};

pub(super) fn router() -> Router<App> {
    Router::new().route("/", get(start)).route("/accounts", get(choose).post(switch))
}

#[derive(Template)]
#[template(path = "signin/not_set_up.html")]
struct NotSetUpPage {
    frame: Frame,
}

/// Leads people to their pages and programs to the API reference. Without any user, people are told how to
/// set the service up; the link itself is a secret and never shown here.
async fn start(guest: Guest, headers: HeaderMap) -> Outcome {
    if let Some(visit) = &guest.visit {
        return Ok(see_other(match visit.role {
            _ if visit.pending => "/sign-in/code",
            Some(Role::Owner | Role::Admin) => "/admin",
            // Whoever belongs to no club finds their invitations and requests there.
            None => "/account/claims",
            _ => "/account",
        }));
    }
    let wanted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !wanted.contains("text/html") {
        return Ok(reference());
    }
    if guest.app.db.read(guest.scope("start"), own::anybody).await? {
        return Ok(see_other("/sign-in"));
    }
    let frame = guest.frame("Set up this server");
    Ok(page::html(StatusCode::OK, &NotSetUpPage { frame })?)
}

fn reference() -> Response {
    Redirect::temporary("/docs").into_response()
}

#[derive(Template)]
#[template(path = "signin/clubs.html")]
struct ClubsPage {
    frame: Frame,
    clubs: Vec<Club>,
    shown: Option<AccountId>,
}

impl ClubsPage {
    fn shows(&self, club: &Club) -> bool {
        self.shown == Some(club.id)
    }
}

async fn choose(visitor: Visitor<OwnAccount>) -> Outcome {
    let id = visitor.visit.user;
    let look = move |db: &Reader<'_>| user::clubs(db, id);
    let clubs = visitor.app().db.read(visitor.guest.scope("clubs"), look).await?;
    let frame = visitor.frame("Your clubs", Section::None);
    let page = ClubsPage { frame, clubs, shown: visitor.visit.club };
    Ok(page::html(StatusCode::OK, &page)?)
}

async fn switch(Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    let club: AccountId = form.text("club").parse().map_err(|_| Error::not_found())?;
    let (id, session) = (visitor.visit.user, visitor.visit.session);
    let change = move |tx: &Tx<'_>| {
        if !user::clubs(tx, id)?.iter().any(|known| known.id == club) {
            return Err(Error::not_found());
        }
        session::switch(tx, session, club)
    };
    visitor.write_own("sessions", change).await?;
    Ok(see_other("/"))
}
