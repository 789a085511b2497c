//! Who belongs to the account, and as what: given by an invitation, changed and taken away by those who
//! look after the club. Only owners make and unmake owners, and the last owner stays.

use store::{Reader, Tx};

use super::permits::Least;
use super::user::{self, Role, role_of};
use crate::error::{Code, Error, Result};
use crate::ids::UserId;

/// Lets a user into this account as this at least. Nobody becomes less than they are.
pub fn admit(tx: &Tx<'_>, user: UserId, role: Role) -> Result<Role> {
    let Some(known) = role_of(tx, user)? else {
        user::join(tx, user, role)?;
        return Ok(role);
    };
    if Least::from(role) > Least::from(known) { user::set_role(tx, user, role) } else { Ok(known) }
}

/// Somebody who looks after the club gives a user another role.
pub fn change_role(tx: &Tx<'_>, by: UserId, id: UserId, role: Role) -> Result<Role> {
    let before = role_of(tx, id)?.ok_or_else(Error::not_found)?;
    may_give(tx, by, role)?;
    may_give(tx, by, before)?;
    user::set_role(tx, id, role)
}

/// Somebody who looks after the club takes a user out of it. Says what they were.
pub fn remove(tx: &Tx<'_>, by: UserId, id: UserId) -> Result<Role> {
    let before = role_of(tx, id)?.ok_or_else(Error::not_found)?;
    may_give(tx, by, before)?;
    user::leave(tx, id, before)?;
    Ok(before)
}

/// Whether somebody may give this role or take it away: admins may, but owners only other owners.
pub fn may_give(db: &Reader<'_>, by: UserId, role: Role) -> Result<()> {
    let own = role_of(db, by)?.map_or(Least::Anybody, Least::from);
    if role == Role::Owner && own < Least::Owner {
        return Err(Error::new(Code::Forbidden, "Only owners can make or change owners."));
    }
    if own < Least::Admin {
        return Err(Error::new(Code::Forbidden, "Only admins of the club can do this."));
    }
    Ok(())
}
