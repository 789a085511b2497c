//! Signing in, and replacing credentials: sessions begin after authentication, and all sessions of a user end when the
//! password changes.
//!
//! Passwords are verified outside of transactions, because that is slow. The transaction that relies on the result must
//! check that it is still valid: see [`PasswordProof`] and [`user::lock`].

use kit::secret::Token;

use super::link::{self, LinkKind, OneTimeLink};
use super::{passkey, two_step};
use crate::accounts::profile;
use crate::accounts::session::{self, Browser, Method, NewSession, Session};
use crate::accounts::user::{self, User};
use crate::hook::Hook;
use crate::prelude::*;
use crate::secrets::SealKey;

/// Runs when a user sets a new password.
pub static ON_PASSWORD_CHANGED: Hook<fn(&Tx<'_>, UserId) -> Result<()>> =
    Hook::new("authentication::ON_PASSWORD_CHANGED");

/// An authenticated user who is about to get a session.
#[derive(Debug, Clone)]
pub struct SignIn {
    pub user: UserId,
    /// How the user authenticated.
    pub method: Method,
    pub browser: Browser,
    /// The session that this browser had before, with its user. It ends.
    pub current_session: Option<(UserId, SessionId)>,
}

/// A password that was verified before the transaction.
#[derive(Debug, Clone)]
pub struct PasswordProof {
    pub user: UserId,
    /// The stored hash that the password was verified against.
    pub verified_hash: String,
    /// A hash of the same password made with the current algorithm, if the stored one is outdated.
    pub upgraded_hash: Option<String>,
}

impl PasswordProof {
    /// Whether the password is still the user's, and the user may sign in. Locks the user until the transaction ends, so
    /// that the answer is still true at the commit. Stores the upgraded hash, if there is one.
    pub fn is_still_valid(&self, tx: &Tx<'_>) -> Result<bool> {
        let user = user::lock(tx, self.user)?;
        if user.disabled_at.is_some() || user.password_hash.as_deref() != Some(&self.verified_hash)
        {
            return Ok(false);
        }
        if let Some(renewed) = &self.upgraded_hash {
            profile::upgrade_password_hash(tx, self.user, &self.verified_hash, renewed)?;
        }
        Ok(true)
    }
}

/// Begins a session after a correct password. `None` if the password was changed since it was verified.
pub fn sign_in_with_password(
    tx: &Tx<'_>,
    proof: &PasswordProof,
    browser: Browser,
    current_session: Option<(UserId, SessionId)>,
) -> Result<Option<(Session, Token)>> {
    if !proof.is_still_valid(tx)? {
        return Ok(None);
    }
    let request = SignIn { user: proof.user, method: Method::Password, browser, current_session };
    sign_in(tx, request).map(Some)
}

/// Begins a session after a correct password and code. The code is consumed in the same transaction; `None` if it is
/// wrong. Fails if the pending session has ended, for example because the password was changed.
pub fn sign_in_with_code(
    tx: &Tx<'_>,
    key: &SealKey,
    (user, pending): (UserId, SessionId),
    code: &str,
    browser: Browser,
) -> Result<Option<(Method, Token)>> {
    user::lock(tx, user)?;
    let method = if two_step::consume_code(tx, key, user, code)? {
        Method::Totp
    } else if two_step::consume_recovery_code(tx, user, code)? {
        Method::RecoveryCode
    } else {
        return Ok(None);
    };
    session::end_pending(tx, user, pending)?;
    let (_, token) = sign_in(tx, SignIn { user, method, browser, current_session: None })?;
    Ok(Some((method, token)))
}

/// Begins a session and ends the one the browser had before. After a password alone, the session is pending
/// if the user has two-step sign-in.
pub fn sign_in(tx: &Tx<'_>, request: SignIn) -> Result<(Session, Token)> {
    let SignIn { user, method, browser, current_session } = request;
    if user::lock(tx, user)?.disabled_at.is_some() {
        return Err(Error::new(Code::InvalidCredentials, "This user can no longer sign in."));
    }
    if let Some((user, session)) = current_session {
        session::end(tx, user, session)?;
    }
    let pending = method == Method::Password && two_step::is_on(tx, user)?;
    let club = initial_club(tx, user)?;
    session::begin(tx, NewSession { user, club, pending, method, browser })
}

/// The club that a new session shows: the one of the most recent session, or the one the user joined first.
fn initial_club(db: &Reader<'_>, user: UserId) -> Result<Option<AccountId>> {
    let last: Option<(AccountId,)> = db.optional(
        "select s.club from session s
         join account_user b on b.account_id = s.club and b.user_id = s.user_id
         where s.user_id = :user order by s.last_seen_at desc, s.id desc limit 1 /* any account */",
        bind! { user },
    )?;
    Ok(match last {
        Some((club,)) => Some(club),
        None => user::clubs(db, user)?.first().map(|club| club.id),
    })
}

/// Stores a new password of a user whom the transaction has locked. Ends every session except `keep`, and revokes the
/// grants of all apps.
pub fn set_new_password(
    tx: &Tx<'_>,
    user: UserId,
    hash: &str,
    keep: Option<SessionId>,
) -> Result<()> {
    profile::set_password(tx, user, hash)?;
    revoke_reset_links(tx, user)?;
    link::revoke_of_user(tx, LinkKind::Verify, user)?;
    session::end_others(tx, user, keep)?;
    ON_PASSWORD_CHANGED.get()?(tx, user)
}

/// Revokes every password reset link of a user.
pub fn revoke_reset_links(tx: &Tx<'_>, user: UserId) -> Result<()> {
    link::revoke_of_user(tx, LinkKind::Reset, user)?;
    link::revoke_of_user(tx, LinkKind::ResetAll, user)
}

/// Creates a password reset link for the user with this email address.
pub fn create_reset_link(tx: &Tx<'_>, email: &str) -> Result<(User, Token)> {
    create_link(tx, LinkKind::Reset, email)
}

/// Creates a password reset link that also turns off two-step sign-in and removes all passkeys, for a user who lost
/// access to them.
pub fn create_full_reset_link(tx: &Tx<'_>, email: &str) -> Result<(User, Token)> {
    create_link(tx, LinkKind::ResetAll, email)
}

fn create_link(tx: &Tx<'_>, kind: LinkKind, email: &str) -> Result<(User, Token)> {
    let unlocked = user::find_by_email(tx, email)?.ok_or_else(Error::not_found)?;
    // The address may have changed before the user was locked.
    let user = user::lock(tx, unlocked.id)?;
    if user.email_folded != unlocked.email_folded {
        return Err(Error::not_found());
    }
    let token = link::create(tx, kind, Some(user.id), None)?;
    Ok((user, token))
}

/// The password reset link with this token, if it is still valid.
pub fn find_reset_link(db: &Reader<'_>, token: &str) -> Result<OneTimeLink> {
    match link::find(db, LinkKind::Reset, token) {
        Err(error) if error.code == Code::Gone => link::find(db, LinkKind::ResetAll, token),
        result => result,
    }
}

/// What a password reset changed besides the password.
#[derive(Debug, Clone, Default)]
pub struct ResetOutcome {
    /// The email address was unverified before.
    pub email_verified: bool,
    /// Two-step sign-in was on and is now off.
    pub two_step_turned_off: bool,
    /// The passkeys that were removed.
    pub removed_passkeys: Vec<PasskeyId>,
}

impl ResetOutcome {
    /// Whether other sign-in methods were removed.
    pub fn removed_sign_in_methods(&self) -> bool {
        self.two_step_turned_off || !self.removed_passkeys.is_empty()
    }
}

/// Sets a new password with a reset link. Two-step sign-in and passkeys are kept, with two exceptions: a link of
/// kind [`LinkKind::ResetAll`], and a user whose email address was never verified. In that case somebody else may have
/// signed up with the address and set them up.
pub fn reset_password(tx: &Tx<'_>, token: &str, hash: &str) -> Result<(UserId, ResetOutcome)> {
    let link = find_reset_link(tx, token)?;
    user::lock(tx, link.user_id.ok_or_else(Error::not_found)?)?;
    let user = link::consume(tx, link.kind, token)?.user_id.ok_or_else(Error::not_found)?;
    let email_verified = user::find(tx, user)?.email_verified_at.is_none();
    let mut reset = ResetOutcome { email_verified, ..ResetOutcome::default() };
    if email_verified || link.kind == LinkKind::ResetAll {
        reset.two_step_turned_off = two_step::is_on(tx, user)?;
        two_step::turn_off(tx, user)?;
        reset.removed_passkeys = passkey::remove_all(tx, user)?;
    }
    user::verify_email(tx, user)?;
    set_new_password(tx, user, hash, None)?;
    Ok((user, reset))
}

/// Changes the user's email address to the one that the link was sent to, as verified.
pub fn confirm_email(tx: &Tx<'_>, token: &str) -> Result<(UserId, String)> {
    let unlocked = link::find(tx, LinkKind::Verify, token)?;
    user::lock(tx, unlocked.user_id.ok_or_else(Error::not_found)?)?;
    let link = link::consume(tx, LinkKind::Verify, token)?;
    let (Some(user), Some(email)) = (link.user_id, link.email) else {
        return Err(Error::not_found());
    };
    profile::set_email(tx, user, &email, true)?;
    // Reset links were sent to the old address, which may no longer belong to this user.
    revoke_reset_links(tx, user)?;
    Ok((user, email))
}
