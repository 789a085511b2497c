//! `/account/sessions`: the browsers somebody is signed in with.

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use kit::Timestamp;
use serde_json::json;
use store::{Reader, Tx};

use super::{flash, note};
use crate::accounts::permits::OwnAccount;
use crate::app::App;
use crate::error::Error;
use crate::ids::SessionId;
use crate::signin::session::{self, Session};
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Visitor, see_other, signed_out};

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/account/sessions", get(show))
        .route("/account/sessions/end-others", post(end_others))
        .route("/account/sessions/{id}/end", post(end))
}

#[derive(Template)]
#[template(path = "account/sessions.html")]
struct SessionsPage {
    frame: Frame,
    sessions: Vec<Line>,
    now: Timestamp,
}

struct Line {
    session: Session,
    browser: String,
    /// Whether it is the browser that looks at the page.
    own: bool,
}

async fn show(visitor: Visitor<OwnAccount>) -> Outcome {
    let (user, own) = (visitor.visit.user, visitor.visit.session);
    let look = move |db: &Reader<'_>| session::list(db, user);
    let sessions = visitor.app().db.read(visitor.guest.scope("account"), look).await?;
    let line = |session: Session| Line {
        browser: browser(session.user_agent.as_deref().unwrap_or_default()),
        own: session.id == own,
        session,
    };
    let frame = visitor.frame("Sessions", Section::Sessions).flash(flash(&visitor.guest));
    let sessions = sessions.into_iter().map(line).collect();
    let page = SessionsPage { frame, sessions, now: visitor.app().clock.now() };
    Ok(page::html(StatusCode::OK, &page)?)
}

/// What a browser calls itself, in a few words.
fn browser(agent: &str) -> String {
    let first = |known: &[(&str, &'static str)]| {
        known.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    // Most browsers also name those they descend from, so the order matters.
    let name = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = first(&[
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "Mac"),
        ("CrOS", "Chromebook"),
        ("Linux", "Linux"),
    ]);
    match (name, system) {
        (Some(name), Some(system)) => format!("{name} on {system}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => "Unknown browser".to_owned(),
    }
}

async fn end(At(id): At<String>, Posted { visitor, .. }: Posted<OwnAccount>) -> Outcome {
    let id: SessionId = id.parse().map_err(|_| Error::not_found())?;
    let user = visitor.visit.user;
    let end = move |tx: &Tx<'_>| session::end(tx, user, id);
    if !visitor.write_own("sessions", end).await? {
        return Err(Error::not_found().into());
    }
    note(&visitor.guest, user, "user.session_ended", json!({ "session": id })).await?;
    if id == visitor.visit.session {
        return Ok(signed_out(see_other("/sign-in?done=signed-out")));
    }
    Ok(see_other("/account/sessions?done=ended"))
}

async fn end_others(Posted { visitor, .. }: Posted<OwnAccount>) -> Outcome {
    let (user, own) = (visitor.visit.user, visitor.visit.session);
    let end = move |tx: &Tx<'_>| session::end_others(tx, user, Some(own));
    let ended = visitor.write_own("sessions", end).await?;
    note(&visitor.guest, user, "user.sessions_ended", json!({ "sessions": ended })).await?;
    Ok(see_other("/account/sessions?done=others"))
}

#[cfg(test)]
mod tests {
    use super::browser;

    #[test]
    fn browsers_are_known_by_what_they_say() {
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
        assert_eq!(browser(chrome), "Chrome on Windows");
        assert_eq!(browser(&format!("{chrome} Edg/131.0")), "Edge on Windows");
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1";
        assert_eq!(browser(phone), "Safari on iPhone");
        assert_eq!(browser("curl/8"), "Unknown browser");
    }
}
