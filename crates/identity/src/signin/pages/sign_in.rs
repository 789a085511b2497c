//! `/sign-in`, `/sign-in/code` and `/sign-out`.

use http::{HeaderName, HeaderValue};
use kit::secret::Token;
use kit::text;

use super::{attempt, audit, audit_failure, email_user, fields, flash};
use super::{current_session, uncount_attempt};
use crate::accounts::session::{self, Method, Session, SessionLookup};
use crate::accounts::user::{self, User};
use crate::passwords::Verification;
use crate::prelude::*;
use crate::signin::authentication::{self, PasswordProof};
use crate::signin::throttle::{self, Attempt, Factor};
use crate::web::form::{Field, FilledForm};
use crate::web::page;
use crate::web::prelude::*;
use crate::web::visitor::{
    Guest, GuestForm, clear_session_cookie, safe_redirect_path, set_session_cookie, url_encode,
};

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/sign-in", get(show_form).post(submit))
        .route("/sign-in/code", get(show_code_form).post(submit_code))
        .route("/sign-out", post(sign_out))
}

#[derive(Template)]
#[template(path = "signin/sign_in.html")]
struct SignInPage<'a> {
    frame: Frame,
    form: FilledForm,
    next: &'a str,
}

const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");
const FIELDS: &[Field] = &[fields::NEXT, fields::EMAIL, fields::PASSWORD];

#[derive(Template)]
#[template(path = "signin/code.html")]
struct CodePage {
    frame: Frame,
    form: FilledForm,
}

const CODE_FIELDS: &[Field] = &[
    fields::NEXT,
    fields::CODE
        .hint("Lost your phone? Enter one of your recovery codes.")
        .attributes("autocapitalize=none spellcheck=false")
        .focused(),
];

async fn show_form(guest: Guest) -> PageResult {
    let query = guest.query().unwrap_or_default();
    let next = safe_redirect_path(query.text("next"));
    match &guest.visit {
        Some(visit) if visit.pending => Ok(see_other(&code_url(next))),
        Some(_) => Ok(see_other(next)),
        None => sign_in_page(&guest, "", next, ""),
    }
}

fn sign_in_page(guest: &Guest, email: &str, next: &str, error: &'static str) -> PageResult {
    let frame = guest.frame(t!("Sign in")).flash(flash(guest));
    let form = FilledForm::empty(FIELDS).with("email", email).with("next", next);
    let form = form.with_error("password", error);
    let page = SignInPage { frame, form, next };
    Ok(guest.with_cookie(page::html(page.form.status(), &page)?))
}

fn code_url(next: &str) -> String {
    format!("/sign-in/code?next={}", url_encode(next))
}

async fn submit(GuestForm { guest, form }: GuestForm) -> PageResult {
    let (email, next) = (form.text("email"), safe_redirect_path(form.text("next")));
    let password = form.get("password").unwrap_or_default();
    let attempt = attempt(&guest, Factor::Password, email).await?;
    let address = text::to_nfc(email).into_owned();
    let user = guest.read("sign-in", move |db| user::find_by_email(db, &address)).await?;
    let signed_in_session = match password_proof(&guest.app, user.as_ref(), password).await? {
        Some(proof) => sign_in_with_password(&guest, proof, &attempt).await?,
        None => None,
    };
    let (Some(user), Some((session, token))) = (&user, signed_in_session) else {
        audit_failure(&guest, user.as_ref(), &attempt, "password");
        let error = t!("The email address or password is incorrect.");
        return sign_in_page(&guest, email, next, error);
    };
    if session.pending {
        return Ok(set_session_cookie(see_other(&code_url(next)), &token));
    }
    complete_sign_in(&guest, user, Method::Password).await?;
    Ok(set_session_cookie(see_other(next), &token))
}

/// The proof for a correct password; `None` if the password is wrong. Takes as long without a user.
pub(super) async fn password_proof(
    app: &App,
    user: Option<&User>,
    password: &str,
) -> Result<Option<PasswordProof>> {
    let stored_hash = user.and_then(|user| user.password_hash.clone());
    let upgraded_hash = match app.passwords.verify(password, stored_hash.clone()).await? {
        Verification::Wrong => return Ok(None),
        Verification::Correct => None,
        Verification::CorrectButOutdated(hash) => Some(hash),
    };
    Ok(user.zip(stored_hash).map(|(user, verified_hash)| PasswordProof {
        user: user.id,
        verified_hash,
        upgraded_hash,
    }))
}

/// Begins the session; `None` if the password was changed since it was verified.
async fn sign_in_with_password(
    guest: &Guest,
    proof: PasswordProof,
    attempt: &Attempt,
) -> Result<Option<(Session, Token)>> {
    let (browser, previous, attempt) = (guest.browser(), current_session(guest), *attempt);
    let sign_in = move |tx: &Tx<'_>| {
        let session = authentication::sign_in_with_password(tx, &proof, browser, previous)?;
        // While the second step is missing, the attempt still counts as a failure.
        if session.as_ref().is_some_and(|(session, _)| !session.pending) {
            throttle::record_success(tx, attempt)?;
        }
        Ok(session)
    };
    guest.write("sign-in", sign_in).await
}

/// Records a completed sign-in.
async fn complete_sign_in(guest: &Guest, user: &User, method: Method) -> Result<()> {
    uncount_attempt(guest);
    audit(guest, user.id, "user.signed_in", json!({ "method": method })).await
}

async fn show_code_form(guest: Guest) -> PageResult {
    let query = guest.query().unwrap_or_default();
    let next = safe_redirect_path(query.text("next"));
    match &guest.visit {
        Some(visit) if visit.pending => code_page(&guest, next, ""),
        Some(_) => Ok(see_other(next)),
        None => Ok(see_other("/sign-in")),
    }
}

fn code_page(guest: &Guest, next: &str, error: &'static str) -> PageResult {
    let form = FilledForm::empty(CODE_FIELDS).with("next", next).with_error("code", error);
    let page = CodePage { frame: guest.frame(t!("Enter your code")), form };
    render(page.form.status(), &page)
}

async fn submit_code(GuestForm { guest, form }: GuestForm) -> PageResult {
    let next = safe_redirect_path(form.text("next"));
    let Some(visit) = guest.visit.clone().filter(|visit| visit.pending) else {
        return Ok(see_other("/sign-in"));
    };
    let id = visit.user;
    let attempt = attempt(&guest, Factor::Code, &visit.email).await?;
    let user = guest.read("sign-in", move |db| user::find(db, id)).await?;
    let completed = match sign_in_with_code(&guest, &visit, &attempt, form.text("code")).await {
        // The pending session has ended, for example because the password was changed.
        Err(error) if error.code == Code::InvalidCredentials => {
            return Ok(clear_session_cookie(see_other("/sign-in")));
        }
        result => result?,
    };
    let Some((method, token)) = completed else {
        audit_failure(&guest, Some(&user), &attempt, "code");
        if count_wrong_code(&guest, &visit).await? {
            return Ok(clear_session_cookie(see_other("/sign-in?done=codes")));
        }
        let error = t!("This code is incorrect or was already used. Wait for the next code.");
        return code_page(&guest, next, error);
    };
    complete_sign_in(&guest, &user, method).await?;
    if method == Method::RecoveryCode {
        let text = message!(
            "One of your recovery codes was used to sign in to Touchline.\n\nIf you did not do this, change \
             your password and sign out all other browsers under “Signed-in browsers” in your account.\n"
        );
        email_user(&guest.app, &user, message!("A recovery code was used"), text);
    }
    Ok(set_session_cookie(see_other(next), &token))
}

/// Counts a wrong code. After too many, ends the pending session, so that the user must enter the password again, and
/// returns true.
async fn count_wrong_code(guest: &Guest, visit: &SessionLookup) -> Result<bool> {
    let (user, id) = (visit.user, visit.session);
    let key = guest.app.secrets.key("sign-in attempts");
    let count = move |tx: &Tx<'_>| {
        let too_many = throttle::count_wrong_code(tx, &key, id)?;
        if too_many {
            session::end(tx, user, id)?;
        }
        Ok(too_many)
    };
    guest.write("attempts", count).await
}

/// Completes a pending sign-in; `None` if the code is wrong.
async fn sign_in_with_code(
    guest: &Guest,
    visit: &SessionLookup,
    attempt: &Attempt,
    code: &str,
) -> Result<Option<(Method, Token)>> {
    let (key, code, attempt) = (guest.app.secrets.key("totp"), code.to_owned(), *attempt);
    let (browser, pending) = (guest.browser(), (visit.user, visit.session));
    let sign_in = move |tx: &Tx<'_>| {
        let completed = authentication::sign_in_with_code(tx, &key, pending, &code, browser)?;
        if completed.is_some() {
            throttle::record_success(tx, attempt)?;
        }
        Ok(completed)
    };
    guest.write("sign-in", sign_in).await
}

async fn sign_out(GuestForm { guest, .. }: GuestForm) -> PageResult {
    if let Some((user, id)) = current_session(&guest) {
        guest.write("sessions", move |tx| session::end(tx, user, id)).await?;
        audit(&guest, user, "user.signed_out", json!({})).await?;
    }
    let mut response = clear_session_cookie(see_other("/sign-in?done=signed-out"));
    // The service worker and the pages that it has kept for reading offline.
    response.headers_mut().insert(CLEAR_SITE_DATA, HeaderValue::from_static("\"storage\""));
    Ok(response)
}
