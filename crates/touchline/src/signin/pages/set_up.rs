//! `/set-up/{token}`: the first page anybody sees. It makes the club and its owner.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::{IdMaker, Zone};
use serde_json::json;
use store::{Reader, Scope, Tx};

use super::note;
use crate::accounts::account;
use crate::accounts::own;
use crate::accounts::permits::Ownership;
use crate::accounts::user::{self, NewUser, Role};
use crate::app::App;
use crate::demo;
use crate::error::{Code, Error, Fault, Result};
use crate::ids::AccountId;
use crate::signin::entry::{self, Entry};
use crate::signin::session::{self, Method};
use crate::signin::set_up::{self, Beginning};
use crate::web::form::{Faults, Form};
use crate::web::page::{self, Frame};
use crate::web::path::At;
use crate::web::visitor::{Guest, GuestPosted, Outcome, Posted, Visitor, see_other, signed_in};

/// What clubs play mostly; anything else can be typed.
const SPORTS: [&str; 12] = [
    "Football",
    "Basketball",
    "Volleyball",
    "Baseball",
    "Softball",
    "Ice hockey",
    "Field hockey",
    "Handball",
    "Rugby",
    "Swimming",
    "Athletics",
    "Tennis",
];

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/set-up/{token}", get(ask).post(begin))
        .route("/set-up", get(ask_for_demo).post(load_demo))
}

#[derive(Template)]
#[template(path = "signin/set_up.html")]
struct SetUpPage {
    frame: Frame,
    form: Form,
    faults: Faults,
    zones: Vec<String>,
    zone: String,
    /// Whether somebody chose the zone. Until then a script selects the browser's own.
    chosen: bool,
    sports: [&'static str; 12],
}

#[derive(Template)]
#[template(path = "signin/set_up_demo.html")]
struct DemoPage {
    frame: Frame,
}

async fn ask(guest: Guest, At(token): At<String>) -> Outcome {
    let look = move |db: &Reader<'_>| set_up::look(db, &token);
    guest.app.db.read(guest.scope("set-up"), look).await?;
    Ok(set_up_page(&guest, Form::default(), Faults::default())?)
}

fn set_up_page(guest: &Guest, form: Form, faults: Faults) -> Result<Response> {
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let chosen = form.maybe("timezone").is_some();
    let zone = form.maybe("timezone").unwrap_or("UTC").to_owned();
    let frame = guest.frame("Set up Touchline");
    let zones = Zone::names();
    let page = SetUpPage { frame, form, faults, zones, zone, chosen, sports: SPORTS };
    Ok(guest.with_cookie(page::html(status, &page)?))
}

async fn begin(At(token): At<String>, GuestPosted { guest, form }: GuestPosted) -> Outcome {
    let (app, asked) = (&guest.app, token.clone());
    // Only whoever has a link that works makes us hash passwords.
    let look = move |db: &Reader<'_>| set_up::look(db, &asked);
    app.db.read(guest.scope("set-up"), look).await?;
    match settle(&guest, &form, token).await {
        Ok(token) => Ok(signed_in(see_other("/set-up"), &token)),
        Err(error) if error.code == Code::ValidationFailed => {
            Ok(set_up_page(&guest, form, Faults::from(&error))?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes the club and its owner, and signs the owner in.
async fn settle(guest: &Guest, form: &Form, link: String) -> Result<kit::secret::Token> {
    let app = &guest.app;
    let typed = form.get("password").unwrap_or_default();
    let known = [form.text("name"), form.text("email"), form.text("club")];
    let new = Beginning {
        club: form.text("club").to_owned(),
        sport: form.maybe("sport").map(|sport| sport.chars().take(60).collect()),
        timezone: zone(form)?,
        name: form.text("name").to_owned(),
        email: own::address(form.text("email"))?,
        password_hash: app.passwords.hash(typed, &known).await?,
    };
    let club: AccountId = IdMaker::default().make(app.clock.now(), &app.dice);
    let scope = Scope::account(club, "set-up").for_request(guest.context.id());
    let owner = app.db.write(scope, move |tx| set_up::begin(tx, &link, new)).await?;
    let entry = Entry {
        user: owner.id,
        method: Method::Link,
        browser: guest.browser(),
        before: guest.visit.as_ref().map(|visit| (visit.user, visit.session)),
    };
    let come_in = move |tx: &Tx<'_>| entry::enter(tx, entry);
    let (_, token) = app.db.write(guest.scope("sign-in"), come_in).await?;
    note(guest, owner.id, "user.signed_in", json!({ "method": Method::Link })).await?;
    Ok(token)
}

/// The zone that was chosen. Without a script the page offers UTC.
fn zone(form: &Form) -> Result<Zone> {
    form.maybe("timezone").map_or(Ok(Zone::utc()), str::parse).map_err(|_| {
        let detail = "There is no such time zone. Choose one of the list.";
        Error::invalid(vec![Fault::new("/timezone", "invalid", detail)])
    })
}

async fn ask_for_demo(visitor: Visitor<Ownership>) -> Outcome {
    only_club(&visitor).await?;
    Ok(page::html(StatusCode::OK, &DemoPage { frame: visitor.guest.frame("Your club is ready") })?)
}

/// The demo club is for whoever has this installation to themselves, once.
async fn only_club(visitor: &Visitor<Ownership>) -> Result<()> {
    let accounts = visitor.app().db.read(visitor.guest.scope("set-up"), account::list).await?;
    let own = visitor.club()?;
    if accounts.iter().all(|account| account.id == own) { Ok(()) } else { Err(Error::not_found()) }
}

async fn load_demo(Posted { visitor, .. }: Posted<Ownership>) -> Outcome {
    only_club(&visitor).await?;
    let app = visitor.app();
    demo::load(app).await?;
    let (name, email) = (visitor.visit.name.clone(), visitor.visit.email.clone());
    let join = move |tx: &Tx<'_>| {
        user::create(tx, NewUser { email, name, role: Role::Owner, password_hash: None })
    };
    let scope = Scope::account(demo::ACCOUNT, visitor.visit.user.to_string());
    app.db.write(scope, join).await?;
    let session = visitor.visit.session;
    let switch = move |tx: &Tx<'_>| session::switch(tx, session, demo::ACCOUNT);
    app.db.write(visitor.guest.scope("sessions"), switch).await?;
    Ok(see_other("/admin"))
}
