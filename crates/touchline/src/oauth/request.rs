//! What an app asked for, kept until the user has answered.
//!
//! The page with the question has a token in its address. The first session that opens the page has
//! the question; no other session and no other user can answer it. An answer stands: giving it twice leads to the
//! same place with the same code.

use std::time::Duration;

use kit::Timestamp;
use kit::secret::{Token, TokenKind};
use store::{Reader, Tx, bind, record, sql};

use super::app::{self, App};
use super::ask::{Asked, Prompt, Way};
use super::code;
use super::refusal::{Refusal, Word};
use crate::accounts::permits::{self, Least};
use crate::accounts::rights::Scopes;
use crate::accounts::user::Role;
use crate::error::Result;
use crate::ids::{AccountId, AppId, AuthorizationId, SessionId, UserId};
use crate::roster::standing;
use crate::secrets::SealKey;
use crate::signals::Tell;
use crate::signin::session;

/// So long somebody has to sign in and answer.
pub const LIFE: Duration = Duration::from_secs(30 * 60);

record! {
    /// What an app asked for.
    #[derive(Debug, Clone)]
    pub struct Pending in oauth_request {
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
        /// The scopes that the page showed as those the app will have; empty if that was none.
        pub shown: Option<String>,
        pub answer: Option<String>,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

impl Pending {
    /// Where the answer goes.
    pub fn way(&self) -> Way {
        Way { redirect_uri: self.redirect_uri.clone(), state: self.state.clone() }
    }

    /// Whether the user must have given their password since the app asked.
    pub fn wants_login(&self) -> bool {
        let prompt = Prompt::parse(self.prompt.as_deref().unwrap_or_default());
        prompt.is_ok_and(|prompt| prompt.login)
    }
}

/// Keeps what an app asked for and gives out the token of the page with the question. Whoever has signed in
/// already is the only one who can answer.
pub fn keep(
    tx: &Tx<'_>,
    app: AppId,
    way: Way,
    asked: &Asked,
    who: Option<Answerer>,
) -> Result<Token> {
    let token = Token::make(TokenKind::Request, tx.dice());
    let pending = Pending {
        account_id: tx.account(),
        id: tx.new_id(),
        token_hash: token.hash(),
        app_id: app,
        user_id: who.map(|who| who.user),
        session_id: who.map(|who| who.session),
        redirect_uri: way.redirect_uri,
        scopes: asked.scopes,
        state: way.state,
        challenge: asked.challenge,
        prompt: asked.prompt.words(),
        shown: None,
        answer: None,
        expires_at: tx.now().plus(LIFE),
        created_at: tx.now(),
    };
    tx.run(Pending::INSERT, &pending.bind())?;
    Ok(token)
}

/// What was asked for under this token, if there is still time to answer.
pub fn find(db: &Reader<'_>, token: &Token) -> Result<Option<Pending>> {
    let text = sql!(Pending::SELECT, " where token_hash = :hash /* any account */");
    let found: Option<Pending> = db.maybe(text, bind! { hash: token.hash() })?;
    Ok(found.filter(|pending| db.now() < pending.expires_at))
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answerer {
    pub user: UserId,
    pub session: SessionId,
}

/// The question as the page asks it.
#[derive(Debug, Clone)]
pub struct Question {
    pub pending: Pending,
    pub app: App,
    pub club: String,
    /// Who registered the app, if that was a user.
    pub registered_by: Option<String>,
    /// What the user can allow at all; nothing is known of somebody who does not belong to the club.
    pub grantable: Option<Scopes>,
}

/// What became of looking for a question.
#[derive(Debug)]
pub enum Opened {
    /// It has ended, was answered, or never was.
    Gone,
    /// Somebody else has it.
    Foreign,
    Question(Box<Question>),
}

/// Opens the question for whoever was signed in when it was asked or, if nobody was, for whoever comes
/// first. From then on it belongs to that browser.
pub fn open(tx: &Tx<'_>, token: &Token, who: Answerer) -> Result<Opened> {
    let Some(pending) = find(tx, token)? else { return Ok(Opened::Gone) };
    let unread = pending.shown.is_none() && pending.user_id.is_none_or(|user| user == who.user);
    if !unread && !is_theirs(&pending, who) {
        return Ok(Opened::Foreign);
    }
    if pending.answer.is_some() {
        return Ok(Opened::Gone);
    }
    let app = app::find(tx, pending.app_id)?;
    if app.disabled_at.is_some() || !app.may_be_sent_to(&pending.redirect_uri) {
        return Ok(Opened::Gone);
    }
    let (club,) = tx.one("select name from account where id = :account", bind! {})?;
    let (registered_by, grantable) = (author(tx, &app)?, grantable_by(tx, who.user)?);
    // Only what the page shows is allowed, even if the user may do more by the time they answer.
    let shown = grantable.map(|grantable| grantable.shared(pending.scopes).to_string());
    tx.run(
        "update oauth_request set user_id = :user, session_id = :session, shown = :shown
         where account_id = :account and id = :id",
        bind! { id: pending.id, user: who.user, session: who.session,
        shown: shown.unwrap_or_default() },
    )?;
    let question = Question { pending, app, club, registered_by, grantable };
    Ok(Opened::Question(Box::new(question)))
}

/// The name of the user who registered an app.
fn author(db: &Reader<'_>, app: &App) -> Result<Option<String>> {
    let Ok(user) = app.created_by.parse::<UserId>() else { return Ok(None) };
    let found: Option<(String,)> =
        db.maybe("select name from app_user where id = :user /* any account */", bind! { user })?;
    Ok(found.map(|(name,)| name))
}

fn is_theirs(pending: &Pending, who: Answerer) -> bool {
    pending.session_id == Some(who.session) && pending.user_id == Some(who.user)
}

/// The scopes that a user of this account can let an app use; `None` for whoever does not belong to it.
pub fn grantable_by(db: &Reader<'_>, user: UserId) -> Result<Option<Scopes>> {
    let role: Option<(Role,)> = db.maybe(
        "select b.role from account_user b join app_user u on u.id = b.user_id
         where b.account_id = :account and b.user_id = :user and u.disabled_at is null",
        bind! { user },
    )?;
    let Some((role,)) = role else { return Ok(None) };
    let least = Least::from(role).max(standing::of(db, user)?.level());
    Ok(Some(permits::grantable(least)))
}

/// What became of an answer.
#[derive(Debug)]
pub enum Answered {
    /// There is nothing to answer any more.
    Gone,
    /// It is somebody else's question.
    Foreign,
    /// The app is told, there and with this.
    Told(Way, std::result::Result<Token, Refusal>),
}

/// How the code comes about and how long it lives.
#[derive(Clone)]
pub struct Making {
    pub key: SealKey,
    pub life: Duration,
}

/// Answers a question, once.
pub fn answer(
    tx: &Tx<'_>,
    token: &Token,
    who: Answerer,
    allow: bool,
    making: &Making,
) -> Result<Answered> {
    session::check_open(tx, who.session)?;
    let Some(pending) = find(tx, token)? else { return Ok(Answered::Gone) };
    let Some(shown) = pending.shown.as_ref().filter(|_| is_theirs(&pending, who)) else {
        return Ok(Answered::Foreign);
    };
    // An address that was withdrawn meanwhile gets nothing, not even a refusal.
    let app = app::find(tx, pending.app_id)?;
    if !app.may_be_sent_to(&pending.redirect_uri) {
        return Ok(Answered::Gone);
    }
    // The same code for the same question: whoever presses the button twice still arrives.
    let made = Token::from_bytes(TokenKind::Code, making.key.sign(&[token.reveal().as_bytes()]));
    if let Some(answer) = &pending.answer {
        return answered_before(tx, &pending, answer, made);
    }
    let shown = Scopes::parse(shown).unwrap_or(Scopes::of([]));
    let allowed = grantable_by(tx, who.user)?.map(|grantable| grantable.shared(shown));
    let scopes = allowed.filter(|scopes| allow && !scopes.is_empty() && app.disabled_at.is_none());
    note_answer(tx, &pending, scopes)?;
    let Some(scopes) = scopes else { return Ok(Answered::Told(pending.way(), Err(DENIED))) };
    let new = code::NewCode {
        app: app.id,
        user: who.user,
        session: who.session,
        redirect_uri: pending.redirect_uri.clone(),
        scopes,
        challenge: pending.challenge,
    };
    code::give(tx, new, &made, making.life)?;
    Ok(Answered::Told(pending.way(), Ok(made)))
}

/// What an app is told that was not allowed anything.
pub const DENIED: Refusal = Refusal::new(Word::AccessDenied, "The user did not allow it.");

fn note_answer(tx: &Tx<'_>, pending: &Pending, scopes: Option<Scopes>) -> Result<()> {
    let answer = if scopes.is_some() { "allow" } else { "deny" };
    tx.run(
        "update oauth_request set answer = :answer where account_id = :account and id = :id",
        bind! { answer, id: pending.id },
    )?;
    let details = serde_json::json!({ "asked": pending.scopes, "allowed": scopes });
    let action = if scopes.is_some() { "oauth_consent.given" } else { "oauth_consent.refused" };
    tx.audit(action, &pending.app_id.to_string(), &details)
}

/// An answer that was given stands, unless what came of it was used.
fn answered_before(
    db: &Reader<'_>,
    pending: &Pending,
    answer: &str,
    made: Token,
) -> Result<Answered> {
    if answer == "deny" {
        return Ok(Answered::Told(pending.way(), Err(DENIED)));
    }
    if code::is_good(db, &made)? {
        return Ok(Answered::Told(pending.way(), Ok(made)));
    }
    Ok(Answered::Gone)
}

/// Forgets questions that nobody answered in time. Says how many.
pub fn forget(tx: &Tx<'_>) -> Result<u64> {
    Ok(tx.run(
        "delete from oauth_request where token_hash in
            (select token_hash from oauth_request where expires_at < :now limit 500)
         /* any account */",
        bind! {},
    )?)
}
