//! Coming in: a session begins for somebody who has proved who they are, and all of them end when the
//! proof is replaced.

use kit::secret::Token;
use store::{Reader, Tx, bind};

use super::link::{self, LinkKind};
use super::session::{self, Browser, Method, NewSession, Session};
use super::two_step;
use crate::accounts::own;
use crate::accounts::user::{self, User};
use crate::error::{Error, Result};
use crate::ids::{AccountId, SessionId, UserId};
use crate::reactions;

/// Somebody at the door.
#[derive(Debug, Clone)]
pub struct Entry {
    pub user: UserId,
    /// How they proved who they are.
    pub method: Method,
    pub browser: Browser,
    /// The session that this browser had until now, and whose it was.
    pub before: Option<(UserId, SessionId)>,
}

/// Begins a session; the one the browser had ends. After a password alone it waits for the second step
/// if the user has set one up.
pub fn enter(tx: &Tx<'_>, entry: Entry) -> Result<(Session, Token)> {
    if let Some((user, before)) = entry.before {
        session::end(tx, user, before)?;
    }
    let user = entry.user;
    let pending = entry.method == Method::Password && two_step::is_on(tx, user)?;
    let club = club_of(tx, user)?;
    let Entry { method, browser, .. } = entry;
    session::begin(tx, NewSession { user, club, pending, method, browser })
}

/// The club somebody looks at first: the one they looked at last, or their first.
fn club_of(db: &Reader<'_>, user: UserId) -> Result<Option<AccountId>> {
    let last: Option<(AccountId,)> = db.maybe(
        "select s.club from session s
         join account_user b on b.account_id = s.club and b.user_id = s.user_id
         where s.user_id = :user order by s.last_seen_at desc, s.id desc limit 1 /* any account */",
        bind! { user },
    )?;
    match last {
        Some((club,)) => Ok(Some(club)),
        None => Ok(user::clubs(db, user)?.first().map(|club| club.id)),
    }
}

/// Keeps a new password. Every browser but `keep` has to sign in again, and every app to be allowed again.
pub fn new_password(tx: &Tx<'_>, user: UserId, hash: &str, keep: Option<SessionId>) -> Result<()> {
    own::set_password(tx, user, hash)?;
    link::forget_of(tx, LinkKind::Reset, user)?;
    link::forget_of(tx, LinkKind::Verify, user)?;
    session::end_others(tx, user, keep)?;
    reactions::new_password(tx, user)
}

/// The user with this address, and a link by which they choose a new password.
pub fn reset_link(tx: &Tx<'_>, email: &str) -> Result<(User, Token)> {
    let user = user::find_by_email(tx, email)?.ok_or_else(Error::not_found)?;
    let token = link::make(tx, LinkKind::Reset, Some(user.id), None)?;
    Ok((user, token))
}

/// Keeps a new password for whoever has the link. The second step stays as it is.
pub fn reset(tx: &Tx<'_>, token: &str, hash: &str) -> Result<UserId> {
    let user = link::take(tx, LinkKind::Reset, token)?.user_id.ok_or_else(Error::not_found)?;
    new_password(tx, user, hash, None)?;
    Ok(user)
}

/// Gives a user the address that a link has reached.
pub fn confirm_email(tx: &Tx<'_>, token: &str) -> Result<(UserId, String)> {
    let link = link::take(tx, LinkKind::Verify, token)?;
    let (Some(user), Some(email)) = (link.user_id, link.email) else {
        return Err(Error::not_found());
    };
    own::set_email(tx, user, &email, true)?;
    // Links to the address before are no longer for this user's eyes.
    link::forget_of(tx, LinkKind::Reset, user)?;
    Ok((user, email))
}
