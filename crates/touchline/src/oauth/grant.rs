//! What a user allowed an app. Everything that comes of it ends with it.
//!
//! A grant and its tokens are always taken in this order, grant first: whoever ends grants and whoever
//! uses one then wait for each other and never for ever.

use std::time::Duration;

use kit::Timestamp;
use store::{Reader, Tx, bind, record, row, sql};

use super::app::App;
use super::code;
use crate::accounts::rights::Scopes;
use crate::error::Result;
use crate::ids::{AccountId, AppId, GrantId, UserId};
use crate::signals::Tell;

/// A grant ends after so long, however often it is used.
pub const ABSOLUTE: Duration = Duration::from_secs(90 * 86_400);
/// An ended grant is remembered so much longer.
const REMEMBERED: Duration = Duration::from_secs(30 * 86_400);

record! {
    /// What a user allowed an app.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Grant in oauth_grant {
        pub id: GrantId,
        pub account_id: AccountId,
        pub app_id: AppId,
        pub user_id: UserId,
        pub scopes: Scopes,
        /// Where the user knew the answer to go.
        pub redirect_uri: String,
        /// How often its refresh token was replaced.
        pub generation: i64,
        pub expires_at: Timestamp,
        pub last_used_at: Option<Timestamp>,
        pub revoked_at: Option<Timestamp>,
        pub revoked_because: Option<String>,
        pub created_at: Timestamp,
    }
}

/// Notes that a user allows an app these scopes, having seen where the answer goes.
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

fn revoke_each(tx: &Tx<'_>, live: &[(GrantId,)], because: &'static str) -> Result<usize> {
    live.iter().try_for_each(|(id,)| revoke(tx, *id, because))?;
    Ok(live.len())
}

/// Ends what everybody allowed an app, and says how many grants that were.
pub fn revoke_all_of_app(tx: &Tx<'_>, app: AppId, because: &'static str) -> Result<usize> {
    let live: Vec<(GrantId,)> = tx.all(
        "select id from oauth_grant
         where account_id = :account and app_id = :app and revoked_at is null order by id",
        bind! { app },
    )?;
    code::forget_of_app(tx, app)?;
    revoke_each(tx, &live, because)
}

/// Ends what a user allowed one app, and says how many grants that were.
pub fn revoke_of_user_for_app(
    tx: &Tx<'_>,
    user: UserId,
    app: AppId,
    because: &'static str,
) -> Result<usize> {
    let live: Vec<(GrantId,)> = tx.all(
        "select id from oauth_grant
         where account_id = :account and app_id = :app and user_id = :user and revoked_at is null
         order by id",
        bind! { app, user },
    )?;
    code::forget_of_user(tx, user)?;
    revoke_each(tx, &live, because)
}

/// Ends what a user allowed apps of this club, because they leave it.
pub fn revoke_all_in_club(tx: &Tx<'_>, user: UserId, because: &'static str) -> Result<usize> {
    let live: Vec<(GrantId,)> = tx.all(
        "select id from oauth_grant
         where account_id = :account and user_id = :user and revoked_at is null order by id",
        bind! { user },
    )?;
    code::forget_of_user(tx, user)?;
    revoke_each(tx, &live, because)
}

/// Ends what a user allowed any app of any club: they chose a new password, or may no longer sign in. It
/// works in a job of no club too; whoever calls it enters the reason in the logs. End the user's sessions
/// first: a code that is being exchanged meanwhile waits for them and then finds itself refused.
pub fn revoke_all_of_user(tx: &Tx<'_>, user: UserId, because: &'static str) -> Result<u64> {
    let ended = tx.run(
        "update oauth_grant set revoked_at = :now, revoked_because = :because
         where user_id = :user and revoked_at is null /* any account */",
        bind! { user, because },
    )?;
    tx.run(
        "delete from oauth_token
         where grant_id in (select g.id from oauth_grant g where g.user_id = :user)
           and account_id in (select g.account_id from oauth_grant g where g.user_id = :user)
         /* any account */",
        bind! { user },
    )?;
    code::forget_everywhere(tx, user)?;
    Ok(ended)
}

/// Takes the access tokens of an app away; what it may do has become less.
pub fn end_access_of_app(tx: &Tx<'_>, app: AppId) -> Result<()> {
    tx.run(
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

/// Whether a grant has neither been revoked nor expired, and its user is still in the account.
pub fn is_live(db: &Reader<'_>, id: GrantId) -> Result<bool> {
    let live: Option<(GrantId,)> = db.maybe(
        "select g.id from oauth_grant g
         join account_user b on b.account_id = g.account_id and b.user_id = g.user_id
         where g.account_id = :account and g.id = :id and g.revoked_at is null and g.expires_at > :now",
        bind! { id },
    )?;
    Ok(live.is_some())
}

/// How many people an app acts for.
pub fn users_of(db: &Reader<'_>, app: AppId) -> Result<i64> {
    let (count,) = db.one(
        "select count(distinct user_id) from oauth_grant
         where account_id = :account and app_id = :app and revoked_at is null and expires_at > :now",
        bind! { app },
    )?;
    Ok(count)
}

/// Whether a user allows an app all of these scopes already, with the answer going to this place.
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
    let live: Vec<Grant> = db.all(text, bind! { app, user, redirect_uri })?;
    Ok(live.iter().any(|grant| grant.scopes.cover(scopes)))
}

row! {
    /// A grant with the names of those it is between.
    #[derive(Debug, Clone)]
    pub struct Held {
        pub id: GrantId,
        pub account_id: AccountId,
        pub club: String,
        pub app_id: AppId,
        pub app: String,
        pub scopes: Scopes,
        pub created_at: Timestamp,
        pub last_used_at: Option<Timestamp>,
        pub expires_at: Timestamp,
    }
}

/// What a user allows apps now, in every club, newest first.
pub fn grants_of_user(db: &Reader<'_>, user: UserId) -> Result<Vec<Held>> {
    Ok(db.all(
        "select g.id, g.account_id, c.name as club, g.app_id, a.name as app, g.scopes, g.created_at,
                g.last_used_at, g.expires_at
         from oauth_grant g
         join account c on c.id = g.account_id
         join oauth_app a on a.account_id = g.account_id and a.id = g.app_id
         where g.user_id = :user and g.revoked_at is null and g.expires_at > :now
         order by g.id desc /* any account */",
        bind! { user },
    )?)
}

/// Forgets grants that ended long ago, with all that is left of them. Says how many.
pub fn forget(tx: &Tx<'_>) -> Result<u64> {
    let before = tx.now().minus(REMEMBERED);
    Ok(tx.run(
        "delete from oauth_grant where (account_id, id) in
            (select account_id, id from oauth_grant where expires_at < :before limit 200)
         /* any account */",
        bind! { before },
    )?)
}
