//! The pages on which a user is asked by an app, and those on which they take back what they allowed.

mod authorize;
mod connected;
mod consent;

use askama::Template;
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY};
use http::{HeaderValue, StatusCode};
use store::{Scope, Tx};

use crate::accounts::user;
use crate::app::App;
use crate::error::{Error, Result};
use crate::ids::AccountId;
use crate::signin::session::{self, Visit};
use crate::web::page::{Frame, html};
use crate::web::visitor::Guest;

/// `/oauth/authorize`, `/oauth/consent/{token}`, `/account/apps`.
pub fn router() -> Router<App> {
    Router::new()
        .route("/oauth/authorize", get(authorize::ask))
        .route("/oauth/consent/{token}", get(consent::show).post(consent::answer))
        .route("/account/apps", get(connected::list))
        .route("/account/apps/{app}/revoke", get(connected::confirm).post(connected::revoke))
}

/// A page that leads nowhere: the app did something wrong, or there is nothing left to ask.
#[derive(Template)]
#[template(path = "oauth/stop.html")]
struct Stop<'a> {
    frame: Frame,
    text: &'a str,
    /// What the person who looks at it can do.
    advice: &'a str,
}

fn stop(status: StatusCode, title: &'static str, text: &str, advice: &str) -> Result<Response> {
    html(status, &Stop { frame: Frame::plain(title), text, advice })
}

/// Whether the browser may act in the app's club, whichever club's pages it shows: whoever looks after that
/// club is asked sooner who they are. If it may not, its session ends, so that they sign in again.
async fn is_good_in(guest: &Guest, club: AccountId, visit: &Visit) -> Result<bool> {
    let (user, session) = (visit.user, visit.session);
    let scope = Scope::account(club, user.to_string()).for_request(guest.context.id());
    let role = guest.app.db.glance(scope, move |db| user::role_of(db, user)).await?;
    if visit.is_good_for(role, guest.app.clock.now()) {
        return Ok(true);
    }
    let end = move |tx: &Tx<'_>| session::end(tx, user, session);
    guest.app.db.write(guest.scope("sessions"), end).await?;
    Ok(false)
}

/// Goes back to the app. Always with 303: no form is ever sent on.
fn back_to_app(place: &str) -> Result<Response> {
    let place = HeaderValue::from_str(place);
    let place = place.map_err(|_| Error::internal("an app's address is not fit for a header"))?;
    let headers = [
        (LOCATION, place),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}
