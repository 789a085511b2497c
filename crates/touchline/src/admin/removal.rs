//! Taking somebody out of the club, with everything that let them in.

use store::Tx;

use crate::accounts::belonging;
use crate::error::Result;
use crate::ids::UserId;
use crate::joining::claim;
use crate::oauth::grant;
use crate::roster::linking;
use crate::signin::session;

/// Takes a user out of the club: their sessions here and the apps that act for them here end at once, and
/// nobody signs in as their person any more. What they wrote and did stays.
pub fn remove(tx: &Tx<'_>, by: UserId, user: UserId) -> Result<()> {
    belonging::remove(tx, by, user)?;
    session::end_in_club(tx, user)?;
    grant::revoke_all_in_club(tx, user, "left_club")?;
    if let Some(person) = linking::person_of(tx, user)? {
        linking::unlink(tx, person.id)?;
    }
    claim::withdraw(tx, user)
}
