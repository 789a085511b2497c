//! The app that asks to act for people.

use kit::{Timestamp, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};

use crate::accounts::rights::{Listed, Scopes};
use crate::error::Result;
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

/// An app to be registered.
#[derive(Debug, Clone)]
pub struct NewApp {
    pub name: String,
    pub kind: Kind,
    pub redirect_uris: Vec<String>,
    pub scopes: Scopes,
}

/// Registers an app.
pub fn create(tx: &Tx<'_>, new: NewApp) -> Result<App> {
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
    let details = serde_json::json!({ "name": app.name, "kind": app.kind, "scopes": app.scopes });
    tx.audit("oauth_app.created", &app.id.to_string(), &details)?;
    Ok(app)
}

/// One app of the account.
pub fn find(db: &Reader<'_>, id: AppId) -> Result<App> {
    Ok(db.one(sql!(App::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}
