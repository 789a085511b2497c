//! Grants: what a user has allowed an app. Revoking a grant revokes all its tokens.
//!
//! Transactions always lock a grant before its tokens, so that concurrent ones cannot deadlock.

use std::time::Duration;

use super::app::App;
use super::code;
use crate::prelude::*;

/// Maximum age of a grant, however often it is used.
pub const MAX_AGE: Duration = Duration::from_secs(90 * 86_400);
/// How long grants are stored after they expire.
const RETENTION: Duration = Duration::from_secs(30 * 86_400);

record! {
    /// A grant of a user to an app.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Grant in oauth_grant {
        pub id: GrantId,
        pub account_id: AccountId,
        pub app_id: AppId,
        pub user_id: UserId,
        pub scopes: Scopes,
        /// The redirect URI that the user consented to.
        pub redirect_uri: String,
        /// How often the refresh token was rotated.
        pub generation: i64,
        pub expires_at: Timestamp,
        pub last_used_at: Option<Timestamp>,
        pub revoked_at: Option<Timestamp>,
        pub revoked_because: Option<String>,
        pub created_at: Timestamp,
    }
}

/// Creates a grant of these scopes, after the user consented with this redirect URI.
pub fn create(
    tx: &Tx<'_>,
    app: &App,
    user: UserId,
    scopes: Scopes,
    redirect_uri: &str,
) -> Result<Grant> {
    let grant = Grant {
        id: tx.new_id(),
        account_id: tx.account(),
        app_id: app.id,
        user_id: user,
        scopes,
        redirect_uri: redirect_uri.to_owned(),
        generation: 0,
        expires_at: tx.now().plus(MAX_AGE),
        last_used_at: None,
        revoked_at: None,
        revoked_because: None,
        created_at: tx.now(),
    };
    tx.execute(Grant::INSERT, &grant.bind())?;
    let details = json!({ "app": app.id, "user": user, "scopes": scopes });
    tx.audit("oauth_grant.created", &grant.id.to_string(), &details)?;
    Ok(grant)
}

/// Revokes a grant and deletes its tokens. Takes effect immediately.
pub fn revoke(tx: &Tx<'_>, id: GrantId, because: &'static str) -> Result<()> {
    let revoked = tx.execute(
        "update oauth_grant set revoked_at = :now, revoked_because = :because
         where account_id = :account and id = :id and revoked_at is null",
        bind! { id, because },
    )?;
    // Deleting the tokens saves every request from reading the grant.
    let text = "delete from oauth_token where account_id = :account and grant_id = :id";
    tx.execute(text, bind! { id })?;
    if revoked == 0 {
        return Ok(());
    }
    tx.audit("oauth_grant.revoked", &id.to_string(), &json!({ "because": because }))
}

const SELECT_ACTIVE: &str =
    "select id from oauth_grant where account_id = :account and revoked_at is null";

fn revoke_each(tx: &Tx<'_>, grants: &[(GrantId,)], because: &'static str) -> Result<usize> {
    grants.iter().try_for_each(|(id,)| revoke(tx, *id, because))?;
    Ok(grants.len())
}

/// Revokes all grants to an app. Returns their number.
pub fn revoke_all_of_app(tx: &Tx<'_>, app: AppId, because: &'static str) -> Result<usize> {
    let text = sql!(SELECT_ACTIVE, " and app_id = :app order by id");
    let active = tx.all(text, bind! { app })?;
    code::delete_unused_of_app(tx, app)?;
    revoke_each(tx, &active, because)
}

/// Revokes the grants of a user to one app. Returns their number.
pub fn revoke_of_user_for_app(
    tx: &Tx<'_>,
    user: UserId,
    app: AppId,
    because: &'static str,
) -> Result<usize> {
    let text = sql!(SELECT_ACTIVE, " and app_id = :app and user_id = :user order by id");
    let active = tx.all(text, bind! { app, user })?;
    code::delete_unused_of_user(tx, user)?;
    revoke_each(tx, &active, because)
}

/// Revokes the grants of a user to all apps of this club, because the user leaves it.
pub fn revoke_all_in_club(tx: &Tx<'_>, user: UserId, because: &'static str) -> Result<usize> {
    let text = sql!(SELECT_ACTIVE, " and user_id = :user order by id");
    let active = tx.all(text, bind! { user })?;
    code::delete_unused_of_user(tx, user)?;
    revoke_each(tx, &active, because)
}

/// Revokes all grants of a user in every club, because the password was changed or the user was disabled. Works in a
/// transaction without an account, so the caller writes the audit log entry. End the user's sessions first: a concurrent
/// exchange of a code waits for them and is then refused.
pub fn revoke_all_of_user(tx: &Tx<'_>, user: UserId, because: &'static str) -> Result<u64> {
    let revoked = tx.execute(
        "update oauth_grant set revoked_at = :now, revoked_because = :because
         where user_id = :user and revoked_at is null /* any account */",
        bind! { user, because },
    )?;
    tx.execute(
        "delete from oauth_token
         where grant_id in (select g.id from oauth_grant g where g.user_id = :user)
           and account_id in (select g.account_id from oauth_grant g where g.user_id = :user)
         /* any account */",
        bind! { user },
    )?;
    code::delete_unused_in_all_clubs(tx, user)?;
    Ok(revoked)
}

/// Revokes the access tokens of an app, because it lost scopes. The grants stay.
pub fn revoke_access_tokens_of_app(tx: &Tx<'_>, app: AppId) -> Result<()> {
    tx.execute(
        "delete from oauth_token
         where account_id = :account and kind = 'access'
           and grant_id in (select id from oauth_grant
                            where account_id = :account and app_id = :app and revoked_at is null)",
        bind! { app },
    )?;
    Ok(())
}

/// One grant of the account.
pub fn find(db: &Reader<'_>, id: GrantId) -> Result<Grant> {
    Ok(db.one(sql!(Grant::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// Whether a grant is neither revoked nor expired, and its user still belongs to the account.
pub fn is_active(db: &Reader<'_>, id: GrantId) -> Result<bool> {
    let grant: Option<(GrantId,)> = db.optional(
        "select g.id from oauth_grant g
         join account_user b on b.account_id = g.account_id and b.user_id = g.user_id
         where g.account_id = :account and g.id = :id and g.revoked_at is null and g.expires_at > :now",
        bind! { id },
    )?;
    Ok(grant.is_some())
}

/// The number of users with an active grant to an app.
pub fn count_users(db: &Reader<'_>, app: AppId) -> Result<i64> {
    let text = "
        select count(distinct user_id) from oauth_grant
        where account_id = :account and app_id = :app and revoked_at is null and expires_at > :now";
    Ok(db.one::<(i64,)>(text, bind! { app })?.0)
}

/// Whether the user has already granted the app all of these scopes, with this redirect URI.
pub fn covers(
    db: &Reader<'_>,
    app: AppId,
    user: UserId,
    scopes: Scopes,
    redirect_uri: &str,
) -> Result<bool> {
    let text = sql!(
        Grant::SELECT,
        " where account_id = :account and app_id = :app and user_id = :user
            and redirect_uri = :redirect_uri and revoked_at is null and expires_at > :now"
    );
    let active: Vec<Grant> = db.all(text, bind! { app, user, redirect_uri })?;
    Ok(active.iter().any(|grant| grant.scopes.contains_all(scopes)))
}

row! {
    /// A grant with the names of its club and app.
    #[derive(Debug, Clone)]
    pub struct GrantSummary {
        pub id: GrantId,
        pub account_id: AccountId,
        pub club: String,
        pub app_id: AppId,
        pub app: String,
        pub scopes: Scopes,
        pub created_at: Timestamp,
        pub last_used_at: Option<Timestamp>,
    }
}

/// The active grants of a user in every club, newest first.
pub fn grants_of_user(db: &Reader<'_>, user: UserId) -> Result<Vec<GrantSummary>> {
    Ok(db.all(
        "select g.id, g.account_id, c.name as club, g.app_id, a.name as app, g.scopes, g.created_at,
                g.last_used_at
         from oauth_grant g
         join account c on c.id = g.account_id
         join oauth_app a on a.account_id = g.account_id and a.id = g.app_id
         where g.user_id = :user and g.revoked_at is null and g.expires_at > :now
         order by g.id desc /* any account */",
        bind! { user },
    )?)
}

/// Deletes a batch of grants that expired long ago. Returns the number of deleted grants.
pub fn delete_expired(tx: &Tx<'_>) -> Result<u64> {
    Ok(tx.execute(
        "delete from oauth_grant where (account_id, id) in
            (select account_id, id from oauth_grant where expires_at < :before limit 200)
         /* any account */",
        bind! { before: tx.now().minus(RETENTION) },
    )?)
}
