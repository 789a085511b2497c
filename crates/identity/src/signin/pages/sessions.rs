//! `/account/sessions`: the browsers that the user is signed in with.

use super::{AccountForm, AccountVisitor, audit, flash};
use crate::accounts::session::{self, Session};
use crate::prelude::*;
use crate::signin::passkey;
use crate::web::prelude::*;
use crate::web::visitor::clear_session_cookie;

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
    /// The sessions with the names of their browsers.
    sessions: Vec<(Session, String)>,
    /// The session of this request.
    current: SessionId,
    now: Timestamp,
}

async fn show(visitor: AccountVisitor) -> PageResult {
    let (user, current) = (visitor.visit.user, visitor.visit.session);
    let sessions = visitor.guest.read("account", move |db| session::list(db, user)).await?;
    let with_browser = |session: Session| {
        let browser = browser_name(session.user_agent.as_deref().unwrap_or_default());
        (session, browser)
    };
    let frame = visitor.frame(t!("Signed-in browsers"), Section::Sessions);
    let frame = frame.flash(flash(&visitor.guest));
    let sessions = sessions.into_iter().map(with_browser).collect();
    let page = SessionsPage { frame, sessions, current, now: visitor.app().clock.now() };
    render(StatusCode::OK, &page)
}

/// The name of a browser and its system, from the user agent.
fn browser_name(agent: &str) -> String {
    let browsers = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    let name = passkey::browser_and_system(agent, &browsers, "Chromebook");
    name.unwrap_or_else(|| t!("Unknown browser").to_owned())
}

async fn end(
    PathParams(id): PathParams<String>,
    AccountForm { visitor, .. }: AccountForm,
) -> PageResult {
    let id: SessionId = id.parse().map_err(|_| Error::not_found())?;
    let user = visitor.visit.user;
    if !visitor.write_user("sessions", move |tx| session::end(tx, user, id)).await? {
        return Err(Error::not_found().into());
    }
    audit(&visitor.guest, user, "user.session_ended", json!({ "session": id })).await?;
    if id == visitor.visit.session {
        return Ok(clear_session_cookie(see_other("/sign-in?done=signed-out")));
    }
    Ok(see_other("/account/sessions?done=ended"))
}

async fn end_others(AccountForm { visitor, .. }: AccountForm) -> PageResult {
    let (user, current) = (visitor.visit.user, visitor.visit.session);
    let end = move |tx: &Tx<'_>| session::end_others(tx, user, Some(current));
    let ended = visitor.write_user("sessions", end).await?;
    audit(&visitor.guest, user, "user.sessions_ended", json!({ "sessions": ended })).await?;
    Ok(see_other("/account/sessions?done=others"))
}

#[cfg(test)]
mod tests {
    use super::browser_name;

    #[test]
    fn browser_names_come_from_the_user_agent() {
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
        assert_eq!(browser_name(chrome), "Chrome on Windows");
        assert_eq!(browser_name(&format!("{chrome} Edg/131.0")), "Edge on Windows");
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1";
        assert_eq!(browser_name(phone), "Safari on iPhone");
        assert_eq!(browser_name("curl/8"), "Unknown browser");
    }
}
