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

use crate::app::App;
use crate::error::{Error, Result};
use crate::web::page::{Frame, html};

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
