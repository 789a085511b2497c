//! Coming in: a session begins for somebody who has proved who they are, and all of them end when the
//! proof is replaced.
//!
//! Passwords are compared outside of jobs, as that takes long. What was proved then must still hold in the job that acts
//! on it: see [`PasswordProof`] and [`user::lock`].

use kit::secret::Token;
use store::{Reader, Tx, bind};

use super::link::{self, LinkKind, OnceLink};
use super::session::{self, Browser, Method, NewSession, Session};
use super::{passkey, two_step};
use crate::accounts::own;
use crate::accounts::user::{self, User};
use crate::error::{Code, Error, Result};
use crate::ids::{AccountId, PasskeyId, SessionId, UserId};
use crate::reactions;
use crate::secrets::SealKey;

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

/// Somebody typed the right password of a user.
#[derive(Debug, Clone)]
pub struct PasswordProof {
    pub user: UserId,
    /// The hash that the password was compared with.
    pub verified: String,
    /// A hash of the same password by the current method, if `verified` was made by an older one.
    pub renewed: Option<String>,
}

impl PasswordProof {
    /// Whether the password is still that of the user, and the user may sign in. The user stays locked until the job ends, so
    /// that this holds at the commit.
    pub fn holds(&self, tx: &Tx<'_>) -> Result<bool> {
        let user = user::lock(tx, self.user)?;
        if user.disabled_at.is_some() || user.password_hash.as_deref() != Some(&self.verified) {
            return Ok(false);
        }
        if let Some(renewed) = &self.renewed {
            own::renew_hash(tx, self.user, &self.verified, renewed)?;
        }
        Ok(true)
    }
}

/// Begins a session for whoever typed the right password; `None` if the password was changed since.
pub fn enter_with_password(
    tx: &Tx<'_>,
    proof: &PasswordProof,
    browser: Browser,
    before: Option<(UserId, SessionId)>,
) -> Result<Option<(Session, Token)>> {
    if !proof.holds(tx)? {
        return Ok(None);
    }
    let entry = Entry { user: proof.user, method: Method::Password, browser, before };
    enter(tx, entry).map(Some)
}

/// Begins a session for whoever typed the right password before, and now a code. The code is used up in the same job;
/// `None` if it is wrong. Fails if the session that waits for the code has ended, for example by a new password.
pub fn enter_with_code(
    tx: &Tx<'_>,
    key: &SealKey,
    (user, pending): (UserId, SessionId),
    code: &str,
    browser: Browser,
) -> Result<Option<(Method, Token)>> {
    user::lock(tx, user)?;
    let method = if two_step::accept(tx, key, user, code)? {
        Method::Totp
    } else if two_step::accept_paper(tx, user, code)? {
        Method::RecoveryCode
    } else {
        return Ok(None);
    };
    session::end_pending(tx, user, pending)?;
    let (_, token) = enter(tx, Entry { user, method, browser, before: None })?;
    Ok(Some((method, token)))
}

/// Begins a session; the one the browser had ends. After a password alone it waits for the second step
/// if the user has set one up.
pub fn enter(tx: &Tx<'_>, entry: Entry) -> Result<(Session, Token)> {
    if user::lock(tx, entry.user)?.disabled_at.is_some() {
        return Err(Error::new(Code::InvalidCredentials, "This user can no longer sign in."));
    }
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

/// Keeps a new password of a user whom the job has locked. Every browser but `keep` has to sign in again, and every app to be allowed again.
pub fn new_password(tx: &Tx<'_>, user: UserId, hash: &str, keep: Option<SessionId>) -> Result<()> {
    own::set_password(tx, user, hash)?;
    forget_resets(tx, user)?;
    link::forget_of(tx, LinkKind::Verify, user)?;
    session::end_others(tx, user, keep)?;
    reactions::new_password(tx, user)
}

/// Takes back every link by which a user could choose a new password.
pub fn forget_resets(tx: &Tx<'_>, user: UserId) -> Result<()> {
    link::forget_of(tx, LinkKind::Reset, user)?;
    link::forget_of(tx, LinkKind::ResetAll, user)
}

/// The user with this address, and a link by which they choose a new password.
pub fn reset_link(tx: &Tx<'_>, email: &str) -> Result<(User, Token)> {
    link_to(tx, LinkKind::Reset, email)
}

/// The same for somebody who lost their second step: with the new password it is gone.
pub fn reset_all_link(tx: &Tx<'_>, email: &str) -> Result<(User, Token)> {
    link_to(tx, LinkKind::ResetAll, email)
}

fn link_to(tx: &Tx<'_>, kind: LinkKind, email: &str) -> Result<(User, Token)> {
    let found = user::find_by_email(tx, email)?.ok_or_else(Error::not_found)?;
    // Only once it is locked, it is certain that the address is still theirs.
    let user = user::lock(tx, found.id)?;
    if user.email_folded != found.email_folded {
        return Err(Error::not_found());
    }
    let token = link::make(tx, kind, Some(user.id), None)?;
    Ok((user, token))
}

/// The link by which somebody chooses a new password, if it still works.
pub fn reset_of(db: &Reader<'_>, token: &str) -> Result<OnceLink> {
    match link::look(db, LinkKind::Reset, token) {
        Err(error) if error.code == Code::Gone => link::look(db, LinkKind::ResetAll, token),
        found => found,
    }
}

/// What a new password has changed beside itself.
#[derive(Debug, Clone, Default)]
pub struct Reset {
    /// Nobody had shown before that the address is theirs.
    pub verified: bool,
    pub two_step: bool,
    pub passkeys: Vec<PasskeyId>,
}

impl Reset {
    /// Whether other ways to sign in are gone.
    pub fn removed(&self) -> bool {
        self.two_step || !self.passkeys.is_empty()
    }
}

/// Keeps a new password for whoever has the link. The second step stays as it is, unless the link says
/// otherwise, or nobody has ever shown that the address is theirs: then a stranger may have set it up,
/// before the one who can read the letters came.
pub fn reset(tx: &Tx<'_>, token: &str, hash: &str) -> Result<(UserId, Reset)> {
    let found = reset_of(tx, token)?;
    user::lock(tx, found.user_id.ok_or_else(Error::not_found)?)?;
    let kind = found.kind;
    let user = link::take(tx, kind, token)?.user_id.ok_or_else(Error::not_found)?;
    let verified = user::find(tx, user)?.email_verified_at.is_none();
    let mut reset = Reset { verified, ..Reset::default() };
    if verified || kind == LinkKind::ResetAll {
        reset.two_step = two_step::is_on(tx, user)?;
        two_step::turn_off(tx, user)?;
        reset.passkeys = passkey::remove_all(tx, user)?;
    }
    user::verify_email(tx, user)?;
    new_password(tx, user, hash, None)?;
    Ok((user, reset))
}

/// Gives a user the address that a link has reached.
pub fn confirm_email(tx: &Tx<'_>, token: &str) -> Result<(UserId, String)> {
    let found = link::look(tx, LinkKind::Verify, token)?;
    user::lock(tx, found.user_id.ok_or_else(Error::not_found)?)?;
    let link = link::take(tx, LinkKind::Verify, token)?;
    let (Some(user), Some(email)) = (link.user_id, link.email) else {
        return Err(Error::not_found());
    };
    own::set_email(tx, user, &email, true)?;
    // Links to the address before are no longer for this user's eyes.
    forget_resets(tx, user)?;
    Ok((user, email))
}
