//! `/unsubscribe/{token}`: the page to unsubscribe from emails, and the one-click URL for mail programs (RFC 8058).
//!
//! `GET` changes nothing, because mail programs and virus scanners open every link. Only `POST` does. The link in the
//! email is the only credential.

use axum::extract::{Request, State};

use crate::accounts::account;
use crate::prelude::*;
use crate::roster::pages::link_page;
use crate::roster::preferences::{self, Preferences};
use crate::unsubscribe_key::UnsubscribeKey;
use crate::web::body;
use crate::web::prelude::*;

/// Maximum size of a request body, in bytes.
const MAX_BODY_BYTES: usize = 1024;

/// `/unsubscribe/{token}`. The token is the credential.
pub fn router() -> Router<App> {
    Router::new().route("/unsubscribe/{token}", get(show).post(update))
}

/// Shows the confirmation page. Changes nothing.
async fn show(State(app): State<App>, PathParams(token): PathParams<String>) -> Result<Response> {
    let read = async {
        let (account, person) = UnsubscribeKey::parse(&token).ok_or_else(Error::not_found)?;
        let key = app.unsubscribe_key.clone();
        let read = move |db: &Reader<'_>| {
            let preferences = preferences::find(db, person)?;
            check_token(&key, &token, &preferences)?;
            Ok((preferences, account::find(db)?.name))
        };
        app.db.read(scope(account, person), read).await
    };
    respond(read.await, |wants| if wants { Page::Ask } else { Page::Stopped })
}

/// Unsubscribes the person or, with `?again`, subscribes them again. The body is ignored: it is a form, or the
/// one-click body of a mail program.
async fn update(
    State(app): State<App>,
    PathParams(token): PathParams<String>,
    request: Request,
) -> Result<Response> {
    let change = async {
        let (account, person) = UnsubscribeKey::parse(&token).ok_or_else(Error::not_found)?;
        let key = app.unsubscribe_key.clone();
        let again = request.uri().query() == Some("again");
        body::read(request, &app, MAX_BODY_BYTES).await?;
        let change = move |tx: &Tx<'_>| {
            check_token(&key, &token, &preferences::find(tx, person)?)?;
            Ok((preferences::set_email_opt_in(tx, person, again)?, account::find(tx)?.name))
        };
        app.db.write(scope(account, person), change).await
    };
    respond(change.await, |wants| if wants { Page::Resumed } else { Page::Stopped })
}

/// Fails if the signature of a token is not valid, or if the link was sent to an address that the person no longer has.
fn check_token(key: &UnsubscribeKey, token: &str, person: &Preferences) -> Result<()> {
    let is_valid = person.email.as_deref().is_some_and(|email| key.verify(token, email));
    Error::not_found().fail_if(!is_valid)
}

/// Anyone with the link acts as the person it was sent to.
fn scope(account: AccountId, person: PersonId) -> Scope {
    Scope::account(account, person.to_string())
}

/// The variants of the page.
#[derive(Clone, Copy)]
enum Page {
    Ask,
    Stopped,
    Resumed,
    Unknown,
}

/// The page. It has no script and needs no session.
#[derive(Template)]
#[template(path = "unsubscribe.html")]
struct Unsubscribe {
    frame: Frame,
    club: String,
    address: String,
    page: Page,
}

/// Responds with the page for the person, or says that the link is not valid.
fn respond(
    person: Result<(Preferences, String)>,
    page: impl FnOnce(bool) -> Page,
) -> Result<Response> {
    let (page, club, address) = match person.or_none()? {
        Some((person, club)) => {
            let address = person.email.as_deref().map(mask);
            let address = address.unwrap_or_else(|| t!("your email address").to_owned());
            (page(person.email_opt_in), club, address)
        }
        // The person or the club may no longer exist.
        None => (Page::Unknown, String::new(), String::new()),
    };
    let (status, title) = match page {
        Page::Ask => (StatusCode::OK, t!("Stop emails?")),
        Page::Stopped => (StatusCode::OK, t!("Emails stopped")),
        Page::Resumed => (StatusCode::OK, t!("Emails resumed")),
        Page::Unknown => (StatusCode::NOT_FOUND, t!("Link not found")),
    };
    link_page(status, &Unsubscribe { frame: Frame::plain(title), club, address, page })
}

/// Masks an email address so that only its owner recognizes it: `a***@example.org`.
fn mask(address: &str) -> String {
    let (name, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let first: String = name.chars().take(1).collect();
    format!("{first}***@{domain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_keeps_the_first_character_and_the_domain() {
        assert_eq!(mask("ana@example.org"), "a***@example.org");
        assert_eq!(mask("éa@x.org"), "é***@x.org");
    }
}
