//! The app that asks to act for people.

use kit::{Timestamp, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};

use super::{code, grant, redirect};
use crate::accounts::rights::{Listed, Scopes};
use crate::error::{Error, Fault, Result};
use crate::expected::{Expected, Versioned};
use crate::ids::{AccountId, AppId};
use crate::signals::Tell;

words! {
    /// Where an app runs, and so whether it can keep a secret.
    pub enum Kind as AppKind {
        /// On a phone or a computer: no secret, PKCE.
        Native = "native",
        /// In a browser: no secret, PKCE.
        Spa = "spa",
        /// On a server: has a secret.
        Server = "server",
    }
}
word_column!(Kind);

impl Kind {
    /// Whether it can keep a secret.
    pub fn is_confidential(self) -> bool {
        self == Self::Server
    }
}

record! {
    /// An app. Its id is its `client_id`.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    #[serde(tag = "object", rename = "oauth_app")]
    pub struct App in oauth_app {
        pub id: AppId,
        pub account_id: AccountId,
        pub name: String,
        pub kind: Kind,
        pub redirect_uris: Listed<String>,
        pub scopes: Scopes,
        pub created_by: String,
        pub disabled_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

impl App {
    /// Whether people may be sent back to it there.
    pub fn may_be_sent_to(&self, uri: &str) -> bool {
        redirect::is_registered(&self.redirect_uris.0, self.kind, uri)
    }
}

impl Versioned for App {
    fn version(&self) -> i64 {
        self.version
    }
}

/// An app to be registered.
#[derive(Debug, Clone)]
pub struct NewApp {
    pub name: String,
    pub kind: Kind,
    pub redirect_uris: Vec<String>,
    pub scopes: Scopes,
}

/// What is to be different about an app; where it runs stays.
#[derive(Debug, Clone, Default)]
pub struct AppChange {
    pub name: Option<String>,
    pub redirect_uris: Option<Vec<String>>,
    pub scopes: Option<Scopes>,
}

/// Registers an app. One on a server also needs a secret: see [`super::secret::add`].
pub fn create(tx: &Tx<'_>, new: NewApp) -> Result<App> {
    let new = checked(new)?;
    let app = App {
        id: tx.new_id(),
        account_id: tx.account(),
        name: new.name,
        kind: new.kind,
        redirect_uris: Listed(new.redirect_uris),
        scopes: new.scopes,
        created_by: tx.actor().to_owned(),
        disabled_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.run(App::INSERT, &app.bind())?;
    tx.audit("oauth_app.created", &app.id.to_string(), &told(&app))?;
    Ok(app)
}

/// Changes an app. Scopes that are taken away are gone at once: every access token ends, and the app
/// gets no other for what it may no longer do.
pub fn change(tx: &Tx<'_>, id: AppId, change: AppChange, expected: &Expected) -> Result<App> {
    let before = expected.check(find(tx, id))?;
    let new = checked(NewApp {
        name: change.name.unwrap_or_else(|| before.name.clone()),
        kind: before.kind,
        redirect_uris: change.redirect_uris.unwrap_or_else(|| before.redirect_uris.0.clone()),
        scopes: change.scopes.unwrap_or(before.scopes),
    })?;
    let same = (&new.name, &new.redirect_uris, new.scopes)
        == (&before.name, &before.redirect_uris.0, before.scopes);
    if same {
        return Ok(before);
    }
    tx.run(
        "update oauth_app set name = :name, redirect_uris = :uris, scopes = :scopes,
                updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id, name: &new.name, uris: Listed(new.redirect_uris), scopes: new.scopes },
    )?;
    if !new.scopes.cover(before.scopes) {
        grant::end_access_of_app(tx, id)?;
    }
    let after = find(tx, id)?;
    let details = serde_json::json!({ "before": told(&before), "after": told(&after) });
    tx.audit("oauth_app.updated", &id.to_string(), &details)?;
    Ok(after)
}

/// Takes an app out of service: everybody's tokens end at once. Doing so twice is harmless.
pub fn disable(tx: &Tx<'_>, id: AppId) -> Result<App> {
    let app = find(tx, id)?;
    if app.disabled_at.is_some() {
        return Ok(app);
    }
    set_disabled(tx, id, Some(tx.now()))?;
    code::forget_of_app(tx, id)?;
    let ended = grant::revoke_all_of_app(tx, id, "app_disabled")?;
    let details = serde_json::json!({ "name": app.name, "grants_revoked": ended });
    tx.audit("oauth_app.disabled", &id.to_string(), &details)?;
    find(tx, id)
}

/// Puts an app into service again. Its users are asked again.
pub fn enable(tx: &Tx<'_>, id: AppId) -> Result<App> {
    let app = find(tx, id)?;
    if app.disabled_at.is_none() {
        return Ok(app);
    }
    set_disabled(tx, id, None)?;
    tx.audit("oauth_app.enabled", &id.to_string(), &serde_json::json!({ "name": app.name }))?;
    find(tx, id)
}

fn set_disabled(tx: &Tx<'_>, id: AppId, disabled_at: Option<Timestamp>) -> Result<()> {
    tx.run(
        "update oauth_app set disabled_at = :disabled_at, updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id, disabled_at },
    )?;
    Ok(())
}

/// One app of the account.
pub fn find(db: &Reader<'_>, id: AppId) -> Result<App> {
    Ok(db.one(sql!(App::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The account's apps, oldest first, those out of service included.
pub fn list(db: &Reader<'_>) -> Result<Vec<App>> {
    Ok(db.all(sql!(App::SELECT, " where account_id = :account order by id"), bind! {})?)
}

/// The app with this `client_id`, whosever it is, if it is in service.
pub fn find_client(db: &Reader<'_>, client_id: &str) -> Result<Option<App>> {
    let Ok(id) = client_id.parse::<AppId>() else { return Ok(None) };
    let found: Option<App> =
        db.maybe(sql!(App::SELECT, " where id = :id /* any account */"), bind! { id })?;
    // An id has one spelling.
    Ok(found.filter(|app| app.disabled_at.is_none() && app.id.to_string() == client_id))
}

/// The account that an app belongs to; the command line knows only the app.
pub fn account_of(db: &Reader<'_>, id: AppId) -> Result<AccountId> {
    let (account,) =
        db.one("select account_id from oauth_app where id = :id /* any account */", bind! { id })?;
    Ok(account)
}

/// What the audit log keeps of an app.
fn told(app: &App) -> serde_json::Value {
    serde_json::json!({
        "name": app.name,
        "kind": app.kind,
        "redirect_uris": app.redirect_uris,
        "scopes": app.scopes,
    })
}

fn checked(new: NewApp) -> Result<NewApp> {
    let mut faults = Vec::new();
    let name = text::line(&new.name, 80).unwrap_or_else(|_| {
        let detail = "A name has 1 to 80 characters and no control characters.";
        faults.push(Fault::new("/name", "invalid_name", detail));
        String::new()
    });
    if new.redirect_uris.is_empty() || new.redirect_uris.len() > redirect::MOST {
        let detail = "An app has between 1 and 20 addresses to go back to.";
        faults.push(Fault::new("/redirect_uris", "invalid_redirect_uri", detail));
    }
    for (place, uri) in new.redirect_uris.iter().enumerate() {
        if let Some(detail) = redirect::fault(uri, new.kind) {
            let pointer = format!("/redirect_uris/{place}");
            faults.push(Fault::new(pointer, "invalid_redirect_uri", detail));
        }
    }
    if new.scopes.everything() || new.scopes.is_empty() {
        let detail = "An app has named scopes; it cannot be given everything.";
        faults.push(Fault::new("/scopes", "invalid_scope", detail));
    }
    if faults.is_empty() { Ok(NewApp { name, ..new }) } else { Err(Error::invalid(faults)) }
}
