//! The session: a browser somebody signed in with. Its cookie is looked up for every page, so a session
//! that was ended is refused at once.

use std::time::Duration;

use kit::Timestamp;
use kit::secret::{Token, TokenKind};
use kit::words;
use store::{Reader, Tx, bind, record, row, sql, word_column};

use crate::accounts::user::{self, Role};
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, SessionId, UserId};

/// A session ends after so long, however often it is used.
const ABSOLUTE: Duration = Duration::from_secs(30 * 86_400);
/// A session that nobody uses ends after so long.
const IDLE: Duration = Duration::from_secs(7 * 86_400);
/// Whoever looks after the club is asked again sooner.
const ADMIN_ABSOLUTE: Duration = Duration::from_secs(12 * 3600);
const ADMIN_IDLE: Duration = Duration::from_secs(2 * 3600);
/// The second factor must follow within this time.
const PENDING: Duration = Duration::from_secs(10 * 60);
/// For so long after a proof nobody is asked for it again.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// When a session was last seen is noted once in this time.
const SEEN_EVERY: Duration = Duration::from_secs(60);

words! {
    /// How somebody proved who they are.
    pub enum Method {
        Password = "password",
        Totp = "totp",
        RecoveryCode = "recovery_code",
        Passkey = "passkey",
        /// By a link that only they got.
        Link = "link",
    }
}
word_column!(Method);

record! {
    /// A browser somebody signed in with.
    #[derive(Debug, Clone)]
    pub struct Session in session {
        pub id: SessionId,
        pub token_hash: [u8; 32],
        pub user_id: UserId,
        /// The club whose pages are shown.
        pub club: Option<AccountId>,
        /// The password was right, but the second factor is still to come.
        pub pending: bool,
        pub method: Method,
        pub proved_at: Timestamp,
        pub user_agent: Option<String>,
        pub address: Option<String>,
        pub last_seen_at: Timestamp,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
    }
}

/// A session to be begun.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub user: UserId,
    pub club: Option<AccountId>,
    pub pending: bool,
    pub method: Method,
    pub browser: Browser,
}

/// What is known of a browser, for its owner to know it again.
#[derive(Debug, Clone, Default)]
pub struct Browser {
    pub user_agent: Option<String>,
    pub address: Option<String>,
}

/// Begins a session and hands out the value of its cookie.
pub fn begin(tx: &Tx<'_>, new: NewSession) -> Result<(Session, Token)> {
    let token = Token::make(TokenKind::Session, tx.dice());
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
        expires_at: tx.now().plus(if new.pending { PENDING } else { ABSOLUTE }),
        created_at: tx.now(),
    };
    tx.run(sql!(Session::INSERT, " /* any account */"), &session.bind())?;
    Ok((session, token))
}

row! {
    /// Everything a page needs to know of who looks at it, in one look.
    #[derive(Debug, Clone)]
    pub struct Visit {
        pub session: SessionId,
        pub user: UserId,
        pub name: String,
        pub email: String,
        pub pending: bool,
        pub proved_at: Timestamp,
        last_seen_at: Timestamp,
        expires_at: Timestamp,
        created_at: Timestamp,
        disabled_at: Option<Timestamp>,
        /// The club whose pages are shown, if they still belong to it.
        pub club: Option<AccountId>,
        pub club_name: Option<String>,
        pub role: Option<Role>,
        /// The version of everything the club shows.
        pub sequence: Option<i64>,
        /// How many clubs they belong to.
        pub clubs: i64,
    }
}

/// Who looks with this cookie, if it is good now.
pub fn find(db: &Reader<'_>, token: &Token) -> Result<Option<Visit>> {
    let found: Option<Visit> = db.maybe(
        "select s.id as session, s.user_id as user, u.name, u.email, s.pending, s.proved_at,
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
    Ok(found.filter(|visit| visit.lives(db.now())))
}

impl Visit {
    fn lives(&self, now: Timestamp) -> bool {
        self.disabled_at.is_none()
            && now < self.expires_at
            && in_time(self.role, self.created_at, self.last_seen_at, now)
    }

    /// Whether the session is young enough, and was used lately enough, for somebody who is this in a club,
    /// whichever club's pages it shows.
    pub fn is_good_for(&self, role: Option<Role>, now: Timestamp) -> bool {
        in_time(role, self.created_at, self.last_seen_at, now)
    }

    /// Whether they proved who they are a short while ago.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.proved_at.plus(FRESH)
    }

    /// Whether it is time to note that the session is in use.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.last_seen_at.plus(SEEN_EVERY) <= now
    }
}

/// Whether a session is used often enough, and was begun lately enough, for what its user is in the club.
fn in_time(role: Option<Role>, begun: Timestamp, seen: Timestamp, now: Timestamp) -> bool {
    let (idle, absolute) = match role {
        Some(Role::Owner | Role::Admin) => (ADMIN_IDLE, ADMIN_ABSOLUTE),
        _ => (IDLE, ABSOLUTE),
    };
    now < seen.plus(idle) && now < begun.plus(absolute)
}

/// Notes that a session is in use. The row is locked until the job ends, so that nobody ends the session meanwhile.
pub fn touch(tx: &Tx<'_>, id: SessionId) -> Result<()> {
    tx.run(
        "update session
         set last_seen_at = case when last_seen_at < :now then :now else last_seen_at end
         where id = :id /* any account */",
        bind! { id },
    )?;
    Ok(())
}

/// Fails if a session has ended, is still pending, or belongs to a user who was disabled. A request looks its session up
/// before it reads its body; the job that changes something calls this to make sure that the session is still there.
pub fn check_open(db: &Reader<'_>, id: SessionId) -> Result<()> {
    let open: Option<(SessionId,)> = db.maybe(
        "select s.id from session s join app_user u on u.id = s.user_id
         where s.id = :id and not s.pending and s.expires_at > :now and u.disabled_at is null
         /* any account */",
        bind! { id },
    )?;
    open.map(drop).ok_or_else(ended)
}

/// What the user of a session is in this account now. Fails like [`check_open`].
pub fn current_role(db: &Reader<'_>, id: SessionId) -> Result<Option<Role>> {
    let found: Option<(Option<Role>,)> = db.maybe(
        "select b.role from session s
         join app_user u on u.id = s.user_id
         left join account_user b on b.account_id = :account and b.user_id = s.user_id
         where s.id = :id and not s.pending and s.expires_at > :now and u.disabled_at is null",
        bind! { id },
    )?;
    found.map(|(role,)| role).ok_or_else(ended)
}

/// Ends a session that waits for the second step, because the second step has come. Fails if it has ended before.
pub fn end_pending(tx: &Tx<'_>, user: UserId, id: SessionId) -> Result<()> {
    let pending = tx.run(
        "delete from session
         where id = :id and user_id = :user and pending and expires_at > :now /* any account */",
        bind! { id, user },
    )?;
    if pending == 1 { Ok(()) } else { Err(ended()) }
}

/// The session that a request came with is no longer there.
fn ended() -> Error {
    Error::new(Code::InvalidCredentials, "You have been signed out. Sign in again.")
}

/// Notes that whoever uses a session has proved again who they are, and hands out a new cookie: the old
/// one opens nothing any more.
pub fn renew(tx: &Tx<'_>, id: SessionId) -> Result<Token> {
    let token = Token::make(TokenKind::Session, tx.dice());
    let renewed = tx.run(
        "update session set token_hash = :hash, proved_at = :now, last_seen_at = :now
         where id = :id and not pending /* any account */",
        bind! { id, hash: token.hash() },
    )?;
    if renewed == 1 { Ok(token) } else { Err(Error::not_found()) }
}

/// Ends a session of a user. Ending it twice is harmless.
pub fn end(tx: &Tx<'_>, user: UserId, id: SessionId) -> Result<bool> {
    let ended = tx.run(
        "delete from session where id = :id and user_id = :user /* any account */",
        bind! { id, user },
    )?;
    Ok(ended > 0)
}

/// Ends every session of a user but this one.
pub fn end_others(tx: &Tx<'_>, user: UserId, but: Option<SessionId>) -> Result<u64> {
    let but = but.unwrap_or(SessionId::LEAST);
    Ok(tx.run(
        "delete from session where user_id = :user and id <> :but /* any account */",
        bind! { user, but },
    )?)
}

/// Ends every session in which a user looks at the pages of this account.
pub fn end_in_club(tx: &Tx<'_>, user: UserId) -> Result<u64> {
    Ok(tx.run("delete from session where user_id = :user and club = :account", bind! { user })?)
}

/// The sessions of a user that have not ended, newest first.
pub fn list(db: &Reader<'_>, user: UserId) -> Result<Vec<Session>> {
    let since = db.now().minus(IDLE);
    let clubs = user::clubs(db, user)?;
    let text = sql!(
        Session::SELECT,
        " where user_id = :user and not pending and expires_at > :now and last_seen_at > :since
          order by id desc limit 100 /* any account */"
    );
    let mut sessions: Vec<Session> = db.all(text, bind! { user, since })?;
    sessions.retain(|session| {
        let role = clubs.iter().find(|club| Some(club.id) == session.club).map(|club| club.role);
        in_time(role, session.created_at, session.last_seen_at, db.now())
    });
    Ok(sessions)
}

/// Shows the pages of this club in those sessions of a user that show none, such as when they were let in.
pub fn show_club(tx: &Tx<'_>, user: UserId) -> Result<()> {
    tx.run(
        "update session set club = :account where user_id = :user and club is null",
        bind! { user },
    )?;
    Ok(())
}

/// Shows the pages of another club. Whoever does not belong to it sees none.
pub fn switch(tx: &Tx<'_>, id: SessionId, club: AccountId) -> Result<()> {
    tx.run(
        "update session set club = :club
         where id = :id and exists (select 1 from account_user
                                    where account_user.account_id = :club
                                      and account_user.user_id = session.user_id) /* any account */",
        bind! { id, club },
    )?;
    Ok(())
}
