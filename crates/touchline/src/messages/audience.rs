//! The audience of a message: whom its author has in mind on the team.

use std::collections::BTreeSet;

use kit::word::Word;
use kit::words;
use serde::{Deserialize, Serialize};
use store::{Bound, Column, Reader, Value, bind};
use utoipa::ToSchema;

use super::people::{self, OnTeam};
use crate::error::{Fault, Result};
use crate::ids::{EventId, MemberId, PersonId, TeamId};
use crate::roster::membership::Role;

words! {
    /// Whom a message is for.
    pub enum To {
        /// The members of the team, and the guardians of its players.
        All = "all",
        Players = "players",
        /// The guardians of the players.
        Guardians = "guardians",
        /// Coaches, managers and other staff.
        Staff = "staff",
        /// The members that are named.
        Members = "members",
        /// The members who have not answered an event.
        Unanswered = "unanswered",
    }
}

/// Whom a message is for. Guardians of minors who are among them get it too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Audience {
    /// `all` if left out.
    pub to: To,
    /// With `members`: the members it is for.
    #[schema(min_items = 1, max_items = 500)]
    pub member_ids: Option<Vec<MemberId>>,
    /// With `unanswered`: the event they have not answered.
    pub event_id: Option<EventId>,
}

impl Default for Audience {
    fn default() -> Self {
        Self { to: To::All, member_ids: None, event_id: None }
    }
}

impl Bound for Audience {
    fn write(&self) -> Value<'_> {
        let text = serde_json::to_string(self).expect("words and ids can be written as JSON");
        Value::Text(text.into())
    }
}

impl Column for Audience {
    fn read(value: Value<'_>) -> store::Result<Self> {
        #[derive(Deserialize)]
        struct Kept {
            to: String,
            member_ids: Option<Vec<MemberId>>,
            event_id: Option<EventId>,
        }
        let text = String::read(value)?;
        let kept = serde_json::from_str::<Kept>(&text).ok();
        let audience = kept.and_then(|Kept { to, member_ids, event_id }| {
            Some(Self { to: To::parse(&to)?, member_ids, event_id })
        });
        audience.ok_or_else(|| store::Error::Corrupt(format!("the audience {text:?}")))
    }
}

/// What is wrong with an audience on this team: members or an event that are not its own.
pub fn faults(db: &Reader<'_>, team: TeamId, audience: &Audience) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if let Some(ids) = &audience.member_ids {
        let known: BTreeSet<_> =
            people::on_team(db, team)?.iter().map(|member| member.id).collect();
        for (place, _) in ids.iter().enumerate().filter(|(_, id)| !known.contains(id)) {
            let pointer = format!("/audience/member_ids/{place}");
            faults.push(Fault::new(pointer, "unknown_member", "This is no member of the team."));
        }
    }
    if let Some(event) = audience.event_id {
        let fault = |code, detail| Fault::new("/audience/event_id", code, detail);
        faults.extend(match asks(db, team, event)? {
            None => Some(fault("unknown_event", "This is no event of the team.")),
            Some(false) => {
                Some(fault("asks_nobody", "This event is cancelled or asks nobody for an answer."))
            }
            Some(true) => None,
        });
    }
    Ok(faults)
}

/// Whether an event of the team waits for answers; `None` if it is no event of the team.
fn asks(db: &Reader<'_>, team_id: TeamId, id: EventId) -> Result<Option<bool>> {
    let found: Option<(bool,)> = db.maybe(
        "select asks_rsvp and status <> 'cancelled' as asks from event
         where account_id = :account and id = :id and team_id = :team_id",
        bind! { id, team_id },
    )?;
    Ok(found.map(|(asks,)| asks))
}

/// The people an audience means at present, before those who come along for a child's sake.
pub fn people(db: &Reader<'_>, team: TeamId, audience: &Audience) -> Result<BTreeSet<PersonId>> {
    let members = people::on_team(db, team)?;
    let persons = |wanted: &dyn Fn(&OnTeam) -> bool| -> BTreeSet<PersonId> {
        members.iter().filter(|member| wanted(member)).map(|member| member.person_id).collect()
    };
    let players = || persons(&|member| member.present && member.role == Role::Player);
    Ok(match audience.to {
        To::All => {
            let mut all = persons(&|member| member.present);
            all.extend(parents(db, &players())?);
            all
        }
        To::Players => players(),
        To::Guardians => parents(db, &players())?,
        To::Staff => persons(&|member| member.present && member.role != Role::Player),
        To::Members => {
            let named = audience.member_ids.as_deref().unwrap_or_default();
            persons(&|member| named.contains(&member.id))
        }
        To::Unanswered => match audience.event_id {
            Some(event) if asks(db, team, event)? == Some(true) => {
                let answered = answered(db, event)?;
                persons(&|member| member.present && !answered.contains(&member.id))
            }
            // Nobody is asked to answer an event that is gone or called off.
            _ => BTreeSet::new(),
        },
    })
}

/// The guardians of these people who receive messages.
fn parents(db: &Reader<'_>, players: &BTreeSet<PersonId>) -> Result<BTreeSet<PersonId>> {
    let guardians = people::guardians(db, players)?.into_iter();
    Ok(guardians.filter(|one| one.receives_messages).map(|one| one.guardian_id).collect())
}

fn answered(db: &Reader<'_>, event_id: EventId) -> Result<BTreeSet<MemberId>> {
    let rows: Vec<(MemberId,)> = db.all(
        "select member_id from rsvp where account_id = :account and event_id = :event_id",
        bind! { event_id },
    )?;
    Ok(rows.into_iter().map(|(member,)| member).collect())
}
