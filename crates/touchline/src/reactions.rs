//! What a change in one module makes another module do, in the same transaction.
//!
//! A module may only use modules below it. If a change must have an effect in a module above, it calls a hook, and the
//! function is registered here: for example, a place at an event becomes free when a member leaves.

use store::{Tx, bind};

use crate::accounts::account;
use crate::dues::due;
use crate::error::Result;
use crate::events::{event, rsvp, volunteers};
use crate::ids::{MemberId, TeamId};
use crate::mail::guardian_notice;
use crate::messages::message;
use crate::oauth::{grant, token};
use crate::roster::{access, person, safeguarding};
use crate::signals;
use crate::signin::authentication;
use crate::teams::team;
use crate::web::{admission, docs};
use crate::webhooks::notifications::retention;

/// Registers all reactions and the functions that authentication needs. Every process does this before it opens the
/// database.
pub fn register() {
    signals::ON_PUBLISHED.register(on_published);
    account::ON_DELETED.register(retention::delete_all_deliveries);
    // A message shows the name of its author.
    person::ON_RENAMED.register(message::bump_versions_of_author);
    safeguarding::ON_PROTECTION_CHANGED.register(guardian_notice::send);
    safeguarding::ON_ADDRESS_REPLACED.register(guardian_notice::send_to_replaced_address);
    team::ON_BECAME_ADULT.register(safeguarding::record_adult_team);
    // Apps may no longer act for the user.
    authentication::ON_PASSWORD_CHANGED
        .register(|tx, user| grant::revoke_all_of_user(tx, user, "password_changed").map(drop));
    docs::DESCRIBE_API.register(crate::openapi_json);
    admission::AUTHENTICATE_TOKEN.register(token::authenticate);
    admission::RECORD_TOKEN_USE.register(token::record_use);
    admission::IS_GRANT_ACTIVE.register(grant::is_active);
    admission::LOAD_ROSTER_ACCESS.register(access::for_user);
}

/// Runs the reactions to a published notification of this kind about these subjects.
fn on_published(tx: &Tx<'_>, kind: &str, subjects: &mut dyn Iterator<Item = String>) -> Result<()> {
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
