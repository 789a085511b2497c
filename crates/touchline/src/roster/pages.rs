//! `/confirm-address/{token}`: somebody confirms that an email address on the roster is theirs.
//!
//! Opening the page changes nothing: mail programs and virus scanners open every link. Only the button
//! does. Nothing is stored: the token names the person and is signed together with the address, so that it
//! stops working when the address changes.

use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::REFERRER_POLICY;
use http::{HeaderValue, StatusCode};
use kit::secret::{same, sha256};
use store::{Reader, Scope, Tx};

use super::person::{self, Person};
use super::safeguarding;
use crate::accounts::account;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, PersonId};
use crate::post::courier::Note;
use crate::web::pace::Pace;
use crate::web::page::{self, Frame};
use crate::web::path::At;
use crate::web::visitor::{Guest, GuestPosted, Outcome};

/// How often one person is asked to confirm their address.
const EMAILS: Pace =
    Pace { what: "address confirmation", burst: 3, every: Duration::from_secs(3600) };

/// `/confirm-address/{token}`. The token is the credential.
pub fn router() -> Router<App> {
    Router::new().route("/confirm-address/{token}", get(show).post(confirm))
}

/// Sends somebody the link by which they confirm their address.
pub async fn send_link(app: &App, account: AccountId, person: &Person) -> Result<()> {
    let Some((email, folded)) = person.email.clone().zip(person.email_folded.clone()) else {
        return Err(Error::invalid_state("This person has no email address."));
    };
    if person.email_confirmed_at.is_some() {
        return Err(Error::invalid_state("This person has already confirmed their address."));
    }
    if !app.courier.has_server() {
        let detail = "This server cannot send email. The operator can set up a mail server with TOUCHLINE_SMTP_URL.";
        return Err(Error::invalid_state(detail));
    }
    app.paces.take(EMAILS, sha256(person.id.to_string().as_bytes()))?;
    let id = person.id;
    let look = move |db: &Reader<'_>| -> Result<_> {
        Ok((account::find(db)?.name, safeguarding::is_minor(db, id)?))
    };
    let (club, is_minor) = app.db.read(scope(account, id), look).await?;
    // A coach chooses the name on a roster, and could write to a child with it.
    let name =
        if is_minor { "one of its players".to_owned() } else { person::display_name(person) };
    let token = token(app, account, person.id, &folded);
    let text = format!(
        "{club} has this address on its roster for {name}.\n\nIf that is you, confirm your address with this link:\n\n{}\n\nAfter you confirm it, {club} can send you messages at this address. If this is not you, ignore this email.\n",
        app.url(&format!("/confirm-address/{token}")),
    );
    let subject = format!("[{club}] Confirm your email address");
    let to_name = if is_minor { String::new() } else { name };
    app.courier.send(app, Note { to_name, to_address: email, subject, text });
    Ok(())
}

/// What the link carries: who it is for, signed together with the address.
fn token(app: &App, account: AccountId, person: PersonId, email_folded: &str) -> String {
    let ids = [account.bits().to_be_bytes(), person.bits().to_be_bytes()].concat();
    let signature = app.secrets.key("confirm address").sign(&[&ids, email_folded.as_bytes()]);
    URL_SAFE_NO_PAD.encode([ids.as_slice(), &signature].concat())
}

/// Whom a token names. Whether it is good is known once their address is.
fn parse(token: &str) -> Option<(AccountId, PersonId)> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok().filter(|bytes| bytes.len() == 64)?;
    let (account, rest) = bytes.split_first_chunk()?;
    let (person, _) = rest.split_first_chunk()?;
    let (account, person) = (u128::from_be_bytes(*account), u128::from_be_bytes(*person));
    Some((AccountId::from_bits(account), PersonId::from_bits(person)))
}

/// Whoever follows the link acts as the person it was sent to.
fn scope(account: AccountId, person: PersonId) -> Scope {
    Scope::account(account, person.to_string())
}

/// Somebody whose link is good.
struct Found {
    account: AccountId,
    person: Person,
    email_folded: String,
    club: String,
}

async fn find(app: &App, text: &str) -> Result<Option<Found>> {
    let Some((account, id)) = parse(text) else { return Ok(None) };
    let look = move |db: &Reader<'_>| -> Result<_> {
        Ok((person::find(db, id)?, account::find(db)?.name))
    };
    let (person, club) = match app.db.read(scope(account, id), look).await {
        Ok(found) => found,
        Err(error) if error.code == Code::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(email_folded) = person.email_folded.clone().filter(|_| person.erased_at.is_none())
    else {
        return Ok(None);
    };
    let good = token(app, account, id, &email_folded);
    Ok(same(good.as_bytes(), text.as_bytes()).then_some(Found {
        account,
        person,
        email_folded,
        club,
    }))
}

/// Asks, and changes nothing.
async fn show(guest: Guest, At(token): At<String>) -> Outcome {
    let found = find(&guest.app, &token).await?;
    let page = match &found {
        Some(found) if found.person.email_confirmed_at.is_some() => Page::Done,
        Some(_) => Page::Ask,
        None => Page::Unknown,
    };
    Ok(guest.with_cookie(answer(&guest, found.as_ref(), page)?))
}

async fn confirm(At(token): At<String>, posted: GuestPosted) -> Outcome {
    let guest = &posted.guest;
    let Some(found) = find(&guest.app, &token).await? else {
        return Ok(answer(guest, None, Page::Unknown)?);
    };
    let (id, email) = (found.person.id, found.email_folded.clone());
    let work = move |tx: &Tx<'_>| safeguarding::confirm_email(tx, id, &email);
    let confirmed = guest.app.db.write(scope(found.account, id), work).await?;
    let page = if confirmed { Page::Done } else { Page::Unknown };
    Ok(answer(guest, Some(&found).filter(|_| confirmed), page)?)
}

/// What the page can say.
#[derive(Clone, Copy)]
enum Page {
    Ask,
    Done,
    Unknown,
}

/// The page needs no session.
#[derive(Template)]
#[template(path = "confirm_address.html")]
struct ConfirmAddress<'a> {
    frame: Frame,
    club: &'a str,
    address: &'a str,
    page: Page,
}

/// The address of the page is the key to it, so other pages must not learn it from the browser.
fn answer(guest: &Guest, found: Option<&Found>, page: Page) -> Result<Response> {
    let (status, title) = match page {
        Page::Ask => (StatusCode::OK, "Is this your address?"),
        Page::Done => (StatusCode::OK, "Address confirmed"),
        Page::Unknown => (StatusCode::NOT_FOUND, "Link not found"),
    };
    let club = found.map_or("", |found| &found.club);
    let address = found.and_then(|found| found.person.email.as_deref()).unwrap_or_default();
    let shown = ConfirmAddress { frame: guest.frame(title), club, address, page };
    let mut response = page::html(status, &shown)?;
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}
