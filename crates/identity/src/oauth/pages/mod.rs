//! Pages where users allow apps access and disconnect them.

mod authorize;
mod connected;
mod consent;

use http::HeaderValue;
use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY};

use crate::accounts::session::{self, SessionLookup};
use crate::accounts::user;
use crate::prelude::*;
use crate::web::page::html;
use crate::web::prelude::*;
use crate::web::visitor::Guest;

/// `/oauth/authorize`, `/oauth/consent/{token}`, `/account/apps`.
pub fn router() -> Router<App> {
    Router::new()
        .route("/oauth/authorize", get(authorize::authorize))
        .route("/oauth/consent/{token}", get(consent::show).post(consent::answer))
        .route("/account/apps", get(connected::list))
        .route("/account/apps/{app}/revoke", get(connected::confirm).post(connected::revoke))
}

/// An error page that does not redirect to the app.
#[derive(Template)]
#[template(path = "oauth/stop.html")]
struct ErrorPage<'a> {
    frame: Frame,
    text: &'a str,
    /// What the user can do.
    advice: &'a str,
}

/// The error page with these texts, which are marked for translation.
fn error_page(
    status: StatusCode,
    title: &'static str,
    text: &str,
    advice: &str,
) -> Result<Response> {
    let page = ErrorPage { frame: Frame::plain(t!(title)), text: t!(text), advice: t!(advice) };
    html(status, &page)
}

/// Whether the session is within the time limits of the user's role in the app's club, which may not be the club whose
/// pages are shown. If not, ends the session, so that the user signs in again.
async fn is_session_valid_in(
    guest: &Guest,
    club: AccountId,
    visit: &SessionLookup,
) -> Result<bool> {
    let (user, session) = (visit.user, visit.session);
    let scope = guest.scope_in(club, user);
    let role = guest.app.db.read_inline(scope, move |db| user::role_of(db, user)).await?;
    let is_valid = visit.is_valid_for_role(role, guest.app.clock.now());
    if !is_valid {
        guest.write("sessions", move |tx| session::end(tx, user, session)).await?;
    }
    Ok(is_valid)
}

/// Redirects to the app. Always with 303, so that the browser never posts the form to the app.
fn redirect_to_app(url: &str) -> Result<Response> {
    let invalid = |_| Error::internal("a redirect URI is not a valid header value");
    let location = HeaderValue::from_str(url).map_err(invalid)?;
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}
