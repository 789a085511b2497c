//! `/account/two-step`: codes from an authenticator app, and those on paper.

use std::fmt::Write;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use qrcodegen::{QrCode, QrCodeEcc};
use serde_json::json;
use store::{Reader, Tx};

use super::account::{me, unconfirmed};
use super::{attempt, failed, flash, forget_place, note, write_to};
use crate::accounts::permits::OwnAccount;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::signin::throttle::{self, Proof};
use crate::signin::two_step::{self, Seed, State};
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{Outcome, Posted, Visitor, encoded, see_other};

const HERE: &str = "/account/two-step";
const SET_UP: &str = "/account/two-step/set-up";
const OFF: &str = "/account/two-step/off";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(HERE, get(show))
        .route(SET_UP, get(begin).post(confirm))
        .route("/account/two-step/codes", post(renew))
        .route(OFF, get(ask_off).post(turn_off))
}

#[derive(Template)]
#[template(path = "account/two_step.html")]
struct TwoStepPage {
    frame: Frame,
    state: State,
    unconfirmed: bool,
    email: String,
}

#[derive(Template)]
#[template(path = "account/two_step_set_up.html")]
struct SetUpPage {
    frame: Frame,
    key: String,
    picture: Picture,
    wrong: &'static str,
}

#[derive(Template)]
#[template(path = "account/two_step_codes.html")]
struct CodesPage {
    frame: Frame,
    codes: Vec<String>,
    /// Whether two-step sign-in was turned on with them.
    begun: bool,
}

#[derive(Template)]
#[template(path = "account/two_step_off.html")]
struct OffPage {
    frame: Frame,
}

async fn show(visitor: Visitor<OwnAccount>) -> Outcome {
    let id = visitor.visit.user;
    let look = move |db: &Reader<'_>| two_step::state(db, id);
    let state = visitor.app().db.read(visitor.guest.scope("account"), look).await?;
    let frame = visitor.frame("Two-step sign-in", Section::TwoStep).flash(flash(&visitor.guest));
    let (unconfirmed, email) = (unconfirmed(&visitor).await?, visitor.visit.email.clone());
    Ok(page::html(StatusCode::OK, &TwoStepPage { frame, state, unconfirmed, email })?)
}

async fn begin(visitor: Visitor<OwnAccount>) -> Outcome {
    visitor.fresh(SET_UP)?;
    if unconfirmed(&visitor).await? {
        return Ok(see_other(HERE));
    }
    match seed(&visitor).await {
        Ok(seed) => Ok(set_up_page(&visitor, &seed, "")?),
        Err(error) if error.code == Code::InvalidState => Ok(see_other(HERE)),
        Err(error) => Err(error.into()),
    }
}

async fn seed(visitor: &Visitor<OwnAccount>) -> Result<Seed> {
    let (id, key) = (visitor.visit.user, visitor.app().secrets.key("totp"));
    let make = move |tx: &Tx<'_>| two_step::begin(tx, &key, id);
    visitor.write_own("account", make).await
}

fn set_up_page(
    visitor: &Visitor<OwnAccount>,
    seed: &Seed,
    wrong: &'static str,
) -> Result<Response> {
    let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let (key, issuer) = (seed.text(), format!("Touchline {}", visitor.app().home.host()));
    let percent = |text: &str| encoded(text).replace('+', "%20");
    let told = format!(
        "otpauth://totp/{}:{}?secret={key}&issuer={}",
        percent(&issuer),
        percent(&visitor.visit.email),
        percent(&issuer)
    );
    let groups: Vec<_> = key.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
    let frame = visitor.frame("Set up two-step sign-in", Section::TwoStep);
    let page = SetUpPage { frame, key: groups.join(" "), picture: picture(&told)?, wrong };
    page::html(status, &page)
}

/// A square picture of so many points a side, as a path of an SVG.
struct Picture {
    side: i32,
    path: String,
}

fn picture(text: &str) -> Result<Picture> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium)
        .map_err(|_| Error::internal("an address is too long for a picture"))?;
    let mut path = String::new();
    for y in 0..code.size() {
        for x in (0..code.size()).filter(|x| code.get_module(*x, y)) {
            // Writing into a text cannot fail.
            let _ = write!(path, "M{x} {y}h1v1h-1z");
        }
    }
    Ok(Picture { side: code.size(), path })
}

async fn confirm(Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    visitor.fresh(SET_UP)?;
    if unconfirmed(&visitor).await? {
        return Ok(see_other(HERE));
    }
    let (app, guest) = (visitor.app(), &visitor.guest);
    let user = me(&visitor).await?;
    let tried = attempt(guest, Proof::Password, &user.email).await?;
    let (id, key, code) = (user.id, app.secrets.key("totp"), form.text("code").to_owned());
    let turn_on = move |tx: &Tx<'_>| {
        let codes = two_step::confirm(tx, &key, id, &code)?;
        if codes.is_some() {
            throttle::forgive(tx, tried)?;
        }
        Ok::<_, Error>(codes)
    };
    let Some(codes) = visitor.write_own("account", turn_on).await? else {
        failed(guest, Some(&user), &tried, "two-step set-up");
        let wrong = "This code is incorrect. Type the six digits that the app shows now.";
        return Ok(set_up_page(&visitor, &seed(&visitor).await?, wrong)?);
    };
    forget_place(guest);
    note(guest, id, "user.two_step_on", json!({})).await?;
    let text = "Two-step sign-in was turned on: besides your password you now need a code from your app.\n\n\
        If that was not you, choose a new password at once.\n";
    write_to(app, &user, "Two-step sign-in is on", text.to_owned());
    Ok(codes_page(&visitor, codes, true)?)
}

fn codes_page(visitor: &Visitor<OwnAccount>, codes: Vec<String>, begun: bool) -> Result<Response> {
    let frame = visitor.frame("Your recovery codes", Section::TwoStep);
    page::html(StatusCode::OK, &CodesPage { frame, codes, begun })
}

async fn renew(Posted { visitor, .. }: Posted<OwnAccount>) -> Outcome {
    visitor.fresh(HERE)?;
    let id = visitor.visit.user;
    let make = move |tx: &Tx<'_>| {
        if !two_step::is_on(tx, id)? {
            return Err(Error::invalid_state("Two-step sign-in is off."));
        }
        two_step::renew_paper(tx, id)
    };
    let codes = visitor.write_own("account", make).await?;
    note(&visitor.guest, id, "user.recovery_codes_renewed", json!({})).await?;
    Ok(codes_page(&visitor, codes, false)?)
}

async fn ask_off(visitor: Visitor<OwnAccount>) -> Outcome {
    visitor.fresh(OFF)?;
    let frame = visitor.guest.frame("Turn two-step sign-in off?");
    Ok(page::html(StatusCode::OK, &OffPage { frame })?)
}

async fn turn_off(Posted { visitor, .. }: Posted<OwnAccount>) -> Outcome {
    visitor.fresh(OFF)?;
    let user = me(&visitor).await?;
    let id = user.id;
    let off = move |tx: &Tx<'_>| two_step::turn_off(tx, id);
    visitor.write_own("account", off).await?;
    note(&visitor.guest, id, "user.two_step_off", json!({})).await?;
    let text = "Two-step sign-in was turned off: your password alone is enough now.\n\nIf that was not you, choose \
        a new password at once and turn it on again.\n";
    write_to(visitor.app(), &user, "Two-step sign-in is off", text.to_owned());
    Ok(see_other("/account/two-step?done=off"))
}
