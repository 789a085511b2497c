//! Conversations: a message that starts one, and the replies that go to everybody on it.

use std::collections::BTreeSet;

use store::{Reader, bind};

use super::audience::Audience;
use super::message::{self, Kind, Status, Stored};
use super::people;
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::ids::{MessageId, PersonId, TeamId};

/// Who is on a conversation.
#[derive(Debug)]
pub struct Thread {
    pub people: BTreeSet<PersonId>,
    /// Whether an API key has written on it that spoke for no person.
    pub key_writes: bool,
}

/// Who is on a conversation. Every message of it goes to all of them, so the last one knows.
pub fn thread(db: &Reader<'_>, id: MessageId) -> Result<Thread> {
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
    let key: Option<(MessageId,)> = db.maybe(
        "select id from message
         where account_id = :account and thread_id = :id and published_at is not null
           and author_person_id is null
         limit 1",
        bind! { id },
    )?;
    let people = reached.into_iter().map(|(person,)| person).chain(author).collect();
    Ok(Thread { people, key_writes: key.is_some() })
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

/// Whether a person may speak in a message: on a conversation, whoever is on it; otherwise members of
/// the team and their guardians.
pub fn may_speak(db: &Reader<'_>, message: &Stored, person: PersonId) -> Result<bool> {
    if message.parent_id.is_some() {
        return Ok(thread(db, message.thread_id)?.people.contains(&person));
    }
    let members = people::on_team(db, message.team_id)?;
    let present = members.iter().filter(|one| one.present).map(|one| one.person_id);
    let present: BTreeSet<_> = present.collect();
    Ok(present.contains(&person)
        || people::guardians(db, &present)?.iter().any(|one| one.guardian_id == person))
}
