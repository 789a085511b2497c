//! Authorization codes, which an app exchanges for its first tokens. A code works once and expires quickly.

use std::time::Duration;

use kit::secret::{Token, constant_time_eq, sha256};

use super::app::{self, App};
use super::error::{OAuthError, OAuthResult};
use super::token::{self, TokenLifetimes, TokenPair};
use super::{grant, pending_request};
use crate::accounts::session;
use crate::prelude::*;

/// How long codes are stored after they expire, to detect that a code is used again.
const RETENTION: Duration = Duration::from_secs(86_400);

record! {
    /// An authorization code. Only its hash is stored.
    #[derive(Debug, Clone)]
    pub struct Code in oauth_code {
        pub account_id: AccountId,
        pub hash: [u8; 32],
        pub app_id: AppId,
        pub user_id: UserId,
        pub session_id: SessionId,
        pub redirect_uri: String,
        pub scopes: Scopes,
        /// The PKCE code challenge.
        pub challenge: Option<[u8; 32]>,
        pub expires_at: Timestamp,
        /// When the code was exchanged.
        pub used_at: Option<Timestamp>,
        /// The grant that the exchange created.
        pub grant_id: Option<GrantId>,
        pub created_at: Timestamp,
    }
}

/// Input for [`issue`].
#[derive(Debug, Clone)]
pub struct NewCode {
    pub app: AppId,
    pub user: UserId,
    pub session: SessionId,
    pub redirect_uri: String,
    pub scopes: Scopes,
    pub challenge: Option<[u8; 32]>,
}

/// Stores a code that is sent to an app.
pub fn issue(tx: &Tx<'_>, new: NewCode, code: &Token, ttl: Duration) -> Result<()> {
    let code = Code {
        account_id: tx.account(),
        hash: code.hash(),
        app_id: new.app,
        user_id: new.user,
        session_id: new.session,
        redirect_uri: new.redirect_uri,
        scopes: new.scopes,
        challenge: new.challenge,
        expires_at: tx.now().plus(ttl),
        used_at: None,
        grant_id: None,
        created_at: tx.now(),
    };
    tx.execute(Code::INSERT, &code.bind())?;
    Ok(())
}

/// Whether a code can still be exchanged.
pub fn is_redeemable(db: &Reader<'_>, code: &Token) -> Result<bool> {
    let code = find(db, code)?;
    Ok(code.is_some_and(|code| code.used_at.is_none() && db.now() < code.expires_at))
}

fn find(db: &Reader<'_>, code: &Token) -> Result<Option<Code>> {
    let text = sql!(Code::SELECT, " where account_id = :account and hash = :hash");
    Ok(db.optional(text, bind! { hash: code.hash() })?)
}

/// The parameters of a token request with an authorization code.
#[derive(Debug, Clone)]
pub struct CodeExchange {
    pub code: Token,
    pub redirect_uri: Option<String>,
    pub verifier: Option<String>,
}

/// Exchanges a code for a grant and its first tokens. A second exchange with all correct parameters means that the code
/// was stolen, so it revokes the grant (RFC 6749 section 4.1.2).
pub fn exchange(
    tx: &Tx<'_>,
    app: &App,
    request: &CodeExchange,
    lifetimes: TokenLifetimes,
) -> Result<OAuthResult<TokenPair>> {
    let invalid_grant = |description| Ok(Err(OAuthError::invalid_grant(description)));
    let code = find(tx, &request.code)?.filter(|code| code.app_id == app.id);
    let Some(code) = code else { return invalid_grant("The authorization code is invalid.") };
    if request.redirect_uri.as_ref().is_some_and(|uri| *uri != code.redirect_uri) {
        return invalid_grant("redirect_uri differs from that of the authorization request.");
    }
    if let Err(error) = verify_pkce(code.challenge, request.verifier.as_deref()) {
        return Ok(Err(error));
    }
    if code.used_at.is_some() {
        revoke_replayed(tx, &code)?;
        return invalid_grant("The authorization code was already used. Its grant was revoked.");
    }
    if tx.now() >= code.expires_at {
        return invalid_grant("The authorization code has expired.");
    }
    // The app may have changed since the client was authenticated.
    let app = &app::find(tx, app.id)?;
    if !app.allows_redirect_uri(&code.redirect_uri) {
        return invalid_grant("The redirect URI of the code is no longer registered.");
    }
    // Locks the session, so that it cannot end while the grant is created.
    session::touch(tx, code.session_id)?;
    let scopes = code.scopes.intersection(app.scopes);
    if !is_consent_valid(tx, &code)? || scopes.is_empty() {
        return invalid_grant("The user has signed out or can no longer grant these scopes.");
    }
    let grant = grant::create(tx, app, code.user_id, scopes, &code.redirect_uri)?;
    tx.execute(
        "update oauth_code set used_at = :now, grant_id = :grant
         where account_id = :account and hash = :hash",
        bind! { grant: grant.id, hash: code.hash },
    )?;
    token::issue_pair(tx, &grant, lifetimes).map(Ok)
}

/// Verifies the PKCE code verifier (RFC 7636 section 4.6).
fn verify_pkce(challenge: Option<[u8; 32]>, verifier: Option<&str>) -> OAuthResult<()> {
    let is_unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    match (challenge, verifier) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(OAuthError::invalid_request(
            "code_verifier was sent, but the authorization request had no code_challenge.",
        )),
        (Some(_), None) => Err(OAuthError::invalid_grant("code_verifier is missing.")),
        (Some(challenge), Some(verifier))
            if (43..=128).contains(&verifier.len())
                && verifier.bytes().all(is_unreserved)
                && constant_time_eq(&sha256(verifier.as_bytes()), &challenge) =>
        {
            Ok(())
        }
        _ => Err(OAuthError::invalid_grant("code_verifier does not match the code_challenge.")),
    }
}

/// Whether the session in which the user consented is still active, and the user still belongs to the club.
fn is_consent_valid(db: &Reader<'_>, code: &Code) -> Result<bool> {
    let session: Option<(UserId,)> = db.optional(
        "select user_id from session where id = :session and expires_at > :now /* any account */",
        bind! { session: code.session_id },
    )?;
    let same_user = session.is_some_and(|(user,)| user == code.user_id);
    Ok(same_user && pending_request::grantable_scopes_of(db, code.user_id)?.is_some())
}

/// Revokes the grant of a code that was used a second time.
fn revoke_replayed(tx: &Tx<'_>, code: &Code) -> Result<()> {
    let Some(grant) = code.grant_id else { return Ok(()) };
    let details = json!({ "grant": grant, "user": code.user_id });
    tx.audit("oauth_code.replayed", &code.app_id.to_string(), &details)?;
    grant::revoke(tx, grant, "code_replayed")
}

const DELETE_UNUSED: &str = "delete from oauth_code where used_at is null";

/// Deletes the unused codes of an app.
pub fn delete_unused_of_app(tx: &Tx<'_>, app: AppId) -> Result<()> {
    let text = sql!(DELETE_UNUSED, " and account_id = :account and app_id = :app");
    Ok(tx.execute(text, bind! { app }).map(drop)?)
}

/// Deletes the unused codes of a user in this club.
pub fn delete_unused_of_user(tx: &Tx<'_>, user: UserId) -> Result<()> {
    let text = sql!(DELETE_UNUSED, " and account_id = :account and user_id = :user");
    Ok(tx.execute(text, bind! { user }).map(drop)?)
}

/// Deletes the unused codes of a user in every club.
pub fn delete_unused_in_all_clubs(tx: &Tx<'_>, user: UserId) -> Result<()> {
    let text = sql!(DELETE_UNUSED, " and user_id = :user /* any account */");
    Ok(tx.execute(text, bind! { user }).map(drop)?)
}

/// Deletes a batch of codes that expired more than a day ago. Returns the number of deleted rows.
pub fn delete_expired(tx: &Tx<'_>) -> Result<u64> {
    Ok(tx.execute(
        "delete from oauth_code where hash in
            (select hash from oauth_code where expires_at < :before limit 500) /* any account */",
        bind! { before: tx.now().minus(RETENTION) },
    )?)
}
