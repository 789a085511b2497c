//! The initial setup: the person with the link creates the first club and becomes its owner. Setup links stop
//! working as soon as a club has an owner.

use kit::secret::Token;

use super::link::{self, LinkKind};
use crate::accounts::account::{self, NewAccount};
use crate::accounts::profile;
use crate::accounts::user::{self, NewUser, Role, User};
use crate::prelude::*;
use crate::tier::Tier;

/// Input for [`create_first_club`].
#[derive(Debug, Clone)]
pub struct SetUpInput {
    pub club: String,
    pub sport: Option<String>,
    pub timezone: Zone,
    pub name: String,
    pub email: String,
    pub password_hash: String,
}

/// Creates a setup link and revokes earlier ones. `None` if a club already has an owner.
pub fn create_link(tx: &Tx<'_>) -> Result<Option<Token>> {
    link::revoke_all(tx, LinkKind::SetUp)?;
    if profile::any_owner_exists(tx)? {
        return Ok(None);
    }
    link::create(tx, LinkKind::SetUp, None, None).map(Some)
}

/// Checks that a setup link is valid.
pub fn check_link(db: &Reader<'_>, token: &str) -> Result<()> {
    if profile::any_owner_exists(db)? {
        return Err(Error::new(Code::Gone, "This service is already set up."));
    }
    link::find(db, LinkKind::SetUp, token).map(drop)
}

/// Creates the club and its owner. The transaction must already run in the scope of the new club's id.
pub fn create_first_club(tx: &Tx<'_>, token: &str, new: SetUpInput) -> Result<User> {
    check_link(tx, token)?;
    link::consume(tx, LinkKind::SetUp, token)?;
    if user::find_by_email(tx, &new.email)?.is_some() {
        let detail = "A user with this email address already exists.";
        return Err(Error::invalid(vec![Fault::new("/email", "taken", detail)]));
    }
    let account = NewAccount {
        id: tx.account(),
        name: new.club,
        tier: Tier::Club,
        timezone: new.timezone,
        sport: new.sport,
        demo: false,
    };
    account::create(tx, &account).map_err(|error| match error.faults.first() {
        Some(fault) if fault.pointer == "/name" => error.clone().at("/club"),
        _ => error,
    })?;
    let owner = NewUser {
        email: new.email,
        name: new.name,
        role: Role::Owner,
        password_hash: Some(new.password_hash),
    };
    Ok(user::create(tx, owner)?.0)
}
