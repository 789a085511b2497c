//! Posting a message: validation, publication at once or at a scheduled time, and delivery.

use std::collections::BTreeSet;
use std::time::Duration;

use super::attachments::{self, Attachments};
use super::editing;
use super::message::{self, Kind, Message, MessageRecord, NewMessage, Status};
use super::recipients::{self, Recipients};
use super::{audience, conversation, emails, people, receipt};
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::teams::team::{self, Team};

/// How far ahead a message can be scheduled.
const MAX_SCHEDULE_AHEAD: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Number of due messages to read at once.
const BATCH_SIZE: i64 = 100;

/// Posts a message: publishes it now, or stores it until its scheduled time.
pub fn create(
    tx: &Tx<'_>,
    access: &TeamAccess,
    sender: &SenderIdentity,
    new: NewMessage,
) -> Result<Message> {
    let (id, attachment_ids) = (tx.new_id(), new.attachment_ids.clone());
    let mut violations = Violations::default();
    let prepared = violations.collect(prepare(tx, access, sender, id, new))?;
    let attachments = attachments::attach(tx, id, &attachment_ids, &mut violations)?;
    violations.finish()?;
    let Some(PreparedMessage { draft, team, recipients }) = prepared else {
        return Err(Error::internal("a message without a violation could not be read"));
    };
    let draft = MessageRecord { attachments, ..draft };
    if draft.publish_at.is_some() {
        tx.execute(MessageRecord::INSERT, &draft.bind())?;
        tx.publish("message.scheduled", &Message::snapshot(&draft))?;
        return message::with_author(tx, draft);
    }
    let published = to_published(tx, draft, &recipients.people)?;
    tx.execute(MessageRecord::INSERT, &published.bind())?;
    deliver(tx, &team, &published, &recipients)?;
    message::with_author(tx, published)
}

/// A valid message that is not stored yet.
#[derive(Debug)]
pub struct PreparedMessage {
    pub draft: MessageRecord,
    pub team: Team,
    /// Everybody who receives the message if it is published now.
    pub recipients: Recipients,
}

/// Validates a new message and determines its recipients.
pub fn prepare(
    db: &Reader<'_>,
    access: &TeamAccess,
    sender: &SenderIdentity,
    id: MessageId,
    new: NewMessage,
) -> Result<PreparedMessage> {
    sender.check(new.on_behalf_of)?;
    let mut violations = Violations::default();
    violations.invalid_fields(validate_publish_at(db, new.publish_at));
    let draft = draft(db, access, id, new, &mut violations)?;
    let draft = resolve_author(db, access, sender, draft)?;
    if draft.parent_id.is_none() {
        violations.invalid_fields(audience::validate(db, draft.team_id, &draft.audience)?);
        violations.invalid_fields(validate_event(db, draft.team_id, draft.event_id)?);
    }
    let (team, recipients) = check(db, &draft, violations)?;
    Ok(PreparedMessage { draft, team, recipients })
}

/// Validates that an event belongs to the team of the message about it.
fn validate_event(db: &Reader<'_>, team_id: TeamId, id: Option<EventId>) -> Result<Option<Fault>> {
    let Some(id) = id else { return Ok(None) };
    let is_known = db.exists(
        "select id from event where account_id = :account and id = :id and team_id = :team_id",
        bind! { id, team_id },
    )?;
    let detail = "The team has no event with this ID.";
    Ok((!is_known).then(|| Fault::new("/event_id", "not_found", detail)))
}

/// The record of a new message. Fails if its team or the message that it replies to cannot be used, because nothing
/// else can be checked without them.
fn draft(
    db: &Reader<'_>,
    access: &TeamAccess,
    id: MessageId,
    new: NewMessage,
    violations: &mut Violations,
) -> Result<MessageRecord> {
    let (team_id, audience, event_id, thread_id) = if let Some(parent) = new.parent_id {
        let parent = conversation::find_parent(db, access, parent);
        let Some(parent) = violations.collect_reference("/parent_id", parent)? else {
            return Err(violations.finish().err().unwrap_or_else(Error::not_found));
        };
        violations.invalid_fields(conversation::validate_reply(&parent, &new));
        (parent.team_id, parent.audience, parent.event_id, parent.thread_id)
    } else {
        let team = new.team_id.ok_or_else(|| Error::internal("a message without a team"))?;
        if team::find_referenced(db, access, team, violations)?.is_none() {
            violations.finish()?;
        }
        (team, new.audience.unwrap_or_default(), new.event_id, id)
    };
    Ok(copy_fields! {
        MessageRecord {
            id,
            account_id: db.account(),
            team_id,
            audience,
            event_id,
            thread_id,
            published_at: None,
            listed_at: new.publish_at.unwrap_or(db.now()),
            author_id: db.actor().to_owned(),
            author_person_id: new.on_behalf_of,
            by_key: false,
            by_club: *access == TeamAccess::AllTeams,
            status: Status::Scheduled,
            retracted_by: None,
            retracted_at: None,
            withheld_reason: None,
            delivered_count: 0,
            read_count: 0,
            attachments: Attachments::default(),
            created_at: db.now(),
            updated_at: db.now(),
            version: 1,
            ..new { kind, subject, body, parent_id, pinned, publish_at, metadata }
        }
    })
}

/// Sets the author of a draft. Users post as their own person. An admin whose person is not on the team posts for the
/// club; other users without a person cannot post.
fn resolve_author(
    db: &Reader<'_>,
    access: &TeamAccess,
    sender: &SenderIdentity,
    draft: MessageRecord,
) -> Result<MessageRecord> {
    let mut author = draft.author_person_id;
    if let (SenderIdentity::OneOf(own), None) = (sender, author) {
        author = own.first().copied();
        if *access == TeamAccess::AllTeams {
            let team_people = people::team_people(db, draft.team_id)?.people;
            let validate = |person| conversation::validate_author(db, &draft, person, &team_people);
            let fault = author.map(validate).transpose()?;
            author = author.filter(|_| fault == Some(None));
        }
    }
    let is_user = matches!(access, TeamAccess::User(_));
    let detail = "You are not on a roster of the club, so you cannot post messages.";
    Error::new(Code::Forbidden, detail).fail_if(is_user && author.is_none())?;
    let is_announcement = draft.kind == Kind::Announcement;
    Error::new(Code::Forbidden, "Only coaches and managers of the team can post announcements.")
        .fail_if(is_user && is_announcement && !access.has_full_access(draft.team_id))?;
    if draft.pinned {
        check_can_pin(access, draft.team_id)?;
    }
    let author_id = author.map_or_else(|| draft.author_id.clone(), |person| person.to_string());
    let by_key = *sender == SenderIdentity::Anybody;
    Ok(MessageRecord { author_id, author_person_id: author, by_key, ..draft })
}

/// Fails unless the caller may pin messages of the team: coaches, managers and admins may.
pub fn check_can_pin(access: &TeamAccess, team: TeamId) -> Result<()> {
    Error::new(Code::Forbidden, "Only coaches and managers of the team can pin messages.")
        .fail_if(!access.has_full_access(team))
}

/// Validates the scheduled time of publication.
pub fn validate_publish_at(db: &Reader<'_>, publish_at: Option<Timestamp>) -> Option<Fault> {
    let at = publish_at?;
    let (code, detail) = if at <= db.now() {
        ("in_the_past", "The time must be in the future.")
    } else if at > db.now().plus(MAX_SCHEDULE_AHEAD) {
        ("too_far", "The time must be at most a year ahead.")
    } else {
        return None;
    };
    Some(Fault::new("/publish_at", code, detail))
}

/// Validates that a message could be published now and returns its team and its recipients. Validation errors are
/// reported together with those found before.
pub fn check(
    db: &Reader<'_>,
    message: &MessageRecord,
    mut violations: Violations,
) -> Result<(Team, Recipients)> {
    let team = team::find_active(db, message.team_id).map_err(|error| error.at("/team_id"))?;
    if let Some(parent) = message.parent_id {
        conversation::find_parent(db, &TeamAccess::AllTeams, parent)?;
    }
    let team_people = people::team_people(db, team.id)?;
    if let Some(person) = message.author_person_id {
        let fault = conversation::validate_author(db, message, person, &team_people.people)?;
        violations.invalid_fields(fault);
    }
    violations.finish()?;
    let recipients = recipients::resolve(db, &team, message, &team_people)?;
    Ok((team, recipients))
}

fn to_published(
    tx: &Tx<'_>,
    draft: MessageRecord,
    recipients: &BTreeSet<PersonId>,
) -> Result<MessageRecord> {
    let delivered_count = i64::try_from(recipients.len())
        .map_err(|_| Error::internal("the number of recipients does not fit into 64 bits"))?;
    let (status, published_at, listed_at) = (Status::Published, Some(tx.now()), tx.now());
    Ok(MessageRecord { published_at, listed_at, status, delivered_count, ..draft })
}

/// Delivers a published message to its recipients.
fn deliver(
    tx: &Tx<'_>,
    team: &Team,
    message: &MessageRecord,
    recipients: &Recipients,
) -> Result<()> {
    receipt::create_all(tx, message.id, &recipients.people)?;
    emails::send(tx, team, message, recipients)?;
    tx.publish("message.posted", &Message::snapshot(message))
}

/// Publishes a scheduled message now.
pub fn publish_now(tx: &Tx<'_>, scheduled: MessageRecord) -> Result<MessageRecord> {
    let (team, recipients) = check(tx, &scheduled, Violations::default())?;
    let after = to_published(tx, scheduled, &recipients.people)?.save(tx)?;
    deliver(tx, &team, &after, &recipients)?;
    Ok(after)
}

row! {
    /// A scheduled message that is due.
    #[derive(Debug, Clone, Copy)]
    pub struct DueMessage {
        pub account_id: AccountId,
        pub id: MessageId,
        pub publish_at: Timestamp,
    }
}

/// Due messages of all accounts, sorted by time. `last` is the last message of the previous batch, so that a message
/// that cannot be published does not block the others.
pub fn list_due(db: &Reader<'_>, last: Option<DueMessage>) -> Result<Vec<DueMessage>> {
    let after = last.map_or(Timestamp::from_micros(0), |due| due.publish_at);
    let after_id = last.map_or(MessageId::MIN, |due| due.id);
    Ok(db.all(
        "select account_id, id, publish_at from message
         where status = 'scheduled' and publish_at <= :now
           and (publish_at, id) > (:after, :after_id)
         order by publish_at, id limit :limit /* any account */",
        bind! { after, after_id, limit: BATCH_SIZE },
    )?)
}

/// Publishes a due message, unless it was published or changed in the meantime. A message that can no longer be
/// published, for example because the team was archived, is retracted instead.
pub fn publish_due(tx: &Tx<'_>, id: MessageId) -> Result<()> {
    let message = message::find_record(tx, &TeamAccess::AllTeams, id)?;
    let is_scheduled = message.status == Status::Scheduled;
    if !is_scheduled || message.publish_at.is_none_or(|at| at > tx.now()) {
        return Ok(());
    }
    match publish_now(tx, message.clone()) {
        Err(error) if error.code.status().is_client_error() => withhold(tx, message, &error),
        outcome => outcome.map(drop),
    }
}

/// Retracts a scheduled message that cannot be published, and informs its author.
fn withhold(tx: &Tx<'_>, message: MessageRecord, error: &Error) -> Result<()> {
    let details = json!({ "reason": error.detail, "errors": error.faults });
    tx.audit("message.withheld", &message.id.to_string(), &details)?;
    let reason = error.faults.first().map_or(&error.detail, |fault| &fault.detail);
    let withheld = MessageRecord { withheld_reason: Some(reason.english()), ..message };
    let withheld = editing::mark_retracted(tx, withheld)?;
    emails::send_withheld(tx, &withheld, reason)
}
