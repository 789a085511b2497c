//! What a user allowed an app. Everything that comes of it ends with it.

use std::time::Duration;

use kit::Timestamp;
use store::{Tx, bind, record};

use super::app::App;
use crate::accounts::rights::Scopes;
use crate::error::Result;
use crate::ids::{AccountId, AppId, GrantId, UserId};
use crate::signals::Tell;

/// A grant ends after so long, however often it is used.
pub const ABSOLUTE: Duration = Duration::from_secs(90 * 86_400);

record! {
    /// What a user allowed an app.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Grant in oauth_grant {
        pub id: GrantId,
        pub account_id: AccountId,
        pub app_id: AppId,
        pub user_id: UserId,
        pub scopes: Scopes,
        /// How often its refresh token was replaced.
        pub generation: i64,
        pub expires_at: Timestamp,
        pub last_used_at: Option<Timestamp>,
        pub revoked_at: Option<Timestamp>,
        pub revoked_because: Option<String>,
        pub created_at: Timestamp,
    }
}

/// Notes that a user allows an app these scopes.
pub fn create(tx: &Tx<'_>, app: &App, user: UserId, scopes: Scopes) -> Result<Grant> {
    let grant = Grant {
        id: tx.new_id(),
        account_id: tx.account(),
        app_id: app.id,
        user_id: user,
        scopes,
        generation: 0,
        expires_at: tx.now().plus(ABSOLUTE),
        last_used_at: None,
        revoked_at: None,
        revoked_because: None,
        created_at: tx.now(),
    };
    tx.run(Grant::INSERT, &grant.bind())?;
    let details = serde_json::json!({ "app": app.id, "user": user, "scopes": scopes });
    tx.audit("oauth_grant.created", &grant.id.to_string(), &details)?;
    Ok(grant)
}

/// Ends a grant with every token that came of it, at once.
pub fn revoke(tx: &Tx<'_>, id: GrantId, because: &'static str) -> Result<()> {
    let ended = tx.run(
        "update oauth_grant set revoked_at = :now, revoked_because = :because
         where account_id = :account and id = :id and revoked_at is null",
        bind! { id, because },
    )?;
    // A token that is not there opens nothing: a request need not look at its grant.
    tx.run("delete from oauth_token where account_id = :account and grant_id = :id", bind! { id })?;
    if ended == 0 {
        return Ok(());
    }
    tx.audit("oauth_grant.revoked", &id.to_string(), &serde_json::json!({ "because": because }))
}
