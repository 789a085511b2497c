//! Who belongs to the account, and as what: given by an invitation, changed and taken away by those who
//! look after the club. Only owners make and unmake owners, and the last owner stays.

use store::{Reader, Tx, bind, sql};

use super::permits::Least;
use super::user::{self, Belonging, Role};
use crate::error::{Code, Error, Result};
use crate::ids::UserId;
use crate::signals::Tell;

/// What a user is in this account; nothing if they do not belong to it.
pub fn role_of(db: &Reader<'_>, user: UserId) -> Result<Option<Role>> {
    let text = sql!(Belonging::SELECT, " where account_id = :account and user_id = :user");
    let found: Option<Belonging> = db.maybe(text, bind! { user })?;
    Ok(found.map(|belonging| belonging.role))
}

/// Lets a user into this account as this at least. Nobody becomes less than they are.
pub fn admit(tx: &Tx<'_>, user: UserId, role: Role) -> Result<Role> {
    let Some(known) = role_of(tx, user)? else {
        let belonging = Belonging {
            account_id: tx.account(),
            user_id: user,
            role,
            created_at: tx.now(),
            updated_at: tx.now(),
            version: 1,
        };
        tx.run(Belonging::INSERT, &belonging.bind())?;
        tx.audit("user.joined", &user.to_string(), &serde_json::json!({ "role": role }))?;
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
    if before == Role::Owner && user::owners(tx)? == 1 {
        return Err(Error::invalid_state("The last owner cannot leave the club."));
    }
    tx.run("delete from account_user where account_id = :account and user_id = :id", bind! { id })?;
    tx.audit("user.removed", &id.to_string(), &serde_json::json!({ "role": before }))?;
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
