//! Passkeys: the page on which somebody looks after theirs, and what the script of the sign-in page asks.
//!
//! The script sends forms, guarded like all others, and is answered in JSON: with `options` for the
//! browser, or with `next`, the page to go on to. What a browser says about a passkey stands in the
//! field `credential`, as the standard writes it.

use askama::Template;
use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use kit::Timestamp;
use serde_json::{Value, json};
use store::{Reader, Tx};

use super::account::unconfirmed;
use super::{forget_place, note, pace};

use crate::accounts::permits::OwnAccount;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::PasskeyId;
use crate::signin::passkey::ceremony::{self, Kind};
use crate::signin::passkey::party::{NewKey, Owner, Party, Proof};
use crate::signin::passkey::{self, Passkey};
use crate::web::form::Faults;
use crate::web::page::{Frame, Section, html};
use crate::web::path::At;
use crate::web::visitor::{
    GuestPosted, Outcome, Posted, Refusal, Visitor, own_path, see_other, signed_in,
};

const HERE: &str = "/account/passkeys";

/// The page of passkeys, and signing in with one.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route(HERE, get(show))
        .route("/account/passkeys/begin", post(ask_for_new))
        .route("/account/passkeys/finish", post(add))
        .route("/account/passkeys/{id}/rename", get(ask_name).post(rename))
        .route("/account/passkeys/{id}/remove", get(ask_removal).post(remove))
        .route("/sign-in/passkey/begin", post(ask_for_proof))
        .route("/sign-in/passkey/finish", post(sign_in))
}

#[derive(Template)]
#[template(path = "account/passkeys.html")]
struct PasskeysPage {
    frame: Frame,
    passkeys: Vec<Passkey>,
    now: Timestamp,
    /// Whether the address of the service can have passkeys.
    possible: bool,
    full: bool,
    unconfirmed: bool,
    email: String,
    usual_name: String,
}

/// What is said after something was done.
const DONE: [(&str, &str); 3] = [
    ("added", "The passkey was added. You can sign in with it."),
    ("renamed", "The passkey has its new name."),
    ("removed", "The passkey was removed."),
];

#[derive(Template)]
#[template(path = "account/passkey_rename.html")]
struct RenamePage {
    frame: Frame,
    name: String,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "account/passkey_remove.html")]
struct RemovePage {
    frame: Frame,
    name: String,
    last: bool,
}

async fn show(visitor: Visitor<OwnAccount>) -> Outcome {
    let passkeys = own(&visitor).await?;
    let flash = visitor.guest.done(&DONE);
    let page = PasskeysPage {
        frame: visitor.frame("Passkeys", Section::Passkeys).flash(flash),
        full: passkeys.len() >= passkey::MOST,
        passkeys,
        unconfirmed: unconfirmed(&visitor).await?,
        email: visitor.visit.email.clone(),
        now: visitor.app().clock.now(),
        possible: Party::of(&visitor.app().home).is_some(),
        usual_name: passkey::usual_name(visitor.guest.browser().user_agent.as_deref()),
    };
    Ok(html(StatusCode::OK, &page)?)
}

/// Tells the browser what kind of passkey to make.
async fn ask_for_new(Posted { visitor, .. }: Posted<OwnAccount>) -> Outcome {
    if let Some(first) = stale(&visitor)? {
        return Ok(first);
    }
    confirmed(&visitor).await?;
    let party = party(visitor.app())?;
    let known = own(&visitor).await?;
    if known.len() >= passkey::MOST {
        return Err(passkey::too_many().into());
    }
    let visit = &visitor.visit;
    let owner = Owner { id: visit.user, email: visit.email.clone(), name: visit.name.clone() };
    let asked = party.ask_for_new(&owner, &known)?;
    let (user, hash) = (visit.user, asked.challenge.hash(&visitor.guest.csrf));
    let keep =
        move |tx: &Tx<'_>| ceremony::begin(tx, Kind::Register, Some(user), hash, asked.state);
    visitor.write_own("ceremony", keep).await?;
    Ok(answer(&json!({ "options": asked.options })))
}

/// Takes the new passkey.
async fn add(Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    if let Some(first) = stale(&visitor)? {
        return Ok(first);
    }
    confirmed(&visitor).await?;
    let party = party(visitor.app())?;
    let key = NewKey::read(form.text("credential"))?;
    let (user, hash) = (visitor.visit.user, key.challenge()?.hash(&visitor.guest.csrf));
    let take = move |tx: &Tx<'_>| ceremony::take(tx, Kind::Register, Some(user), hash);
    let state = visitor.write_own("ceremony", take).await?;
    let made = party.accept(&state, &key)?;
    let usual = || passkey::usual_name(visitor.guest.browser().user_agent.as_deref());
    let name = form.maybe("name").map_or_else(usual, str::to_owned);
    change(&visitor, "passkey.added", move |tx| Ok(passkey::add(tx, user, &name, made)?.id))
        .await?;
    Ok(answer(&json!({ "next": format!("{HERE}?done=added") })))
}

async fn ask_name(At(id): At<PasskeyId>, visitor: Visitor<OwnAccount>) -> Outcome {
    let name = one(&visitor, id).await?.name;
    let frame = visitor.frame("Rename the passkey", Section::Passkeys);
    Ok(html(StatusCode::OK, &RenamePage { frame, name, faults: Faults::default() })?)
}

async fn rename(At(id): At<PasskeyId>, Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    let (user, name) = (visitor.visit.user, form.text("name").to_owned());
    let wanted = name.clone();
    let work = move |tx: &Tx<'_>| passkey::rename(tx, user, id, &wanted).map(|()| id);
    match change(&visitor, "passkey.renamed", work).await {
        Ok(()) => Ok(see_other("/account/passkeys?done=renamed")),
        Err(error) if error.code == Code::ValidationFailed => {
            let frame = visitor.frame("Rename the passkey", Section::Passkeys);
            let page = RenamePage { frame, name, faults: Faults::from(&error) };
            Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?)
        }
        Err(error) => Err(error.into()),
    }
}

async fn ask_removal(At(id): At<PasskeyId>, visitor: Visitor<OwnAccount>) -> Outcome {
    visitor.fresh(&removal(id))?;
    let name = one(&visitor, id).await?.name;
    let last = own(&visitor).await?.len() == 1;
    let frame = visitor.frame("Remove the passkey?", Section::Passkeys);
    Ok(html(StatusCode::OK, &RemovePage { frame, name, last })?)
}

async fn remove(At(id): At<PasskeyId>, Posted { visitor, .. }: Posted<OwnAccount>) -> Outcome {
    visitor.fresh(&removal(id))?;
    let user = visitor.visit.user;
    let work = move |tx: &Tx<'_>| passkey::remove(tx, user, id).map(|()| id);
    change(&visitor, "passkey.removed", work).await?;
    Ok(see_other("/account/passkeys?done=removed"))
}

fn removal(id: PasskeyId) -> String {
    format!("{HERE}/{id}/remove")
}

/// Tells the browser to look for a passkey of this service. Nobody is named: the passkey says who it is.
async fn ask_for_proof(GuestPosted { guest, .. }: GuestPosted) -> Outcome {
    guest.app.paces.take(pace(&guest.app), guest.context.address())?;
    let asked = party(&guest.app)?.ask_for_proof()?;
    let hash = asked.challenge.hash(&guest.csrf);
    let keep = move |tx: &Tx<'_>| ceremony::begin(tx, Kind::SignIn, None, hash, asked.state);
    guest.app.db.write(guest.scope("ceremony"), keep).await?;
    Ok(answer(&json!({ "options": asked.options })))
}

/// Signs in whoever proves to hold a passkey. Somebody who had signed in before has then proved it anew.
async fn sign_in(posted: GuestPosted) -> Outcome {
    prove(&posted).await.map_err(|error| match error.code {
        Code::InvalidCredentials => {
            // One answer for a passkey that is unknown, wrong, or of somebody who was shut out.
            let detail = "This passkey does not work here. Try another, or use your password.";
            Error::new(Code::InvalidCredentials, detail).into()
        }
        _ => error.into(),
    })
}

async fn prove(GuestPosted { guest, form }: &GuestPosted) -> Result<Response> {
    let (app, party) = (&guest.app, party(&guest.app)?);
    let proof = Proof::read(form.text("credential"))?;
    let hash = proof.challenge()?.hash(&guest.csrf);
    let take = move |tx: &Tx<'_>| ceremony::take(tx, Kind::SignIn, None, hash);
    let state = app.db.write(guest.scope("ceremony"), take).await?;
    let named = proof.credential_id().to_vec();
    let look = move |db: &Reader<'_>| passkey::presented(db, named);
    let found = app.db.read(guest.scope("passkeys"), look).await?;
    let unknown = || Error::new(Code::InvalidCredentials, "This passkey is not known here.");
    let passkey = found.ok_or_else(unknown)?;
    let after = party.check(&state, &proof, &passkey)?;
    let (browser, user, id) = (guest.browser(), passkey.user_id, passkey.id);
    let before = guest.visit.as_ref().map(|visit| (visit.user, visit.session));
    let come_in = move |tx: &Tx<'_>| passkey::sign_in(tx, &passkey, after, browser, before);
    let token = app.db.write(guest.scope("sign-in"), come_in).await?;
    forget_place(guest);
    note(guest, user, "passkey.used", passkey::details(id)).await?;
    let next = own_path(form.text("next"));
    Ok(signed_in(answer(&json!({ "next": next })), &token))
}

/// Changes a passkey of the visitor and notes it in the audit log of every club they belong to.
async fn change(
    visitor: &Visitor<OwnAccount>,
    action: &'static str,
    work: impl FnOnce(&Tx<'_>) -> Result<PasskeyId> + Send + 'static,
) -> Result<()> {
    let id = visitor.write_own("passkeys", work).await?;
    note(&visitor.guest, visitor.visit.user, action, passkey::details(id)).await
}

async fn own(visitor: &Visitor<OwnAccount>) -> Result<Vec<Passkey>> {
    let user = visitor.visit.user;
    let look = move |db: &Reader<'_>| passkey::list(db, user);
    visitor.app().db.read(visitor.guest.scope("passkeys"), look).await
}

async fn one(visitor: &Visitor<OwnAccount>, id: PasskeyId) -> Result<Passkey> {
    let user = visitor.visit.user;
    let look = move |db: &Reader<'_>| passkey::find(db, user, id);
    visitor.app().db.read(visitor.guest.scope("passkeys"), look).await
}

async fn confirmed(visitor: &Visitor<OwnAccount>) -> Result<()> {
    if unconfirmed(visitor).await? {
        return Err(Error::invalid_state("Confirm your address first."));
    }
    Ok(())
}

fn party(app: &App) -> Result<Party> {
    let none = || {
        Error::invalid_state(
            "Passkeys do not work under an IP address. The operator of this server can give it a name with the setting \
             TOUCHLINE_BASE_URL, for example https://club.example.org.",
        )
    };
    Party::of(&app.home).ok_or_else(none)
}

/// A script cannot be sent to another page, only told of it.
fn stale(visitor: &Visitor<OwnAccount>) -> Outcome<Option<Response>> {
    match visitor.fresh(HERE) {
        Ok(()) => Ok(None),
        Err(Refusal::First(next)) => Ok(Some(answer(&json!({ "next": next })))),
        Err(refusal) => Err(refusal),
    }
}

fn answer(body: &Value) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, body.to_string()).into_response()
}
