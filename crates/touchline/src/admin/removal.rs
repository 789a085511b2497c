//! What those who look after a club can do to somebody's way in: take it away with everything that
//! belongs to it, or send them a link to choose a new password.

use kit::secret::Token;
use store::Tx;

use crate::accounts::account::{self, Account};
use crate::accounts::belonging;
use crate::accounts::user::{self, Role, User};
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::joining::{claim, invitation};
use crate::oauth::grant;
use crate::roster::linking;
use crate::signals::Tell;
use crate::signin::link::{self, LinkKind};
use crate::signin::session;

/// Takes a user out of the club: their sessions here and the apps that act for them here end at once, and
/// nobody signs in as their person any more. The invitations they made stop working. What they wrote and did
/// stays.
pub fn remove(tx: &Tx<'_>, by: UserId, user: UserId) -> Result<()> {
    belonging::remove(tx, by, user)?;
    session::end_in_club(tx, user)?;
    grant::revoke_all_in_club(tx, user, "left_club")?;
    if let Some(person) = linking::person_of(tx, user)? {
        linking::unlink(tx, person.id)?;
    }
    claim::withdraw(tx, user)?;
    invitation::revoke_outgrown(tx, user)
}

/// Gives a user another role. The invitations they made stop working where they could not make them any
/// more.
pub fn change_role(tx: &Tx<'_>, by: UserId, user: UserId, role: Role) -> Result<Role> {
    let role = belonging::change_role(tx, by, user, role)?;
    invitation::revoke_outgrown(tx, user)?;
    Ok(role)
}

/// Makes a link by which somebody of the club can choose a new password. Only owners have it made for owners.
pub fn start_reset(tx: &Tx<'_>, by: UserId, id: UserId) -> Result<(User, Account, Token)> {
    let role = user::role_of(tx, id)?.ok_or_else(Error::not_found)?;
    belonging::may_give(tx, by, role)?;
    let user = user::lock(tx, id)?;
    link::forget_of(tx, LinkKind::Reset, id)?;
    let token = link::make(tx, LinkKind::Reset, Some(id), None)?;
    tx.audit("user.reset_started", &id.to_string(), &serde_json::json!({}))?;
    Ok((user, account::find(tx)?, token))
}
