//! The audience of a message: the people on the team that it is addressed to.

use std::collections::BTreeSet;

use kit::string_enum;
use macros::input;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::api;
use super::people::{self, TeamMember};
use crate::prelude::*;
use crate::roster::membership::Role;

string_enum! {
    /// The groups that a message can be addressed to.
    pub enum AudienceKind {
        /// All members of the team, and the guardians of its players.
        All = "all",
        /// The players of the team.
        Players = "players",
        /// The guardians of the players.
        Guardians = "guardians",
        /// Coaches, managers and other staff.
        Staff = "staff",
        /// The members in `member_ids`.
        Members = "members",
        /// The members who have not answered the event `event_id`.
        Unanswered = "unanswered",
    }
}

impl<'de> Deserialize<'de> for AudienceKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::parse(&word).ok_or_else(|| D::Error::custom("not an audience"))
    }
}

/// The audience of a message. Guardians of minors in the audience also receive the message.
#[input(check = api::check_audience)]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audience {
    /// Group that the message is addressed to: `all` (members and the guardians of players), `players`, `guardians`,
    /// `staff` (coaches, managers and other staff), `members` (those in `member_ids`) or `unanswered` (members who have
    /// not answered `event_id`). Default: `all`.
    #[input(default = AudienceKind::All)]
    pub to: AudienceKind,
    /// Members that the message is addressed to. Required if `to` is `members`, otherwise not allowed.
    #[schema(min_items = 1, max_items = 500)]
    #[input(with(api::member_ids))]
    pub member_ids: Option<Vec<MemberId>>,
    /// Event whose members without an RSVP receive the message. Required if `to` is `unanswered`, otherwise not
    /// allowed.
    pub event_id: Option<EventId>,
}

impl Default for Audience {
    fn default() -> Self {
        Self { to: AudienceKind::All, member_ids: None, event_id: None }
    }
}

json_column!(Audience);

/// Validates an audience: its members and its event must belong to the team.
pub fn validate(db: &Reader<'_>, team: TeamId, audience: &Audience) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if let Some(ids) = &audience.member_ids {
        let known: BTreeSet<_> =
            people::team_members(db, team)?.iter().map(|member| member.id).collect();
        for (index, _) in ids.iter().enumerate().filter(|(_, id)| !known.contains(id)) {
            let pointer = format!("/audience/member_ids/{index}");
            let detail = "The team has no member with this ID.";
            faults.push(Fault::new(pointer, "not_found", detail));
        }
    }
    if let Some(event) = audience.event_id {
        let fault = |code, detail| Fault::new("/audience/event_id", code, detail);
        match accepts_rsvps(db, team, event)? {
            None => faults.push(fault("not_found", "The team has no event with this ID.")),
            Some(false) => {
                let detail = "This event is cancelled or does not ask for RSVPs.";
                faults.push(fault("no_recipients", detail));
            }
            Some(true) => {}
        }
    }
    Ok(faults)
}

/// Whether an event of the team accepts RSVPs. `None` if the team has no such event.
fn accepts_rsvps(db: &Reader<'_>, team_id: TeamId, id: EventId) -> Result<Option<bool>> {
    let row: Option<(bool,)> = db.optional(
        "select rsvp_enabled and status <> 'cancelled' as asks from event
         where account_id = :account and id = :id and team_id = :team_id",
        bind! { id, team_id },
    )?;
    Ok(row.map(|(asks,)| asks))
}

/// The people in an audience at present, without guardians who are added for minors.
pub fn people(db: &Reader<'_>, team: TeamId, audience: &Audience) -> Result<BTreeSet<PersonId>> {
    let members = people::team_members(db, team)?;
    let select = |filter: &dyn Fn(&TeamMember) -> bool| -> BTreeSet<PersonId> {
        members.iter().filter(|member| filter(member)).map(|member| member.person_id).collect()
    };
    let players = || select(&|member| member.present && member.role == Role::Player);
    Ok(match audience.to {
        AudienceKind::All => {
            let mut all = select(&|member| member.present);
            all.extend(receiving_guardians(db, &players())?);
            all
        }
        AudienceKind::Players => players(),
        AudienceKind::Guardians => receiving_guardians(db, &players())?,
        AudienceKind::Staff => select(&|member| member.present && member.role != Role::Player),
        AudienceKind::Members => {
            let member_ids = audience.member_ids.as_deref().unwrap_or_default();
            select(&|member| member_ids.contains(&member.id))
        }
        AudienceKind::Unanswered => match audience.event_id {
            Some(event) if accepts_rsvps(db, team, event)? == Some(true) => {
                let answered: BTreeSet<MemberId> = db.ids(
                    "select member_id from rsvp where account_id = :account and event_id = :event",
                    bind! { event },
                )?;
                select(&|member| member.present && !answered.contains(&member.id))
            }
            // The event was deleted or cancelled, or no longer asks for RSVPs.
            _ => BTreeSet::new(),
        },
    })
}

/// The guardians of these people who receive messages.
fn receiving_guardians(
    db: &Reader<'_>,
    players: &BTreeSet<PersonId>,
) -> Result<BTreeSet<PersonId>> {
    let guardians = people::guardians(db, players)?.into_iter();
    Ok(guardians.filter(|one| one.receives_messages).map(|one| one.guardian_id).collect())
}
