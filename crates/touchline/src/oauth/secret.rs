//! The secrets of a server-side app. Two may live side by side while one replaces the other.

use std::time::Duration;

use kit::Timestamp;
use kit::secret::{Token, TokenKind, same};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql};

use super::app;
use crate::error::{Error, Result};
use crate::ids::{AccountId, AppId, ClientSecretId};
use crate::signals::Tell;

/// So many secrets of an app may live at once.
pub const MOST: usize = 2;
/// That a secret is in use is noted once in this time.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

record! {
    /// What is kept of a secret.
    #[derive(Debug, Clone, Serialize)]
    pub struct Secret in oauth_secret {
        pub account_id: AccountId,
        pub id: ClientSecretId,
        pub app_id: AppId,
        #[serde(skip)]
        pub hash: [u8; 32],
        /// Its last letters, by which people know it again.
        pub hint: String,
        pub created_by: String,
        pub last_used_at: Option<Timestamp>,
        pub revoked_at: Option<Timestamp>,
        pub created_at: Timestamp,
    }
}

/// Gives a server-side app a secret, shown this once.
pub fn add(tx: &Tx<'_>, id: AppId) -> Result<(Secret, Token)> {
    let app = app::find(tx, id)?;
    if !app.kind.is_confidential() {
        return Err(Error::invalid_state("Only an app on a server can keep a secret."));
    }
    if live(tx, id)?.len() >= MOST {
        let detail = "The app has two secrets already. Revoke one of them first.";
        return Err(Error::invalid_state(detail));
    }
    let token = Token::make(TokenKind::ClientSecret, tx.dice());
    let secret = Secret {
        account_id: tx.account(),
        id: tx.new_id(),
        app_id: id,
        hash: token.hash(),
        hint: token.hint().to_owned(),
        created_by: tx.actor().to_owned(),
        last_used_at: None,
        revoked_at: None,
        created_at: tx.now(),
    };
    tx.run(Secret::INSERT, &secret.bind())?;
    let details = serde_json::json!({ "secret": secret.id, "hint": secret.hint });
    tx.audit("oauth_app.secret_added", &id.to_string(), &details)?;
    Ok((secret, token))
}

/// The secrets of an app that live, oldest first.
pub fn live(db: &Reader<'_>, app: AppId) -> Result<Vec<Secret>> {
    let text = sql!(
        Secret::SELECT,
        " where account_id = :account and app_id = :app and revoked_at is null order by id"
    );
    Ok(db.all(text, bind! { app })?)
}

/// Every secret an app ever had, oldest first.
pub fn list(db: &Reader<'_>, app: AppId) -> Result<Vec<Secret>> {
    let text = sql!(Secret::SELECT, " where account_id = :account and app_id = :app order by id");
    Ok(db.all(text, bind! { app })?)
}

/// Revokes a secret of an app: the next request with it is refused. Doing so twice is harmless.
pub fn revoke(tx: &Tx<'_>, app: AppId, id: ClientSecretId) -> Result<Secret> {
    let text = sql!(Secret::SELECT, " where account_id = :account and app_id = :app and id = :id");
    let secret: Secret = tx.one(text, bind! { app, id })?;
    if secret.revoked_at.is_some() {
        return Ok(secret);
    }
    tx.run(
        "update oauth_secret set revoked_at = :now where account_id = :account and id = :id",
        bind! { id },
    )?;
    let details = serde_json::json!({ "secret": id, "hint": secret.hint });
    tx.audit("oauth_app.secret_revoked", &app.to_string(), &details)?;
    Ok(Secret { revoked_at: Some(tx.now()), ..secret })
}

/// The app's secret that this is, if it is one of those that live.
pub fn verify(db: &Reader<'_>, app: AppId, told: &str) -> Result<Option<Secret>> {
    let Some(token) = Token::parse(TokenKind::ClientSecret, told) else { return Ok(None) };
    let hash = token.hash();
    Ok(live(db, app)?.into_iter().find(|secret| same(&secret.hash, &hash)))
}

impl Secret {
    /// Whether it is time to note that the secret is in use.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.last_used_at.is_none_or(|last| last.plus(TOUCH_EVERY) <= now)
    }
}

/// Notes that a secret is in use.
pub fn touch(tx: &Tx<'_>, id: ClientSecretId) -> Result<()> {
    tx.run(
        "update oauth_secret set last_used_at = :now where account_id = :account and id = :id",
        bind! { id },
    )?;
    Ok(())
}
