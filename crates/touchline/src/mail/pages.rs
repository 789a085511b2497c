//! The page on which somebody stops our letters, and the address their mail program calls for it.
//!
//! Opening the page changes nothing: mail programs and virus scanners open every link. Only the button
//! does, or the one click of RFC 8058. The link in the letter is all the authority there is.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use store::{Reader, Scope, Tx};

use crate::accounts::account;
use crate::app::App;
use crate::error::{Code, Result};
use crate::ids::{AccountId, PersonId};
use crate::roster::preferences::{self, Preferences};
use crate::web::body;
use crate::web::path::At;

/// The largest body that a mail program sends with its click.
const LARGEST: usize = 1024;

/// `/unsubscribe/{token}`. The token is the credential.
pub fn router() -> Router<App> {
    Router::new().route("/unsubscribe/{token}", get(show).post(choose))
}

/// Asks, and changes nothing.
async fn show(State(app): State<App>, At(token): At<String>) -> Result<Response> {
    let Some((account, person)) = app.links.open(&token) else { return Ok(unknown()) };
    let look = move |db: &Reader<'_>| Ok((preferences::find(db, person)?, account::find(db)?.name));
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
    let Some((account, person)) = app.links.open(&token) else { return Ok(unknown()) };
    let again = request.uri().query() == Some("again");
    body::read(request, &app, LARGEST).await?;
    let change = move |tx: &Tx<'_>| {
        Ok((preferences::want_email(tx, person, again)?, account::find(tx)?.name))
    };
    let done = app.db.write(scope(account, person), change).await;
    answer(done, |wants| if wants { Page::Resumed } else { Page::Stopped })
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
}

fn answer(
    found: Result<(Preferences, String)>,
    page: impl FnOnce(bool) -> Page,
) -> Result<Response> {
    match found {
        Ok((person, club)) => Ok(tell(page(person.wants_email), &person, &club)),
        // The person or the whole club is gone: there is nobody to write to.
        Err(error) if error.code == Code::NotFound => Ok(unknown()),
        Err(error) => Err(error),
    }
}

fn tell(page: Page, person: &Preferences, club: &str) -> Response {
    let address = escaped(&person.email.as_deref().map_or("your address".to_owned(), masked));
    let club = escaped(club);
    let (title, text, choice, button) = match page {
        Page::Ask => (
            "Stop these emails?",
            format!("{club} will send no more emails to {address}."),
            "",
            "Stop the emails",
        ),
        Page::Stopped => (
            "No more emails",
            format!("{club} sends no emails to {address}."),
            "again",
            "Send me emails again",
        ),
        Page::Resumed => (
            "Emails come again",
            format!("{club} sends emails to {address}."),
            "",
            "Stop the emails",
        ),
    };
    let form =
        format!("<form method=\"post\" action=\"?{choice}\"><button>{button}</button></form>");
    html(StatusCode::OK, title, &text, &form)
}

fn unknown() -> Response {
    let text = "This link is not known here. Copy the whole link from the email and try again.";
    html(StatusCode::NOT_FOUND, "Link not found", text, "")
}

/// The page may load our style and send its form back to us, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";

fn html(status: StatusCode, title: &str, text: &str, form: &str) -> Response {
    let page = include_str!("../../assets/unsubscribe.html");
    let page = page.replace("{title}", title).replace("{form}", form).replace("{text}", text);
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ];
    (status, headers, page).into_response()
}

/// An address that its owner knows again and nobody else learns: `a***@example.org`.
fn masked(address: &str) -> String {
    let (name, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let first: String = name.chars().take(1).collect();
    format!("{first}***@{domain}")
}

/// Text as it stands in a page, whatever is in it.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_known_to_its_owner_only() {
        assert_eq!(masked("ana@example.org"), "a***@example.org");
        assert_eq!(masked("éa@x.org"), "é***@x.org");
        assert_eq!(escaped("<b>\"O'Neil\" & co"), "&lt;b&gt;&quot;O&#39;Neil&quot; &amp; co");
    }
}
