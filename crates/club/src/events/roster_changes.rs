//! What a roster change means for events.

use crate::events::{event, rsvp, volunteers};
use crate::prelude::*;

/// Reacts to a change of a member. Events store how many members are invited, and a member who leaves frees their place
/// at future events. Guardians may leave together with a member, so volunteer duties are checked after every change.
pub(super) fn react(tx: &Tx<'_>, member: &str) -> Result<()> {
    let Ok(member) = member.parse() else { return Ok(()) };
    let (team, status): (TeamId, String) = tx.one(
        "select team_id, status from member where account_id = :account and id = :member",
        bind! { member },
    )?;
    if !matches!(status.as_str(), "active" | "injured") {
        rsvp::withdraw(tx, member)?;
    }
    volunteers::release_former_members(tx, team)?;
    event::update_roster_count(tx, team)
}
