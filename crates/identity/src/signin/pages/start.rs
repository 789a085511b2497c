//! What `/` shows to visitors who have no club. `/accounts`: switches to another club.

use axum::response::Redirect;
use http::HeaderMap;
use http::header::ACCEPT;

use super::{AccountForm, AccountVisitor};
use crate::accounts::profile;
use crate::accounts::session;
use crate::accounts::user::{self, Club, Role};
use crate::prelude::*;
use crate::web::prelude::*;
use crate::web::visitor::{Guest, safe_redirect_path};

pub(super) fn router() -> Router<App> {
    Router::new().route("/accounts", get(choose).post(switch))
}

#[derive(Template)]
#[template(path = "signin/not_set_up.html")]
struct NotSetUpPage {
    frame: Frame,
}

/// Redirects users without a club to their invitations, other browsers to sign-in, and other clients to the API
/// reference. Before the initial setup, shows how to set up the service; the setup link itself is a secret and never
/// shown here.
pub async fn start(guest: Guest, headers: HeaderMap) -> PageResult {
    if let Some(visit) = &guest.visit {
        return Ok(see_other(if visit.pending { "/sign-in/code" } else { "/account/claims" }));
    }
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !accept.contains("text/html") {
        return Ok(Redirect::temporary("/docs").into_response());
    }
    if guest.read("start", profile::any_user_exists).await? {
        return Ok(see_other("/sign-in"));
    }
    let frame = guest.frame(t!("Set up this server"));
    render(StatusCode::OK, &NotSetUpPage { frame })
}

#[derive(Template)]
#[template(path = "signin/clubs.html")]
struct ClubsPage {
    frame: Frame,
    clubs: Vec<Club>,
    /// The club whose pages are shown now.
    current: Option<AccountId>,
}

impl ClubsPage {
    fn is_current(&self, club: &Club) -> bool {
        self.current == Some(club.id)
    }
}

async fn choose(visitor: AccountVisitor) -> PageResult {
    let id = visitor.visit.user;
    let clubs = visitor.guest.read("clubs", move |db| user::clubs(db, id)).await?;
    let frame = visitor.frame(t!("Your clubs"), Section::None);
    let page = ClubsPage { frame, clubs, current: visitor.visit.club };
    render(StatusCode::OK, &page)
}

async fn switch(AccountForm { visitor, form }: AccountForm) -> PageResult {
    let club: AccountId = form.text("club").parse().map_err(|_| Error::not_found())?;
    let (id, session) = (visitor.visit.user, visitor.visit.session);
    let change = move |tx: &Tx<'_>| {
        if !user::clubs(tx, id)?.iter().any(|own| own.id == club) {
            return Err(Error::not_found());
        }
        session::switch_club(tx, session, club)
    };
    visitor.write_user("sessions", change).await?;
    Ok(see_other(safe_redirect_path(form.text("next"))))
}
