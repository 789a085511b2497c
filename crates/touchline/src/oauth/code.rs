//! The code that an app exchanges for its first two tokens, once and soon.

use std::time::Duration;

use kit::Timestamp;
use kit::secret::{Token, same, sha256};
use store::{Reader, Tx, bind, record, sql};

use super::app::{self, App};
use super::refusal::{Refusal, Told};
use super::token::{self, Lives, Pair};
use super::{grant, request};
use crate::accounts::rights::Scopes;
use crate::error::Result;
use crate::ids::{AccountId, AppId, GrantId, SessionId, UserId};
use crate::signals::Tell;
use crate::signin::session;

/// A code that was used is remembered so long, for the day it is used again.
const REMEMBERED: Duration = Duration::from_secs(86_400);

record! {
    /// What is kept of a code.
    #[derive(Debug, Clone)]
    pub struct Code in oauth_code {
        pub account_id: AccountId,
        pub hash: [u8; 32],
        pub app_id: AppId,
        pub user_id: UserId,
        pub session_id: SessionId,
        pub redirect_uri: String,
        pub scopes: Scopes,
        pub challenge: Option<[u8; 32]>,
        pub expires_at: Timestamp,
        /// Set when the code was exchanged, with what came of it.
        pub used_at: Option<Timestamp>,
        pub grant_id: Option<GrantId>,
        pub created_at: Timestamp,
    }
}

/// What a code is for.
#[derive(Debug, Clone)]
pub struct NewCode {
    pub app: AppId,
    pub user: UserId,
    pub session: SessionId,
    pub redirect_uri: String,
    pub scopes: Scopes,
    pub challenge: Option<[u8; 32]>,
}

/// Notes a code that is given out.
pub fn give(tx: &Tx<'_>, new: NewCode, code: &Token, life: Duration) -> Result<()> {
    let code = Code {
        account_id: tx.account(),
        hash: code.hash(),
        app_id: new.app,
        user_id: new.user,
        session_id: new.session,
        redirect_uri: new.redirect_uri,
        scopes: new.scopes,
        challenge: new.challenge,
        expires_at: tx.now().plus(life),
        used_at: None,
        grant_id: None,
        created_at: tx.now(),
    };
    tx.run(Code::INSERT, &code.bind())?;
    Ok(())
}

/// Whether a code is still there to be exchanged.
pub fn is_good(db: &Reader<'_>, code: &Token) -> Result<bool> {
    let found = find(db, code)?;
    Ok(found.is_some_and(|code| code.used_at.is_none() && db.now() < code.expires_at))
}

fn find(db: &Reader<'_>, code: &Token) -> Result<Option<Code>> {
    let text = sql!(Code::SELECT, " where account_id = :account and hash = :hash");
    Ok(db.maybe(text, bind! { hash: code.hash() })?)
}

/// What an app sends along with its code.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub code: Token,
    pub redirect_uri: Option<String>,
    pub verifier: Option<String>,
}

/// Exchanges a code for a grant and its first two tokens: all of it or nothing, and only once. Whoever
/// holds everything it takes and comes a second time has stolen something: what came of the code ends.
pub fn exchange(tx: &Tx<'_>, app: &App, sent: &Exchange, lives: Lives) -> Result<Told<Pair>> {
    let refused = |why| Ok(Err(Refusal::invalid_grant(why)));
    let known = find(tx, &sent.code)?.filter(|code| code.app_id == app.id);
    let Some(code) = known else { return refused("The code is not valid.") };
    if sent.redirect_uri.as_ref().is_some_and(|uri| *uri != code.redirect_uri) {
        return refused("redirect_uri is not the one that the code was asked for with.");
    }
    if let Err(refusal) = proven(code.challenge, sent.verifier.as_deref()) {
        return Ok(Err(refusal));
    }
    if code.used_at.is_some() {
        replayed(tx, &code)?;
        return refused("The code was used before. What came of it has ended.");
    }
    if tx.now() >= code.expires_at {
        return refused("The code has expired.");
    }
    // The app as it is by now.
    let app = &app::find(tx, app.id)?;
    if !app.may_be_sent_to(&code.redirect_uri) {
        return refused("The address that the code was given to was withdrawn.");
    }
    // Whoever ends the session meanwhile waits for us, and we for them.
    session::touch(tx, code.session_id)?;
    let scopes = code.scopes.shared(app.scopes);
    if !lives_on(tx, &code)? || scopes.is_empty() {
        return refused("The user has signed out or may no longer allow this.");
    }
    let grant = grant::create(tx, app, code.user_id, scopes, &code.redirect_uri)?;
    tx.run(
        "update oauth_code set used_at = :now, grant_id = :grant
         where account_id = :account and hash = :hash",
        bind! { grant: grant.id, hash: code.hash },
    )?;
    token::give_first(tx, &grant, lives).map(Ok)
}

/// Whether the app that exchanges the code is the one that asked for it.
fn proven(challenge: Option<[u8; 32]>, verifier: Option<&str>) -> Told<()> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    match (challenge, verifier) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Refusal::invalid_request(
            "There is a code_verifier, but the code was asked for without a code_challenge.",
        )),
        (Some(_), None) => Err(Refusal::invalid_grant("code_verifier is missing.")),
        (Some(challenge), Some(verifier)) => {
            let shaped = (43..=128).contains(&verifier.len()) && verifier.bytes().all(plain);
            if shaped && same(&sha256(verifier.as_bytes()), &challenge) {
                return Ok(());
            }
            Err(Refusal::invalid_grant("code_verifier does not fit the code_challenge."))
        }
    }
}

/// Whether the session in which the user said yes is still there, and the user in the club.
fn lives_on(db: &Reader<'_>, code: &Code) -> Result<bool> {
    let session: Option<(UserId,)> = db.maybe(
        "select user_id from session where id = :session and expires_at > :now /* any account */",
        bind! { session: code.session_id },
    )?;
    let same = session.is_some_and(|(user,)| user == code.user_id);
    Ok(same && request::grantable_by(db, code.user_id)?.is_some())
}

fn replayed(tx: &Tx<'_>, code: &Code) -> Result<()> {
    let Some(grant) = code.grant_id else { return Ok(()) };
    let details = serde_json::json!({ "grant": grant, "user": code.user_id });
    tx.audit("oauth_code.replayed", &code.app_id.to_string(), &details)?;
    grant::revoke(tx, grant, "code_replayed")
}

/// Forgets the codes of an app that nobody has exchanged yet.
pub fn forget_of_app(tx: &Tx<'_>, app: AppId) -> Result<()> {
    tx.run(
        "delete from oauth_code
         where account_id = :account and app_id = :app and used_at is null",
        bind! { app },
    )?;
    Ok(())
}

/// Forgets the codes of a user that nobody has exchanged yet, in this club.
pub fn forget_of_user(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.run(
        "delete from oauth_code
         where account_id = :account and user_id = :user and used_at is null",
        bind! { user },
    )?;
    Ok(())
}

/// Forgets the codes of a user that nobody has exchanged yet, in every club.
pub fn forget_everywhere(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.run(
        "delete from oauth_code where user_id = :user and used_at is null /* any account */",
        bind! { user },
    )?;
    Ok(())
}

/// Forgets codes that ended a day ago. Says how many.
pub fn forget(tx: &Tx<'_>) -> Result<u64> {
    let before = tx.now().minus(REMEMBERED);
    Ok(tx.run(
        "delete from oauth_code where hash in
            (select hash from oauth_code where expires_at < :before limit 500) /* any account */",
        bind! { before },
    )?)
}
