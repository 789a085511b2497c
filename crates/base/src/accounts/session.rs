//! Sessions of signed-in browsers. The cookie is looked up for every request, so ending a session takes effect
//! immediately.

use std::time::Duration;

use kit::secret::{Token, TokenKind};
use kit::string_enum;

use super::user::{self, Role};
use crate::prelude::*;

/// Maximum age of a session, however often it is used.
const MAX_AGE: Duration = Duration::from_secs(30 * 86_400);
/// A session ends after this time without use.
const IDLE_TIMEOUT: Duration = Duration::from_secs(7 * 86_400);
/// Owners and admins have shorter limits.
const ADMIN_MAX_AGE: Duration = Duration::from_secs(12 * 3600);
const ADMIN_IDLE_TIMEOUT: Duration = Duration::from_secs(2 * 3600);
/// After the password, the second factor must follow within this time.
const PENDING_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Sensitive actions require an authentication within this time.
const RECENT_AUTHENTICATION: Duration = Duration::from_secs(10 * 60);
/// How often `last_seen_at` is updated, at most.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

string_enum! {
    /// How a user authenticated.
    pub enum Method {
        Password = "password",
        Totp = "totp",
        RecoveryCode = "recovery_code",
        Passkey = "passkey",
        /// A one-time link.
        Link = "link",
    }
}
enum_column!(Method);

record! {
    /// A session of a browser.
    #[derive(Debug, Clone)]
    pub struct Session in session {
        pub id: SessionId,
        pub token_hash: [u8; 32],
        pub user_id: UserId,
        /// The club whose pages are shown.
        pub club: Option<AccountId>,
        /// The password was correct, but the second factor is still missing.
        pub pending: bool,
        pub method: Method,
        /// When the user last authenticated.
        pub proved_at: Timestamp,
        pub user_agent: Option<String>,
        pub address: Option<String>,
        pub last_seen_at: Timestamp,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

/// Input for [`begin`].
#[derive(Debug, Clone)]
pub struct NewSession {
    pub user: UserId,
    pub club: Option<AccountId>,
    pub pending: bool,
    pub method: Method,
    pub browser: Browser,
}

/// Information about a browser that helps its user to recognize it.
#[derive(Debug, Clone, Default)]
pub struct Browser {
    pub user_agent: Option<String>,
    pub address: Option<String>,
}

/// Begins a session. Returns it with the token for the cookie.
pub fn begin(tx: &Tx<'_>, new: NewSession) -> Result<(Session, Token)> {
    let token = Token::generate(TokenKind::Session, tx.rng());
    let session = Session {
        id: tx.new_id(),
        token_hash: token.hash(),
        user_id: new.user,
        club: new.club,
        pending: new.pending,
        method: new.method,
        proved_at: tx.now(),
        user_agent: new.browser.user_agent,
        address: new.browser.address,
        last_seen_at: tx.now(),
        expires_at: tx.now().plus(if new.pending { PENDING_TIMEOUT } else { MAX_AGE }),
        created_at: tx.now(),
    };
    tx.execute(sql!(Session::INSERT, " /* any account */"), &session.bind())?;
    Ok((session, token))
}

row! {
    /// The session of a request with its user and club, read in one query.
    #[derive(Debug, Clone)]
    pub struct SessionLookup {
        pub session: SessionId,
        pub user: UserId,
        pub name: String,
        pub email: String,
        /// The language that the user chose. `None` if pages follow the browser.
        pub language: Option<String>,
        pub pending: bool,
        pub proved_at: Timestamp,
        last_seen_at: Timestamp,
        expires_at: Timestamp,
        created_at: Timestamp,
        disabled_at: Option<Timestamp>,
        /// The club whose pages are shown, if the user still belongs to it.
        pub club: Option<AccountId>,
        pub club_name: Option<String>,
        pub role: Option<Role>,
        /// The club's journal sequence, which increases with every visible change.
        pub sequence: Option<i64>,
        /// The number of clubs the user belongs to.
        pub clubs: i64,
    }
}

/// The session with this cookie, if it is active.
pub fn find(db: &Reader<'_>, token: &Token) -> Result<Option<SessionLookup>> {
    let visit: Option<SessionLookup> = db.optional(
        "select s.id as session, s.user_id as user, u.name, u.email, u.language, s.pending, s.proved_at,
                s.last_seen_at, s.expires_at, s.created_at, u.disabled_at,
                b.account_id as club, a.name as club_name, b.role, j.sequence,
                (select count(*) from account_user c where c.user_id = s.user_id) as clubs
         from session s
         join app_user u on u.id = s.user_id
         left join account_user b on b.account_id = s.club and b.user_id = s.user_id
         left join account a on a.id = b.account_id
         left join journal j on j.account_id = b.account_id
         where s.token_hash = :hash /* any account */",
        bind! { hash: token.hash() },
    )?;
    Ok(visit.filter(|visit| visit.is_active(db.now())))
}

impl SessionLookup {
    fn is_active(&self, now: Timestamp) -> bool {
        self.disabled_at.is_none()
            && now < self.expires_at
            && is_within_limits(self.role, self.created_at, self.last_seen_at, now)
    }

    /// Whether the session is within the time limits of this role, which may be a role in another club than the
    /// one whose pages are shown.
    pub fn is_valid_for_role(&self, role: Option<Role>, now: Timestamp) -> bool {
        is_within_limits(role, self.created_at, self.last_seen_at, now)
    }

    /// Whether the user authenticated recently enough for a sensitive action.
    pub fn is_recently_authenticated(&self, now: Timestamp) -> bool {
        now < self.proved_at.plus(RECENT_AUTHENTICATION)
    }

    /// Whether it is time to update `last_seen_at`.
    pub fn needs_touch(&self, now: Timestamp) -> bool {
        self.last_seen_at.plus(TOUCH_INTERVAL) <= now
    }
}

/// Whether a session is within the idle timeout and the maximum age for the user's role in the club.
fn is_within_limits(
    role: Option<Role>,
    created_at: Timestamp,
    last_seen_at: Timestamp,
    now: Timestamp,
) -> bool {
    let (idle, absolute) = match role {
        Some(Role::Owner | Role::Admin) => (ADMIN_IDLE_TIMEOUT, ADMIN_MAX_AGE),
        _ => (IDLE_TIMEOUT, MAX_AGE),
    };
    now < last_seen_at.plus(idle) && now < created_at.plus(absolute)
}

/// Updates `last_seen_at`. Locks the row until the transaction ends, so that the session cannot end in the meantime.
pub fn touch(tx: &Tx<'_>, id: SessionId) -> Result<()> {
    tx.execute(
        "update session
         set last_seen_at = case when last_seen_at < :now then :now else last_seen_at end
         where id = :id /* any account */",
        bind! { id },
    )?;
    Ok(())
}

/// Fails if a session has ended, is still pending, or belongs to a disabled user. A request looks up its session before
/// it reads its body; the transaction that changes something calls this to make sure that the session still exists.
pub fn check_active(db: &Reader<'_>, id: SessionId) -> Result<()> {
    let session: Option<(SessionId,)> = db.optional(
        "select s.id from session s join app_user u on u.id = s.user_id
         where s.id = :id and not s.pending and s.expires_at > :now and u.disabled_at is null
         /* any account */",
        bind! { id },
    )?;
    session.map(drop).ok_or_else(session_ended)
}

/// The current role of a session's user in this account. Fails like [`check_active`].
pub fn current_role(db: &Reader<'_>, id: SessionId) -> Result<Option<Role>> {
    let session: Option<(Option<Role>,)> = db.optional(
        "select b.role from session s
         join app_user u on u.id = s.user_id
         left join account_user b on b.account_id = :account and b.user_id = s.user_id
         where s.id = :id and not s.pending and s.expires_at > :now and u.disabled_at is null",
        bind! { id },
    )?;
    session.map(|(role,)| role).ok_or_else(session_ended)
}

/// Ends a pending session after the second step succeeded. Fails if the session has already ended.
pub fn end_pending(tx: &Tx<'_>, user: UserId, id: SessionId) -> Result<()> {
    let deleted = tx.execute(
        "delete from session
         where id = :id and user_id = :user and pending and expires_at > :now /* any account */",
        bind! { id, user },
    )?;
    if deleted == 1 { Ok(()) } else { Err(session_ended()) }
}

/// The error for a request whose session has ended.
fn session_ended() -> Error {
    Error::new(Code::InvalidCredentials, "You have been signed out. Sign in again.")
}

/// Records that the user authenticated again. Returns a new token for the cookie; the old one is no longer valid.
pub fn reauthenticate(tx: &Tx<'_>, id: SessionId) -> Result<Token> {
    let token = Token::generate(TokenKind::Session, tx.rng());
    let updated = tx.execute(
        "update session set token_hash = :hash, proved_at = :now, last_seen_at = :now
         where id = :id and not pending /* any account */",
        bind! { id, hash: token.hash() },
    )?;
    if updated == 1 { Ok(token) } else { Err(Error::not_found()) }
}

/// Ends a session of a user. Returns whether it existed.
pub fn end(tx: &Tx<'_>, user: UserId, id: SessionId) -> Result<bool> {
    let deleted = tx.execute(
        "delete from session where id = :id and user_id = :user /* any account */",
        bind! { id, user },
    )?;
    Ok(deleted > 0)
}

/// Ends every session of a user except `keep`. Returns the number of ended sessions.
pub fn end_others(tx: &Tx<'_>, user: UserId, keep: Option<SessionId>) -> Result<u64> {
    let keep = keep.unwrap_or(SessionId::MIN);
    Ok(tx.execute(
        "delete from session where user_id = :user and id <> :keep /* any account */",
        bind! { user, keep },
    )?)
}

/// Ends every session of a user that shows the pages of this account.
pub fn end_in_club(tx: &Tx<'_>, user: UserId) -> Result<u64> {
    Ok(tx
        .execute("delete from session where user_id = :user and club = :account", bind! { user })?)
}

/// Deletes a batch of expired sessions. Returns their number.
pub fn delete_expired(tx: &Tx<'_>) -> Result<u64> {
    Ok(tx.execute(
        "delete from session where id in
             (select id from session where expires_at <= :now order by expires_at limit 500) /* any account */",
        bind! {},
    )?)
}

/// The active sessions of a user, newest first.
pub fn list(db: &Reader<'_>, user: UserId) -> Result<Vec<Session>> {
    let since = db.now().minus(IDLE_TIMEOUT);
    let clubs = user::clubs(db, user)?;
    let text = sql!(
        Session::SELECT,
        " where user_id = :user and not pending and expires_at > :now and last_seen_at > :since
          order by id desc limit 100 /* any account */"
    );
    let mut sessions: Vec<Session> = db.all(text, bind! { user, since })?;
    sessions.retain(|session| {
        let role = clubs.iter().find(|club| Some(club.id) == session.club).map(|club| club.role);
        is_within_limits(role, session.created_at, session.last_seen_at, db.now())
    });
    Ok(sessions)
}

/// Selects this club in those sessions of a user that show none, such as when a request to join was approved.
pub fn select_club_if_none(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.execute(
        "update session set club = :account where user_id = :user and club is null",
        bind! { user },
    )?;
    Ok(())
}

/// Switches the session to the pages of another club. Does nothing if the user does not belong to it.
pub fn switch_club(tx: &Tx<'_>, id: SessionId, club: AccountId) -> Result<()> {
    tx.execute(
        "update session set club = :club
         where id = :id and exists (select 1 from account_user
                                    where account_user.account_id = :club
                                      and account_user.user_id = session.user_id) /* any account */",
        bind! { id, club },
    )?;
    Ok(())
}
