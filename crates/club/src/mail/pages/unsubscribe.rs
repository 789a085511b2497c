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
pub(super) const MAX_BODY_BYTES: usize = 1024;

/// `/unsubscribe/{token}`. The token is the credential.
pub(super) fn router() -> Router<App> {
    Router::new().route("/unsubscribe/{token}", get(show).post(update))
}

/// Shows the confirmation page. Changes nothing.
async fn show(
    State(app): State<App>,
    PathParams(token): PathParams<String>,
    request: Request,
) -> Result<Response> {
    let (link, all) = (token.clone(), Query::of(&request).all);
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
    respond(read.await, &link, all, |wants| if wants { Page::Ask } else { Page::Stopped })
}

/// The query of a link.
struct Query {
    /// Applies to all clubs of the user who have this address, as the link in a daily summary does.
    all: bool,
    /// Subscribes again.
    again: bool,
}

impl Query {
    fn of(request: &Request) -> Self {
        let has = |name| request.uri().query().is_some_and(|q| q.split('&').any(|one| one == name));
        Self { all: has("all"), again: has("again") }
    }
}

/// Unsubscribes the person or, with `?again`, subscribes them again. The body is ignored: it is a form, or the
/// one-click body of a mail program.
async fn update(
    State(app): State<App>,
    PathParams(token): PathParams<String>,
    request: Request,
) -> Result<Response> {
    let (link, Query { all, again }) = (token.clone(), Query::of(&request));
    let change = async {
        let (account, person) = UnsubscribeKey::parse(&token).ok_or_else(Error::not_found)?;
        let key = app.unsubscribe_key.clone();
        body::read(request, &app, MAX_BODY_BYTES).await?;
        let change = move |tx: &Tx<'_>| -> Result<_> {
            check_token(&key, &token, &preferences::find(tx, person)?)?;
            Ok((preferences::set_email_opt_in(tx, person, again)?, account::find(tx)?.name))
        };
        let changed = app.db.write(scope(account, person), change).await?;
        if all {
            change_others(&app, account, person, again).await?;
        }
        Ok(changed)
    };
    respond(change.await, &link, all, |wants| if wants { Page::Resumed } else { Page::Stopped })
}

/// Does the same for the people that the user has in other clubs with the same address.
async fn change_others(app: &App, account: AccountId, person: PersonId, wants: bool) -> Result<()> {
    let find = move |db: &Reader<'_>| preferences::same_recipient(db, person);
    for (account, other) in app.db.read(scope(account, person), find).await? {
        let change = move |tx: &Tx<'_>| preferences::set_email_opt_in(tx, other, wants);
        app.db.write(scope(account, other), change).await?;
    }
    Ok(())
}

/// Fails if the signature of a token is not valid, or if the link was sent to an address that the person no longer has.
pub(super) fn check_token(key: &UnsubscribeKey, token: &str, person: &Preferences) -> Result<()> {
    let is_valid = person.email.as_deref().is_some_and(|email| key.verify(token, email));
    Error::not_found().fail_if(!is_valid)
}

/// Anyone with the link acts as the person it was sent to.
pub(super) fn scope(account: AccountId, person: PersonId) -> Scope {
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
    /// The path of the settings.
    settings: String,
    /// The query of the form for all clubs.
    all: &'static str,
}

/// Responds with the page for the person, or says that the link is not valid.
fn respond(
    person: Result<(Preferences, String)>,
    token: &str,
    all: bool,
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
    let (settings, all) = (format!("/unsubscribe/{token}/settings"), if all { "all&" } else { "" });
    link_page(
        status,
        &Unsubscribe { frame: Frame::plain(title), club, address, page, settings, all },
    )
}

/// Masks an email address so that only its owner recognizes it: `a***@example.org`.
pub(super) fn mask(address: &str) -> String {
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
