//! `/account/two-step`: set-up of an authenticator app, and recovery codes.

use super::account::{current_user, needs_email_confirmation};
use super::{AccountForm, AccountVisitor};
use super::{attempt, audit, audit_failure, email_user, fields, flash, uncount_attempt};
use crate::prelude::*;
use crate::signin::throttle::{self, Factor};
use crate::signin::two_step::{self, Seed, State};
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;
use crate::web::qr_code::QrCodeImage;
use crate::web::visitor::url_encode;

const PAGE: &str = "/account/two-step";
const SET_UP: &str = "/account/two-step/set-up";
const OFF: &str = "/account/two-step/off";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(PAGE, get(show))
        .route(SET_UP, get(show_set_up).post(confirm))
        .route("/account/two-step/codes", post(regenerate_codes))
        .route(OFF, get(show_turn_off).post(turn_off))
}

#[derive(Template)]
#[template(path = "account/two_step.html")]
struct TwoStepPage<'a> {
    frame: Frame,
    state: State,
    unconfirmed: bool,
    email: &'a str,
}

#[derive(Template)]
#[template(path = "account/two_step_set_up.html")]
struct SetUpPage {
    frame: Frame,
    key: String,
    qr_code: QrCodeImage,
    form: FilledForm,
}

const CODE_FIELDS: &[Field] =
    &[fields::CODE.label("Code from the app").attributes("inputmode=numeric maxlength=7")];

#[derive(Template)]
#[template(path = "account/two_step_codes.html")]
struct CodesPage {
    frame: Frame,
    codes: Vec<String>,
    /// Whether two-step sign-in was just turned on.
    just_turned_on: bool,
}

async fn show(visitor: AccountVisitor) -> PageResult {
    let id = visitor.visit.user;
    let state = visitor.guest.read("account", move |db| two_step::state(db, id)).await?;
    let frame = visitor.frame(t!("Two-step sign-in"), Section::TwoStep);
    let frame = frame.flash(flash(&visitor.guest));
    let unconfirmed = needs_email_confirmation(&visitor).await?;
    let page = TwoStepPage { frame, state, unconfirmed, email: &visitor.visit.email };
    render(StatusCode::OK, &page)
}

async fn show_set_up(visitor: AccountVisitor) -> PageResult {
    visitor.require_recent_authentication(SET_UP)?;
    if needs_email_confirmation(&visitor).await? {
        return Ok(see_other(PAGE));
    }
    match seed(&visitor).await {
        Err(error) if error.code == Code::InvalidState => Ok(see_other(PAGE)),
        seed => set_up_page(&visitor, &seed?, ""),
    }
}

async fn seed(visitor: &AccountVisitor) -> Result<Seed> {
    let (id, key) = (visitor.visit.user, visitor.app().secrets.key("totp"));
    visitor.write_user("account", move |tx| two_step::begin(tx, &key, id)).await
}

fn set_up_page(visitor: &AccountVisitor, seed: &Seed, error: &'static str) -> PageResult {
    let key = seed.text();
    let percent_encoded = |text: &str| url_encode(text).replace('+', "%20");
    let issuer = percent_encoded(&format!("Touchline {}", visitor.app().base_url.host()));
    let email = percent_encoded(&visitor.visit.email);
    let uri = format!("otpauth://totp/{issuer}:{email}?secret={key}&issuer={issuer}");
    let groups: Vec<_> = key.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
    let frame = visitor.frame(t!("Set up two-step sign-in"), Section::TwoStep);
    let form = FilledForm::empty(CODE_FIELDS).with_error("code", error);
    let page = SetUpPage { frame, key: groups.join(" "), qr_code: QrCodeImage::new(&uri)?, form };
    render(page.form.status(), &page)
}

async fn confirm(AccountForm { visitor, form }: AccountForm) -> PageResult {
    visitor.require_recent_authentication(SET_UP)?;
    if needs_email_confirmation(&visitor).await? {
        return Ok(see_other(PAGE));
    }
    let (app, guest) = (visitor.app(), &visitor.guest);
    let user = current_user(&visitor).await?;
    let attempt = attempt(guest, Factor::Password, &user.email).await?;
    let (id, key, code) = (user.id, app.secrets.key("totp"), form.text("code").to_owned());
    let turn_on = move |tx: &Tx<'_>| {
        let codes = two_step::confirm(tx, &key, id, &code)?;
        if codes.is_some() {
            throttle::record_success(tx, attempt)?;
        }
        Ok(codes)
    };
    let Some(codes) = visitor.write_user("account", turn_on).await? else {
        audit_failure(guest, Some(&user), &attempt, "two-step set-up");
        let error_text = t!("This code is incorrect. Enter the six digits that the app shows now.");
        return set_up_page(&visitor, &seed(&visitor).await?, error_text);
    };
    uncount_attempt(guest);
    audit(guest, id, "user.two_step_on", json!({})).await?;
    let text = message!(
        "Two-step sign-in was turned on for your Touchline account. To sign in, you now need your password \
         and a code from your authenticator app.\n\nIf you did not do this, change your password immediately.\n"
    );
    email_user(app, &user, message!("Two-step sign-in is on"), text);
    codes_page(&visitor, codes, true)
}

fn codes_page(visitor: &AccountVisitor, codes: Vec<String>, just_turned_on: bool) -> PageResult {
    let frame = visitor.frame(t!("Your recovery codes"), Section::TwoStep);
    render(StatusCode::OK, &CodesPage { frame, codes, just_turned_on })
}

async fn regenerate_codes(AccountForm { visitor, .. }: AccountForm) -> PageResult {
    visitor.require_recent_authentication(PAGE)?;
    let id = visitor.visit.user;
    let make = move |tx: &Tx<'_>| {
        if !two_step::is_on(tx, id)? {
            return Err(Error::invalid_state("Two-step sign-in is off. Turn it on first."));
        }
        two_step::regenerate_recovery_codes(tx, id)
    };
    let codes = visitor.write_user("account", make).await?;
    audit(&visitor.guest, id, "user.recovery_codes_renewed", json!({})).await?;
    codes_page(&visitor, codes, false)
}

async fn show_turn_off(visitor: AccountVisitor) -> PageResult {
    visitor.require_recent_authentication(OFF)?;
    let frame = visitor.guest.frame(t!("Turn off two-step sign-in?"));
    ConfirmPage::new(frame, "Turn off", PAGE)
        .effect("Your password alone will be enough to sign in.")
        .effect("Your recovery codes will stop working.")
        .effect("If this server sends emails, you will get an email about the change.")
        .back_label("Keep it on")
        .respond()
}

async fn turn_off(AccountForm { visitor, .. }: AccountForm) -> PageResult {
    visitor.require_recent_authentication(OFF)?;
    let user = current_user(&visitor).await?;
    let id = user.id;
    visitor.write_user("account", move |tx| two_step::turn_off(tx, id)).await?;
    audit(&visitor.guest, id, "user.two_step_off", json!({})).await?;
    let text = message!(
        "Two-step sign-in was turned off for your Touchline account. You can now sign in with your password \
         alone.\n\nIf you did not do this, change your password immediately and turn two-step sign-in on again.\n"
    );
    email_user(visitor.app(), &user, message!("Two-step sign-in is off"), text);
    Ok(see_other("/account/two-step?done=off"))
}
