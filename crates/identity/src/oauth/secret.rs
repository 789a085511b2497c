//! Client secrets of server-side apps. An app can have two active secrets, so that one can replace the other without
//! downtime.

use std::time::Duration;

use kit::secret::{Token, TokenKind, constant_time_eq};

use super::app;
use crate::prelude::*;

/// Maximum number of active secrets per app.
pub const MAX_ACTIVE: usize = 2;
/// How often `last_used_at` is updated, at most.
const USE_UPDATE_INTERVAL: Duration = Duration::from_secs(60);

record! {
    /// A client secret. Only its hash is stored.
    #[derive(Debug, Clone, Serialize)]
    pub struct Secret in oauth_secret {
        pub account_id: AccountId,
        pub id: ClientSecretId,
        pub app_id: AppId,
        #[serde(skip)]
        pub hash: [u8; 32],
        /// Its last characters, so that people can recognize it.
        pub hint: String,
        pub created_by: String,
        pub last_used_at: Option<Timestamp>,
        pub revoked_at: Option<Timestamp>,
        pub created_at: Timestamp,
    }
}

/// Adds a secret to a server-side app. Returns it with its value, which cannot be read again.
pub fn add(tx: &Tx<'_>, id: AppId) -> Result<(Secret, Token)> {
    let app = app::find(tx, id)?;
    if !app.kind.is_confidential() {
        return Err(Error::invalid_state("Only server-side apps can have a client secret."));
    }
    if list_active(tx, id)?.len() >= MAX_ACTIVE {
        let detail = "The app already has two active secrets. Revoke one of them first.";
        return Err(Error::invalid_state(detail));
    }
    let token = Token::generate(TokenKind::ClientSecret, tx.rng());
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
    tx.execute(Secret::INSERT, &secret.bind())?;
    let details = json!({ "secret": secret.id, "hint": secret.hint });
    tx.audit("oauth_app.secret_added", &id.to_string(), &details)?;
    Ok((secret, token))
}

/// The active secrets of an app, oldest first.
pub fn list_active(db: &Reader<'_>, app: AppId) -> Result<Vec<Secret>> {
    let text = sql!(
        Secret::SELECT,
        " where account_id = :account and app_id = :app and revoked_at is null order by id"
    );
    Ok(db.all(text, bind! { app })?)
}

/// All secrets of an app, oldest first, including revoked ones.
pub fn list(db: &Reader<'_>, app: AppId) -> Result<Vec<Secret>> {
    let text = sql!(Secret::SELECT, " where account_id = :account and app_id = :app order by id");
    Ok(db.all(text, bind! { app })?)
}

/// Revokes a secret of an app: the next request with it is refused. Idempotent.
pub fn revoke(tx: &Tx<'_>, app: AppId, id: ClientSecretId) -> Result<Secret> {
    let text = sql!(Secret::SELECT, " where account_id = :account and app_id = :app and id = :id");
    let secret: Secret = tx.one(text, bind! { app, id })?;
    if secret.revoked_at.is_some() {
        return Ok(secret);
    }
    let text = "update oauth_secret set revoked_at = :now where account_id = :account and id = :id";
    tx.execute(text, bind! { id })?;
    let details = json!({ "secret": id, "hint": secret.hint });
    tx.audit("oauth_app.secret_revoked", &app.to_string(), &details)?;
    Ok(Secret { revoked_at: Some(tx.now()), ..secret })
}

/// The active secret of the app with this value, if there is one.
pub fn verify(db: &Reader<'_>, app: AppId, value: &str) -> Result<Option<Secret>> {
    let Some(token) = Token::parse(TokenKind::ClientSecret, value) else { return Ok(None) };
    let hash = token.hash();
    Ok(list_active(db, app)?.into_iter().find(|secret| constant_time_eq(&secret.hash, &hash)))
}

impl Secret {
    /// Whether it is time to update `last_used_at`.
    pub fn should_record_use(&self, now: Timestamp) -> bool {
        self.last_used_at.is_none_or(|last| last.plus(USE_UPDATE_INTERVAL) <= now)
    }
}

/// Records that a secret was used now.
pub fn record_use(tx: &Tx<'_>, id: ClientSecretId) -> Result<()> {
    let text =
        "update oauth_secret set last_used_at = :now where account_id = :account and id = :id";
    Ok(tx.execute(text, bind! { id }).map(drop)?)
}
