//! `/confirm-address/{token}`: a person confirms that an email address on the roster is theirs.
//!
//! `GET` changes nothing, because mail programs and virus scanners open every link. Only `POST` does. Tokens are not
//! stored: a token contains the person's id and is signed together with the address, so that it becomes invalid when
//! the address changes.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use http::header::REFERRER_POLICY;
use kit::secret::{constant_time_eq, sha256};

use crate::accounts::account;
use crate::prelude::*;
use crate::roster::email_confirmation;
use crate::roster::person::{self, Person};
use crate::roster::preferences::RecipientLocales;
use crate::roster::safeguarding;
use crate::smtp::direct::DirectEmail;
use crate::web::page;
use crate::web::prelude::*;
use crate::web::throttle::RateLimit;
use crate::web::visitor::{Guest, GuestForm};

/// Rate limit of confirmation emails per person.
const CONFIRMATION_EMAIL_LIMIT: RateLimit =
    RateLimit { name: "address confirmation", burst: 3, interval: Duration::from_secs(3600) };

/// `/confirm-address/{token}`. The token is the credential.
pub(super) fn router() -> Router<App> {
    Router::new().route("/confirm-address/{token}", get(show).post(confirm))
}

/// Emails a person the link to confirm their address.
pub async fn send_link(app: &App, account: AccountId, person: &Person) -> Result<()> {
    let Some((email, folded)) = person.email.clone().zip(person.email_folded.clone()) else {
        return Err(Error::invalid_state("This person has no email address."));
    };
    Error::invalid_state("This person has already confirmed their email address.")
        .fail_if(person.email_confirmed_at.is_some())?;
    let detail = "This server does not send email. The operator can set up a mail server with TOUCHLINE_SMTP_URL.";
    Error::invalid_state(detail).fail_if(!app.direct_mailer.has_server())?;
    app.throttle.check(CONFIRMATION_EMAIL_LIMIT, sha256(person.id.to_string().as_bytes()))?;
    let (id, recipient) = (person.id, person.clone());
    let read = move |db: &Reader<'_>| -> Result<_> {
        let locale = RecipientLocales::load(db, [&recipient])?.of(&recipient);
        Ok((account::find(db)?.name, safeguarding::is_minor(db, id)?, locale))
    };
    let (club, is_minor, locale) = app.db.read(scope(account, id), read).await?;
    // A coach can edit the name, and could use it to send a text to a child.
    let name = if is_minor { None } else { Some(person::display_name(person)) };
    let token = token(app, account, person.id, &folded);
    let link = app.url(&format!("/confirm-address/{token}"));
    let write = || {
        let why = match &name {
            Some(name) => t!("{club} has this email address on its roster for {name}.", club, name),
            None => t!("{club} has this email address on its roster for one of its players.", club),
        };
        let text = t!(
            "{why}\n\nIf this is you, open this link to confirm your address:\n\n{link}\n\nAfter you confirm it, {club} can send you messages at this address. If this is not you, ignore this email.\n",
            why,
            link,
            club
        );
        (format!("[{club}] {}", t!("Confirm your email address")), text)
    };
    let (subject, text) = locale.run(write);
    let to_name = name.unwrap_or_default();
    app.send_email(&DirectEmail { to_name, to_address: email, subject, text });
    Ok(())
}

/// The token of a link: the ids of account and person, signed together with the address.
fn token(app: &App, account: AccountId, person: PersonId, email_folded: &str) -> String {
    let ids = [account.bits().to_be_bytes(), person.bits().to_be_bytes()].concat();
    let signature = app.secrets.key("confirm address").sign(&[&ids, email_folded.as_bytes()]);
    URL_SAFE_NO_PAD.encode([ids.as_slice(), &signature].concat())
}

/// The ids in a token. The signature is verified in [`verify`], because it covers the address.
fn parse_token(token: &str) -> Option<(AccountId, PersonId)> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok().filter(|bytes| bytes.len() == 64)?;
    let (account, rest) = bytes.split_first_chunk()?;
    let (person, _) = rest.split_first_chunk()?;
    let (account, person) = (u128::from_be_bytes(*account), u128::from_be_bytes(*person));
    Some((AccountId::from_bits(account), PersonId::from_bits(person)))
}

/// Anyone with the link acts as the person it was sent to.
fn scope(account: AccountId, person: PersonId) -> Scope {
    Scope::account(account, person.to_string())
}

/// The person of a valid link, and the name of the club.
async fn verify(app: &App, text: &str) -> Result<Option<(Person, String)>> {
    let Some((account, id)) = parse_token(text) else { return Ok(None) };
    let read = move |db: &Reader<'_>| -> Result<_> {
        Ok((person::find(db, id)?, account::find(db)?.name))
    };
    let found = app.db.read(scope(account, id), read).await.or_none()?;
    Ok(found.filter(|(person, _)| {
        let email = person.email_folded.as_deref().filter(|_| person.erased_at.is_none());
        let expected = email.map(|email| token(app, account, id, email));
        expected.is_some_and(|expected| constant_time_eq(expected.as_bytes(), text.as_bytes()))
    }))
}

/// Shows the confirmation page. Changes nothing.
async fn show(guest: Guest, PathParams(token): PathParams<String>) -> PageResult {
    let link = verify(&guest.app, &token).await?;
    let page = match &link {
        Some((person, _)) if person.email_confirmed_at.is_some() => Page::Done,
        Some(_) => Page::Ask,
        None => Page::Unknown,
    };
    Ok(guest.with_cookie(respond(&guest, link.as_ref(), page)?))
}

async fn confirm(PathParams(token): PathParams<String>, posted: GuestForm) -> PageResult {
    let guest = &posted.guest;
    let Some(link) = verify(&guest.app, &token).await? else {
        return Ok(respond(guest, None, Page::Unknown)?);
    };
    let (person, _) = &link;
    let (id, email) = (person.id, person.email_folded.clone().unwrap_or_default());
    let work = move |tx: &Tx<'_>| email_confirmation::confirm_email(tx, id, &email);
    let confirmed = guest.app.db.write(scope(person.account_id, id), work).await?;
    let page = if confirmed { Page::Done } else { Page::Unknown };
    Ok(respond(guest, Some(&link).filter(|_| confirmed), page)?)
}

/// The variants of the page.
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

fn respond(guest: &Guest, link: Option<&(Person, String)>, page: Page) -> Result<Response> {
    let (status, title) = match page {
        Page::Ask => (StatusCode::OK, t!("Is this your email address?")),
        Page::Done => (StatusCode::OK, t!("Email address confirmed")),
        Page::Unknown => (StatusCode::NOT_FOUND, t!("Link not found")),
    };
    let club = link.map_or("", |(_, club)| club);
    let address = link.and_then(|(person, _)| person.email.as_deref()).unwrap_or_default();
    link_page(status, &ConfirmAddress { frame: guest.frame(title), club, address, page })
}

/// Responds with a page whose URL is a credential, so the browser must not send it as the referrer.
pub(crate) fn link_page<T: Template>(status: StatusCode, page: &T) -> Result<Response> {
    let mut response = page::html(status, page)?;
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}
