//! What a change in one module makes another module do, in the same transaction.
//!
//! A module may only depend on modules above it. If a change must have an effect in a module below, the call is here:
//! for example, a place at an event becomes free when a member leaves.

use store::{Tx, bind};

use crate::dues::due;
use crate::error::Result;
use crate::events::{event, rsvp, volunteers};
use crate::ids::{MemberId, PersonId, TeamId, UserId};
use crate::mail::guardian_notice;
use crate::messages::message;
use crate::oauth::grant;
use crate::roster::person::Person;
use crate::roster::safeguarding::{self, ProtectionChange};

/// Runs the reactions to a published notification of this kind about these subjects.
pub fn on_published(tx: &Tx<'_>, kind: &str, subjects: impl Iterator<Item = String>) -> Result<()> {
    match kind {
        "roster.member_added" | "roster.member_updated" | "roster.member_removed" => {
            subjects.filter_map(|id| id.parse().ok()).try_for_each(|id| on_roster_change(tx, id))
        }
        "team.updated" => subjects
            .filter_map(|id| id.parse().ok())
            .try_for_each(|id| due::update_time_zone(tx, id)),
        _ => Ok(()),
    }
}

/// Reacts to a person's new name: their messages show it.
pub fn on_person_renamed(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    message::bump_versions_of_author(tx, person)
}

/// Reacts to a change of a minor's protection: the guardians are notified.
pub fn on_protection_changed(tx: &Tx<'_>, id: PersonId, change: &ProtectionChange) -> Result<()> {
    guardian_notice::send(tx, id, change)
}

/// Reacts to a new address of a confirmed adult that somebody else entered: the old address gets an email.
pub fn on_address_replaced(tx: &Tx<'_>, before: &Person) -> Result<()> {
    guardian_notice::send_to_replaced_address(tx, before)
}

/// Reacts to a new age group: when a team becomes an adult team, the guardians of its minors are notified.
pub fn on_team_became_adult(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    safeguarding::record_adult_team(tx, team)
}

/// Reacts to a new password: the grants that allow apps to act for the user are revoked.
pub fn on_password_changed(tx: &Tx<'_>, user: UserId) -> Result<()> {
    grant::revoke_all_of_user(tx, user, "password_changed").map(drop)
}

/// Reacts to a roster change. Events store how many members are invited, and a member who leaves frees their place at
/// future events. Guardians may leave together with a member, so volunteer duties are checked after every roster change.
fn on_roster_change(tx: &Tx<'_>, member: MemberId) -> Result<()> {
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
