//! Authorization requests that wait for the user's consent.
//!
//! The URL of the consent page contains a token. The first session that opens the page owns the request; no other
//! session or user can answer it. Answering is idempotent: a repeated answer redirects with the same code.

use std::time::Duration;

use kit::secret::{Token, TokenKind};

use super::app::{self, App};
use super::authorization_request::{AuthorizationRequest, Prompt, RedirectTarget};
use super::code::{self, NewCode};
use super::error::{ErrorCode, OAuthError};
use crate::accounts::permissions::{self, AccessLevel};
use crate::accounts::session;
use crate::accounts::user::Role;
use crate::prelude::*;
use crate::roster::access;
use crate::secrets::SealKey;

/// How long the user has to sign in and answer.
pub const TTL: Duration = Duration::from_secs(30 * 60);

record! {
    /// A pending authorization request.
    #[derive(Debug, Clone)]
    pub struct PendingRequest in oauth_request {
        pub account_id: AccountId,
        pub id: AuthorizationId,
        pub token_hash: [u8; 32],
        pub app_id: AppId,
        pub user_id: Option<UserId>,
        pub session_id: Option<SessionId>,
        pub redirect_uri: String,
        pub scopes: Scopes,
        pub state: Option<String>,
        pub challenge: Option<[u8; 32]>,
        pub prompt: Option<String>,
        /// The scopes that the consent page listed as granted; possibly empty. `None` if it was not opened yet.
        pub shown: Option<String>,
        /// `allow` or `deny`, once the user has answered.
        pub answer: Option<String>,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

impl PendingRequest {
    /// Where the authorization response is sent.
    pub fn redirect_target(&self) -> RedirectTarget {
        RedirectTarget { redirect_uri: self.redirect_uri.clone(), state: self.state.clone() }
    }

    /// Whether the user must authenticate after the app sent the request (`prompt=login`).
    pub fn requires_login(&self) -> bool {
        let prompt = Prompt::parse(self.prompt.as_deref().unwrap_or_default());
        prompt.is_ok_and(|prompt| prompt.login)
    }
}

/// Stores an authorization request and returns the token of its consent page. If a user is already signed in, only they
/// can answer.
pub fn create(
    tx: &Tx<'_>,
    app: AppId,
    target: RedirectTarget,
    request: &AuthorizationRequest,
    session: Option<UserSession>,
) -> Result<Token> {
    let token = Token::generate(TokenKind::Request, tx.rng());
    let pending = PendingRequest {
        account_id: tx.account(),
        id: tx.new_id(),
        token_hash: token.hash(),
        app_id: app,
        user_id: session.map(|session| session.user),
        session_id: session.map(|session| session.session),
        redirect_uri: target.redirect_uri,
        scopes: request.scopes,
        state: target.state,
        challenge: request.challenge,
        prompt: request.prompt.to_parameter(),
        shown: None,
        answer: None,
        expires_at: tx.now().plus(TTL),
        created_at: tx.now(),
    };
    tx.execute(PendingRequest::INSERT, &pending.bind())?;
    Ok(token)
}

/// The request with this token, if it has not expired.
pub fn find(db: &Reader<'_>, token: &Token) -> Result<Option<PendingRequest>> {
    let text = sql!(PendingRequest::SELECT, " where token_hash = :hash /* any account */");
    let pending: Option<PendingRequest> = db.optional(text, bind! { hash: token.hash() })?;
    Ok(pending.filter(|pending| db.now() < pending.expires_at))
}

/// The user who answers, and their session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserSession {
    pub user: UserId,
    pub session: SessionId,
}

/// The content of the consent page.
#[derive(Debug, Clone)]
pub struct ConsentPrompt {
    pub pending: PendingRequest,
    pub app: App,
    pub club: String,
    /// Who registered the app, if that was a user.
    pub registered_by: Option<String>,
    /// The scopes that the user can grant; `None` if the user does not belong to the club.
    pub grantable: Option<Scopes>,
}

/// The result of opening the consent page.
#[derive(Debug)]
pub enum OpenResult {
    /// The request has expired, was answered, or does not exist.
    Gone,
    /// The request belongs to another session.
    OtherSession,
    Prompt(Box<ConsentPrompt>),
}

/// Opens the consent page for the user who was signed in when the app sent the request or, if nobody was, for the first
/// who opens it. From then on the request belongs to that session.
pub fn open(tx: &Tx<'_>, token: &Token, session: UserSession) -> Result<OpenResult> {
    let Some(pending) = find(tx, token)? else { return Ok(OpenResult::Gone) };
    let unopened =
        pending.shown.is_none() && pending.user_id.is_none_or(|user| user == session.user);
    if !unopened && !belongs_to(&pending, session) {
        return Ok(OpenResult::OtherSession);
    }
    if pending.answer.is_some() {
        return Ok(OpenResult::Gone);
    }
    let app = app::find(tx, pending.app_id)?;
    if app.disabled_at.is_some() || !app.allows_redirect_uri(&pending.redirect_uri) {
        return Ok(OpenResult::Gone);
    }
    let (club,) = tx.one("select name from account where id = :account", bind! {})?;
    let registered_by = registrant_name(tx, &app)?;
    let UserSession { user, session } = session;
    let grantable = grantable_scopes_of(tx, user)?;
    // Only the scopes on the page are granted, even if the user can grant more by the time they answer.
    let shown = grantable.map(|grantable| grantable.intersection(pending.scopes).to_string());
    tx.execute(
        "update oauth_request set user_id = :user, session_id = :session, shown = :shown
         where account_id = :account and id = :id",
        bind! { id: pending.id, user, session, shown: shown.unwrap_or_default() },
    )?;
    let prompt = ConsentPrompt { pending, app, club, registered_by, grantable };
    Ok(OpenResult::Prompt(Box::new(prompt)))
}

/// The name of the user who registered an app.
fn registrant_name(db: &Reader<'_>, app: &App) -> Result<Option<String>> {
    let Ok(user) = app.created_by.parse::<UserId>() else { return Ok(None) };
    let text = "select name from app_user where id = :user /* any account */";
    Ok(db.optional::<(String,)>(text, bind! { user })?.map(|(name,)| name))
}

fn belongs_to(pending: &PendingRequest, session: UserSession) -> bool {
    pending.session_id == Some(session.session) && pending.user_id == Some(session.user)
}

/// The scopes that a user can grant in this account; `None` if the user does not belong to it.
pub fn grantable_scopes_of(db: &Reader<'_>, user: UserId) -> Result<Option<Scopes>> {
    let role: Option<(Role,)> = db.optional(
        "select b.role from account_user b join app_user u on u.id = b.user_id
         where b.account_id = :account and b.user_id = :user and u.disabled_at is null",
        bind! { user },
    )?;
    let Some((role,)) = role else { return Ok(None) };
    let level = AccessLevel::from(role).max(access::for_user(db, user)?.level());
    Ok(Some(permissions::grantable_scopes(level)))
}

/// The result of answering a request.
#[derive(Debug)]
pub enum AnswerResult {
    /// The request can no longer be answered.
    Gone,
    /// The request belongs to another session.
    OtherSession,
    /// The browser is redirected to the app, with a code or an error.
    Redirect(RedirectTarget, std::result::Result<Token, OAuthError>),
}

/// How authorization codes are created.
#[derive(Clone)]
pub struct CodeOptions {
    /// The key that codes are derived with.
    pub key: SealKey,
    pub ttl: Duration,
}

/// Answers a request.
pub fn answer(
    tx: &Tx<'_>,
    token: &Token,
    session: UserSession,
    allow: bool,
    options: &CodeOptions,
) -> Result<AnswerResult> {
    session::check_active(tx, session.session)?;
    let Some(pending) = find(tx, token)? else { return Ok(AnswerResult::Gone) };
    let Some(shown) = pending.shown.as_ref().filter(|_| belongs_to(&pending, session)) else {
        return Ok(AnswerResult::OtherSession);
    };
    // A redirect URI that is no longer registered gets no response, not even an error.
    let app = app::find(tx, pending.app_id)?;
    if !app.allows_redirect_uri(&pending.redirect_uri) {
        return Ok(AnswerResult::Gone);
    }
    // The code is derived from the token, so that a user who submits the form twice gets the same code.
    let code = Token::from_bytes(TokenKind::Code, options.key.sign(&[token.reveal().as_bytes()]));
    if let Some(answer) = &pending.answer {
        // Repeats the earlier answer, unless its code was already exchanged or has expired.
        return Ok(match answer.as_str() {
            "deny" => AnswerResult::Redirect(pending.redirect_target(), Err(ACCESS_DENIED)),
            _ if code::is_redeemable(tx, &code)? => {
                AnswerResult::Redirect(pending.redirect_target(), Ok(code))
            }
            _ => AnswerResult::Gone,
        });
    }
    let shown = Scopes::parse(shown).unwrap_or(Scopes::of([]));
    let grantable = grantable_scopes_of(tx, session.user)?;
    let allowed = grantable.map(|grantable| grantable.intersection(shown));
    let scopes = allowed.filter(|scopes| allow && !scopes.is_empty() && app.disabled_at.is_none());
    record_answer(tx, &pending, scopes)?;
    let target = pending.redirect_target();
    let Some(scopes) = scopes else {
        return Ok(AnswerResult::Redirect(target, Err(ACCESS_DENIED)));
    };
    let UserSession { user, session } = session;
    let PendingRequest { redirect_uri, challenge, .. } = pending;
    let new = NewCode { app: app.id, user, session, redirect_uri, scopes, challenge };
    code::issue(tx, new, &code, options.ttl)?;
    Ok(AnswerResult::Redirect(target, Ok(code)))
}

/// The error for an app that was not granted access.
pub const ACCESS_DENIED: OAuthError =
    OAuthError::new(ErrorCode::AccessDenied, "The user denied the request.");

fn record_answer(tx: &Tx<'_>, pending: &PendingRequest, scopes: Option<Scopes>) -> Result<()> {
    let (answer, action) = match scopes {
        Some(_) => ("allow", "oauth_consent.given"),
        None => ("deny", "oauth_consent.refused"),
    };
    let text = "update oauth_request set answer = :answer where account_id = :account and id = :id";
    tx.execute(text, bind! { answer, id: pending.id })?;
    let details = json!({ "asked": pending.scopes, "allowed": scopes });
    tx.audit(action, &pending.app_id.to_string(), &details)
}

/// Deletes a batch of expired requests. Returns the number of deleted rows.
pub fn delete_expired(tx: &Tx<'_>) -> Result<u64> {
    Ok(tx.execute(
        "delete from oauth_request where token_hash in
            (select token_hash from oauth_request where expires_at < :now limit 500)
         /* any account */",
        bind! {},
    )?)
}
