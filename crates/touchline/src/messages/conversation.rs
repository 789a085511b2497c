//! Conversations: a message that starts one, and the replies that go to everybody on it.

use std::collections::BTreeSet;

use store::{Reader, bind};

use super::audience::Audience;
use super::message::{self, Kind, Status, Stored};
use super::people;
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::ids::{MessageId, PersonId, TeamId};
use crate::roster::membership::Role;

/// Who is on a conversation. Every message of it goes to all of them, so the last one knows.
pub fn people(db: &Reader<'_>, id: MessageId) -> Result<BTreeSet<PersonId>> {
    let (last, author): (MessageId, Option<PersonId>) = db.one(
        "select id, author_person_id from message
         where account_id = :account and thread_id = :id and published_at is not null
         order by listed_at desc, id desc limit 1",
        bind! { id },
    )?;
    let reached: Vec<(PersonId,)> = db.all(
        "select person_id from receipt where account_id = :account and message_id = :last",
        bind! { last },
    )?;
    Ok(reached.into_iter().map(|(person,)| person).chain(author).collect())
}

/// The message that a reply answers, if it can be answered.
pub fn parent(db: &Reader<'_>, reach: &Reach, id: MessageId) -> Result<Stored> {
    let parent = message::stored(db, reach, id)?;
    if parent.kind == Kind::Announcement {
        let detail = "An announcement cannot be answered; start a conversation instead.";
        return Err(Error::invalid_state(detail));
    }
    match parent.status {
        Status::Published => Ok(parent),
        Status::Scheduled => {
            Err(Error::invalid_state("This message is not published yet; it cannot be answered."))
        }
        Status::Retracted => {
            Err(Error::invalid_state("This message was retracted; it cannot be answered."))
        }
    }
}

/// A reply stays on its team and with its audience; saying otherwise is a fault.
pub fn departures(
    parent: &Stored,
    team: Option<TeamId>,
    audience: Option<&Audience>,
) -> Vec<Fault> {
    let fault = |pointer, detail| Fault::new(pointer, "not_of_the_conversation", detail);
    let mut faults = Vec::new();
    if team.is_some_and(|team| team != parent.team_id) {
        faults.push(fault("/team_id", "A reply belongs to the team of its conversation."));
    }
    if audience.is_some_and(|audience| *audience != parent.audience) {
        faults.push(fault("/audience", "A reply goes to everybody on its conversation."));
    }
    faults
}

/// What stands against a person who speaks in a message: they belong to the team, to answer they are on
/// the conversation too, and to announce they are its staff.
pub fn speaker_fault(
    db: &Reader<'_>,
    message: &Stored,
    person: PersonId,
    belonging: &BTreeSet<PersonId>,
) -> Result<Option<Fault>> {
    let is_reply = message.parent_id.is_some();
    let fault = |code, detail| Some(Fault::new("/on_behalf_of", code, detail));
    Ok(if !belonging.contains(&person) {
        fault("not_on_team", "This person is neither on the team nor a guardian there.")
    } else if is_reply && !people(db, message.thread_id)?.contains(&person) {
        fault("not_on_team", "This person is not on the conversation.")
    } else if message.kind == Kind::Announcement && !is_staff(db, message.team_id, person)? {
        fault("not_staff", "Only coaches, managers and staff of the team announce something.")
    } else {
        None
    })
}

fn is_staff(db: &Reader<'_>, team: TeamId, person: PersonId) -> Result<bool> {
    let mut members = people::on_team(db, team)?.into_iter().filter(|one| one.present);
    Ok(members.any(|one| one.person_id == person && one.role != Role::Player))
}
