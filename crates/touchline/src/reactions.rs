//! What news of one room makes another room do, in the same transaction.
//!
//! A room knows only rooms above it. Where something that happens in one must have a consequence in a
//! room below, such as a place at an event that becomes free when a member leaves, it stands here.

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

/// Does what follows from news about these subjects.
pub fn after(tx: &Tx<'_>, kind: &str, subjects: impl Iterator<Item = String>) -> Result<()> {
    match kind {
        "roster.member_added" | "roster.member_updated" | "roster.member_removed" => {
            subjects.filter_map(|id| id.parse().ok()).try_for_each(|id| on_roster(tx, id))
        }
        "team.updated" => {
            subjects.filter_map(|id| id.parse().ok()).try_for_each(|id| due::moved(tx, id))
        }
        _ => Ok(()),
    }
}

/// Does what follows from a person's new name: what shows it has changed too.
pub fn renamed(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    message::rename_author(tx, person)
}

/// Does what follows from a change of a minor's protection: the guardians are told.
pub fn protection_changed(tx: &Tx<'_>, id: PersonId, change: &ProtectionChange) -> Result<()> {
    guardian_notice::send(tx, id, change)
}

/// Does what follows when somebody else replaces the address of an adult whom an admin has confirmed: the old
/// address is told.
pub fn address_replaced(tx: &Tx<'_>, before: &Person) -> Result<()> {
    guardian_notice::send_to_replaced_address(tx, before)
}

/// Does what follows from a new age group: when a team becomes one of adults, the guardians of its minors
/// are told.
pub fn became_adult_team(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    safeguarding::record_for_team(tx, team)
}

/// Does what follows from a new password: apps that were allowed to act for the user are not any more.
pub fn new_password(tx: &Tx<'_>, user: UserId) -> Result<()> {
    grant::revoke_all_of_user(tx, user, "password_changed").map(drop)
}

/// Events know how many are asked, and whoever leaves makes room at those to come. With a member their
/// guardians may leave, so duties are looked through whatever the news.
fn on_roster(tx: &Tx<'_>, member: MemberId) -> Result<()> {
    let (team, status): (TeamId, String) = tx.one(
        "select team_id, status from member where account_id = :account and id = :member",
        bind! { member },
    )?;
    if !matches!(status.as_str(), "active" | "injured") {
        rsvp::withdraw(tx, member)?;
    }
    volunteers::let_go(tx, team)?;
    event::recount(tx, team)
}
