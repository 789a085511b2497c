//! The first run: whoever has the link makes the club and becomes its owner. Once there is an owner, no
//! link opens anything.

use kit::Zone;
use kit::secret::Token;
use store::{Reader, Tx};

use super::link::{self, LinkKind};
use crate::accounts::account::{self, NewAccount, Tier};
use crate::accounts::own;
use crate::accounts::user::{self, NewUser, Role, User};
use crate::error::{Code, Error, Fault, Result};

/// What whoever sets the service up says.
#[derive(Debug, Clone)]
pub struct Beginning {
    pub club: String,
    pub sport: Option<String>,
    pub timezone: Zone,
    pub name: String,
    pub email: String,
    pub password_hash: String,
}

/// A new link, if there is no owner yet; those before work no longer.
pub fn invite(tx: &Tx<'_>) -> Result<Option<Token>> {
    link::forget_all(tx, LinkKind::SetUp)?;
    if own::any_owner(tx)? {
        return Ok(None);
    }
    link::make(tx, LinkKind::SetUp, None, None).map(Some)
}

/// Whether a link still opens anything.
pub fn look(db: &Reader<'_>, token: &str) -> Result<()> {
    if own::any_owner(db)? {
        return Err(Error::new(Code::Gone, "This service is set up already."));
    }
    link::look(db, LinkKind::SetUp, token).map(drop)
}

/// Makes the club and its owner. The job runs in the scope of the club that it makes.
pub fn begin(tx: &Tx<'_>, token: &str, new: Beginning) -> Result<User> {
    look(tx, token)?;
    link::take(tx, LinkKind::SetUp, token)?;
    if user::find_by_email(tx, &new.email)?.is_some() {
        let detail = "Somebody signs in with this address already.";
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
