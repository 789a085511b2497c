//! The message: what it is, how it is shown, found, changed and retracted.

use std::collections::BTreeSet;

use kit::{Change, Timestamp, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::audience::{self, Audience};
use super::{conversation, markdown, people, post, posting, receipt};
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result};
use crate::expected::{Expected, Versioned};
use crate::ids::{AccountId, MessageId, PersonId, TeamId};
use crate::metadata::Metadata;
use crate::paging::Paged;
use crate::roster::safeguarding;
use crate::signals::{Subject, Tell};
use crate::teams::team;
use crate::thing::thing;

words! {
    /// What a message is.
    pub enum Kind as MessageKind {
        /// The club speaks; nobody answers. Also sent by mail.
        Announcement = "announcement",
        /// A part of a conversation.
        Message = "message",
    }
}

words! {
    /// Where a message stands.
    pub enum Status as MessageStatus {
        Published = "published",
        /// It is published at `publish_at`.
        Scheduled = "scheduled",
        /// It was taken back: who and when are shown, what it said is not.
        Retracted = "retracted",
    }
}
word_column!(Kind, Status);

record! {
    /// A message as it is kept, whatever of it may be shown.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Stored in message {
        pub id: MessageId,
        pub account_id: AccountId,
        pub team_id: TeamId,
        pub kind: Kind,
        pub subject: Option<String>,
        pub body: String,
        pub audience: Audience,
        pub parent_id: Option<MessageId>,
        pub thread_id: MessageId,
        pub pinned: bool,
        pub publish_at: Option<Timestamp>,
        pub published_at: Option<Timestamp>,
        pub listed_at: Timestamp,
        pub author_id: String,
        pub author_person_id: Option<PersonId>,
        /// Whether an API key wrote it in the name of the author.
        pub by_key: bool,
        /// Whether an admin, or an API key for the whole club, wrote it.
        pub by_club: bool,
        pub status: Status,
        pub retracted_by: Option<String>,
        pub retracted_at: Option<Timestamp>,
        pub delivered_count: i64,
        pub read_count: i64,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

thing!(Stored by MessageId: Versioned);

/// An announcement, or a message of a conversation.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "object", rename = "message")]
pub struct Message {
    pub id: MessageId,
    pub team_id: TeamId,
    pub kind: Kind,
    /// Announcements have one. `null` once retracted, except for admins and adults on a message that a minor got.
    #[schema(examples("Training moves to 6 pm"), max_length = 200)]
    pub subject: Option<String>,
    /// As it was written, in a small part of Markdown. `null` once retracted, except for admins and adults on a
    /// message that a minor got.
    #[schema(examples("Bring **water**."), max_length = 10000)]
    pub body: Option<String>,
    /// The body as HTML that is safe to show. `null` once retracted.
    #[schema(examples("<p>Bring <strong>water</strong>.</p>\n"))]
    pub body_html: Option<String>,
    pub audience: Audience,
    /// The message that this one answers.
    pub parent_id: Option<MessageId>,
    /// The first message of the conversation; its own id if it is the first.
    pub thread_id: MessageId,
    pub pinned: bool,
    /// When it is to be published, if not at once.
    pub publish_at: Option<Timestamp>,
    pub published_at: Option<Timestamp>,
    pub author: Author,
    pub status: Status,
    /// Who retracted it: the id of a key or a user, or `system`.
    pub retracted_by: Option<String>,
    pub retracted_at: Option<Timestamp>,
    pub receipt_counts: ReceiptCounts,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Rises with every change, when somebody reads it, and when its author's name changes.
    pub version: i64,
    #[serde(skip)]
    listed_at: Timestamp,
}

/// Who wrote a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Author {
    /// The person who speaks, or else the API key or the user.
    #[schema(examples("key_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub id: String,
    pub person_id: Option<PersonId>,
    /// How the person is called; left `null` in notifications.
    #[schema(examples("Ana Sousa"))]
    pub name: Option<String>,
}

/// How many people a message reached.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReceiptCounts {
    pub delivered: i64,
    pub read: i64,
}

impl Message {
    /// The message as it is shown. News leave the author's name out: names stay with the roster, which
    /// forgets them when it must.
    /// `keeps_text` says whether the text of a retracted message is shown, too.
    pub fn shown(stored: Stored, author_name: Option<String>, keeps_text: bool) -> Self {
        let told = keeps_text || stored.status != Status::Retracted;
        Self {
            id: stored.id,
            team_id: stored.team_id,
            kind: stored.kind,
            subject: stored.subject.filter(|_| told),
            body_html: told.then(|| markdown::html(&stored.body)),
            body: told.then_some(stored.body),
            audience: stored.audience,
            parent_id: stored.parent_id,
            thread_id: stored.thread_id,
            pinned: stored.pinned,
            publish_at: stored.publish_at,
            published_at: stored.published_at,
            author: Author {
                id: stored.author_id,
                person_id: stored.author_person_id,
                name: author_name,
            },
            status: stored.status,
            retracted_by: stored.retracted_by,
            retracted_at: stored.retracted_at,
            receipt_counts: ReceiptCounts {
                delivered: stored.delivered_count,
                read: stored.read_count,
            },
            metadata: stored.metadata,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            version: stored.version,
            listed_at: stored.listed_at,
        }
    }

    /// The message as news tell it.
    pub fn told(stored: &Stored) -> Self {
        Self::shown(stored.clone(), None, false)
    }
}

impl Subject for Message {
    fn subject(&self) -> String {
        self.id.to_string()
    }
}

impl Versioned for Message {
    fn version(&self) -> i64 {
        self.version
    }
}

impl Paged for Message {
    type Place = (Timestamp, MessageId);

    fn place(&self) -> Self::Place {
        (self.listed_at, self.id)
    }
}

/// A message to be posted.
#[derive(Debug, ToSchema)]
pub struct NewMessage {
    /// Required, unless this is a reply.
    pub team_id: Option<TeamId>,
    /// Required, unless this is a reply.
    #[schema(required = false)]
    pub kind: Kind,
    /// Announcements require one.
    #[schema(examples("Training moves to 6 pm"), max_length = 200)]
    pub subject: Option<String>,
    #[schema(examples("Bring **water**."), min_length = 1, max_length = 10000)]
    pub body: String,
    /// Everybody if left out. A reply goes to everybody on its conversation.
    pub audience: Option<Audience>,
    /// The message that this one answers.
    pub parent_id: Option<MessageId>,
    /// `false` if left out.
    #[schema(required = false)]
    pub pinned: bool,
    /// At once if left out; at most a year ahead.
    pub publish_at: Option<Timestamp>,
    /// The person who speaks: on the team or the guardian of somebody who is; to answer, also on the
    /// conversation; to announce, a coach, manager or staff.
    pub on_behalf_of: Option<PersonId>,
    #[schema(required = false)]
    pub metadata: Metadata,
}

/// What is to be changed: members that are left out stay. What a message says, and to whom, can be
/// changed only while it is scheduled.
#[derive(Debug, ToSchema)]
pub struct MessageChange {
    #[schema(value_type = Option<bool>)]
    pub pinned: Change<bool>,
    #[schema(value_type = Option<String>, max_length = 200)]
    pub subject: Change<String>,
    #[schema(value_type = Option<String>, min_length = 1, max_length = 10000)]
    pub body: Option<String>,
    /// `null` is everybody.
    #[schema(value_type = Option<Audience>)]
    pub audience: Change<Audience>,
    /// `null` publishes it at once.
    #[schema(value_type = Option<Timestamp>)]
    pub publish_at: Change<Timestamp>,
    #[schema(value_type = Option<Metadata>)]
    pub metadata: Change<Metadata>,
}

impl MessageChange {
    /// Whether it changes what is said, to whom or when.
    fn rewrites(&self) -> bool {
        self.subject != Change::Keep
            || self.body.is_some()
            || self.audience != Change::Keep
            || self.publish_at != Change::Keep
    }
}

/// One message, as it is kept.
pub fn stored(db: &Reader<'_>, reach: &Reach, id: MessageId) -> Result<Stored> {
    let message: Stored =
        db.one(sql!(Stored::SELECT, " where account_id = :account and id = :id"), bind! { id })?;
    reach.check(message.team_id)?;
    if reach.opens(message.team_id) || is_own(reach, &message) || reached(db, reach, id)? {
        Ok(message)
    } else {
        Err(Error::not_found())
    }
}

/// Whether the caller wrote it.
fn is_own(reach: &Reach, message: &Stored) -> bool {
    message.author_person_id.is_some_and(|author| reach.is_own(author))
}

/// Whether it has reached the caller or somebody they look after.
fn reached(db: &Reader<'_>, reach: &Reach, id: MessageId) -> Result<bool> {
    let (_, family) = reach.kin();
    let found: Option<(PersonId,)> = db.maybe(
        "select person_id from receipt
         where account_id = :account and message_id = :id and person_id in (:family) limit 1",
        bind! { id, family },
    )?;
    Ok(found.is_some())
}

/// One message for its author or whoever leads its team; others who see it are refused.
pub fn owned(db: &Reader<'_>, reach: &Reach, id: MessageId) -> Result<Stored> {
    let message = stored(db, reach, id)?;
    let own = reach.opens(message.team_id) || is_own(reach, &message);
    if own { Ok(message) } else { Err(Error::forbidden()) }
}

/// One message.
pub fn find(db: &Reader<'_>, reach: &Reach, id: MessageId) -> Result<Message> {
    all_shown(db, reach, vec![stored(db, reach, id)?])?.pop().ok_or_else(Error::not_found)
}

/// Changes a message of a team that plays. A change that changes nothing leaves the version as it is and
/// tells nobody.
pub fn change(
    tx: &Tx<'_>,
    reach: &Reach,
    id: MessageId,
    expected: &Expected,
    change: MessageChange,
) -> Result<Message> {
    let before = expected.check(owned(tx, reach, id))?;
    if change.pinned != Change::Keep {
        posting::may_pin(reach, before.team_id)?;
    }
    match before.status {
        Status::Retracted => {
            return Err(Error::invalid_state("A retracted message cannot be changed."));
        }
        Status::Published if change.rewrites() => {
            let detail = "What a published message says cannot be changed; retract it instead.";
            return Err(Error::invalid_state(detail));
        }
        _ => {}
    }
    team::playing(tx, before.team_id)?;
    let at_once = change.publish_at == Change::Clear;
    let rewritten = change.rewrites();
    let after = changed(&before, change);
    if rewritten {
        let mut faults = Vec::new();
        if after.kind == Kind::Announcement && after.subject.is_none() {
            faults.push(Fault::new("/subject", "required", "An announcement needs a subject."));
        }
        if before.parent_id.is_some() {
            faults.extend(conversation::departures(&before, None, Some(&after.audience)));
        } else if after.audience != before.audience {
            faults.extend(audience::faults(tx, after.team_id, &after.audience)?);
        }
        faults.extend(posting::timing(tx, after.publish_at.filter(|_| !at_once)));
        posting::check(tx, &after, faults)?;
    }
    if at_once {
        let after = posting::publish_now(tx, Stored { publish_at: before.publish_at, ..after })?;
        return one_shown(tx, after);
    }
    if after == before {
        return one_shown(tx, before);
    }
    let after = update(tx, after)?;
    tx.tell_change("message.updated", &Message::told(&before), &Message::told(&after))?;
    one_shown(tx, after)
}

fn changed(before: &Stored, change: MessageChange) -> Stored {
    let publish_at = change.publish_at.apply(before.publish_at);
    let listed_at = match before.status {
        Status::Scheduled => publish_at.unwrap_or(before.listed_at),
        _ => before.listed_at,
    };
    Stored {
        pinned: change.pinned.apply_or(before.pinned, false),
        subject: change.subject.apply(before.subject.clone()),
        body: change.body.unwrap_or_else(|| before.body.clone()),
        audience: change.audience.apply_or(before.audience.clone(), Audience::default()),
        publish_at,
        listed_at,
        metadata: change.metadata.apply_or(before.metadata.clone(), Metadata::default()),
        ..before.clone()
    }
}

/// Takes a message back: it is kept, but what it said is shown to nobody any more.
pub fn retract(tx: &Tx<'_>, reach: &Reach, id: MessageId, expected: &Expected) -> Result<Message> {
    let before = expected.check(owned(tx, reach, id))?;
    if before.status == Status::Retracted {
        return Err(Error::invalid_state("The message is already retracted."));
    }
    let after = take_back(tx, before)?;
    one_shown(tx, after)
}

/// The step of taking back, for whatever reason.
pub fn take_back(tx: &Tx<'_>, before: Stored) -> Result<Stored> {
    let after = update(
        tx,
        Stored {
            status: Status::Retracted,
            retracted_by: Some(tx.actor().to_owned()),
            retracted_at: Some(tx.now()),
            pinned: false,
            ..before
        },
    )?;
    post::cancel(tx, &after)?;
    // Subscribers learn that it is gone, not once more what it said.
    tx.tell("message.retracted", &Message::told(&after))?;
    Ok(after)
}

/// Writes down what may change of a message, as its next version.
pub fn update(tx: &Tx<'_>, after: Stored) -> Result<Stored> {
    let after = Stored { updated_at: tx.now(), version: after.version + 1, ..after };
    tx.run(
        "update message set subject = :subject, body = :body, audience = :audience,
             pinned = :pinned, publish_at = :publish_at, published_at = :published_at,
             listed_at = :listed_at, status = :status, retracted_by = :retracted_by,
             retracted_at = :retracted_at, delivered_count = :delivered_count,
             read_count = :read_count, metadata = :metadata, updated_at = :updated_at,
             version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    )?;
    Ok(after)
}

/// Raises the versions of what a person wrote: it shows their name, which is another one now.
pub fn rename_author(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.run(
        "update message set version = version + 1, updated_at = :now
         where account_id = :account and author_person_id = :person",
        bind! { person },
    )?;
    Ok(())
}

/// The message with its author's name.
pub fn one_shown(db: &Reader<'_>, message: Stored) -> Result<Message> {
    let mut shown = with_names(db, vec![message], &BTreeSet::new())?;
    shown.pop().ok_or_else(|| Error::internal("a message got lost while it was shown"))
}

/// Messages as this caller sees them.
pub fn all_shown(db: &Reader<'_>, reach: &Reach, messages: Vec<Stored>) -> Result<Vec<Message>> {
    let mut kept = BTreeSet::new();
    for message in messages.iter().filter(|one| one.status == Status::Retracted) {
        if keeps_text(db, reach, message)? {
            kept.insert(message.id);
        }
    }
    with_names(db, messages, &kept)
}

/// Whether the caller still sees what a retracted message said. If a minor got it, admins and the adults on it do:
/// otherwise somebody could write to a child and leave nothing for the second adult to read.
fn keeps_text(db: &Reader<'_>, reach: &Reach, message: &Stored) -> Result<bool> {
    let readers = receipt::readers(db, message.id)?;
    let minors = safeguarding::minors(db, &readers)?;
    let (own, _) = reach.kin();
    let is_adult = own.iter().any(|id| readers.contains(id) && !minors.contains(id));
    Ok(!minors.is_empty() && (*reach == Reach::Everywhere || is_adult))
}

/// Messages with their authors' names. The text of retracted ones is shown if they are among `kept`.
fn with_names(
    db: &Reader<'_>,
    messages: Vec<Stored>,
    kept: &BTreeSet<MessageId>,
) -> Result<Vec<Message>> {
    let mut authors: Vec<_> = messages.iter().filter_map(|one| one.author_person_id).collect();
    authors.sort_unstable();
    authors.dedup();
    let names = people::names(db, authors)?;
    let name = |one: &Stored| names.get(&one.author_person_id?).cloned();
    Ok(messages
        .into_iter()
        .map(|one| {
            let name = name(&one);
            let keeps_text = kept.contains(&one.id);
            Message::shown(one, name, keeps_text)
        })
        .collect())
}
