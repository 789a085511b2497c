//! The page on which somebody stops our letters, and the address their mail program calls for it.
//!
//! Opening the page changes nothing: mail programs and virus scanners open every link. Only the button
//! does, or the one click of RFC 8058. The link in the letter is all the authority there is.

use askama::Template;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use http::header::REFERRER_POLICY;
use http::{HeaderValue, StatusCode};
use store::{Reader, Scope, Tx};

use crate::accounts::account;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, PersonId};
use crate::mail::unsubscribe::LinkKey;
use crate::roster::preferences::{self, Preferences};
use crate::web::body;
use crate::web::page::{self, Frame};
use crate::web::path::At;

/// The largest body that a mail program sends with its click.
const LARGEST: usize = 1024;

/// `/unsubscribe/{token}`. The token is the credential.
pub fn router() -> Router<App> {
    Router::new().route("/unsubscribe/{token}", get(show).post(choose))
}

/// Asks, and changes nothing.
async fn show(State(app): State<App>, At(token): At<String>) -> Result<Response> {
    let Some((account, person)) = LinkKey::parse(&token) else { return unknown() };
    let links = app.links.clone();
    let look = move |db: &Reader<'_>| {
        check(&links, &token, &preferences::find(db, person)?)?;
        Ok((preferences::find(db, person)?, account::find(db)?.name))
    };
    let found = app.db.read(scope(account, person), look).await;
    answer(found, |wants| if wants { Page::Ask } else { Page::Stopped })
}

/// Stops the letters or, with `?again`, lets them come again. What the body says is no matter: a form,
/// or the one click of a mail program.
async fn choose(
    State(app): State<App>,
    At(token): At<String>,
    request: Request,
) -> Result<Response> {
    let Some((account, person)) = LinkKey::parse(&token) else { return unknown() };
    let links = app.links.clone();
    let again = request.uri().query() == Some("again");
    body::read(request, &app, LARGEST).await?;
    let change = move |tx: &Tx<'_>| {
        check(&links, &token, &preferences::find(tx, person)?)?;
        Ok((preferences::want_email(tx, person, again)?, account::find(tx)?.name))
    };
    let done = app.db.write(scope(account, person), change).await;
    answer(done, |wants| if wants { Page::Resumed } else { Page::Stopped })
}

/// Fails if a link is not ours, or was sent to an address that the person no longer has.
fn check(links: &LinkKey, token: &str, person: &Preferences) -> Result<()> {
    let is_theirs = person.email.as_deref().is_some_and(|email| links.is_for(token, email));
    if is_theirs { Ok(()) } else { Err(Error::not_found()) }
}

/// Whoever follows the link acts as the person it was sent to.
fn scope(account: AccountId, person: PersonId) -> Scope {
    Scope::account(account, person.to_string())
}

/// What the page can say.
#[derive(Clone, Copy)]
enum Page {
    Ask,
    Stopped,
    Resumed,
    Unknown,
}

fn answer(
    found: Result<(Preferences, String)>,
    page: impl FnOnce(bool) -> Page,
) -> Result<Response> {
    match found {
        Ok((person, club)) => tell(page(person.wants_email), &person, club),
        // The person or the whole club is gone: there is nobody to write to.
        Err(error) if error.code == Code::NotFound => unknown(),
        Err(error) => Err(error),
    }
}

/// The page, whatever it says. It has no script and needs no session.
#[derive(Template)]
#[template(path = "unsubscribe.html")]
struct Unsubscribe {
    frame: Frame,
    club: String,
    address: String,
    page: Page,
}

fn tell(page: Page, person: &Preferences, club: String) -> Result<Response> {
    let address = person.email.as_deref().map_or("your address".to_owned(), masked);
    send(StatusCode::OK, page, club, address)
}

fn unknown() -> Result<Response> {
    send(StatusCode::NOT_FOUND, Page::Unknown, String::new(), String::new())
}

/// The address of the page is the key to it, so not even our own pages are told where a visitor came from.
fn send(status: StatusCode, page: Page, club: String, address: String) -> Result<Response> {
    let frame = Frame::plain(match page {
        Page::Ask => "Stop these emails?",
        Page::Stopped => "No more emails",
        Page::Resumed => "Emails come again",
        Page::Unknown => "Link not found",
    });
    let mut response = page::html(status, &Unsubscribe { frame, club, address, page })?;
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

/// An address that its owner knows again and nobody else learns: `a***@example.org`.
fn masked(address: &str) -> String {
    let (name, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let first: String = name.chars().take(1).collect();
    format!("{first}***@{domain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_known_to_its_owner_only() {
        assert_eq!(masked("ana@example.org"), "a***@example.org");
        assert_eq!(masked("éa@x.org"), "é***@x.org");
    }
}
