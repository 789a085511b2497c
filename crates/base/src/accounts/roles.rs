//! Roles of users in an account: granted by invitations, changed and revoked by admins. Only owners may
//! grant or revoke the owner role, and the last owner cannot be removed.

use super::permissions::AccessLevel;
use super::user::{self, Role, role_of};
use crate::prelude::*;

/// Adds a user to this account with at least this role. Never lowers a role the user already has.
pub fn ensure_role(tx: &Tx<'_>, user: UserId, role: Role) -> Result<Role> {
    let Some(current) = role_of(tx, user)? else {
        user::join(tx, user, role)?;
        return Ok(role);
    };
    if AccessLevel::from(role) > AccessLevel::from(current) {
        user::set_role(tx, user, role)
    } else {
        Ok(current)
    }
}

/// Changes a user's role, on behalf of the admin or owner `by`.
pub fn change_role(tx: &Tx<'_>, by: UserId, id: UserId, role: Role) -> Result<Role> {
    let before = role_of(tx, id)?.ok_or_else(Error::not_found)?;
    check_can_assign(tx, by, role)?;
    check_can_assign(tx, by, before)?;
    user::set_role(tx, id, role)
}

/// Removes a user from the account, on behalf of the admin or owner `by`. Returns the user's former role.
pub fn remove(tx: &Tx<'_>, by: UserId, id: UserId) -> Result<Role> {
    let before = role_of(tx, id)?.ok_or_else(Error::not_found)?;
    check_can_assign(tx, by, before)?;
    user::leave(tx, id, before)?;
    Ok(before)
}

/// Checks that the user `by` may grant or revoke this role: admins may, except for the owner role, which
/// only owners may grant or revoke.
pub fn check_can_assign(db: &Reader<'_>, by: UserId, role: Role) -> Result<()> {
    let own = role_of(db, by)?.map_or(AccessLevel::SignedIn, AccessLevel::from);
    if role == Role::Owner && own < AccessLevel::Owner {
        return Err(Error::new(Code::Forbidden, "Only owners can add or change owners."));
    }
    if own < AccessLevel::Admin {
        return Err(Error::new(Code::Forbidden, "Only admins of the club can do this."));
    }
    Ok(())
}
