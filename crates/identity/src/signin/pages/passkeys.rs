//! The page for managing passkeys, and the endpoints that the sign-in script calls.
//!
//! The script sends forms, with the same CSRF protection as all others, and gets JSON: either `options` for the
//! browser, or `next`, the page to go to. The form field `credential` contains the browser's response in the JSON
//! format of `WebAuthn`.

use axum::middleware::map_response;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use super::account::needs_email_confirmation;
use super::{AccountForm, AccountVisitor, audit, current_session, sign_in_limit, uncount_attempt};
use crate::prelude::*;
use crate::web::prelude::*;

use crate::accounts::session::SessionLookup;
use crate::signin::passkey::ceremony::{self, Kind};
use crate::signin::passkey::relying_party::{
    AuthenticationResponse, RegistrationResponse, RelyingParty,
};
use crate::signin::passkey::{self, Passkey};
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::sentence::Sentence;
use crate::web::visitor::{GuestForm, PageError, safe_redirect_path, set_session_cookie};

const PAGE: &str = "/account/passkeys";

pub(super) fn router() -> Router<App> {
    // The script shows the details of errors to the user, so they are in the user's language.
    let translate_error = |mut response: Response| async move {
        if let Some(error) = response.extensions_mut().get_mut::<Error>() {
            error.detail = error.detail.to_string().into();
        }
        response
    };
    Router::new()
        .route("/account/passkeys/begin", post(begin_registration))
        .route("/account/passkeys/finish", post(finish_registration))
        .route("/sign-in/passkey/begin", post(begin_sign_in))
        .route("/sign-in/passkey/finish", post(finish_sign_in))
        .layer(map_response(translate_error))
        .route(PAGE, get(show))
        .route("/account/passkeys/{id}/rename", get(show_rename_form).post(rename))
        .route("/account/passkeys/{id}/remove", get(show_removal).post(remove))
}

#[derive(Template)]
#[template(path = "account/passkeys.html")]
struct PasskeysPage {
    frame: Frame,
    passkeys: Vec<Passkey>,
    now: Timestamp,
    /// Whether the service has a host name, which passkeys require.
    supported: bool,
    /// Whether the user has the maximum number of passkeys.
    is_full: bool,
    /// Whether the user must confirm their email address first.
    unconfirmed: bool,
    email: String,
    default_name: String,
}

/// Messages shown after a form was submitted, by the value of `done` in the URL.
const DONE_MESSAGES: [(&str, &str); 3] = [
    ("added", mark!("The passkey was added. You can now sign in with it.")),
    ("renamed", mark!("The passkey was renamed.")),
    ("removed", mark!("The passkey was removed.")),
];

#[derive(Template)]
#[template(path = "account/passkey_rename.html")]
struct RenamePage {
    frame: Frame,
    form: FilledForm,
}

const NAME_FIELDS: &[Field] = &[Field::line("name", "Name", 60)
    .hint("Helps you tell your passkeys apart.")
    .required("Enter a name.")];

async fn show(visitor: AccountVisitor) -> PageResult {
    let passkeys = list_own(&visitor).await?;
    let flash = visitor.guest.done_flash(&DONE_MESSAGES);
    let page = PasskeysPage {
        frame: visitor.frame(t!("Passkeys"), Section::Passkeys).flash(flash),
        is_full: passkeys.len() >= passkey::MAX_PER_USER,
        passkeys,
        unconfirmed: needs_email_confirmation(&visitor).await?,
        email: visitor.visit.email.clone(),
        now: visitor.app().clock.now(),
        supported: RelyingParty::from_base_url(&visitor.app().base_url).is_some(),
        default_name: default_name(&visitor),
    };
    render(StatusCode::OK, &page)
}

/// Starts the registration of a passkey.
async fn begin_registration(AccountForm { visitor, .. }: AccountForm) -> PageResult {
    if let Some(response) = reauthentication_response(&visitor)? {
        return Ok(response);
    }
    check_email_confirmed(&visitor).await?;
    let party = relying_party(visitor.app())?;
    let existing = list_own(&visitor).await?;
    if existing.len() >= passkey::MAX_PER_USER {
        return Err(passkey::too_many_passkeys().into());
    }
    let SessionLookup { user, email, name, .. } = &visitor.visit;
    let started = party.start_registration(*user, (email, name), &existing)?;
    let (user, hash) = (*user, started.challenge.hash(&visitor.guest.csrf));
    let store =
        move |tx: &Tx<'_>| ceremony::begin(tx, Kind::Register, Some(user), hash, started.state);
    visitor.write_user("ceremony", store).await?;
    Ok(json_response(&json!({ "options": started.options })))
}

/// Finishes the registration of a passkey.
async fn finish_registration(AccountForm { visitor, form }: AccountForm) -> PageResult {
    if let Some(response) = reauthentication_response(&visitor)? {
        return Ok(response);
    }
    check_email_confirmed(&visitor).await?;
    let party = relying_party(visitor.app())?;
    let response = RegistrationResponse::parse(form.text("credential"))?;
    let (user, hash) = (visitor.visit.user, response.challenge()?.hash(&visitor.guest.csrf));
    let take = move |tx: &Tx<'_>| ceremony::take(tx, Kind::Register, Some(user), hash);
    let state = visitor.write_user("ceremony", take).await?;
    let credential = party.finish_registration(&state, &response)?;
    let name = form.optional("name").map_or_else(|| default_name(&visitor), str::to_owned);
    change(&visitor, "passkey.added", move |tx| Ok(passkey::add(tx, user, &name, credential)?.id))
        .await?;
    Ok(json_response(&json!({ "next": format!("{PAGE}?done=added") })))
}

/// The default name of a passkey that this browser creates.
fn default_name(visitor: &AccountVisitor) -> String {
    passkey::default_name(visitor.guest.browser().user_agent.as_deref())
}

async fn show_rename_form(
    PathParams(id): PathParams<PasskeyId>,
    visitor: AccountVisitor,
) -> PageResult {
    let name = find_own(&visitor, id).await?.name;
    rename_page(&visitor, FilledForm::empty(NAME_FIELDS).with("name", name))
}

fn rename_page(visitor: &AccountVisitor, form: FilledForm) -> PageResult {
    let frame = visitor.frame(t!("Rename passkey"), Section::Passkeys);
    render(form.status(), &RenamePage { frame, form })
}

async fn rename(
    PathParams(id): PathParams<PasskeyId>,
    AccountForm { visitor, form }: AccountForm,
) -> PageResult {
    let (user, name) = (visitor.visit.user, form.text("name").to_owned());
    let work = move |tx: &Tx<'_>| passkey::rename(tx, user, id, &name);
    let mut form = FilledForm::submitted(NAME_FIELDS, &form);
    match form.accept(change(&visitor, "passkey.renamed", work).await)? {
        Some(()) => Ok(see_other("/account/passkeys?done=renamed")),
        None => rename_page(&visitor, form),
    }
}

async fn show_removal(
    PathParams(id): PathParams<PasskeyId>,
    visitor: AccountVisitor,
) -> PageResult {
    visitor.require_recent_authentication(&removal_path(id))?;
    let name = find_own(&visitor, id).await?.name;
    let is_last = list_own(&visitor).await?.len() == 1;
    let frame = visitor.frame(t!("Remove this passkey?"), Section::Passkeys);
    let lead = Sentence::new("The passkey “{name}” will stop working immediately.");
    let mut page = ConfirmPage::new(frame, "Remove passkey", PAGE)
        .lead(lead.name("name", &name))
        .effect("You can no longer sign in with it.")
        .effect("Browsers that are signed in stay signed in. You can sign them out under “Signed-in browsers”.");
    if is_last {
        page = page.effect("This is your only passkey. You will need your password to sign in.");
    }
    page.effect("Your device may still offer the passkey. Delete it there too.")
        .back_label("Keep passkey")
        .respond()
}

async fn remove(
    PathParams(id): PathParams<PasskeyId>,
    AccountForm { visitor, .. }: AccountForm,
) -> PageResult {
    visitor.require_recent_authentication(&removal_path(id))?;
    let user = visitor.visit.user;
    change(&visitor, "passkey.removed", move |tx| passkey::remove(tx, user, id)).await?;
    Ok(see_other("/account/passkeys?done=removed"))
}

fn removal_path(id: PasskeyId) -> String {
    format!("{PAGE}/{id}/remove")
}

/// Starts signing in with a passkey. The request names no user; the passkey identifies them.
async fn begin_sign_in(GuestForm { guest, .. }: GuestForm) -> PageResult {
    guest.app.throttle.check(sign_in_limit(&guest.app), guest.context.address())?;
    let started = relying_party(&guest.app)?.start_authentication()?;
    let hash = started.challenge.hash(&guest.csrf);
    let store = move |tx: &Tx<'_>| ceremony::begin(tx, Kind::SignIn, None, hash, started.state);
    guest.write("ceremony", store).await?;
    Ok(json_response(&json!({ "options": started.options })))
}

/// Finishes signing in with a passkey. For a signed-in user this counts as authenticating again.
async fn finish_sign_in(posted: GuestForm) -> PageResult {
    authenticate(&posted).await.map_err(|error| match error.code {
        Code::InvalidCredentials => {
            // The same response for a passkey that is unknown or wrong, or whose user is disabled.
            let detail = "This passkey does not work here. Use another passkey or your password.";
            Error::new(Code::InvalidCredentials, detail).into()
        }
        _ => error.into(),
    })
}

async fn authenticate(GuestForm { guest, form }: &GuestForm) -> Result<Response> {
    let party = relying_party(&guest.app)?;
    let response = AuthenticationResponse::parse(form.text("credential"))?;
    let hash = response.challenge()?.hash(&guest.csrf);
    let take = move |tx: &Tx<'_>| ceremony::take(tx, Kind::SignIn, None, hash);
    let state = guest.write("ceremony", take).await?;
    let credential_id = response.credential_id().to_vec();
    let find = move |db: &Reader<'_>| passkey::find_by_credential_id(db, credential_id);
    let unknown = || Error::new(Code::InvalidCredentials, "This passkey is not registered.");
    let passkey = guest.read("passkeys", find).await?.ok_or_else(unknown)?;
    let new_state = party.finish_authentication(&state, &response, &passkey)?;
    let (user, id) = (passkey.user_id, passkey.id);
    let (browser, previous) = (guest.browser(), current_session(guest));
    let sign_in = move |tx: &Tx<'_>| passkey::sign_in(tx, &passkey, new_state, browser, previous);
    let token = guest.write("sign-in", sign_in).await?;
    uncount_attempt(guest);
    audit(guest, user, "passkey.used", passkey::audit_details(id)).await?;
    let next = safe_redirect_path(form.text("next"));
    Ok(set_session_cookie(json_response(&json!({ "next": next })), &token))
}

/// Changes a passkey of the visitor and writes the change to the audit log of every club they belong to.
async fn change(
    visitor: &AccountVisitor,
    action: &'static str,
    work: impl FnOnce(&Tx<'_>) -> Result<PasskeyId> + Send + 'static,
) -> Result<()> {
    let id = visitor.write_user("passkeys", work).await?;
    audit(&visitor.guest, visitor.visit.user, action, passkey::audit_details(id)).await
}

async fn list_own(visitor: &AccountVisitor) -> Result<Vec<Passkey>> {
    let user = visitor.visit.user;
    visitor.guest.read("passkeys", move |db| passkey::list(db, user)).await
}

async fn find_own(visitor: &AccountVisitor, id: PasskeyId) -> Result<Passkey> {
    let user = visitor.visit.user;
    visitor.guest.read("passkeys", move |db| passkey::find(db, user, id)).await
}

async fn check_email_confirmed(visitor: &AccountVisitor) -> Result<()> {
    if needs_email_confirmation(visitor).await? {
        return Err(Error::invalid_state("Confirm your email address first."));
    }
    Ok(())
}

fn relying_party(app: &App) -> Result<RelyingParty> {
    let unsupported = || {
        Error::invalid_state(
            "Passkeys require a host name, but this server is reached by its IP address. Its operator can set a host \
             name with TOUCHLINE_BASE_URL, for example https://club.example.org.",
        )
    };
    RelyingParty::from_base_url(&app.base_url).ok_or_else(unsupported)
}

/// The response for a visitor who must authenticate again first. A script cannot follow a redirect to another page,
/// so it gets the page's URL as JSON.
fn reauthentication_response(visitor: &AccountVisitor) -> PageResult<Option<Response>> {
    match visitor.require_recent_authentication(PAGE) {
        Ok(()) => Ok(None),
        Err(PageError::Redirect(next)) => Ok(Some(json_response(&json!({ "next": next })))),
        Err(other) => Err(other),
    }
}

fn json_response(body: &Value) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, body.to_string()).into_response()
}
