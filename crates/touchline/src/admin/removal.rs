//! What an admin can do to a user's access: remove it, change the role, or start a password reset.

use kit::secret::Token;

use crate::accounts::account::{self, Account};
use crate::accounts::roles;
use crate::accounts::session;
use crate::accounts::user::{self, Role, User};
use crate::joining::{claim, invitation};
use crate::oauth::grant;
use crate::prelude::*;
use crate::roster::linking;
use crate::signin::link::{self, LinkKind};

/// Removes a user from the club. Their sessions and app grants in this club end, their person on the roster
/// is unlinked, their open claims are withdrawn, and their invitations are revoked. Their content stays.
pub fn remove(tx: &Tx<'_>, by: UserId, user: UserId) -> Result<()> {
    roles::remove(tx, by, user)?;
    session::end_in_club(tx, user)?;
    grant::revoke_all_in_club(tx, user, "left_club")?;
    if let Some(person) = linking::find_person(tx, user)? {
        linking::unlink(tx, person.id)?;
    }
    claim::withdraw(tx, user)?;
    invitation::revoke_disallowed(tx, user)
}

/// Changes a user's role. Revokes those of their invitations that the new role could not create.
pub fn change_role(tx: &Tx<'_>, by: UserId, user: UserId, role: Role) -> Result<Role> {
    let role = roles::change_role(tx, by, user, role)?;
    invitation::revoke_disallowed(tx, user)?;
    Ok(role)
}

/// Creates a password reset link for a user of the club. Only an owner can do this for an owner.
pub fn start_reset(tx: &Tx<'_>, by: UserId, id: UserId) -> Result<(User, Account, Token)> {
    let role = user::role_of(tx, id)?.ok_or_else(Error::not_found)?;
    roles::check_can_assign(tx, by, role)?;
    let user = user::lock(tx, id)?;
    link::revoke_of_user(tx, LinkKind::Reset, id)?;
    let token = link::create(tx, LinkKind::Reset, Some(id), None)?;
    tx.audit("user.reset_started", &id.to_string(), &serde_json::json!({}))?;
    Ok((user, account::find(tx)?, token))
}
