//! `/set-up/{token}`: the initial setup, which creates the first club and its owner.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::{IdGenerator, Zone};
use serde_json::json;
use store::{Reader, Scope, Tx};

use super::audit;
use crate::accounts::profile;
use crate::accounts::session::Method;
use crate::error::{Code, Error, Fault, Result};
use crate::ids::AccountId;
use crate::signin::authentication::{self, SignIn};
use crate::signin::set_up::{self, SetUpInput};
use crate::web::app::App;
use crate::web::form::{Faults, Form};
use crate::web::page::{self, Frame};
use crate::web::path::PathParams;
use crate::web::visitor::{Guest, GuestForm, PageResult, see_other, set_session_cookie};

/// Suggestions for the main sport. Users can enter any other.
const SPORTS: [&str; 12] = [
    "Soccer",
    "Basketball",
    "Volleyball",
    "Baseball",
    "Softball",
    "Ice hockey",
    "Field hockey",
    "Handball",
    "Rugby",
    "Swimming",
    "Track and field",
    "Tennis",
];

pub(super) fn router() -> Router<App> {
    Router::new().route("/set-up/{token}", get(show_form).post(submit))
}

#[derive(Template)]
#[template(path = "signin/set_up.html")]
struct SetUpPage {
    frame: Frame,
    form: Form,
    faults: Faults,
    zones: Vec<String>,
    zone: String,
    /// Whether the user has chosen the time zone. Until then a script selects the browser's zone.
    zone_chosen: bool,
    sports: [&'static str; 12],
}

async fn show_form(guest: Guest, PathParams(token): PathParams<String>) -> PageResult {
    let check = move |db: &Reader<'_>| set_up::check_link(db, &token);
    guest.app.db.read(guest.scope("set-up"), check).await?;
    Ok(set_up_page(&guest, Form::default(), Faults::default())?)
}

fn set_up_page(guest: &Guest, form: Form, faults: Faults) -> Result<Response> {
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let zone_chosen = form.optional("timezone").is_some();
    let zone = form.optional("timezone").unwrap_or("UTC").to_owned();
    let frame = guest.frame("Set up Touchline");
    let zones = Zone::names();
    let page = SetUpPage { frame, form, faults, zones, zone, zone_chosen, sports: SPORTS };
    Ok(guest.with_cookie(page::html(status, &page)?))
}

async fn submit(
    PathParams(token): PathParams<String>,
    GuestForm { guest, form }: GuestForm,
) -> PageResult {
    let (app, checked_token) = (&guest.app, token.clone());
    // Check the link before hashing the password, so that only the holder of a link can cause that work.
    let check = move |db: &Reader<'_>| set_up::check_link(db, &checked_token);
    app.db.read(guest.scope("set-up"), check).await?;
    match create_club(&guest, &form, token).await {
        Ok(token) => Ok(set_session_cookie(see_other("/set-up"), &token)),
        Err(error) if error.code == Code::ValidationFailed => {
            Ok(set_up_page(&guest, form, Faults::from(&error))?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Creates the club and its owner, and signs the owner in.
async fn create_club(guest: &Guest, form: &Form, link: String) -> Result<kit::secret::Token> {
    let app = &guest.app;
    let password = form.get("password").unwrap_or_default();
    let personal_words = [form.text("name"), form.text("email"), form.text("club")];
    let new = SetUpInput {
        club: form.text("club").to_owned(),
        sport: form.optional("sport").map(|sport| sport.chars().take(60).collect()),
        timezone: zone(form)?,
        name: form.text("name").to_owned(),
        email: profile::validate_email(form.text("email"))?,
        password_hash: app.passwords.hash(password, &personal_words).await?,
    };
    let club: AccountId = IdGenerator::default().generate(app.clock.now(), &app.rng);
    let scope = Scope::account(club, "set-up").for_request(guest.context.id());
    let owner = app.db.write(scope, move |tx| set_up::create_first_club(tx, &link, new)).await?;
    let entry = SignIn {
        user: owner.id,
        method: Method::Link,
        browser: guest.browser(),
        previous_session: guest.visit.as_ref().map(|visit| (visit.user, visit.session)),
    };
    let sign_in = move |tx: &Tx<'_>| authentication::sign_in(tx, entry);
    let (_, token) = app.db.write(guest.scope("sign-in"), sign_in).await?;
    audit(guest, owner.id, "user.signed_in", json!({ "method": Method::Link })).await?;
    Ok(token)
}

/// The time zone from the form, or UTC.
fn zone(form: &Form) -> Result<Zone> {
    form.optional("timezone").map_or(Ok(Zone::utc()), str::parse).map_err(|_| {
        let detail = "This time zone does not exist. Choose one from the list.";
        Error::invalid(vec![Fault::new("/timezone", "invalid", detail)])
    })
}
