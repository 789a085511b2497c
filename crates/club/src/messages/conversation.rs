//! Conversations: a first message, and replies that go to all participants.

use std::collections::BTreeSet;

use super::audience::Audience;
use super::message::{self, Kind, MessageRecord, NewMessage, Status};
use super::{people, receipt};
use crate::prelude::*;
use crate::roster::membership::Role;

/// The participants of a conversation: author and recipients of its last message, since every message goes to all
/// participants.
pub fn participants(db: &Reader<'_>, id: MessageId) -> Result<BTreeSet<PersonId>> {
    let (last, author): (MessageId, Option<PersonId>) = db.one(
        "select id, author_person_id from message
         where account_id = :account and thread_id = :id and published_at is not null
         order by listed_at desc, id desc limit 1",
        bind! { id },
    )?;
    Ok(receipt::recipients(db, last)?.into_iter().chain(author).collect())
}

/// The message that a reply answers. Fails if the message cannot be answered.
pub fn find_parent(db: &Reader<'_>, access: &TeamAccess, id: MessageId) -> Result<MessageRecord> {
    let parent = message::find_record(db, access, id)?;
    let detail = match (parent.kind, parent.status) {
        (Kind::Announcement, _) => {
            "You cannot reply to an announcement. Start a conversation instead."
        }
        (_, Status::Scheduled) => "You cannot reply to a message that is not published yet.",
        (_, Status::Retracted) => "You cannot reply to a retracted message.",
        (_, Status::Published) => return Ok(parent),
    };
    Err(Error::invalid_state(detail))
}

/// Validates that a reply has the team, the audience and the event of its conversation.
pub fn validate_reply(parent: &MessageRecord, new: &NewMessage) -> Vec<Fault> {
    let fault = |pointer, detail| Fault::new(pointer, "not_in_conversation", detail);
    let mut faults = validate_audience(parent, new.audience.as_ref());
    if new.team_id.is_some_and(|team| team != parent.team_id) {
        let detail = "A reply must have the team of its conversation. Leave this field out.";
        faults.insert(0, fault("/team_id", detail));
    }
    if new.event_id.is_some_and(|event| Some(event) != parent.event_id) {
        let detail = "A reply is about the event of its conversation. Leave this field out.";
        faults.push(fault("/event_id", detail));
    }
    faults
}

/// Validates that a reply has the audience of its conversation.
pub fn validate_audience(parent: &MessageRecord, audience: Option<&Audience>) -> Vec<Fault> {
    if audience.is_none_or(|audience| *audience == parent.audience) {
        return Vec::new();
    }
    let detail = "A reply goes to all participants of its conversation. Leave this field out.";
    vec![Fault::new("/audience", "not_in_conversation", detail)]
}

/// Validates the author of a message. The author must belong to the team. To reply, they must be in the conversation.
/// To announce, they must be staff of the team. `team_people` are the people who belong to the team at present.
pub fn validate_author(
    db: &Reader<'_>,
    message: &MessageRecord,
    person: PersonId,
    team_people: &BTreeSet<PersonId>,
) -> Result<Option<Fault>> {
    let is_reply = message.parent_id.is_some();
    let fault = |code, detail| Some(Fault::new("/on_behalf_of", code, detail));
    Ok(if !team_people.contains(&person) {
        let detail = "This person is neither on the team nor a guardian of one of its members.";
        fault("not_on_team", detail)
    } else if is_reply && !participants(db, message.thread_id)?.contains(&person) {
        fault("not_on_team", "This person is not in the conversation.")
    } else if message.kind == Kind::Announcement && !is_staff(db, message.team_id, person)? {
        fault("not_staff", "Only coaches, managers and staff of the team can post announcements.")
    } else {
        None
    })
}

fn is_staff(db: &Reader<'_>, team: TeamId, person: PersonId) -> Result<bool> {
    let mut members = people::team_members(db, team)?.into_iter().filter(|one| one.present);
    Ok(members.any(|one| one.person_id == person && one.role != Role::Player))
}
