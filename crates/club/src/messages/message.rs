//! The message: its record and JSON representation, and how it is read and saved.

use std::collections::BTreeSet;

use kit::string_enum;
use macros::input;

use super::attachments::Attachments;
use super::audience::Audience;
use super::{api, markdown, people, receipt};
use crate::files::api::upload::MAX_ATTACHMENTS;
use crate::prelude::*;
use crate::roster::safeguarding;

string_enum! {
    /// The kind of a message.
    pub enum Kind as MessageKind {
        /// A one-way message that is also sent by email. Nobody can reply.
        Announcement = "announcement",
        /// A message in a conversation.
        Message = "message",
    }
}

string_enum! {
    /// The status of a message.
    pub enum Status as MessageStatus {
        /// The message was delivered to its recipients.
        Published = "published",
        /// The message will be published at `publish_at`.
        Scheduled = "scheduled",
        /// The message was retracted. Its content is no longer shown.
        Retracted = "retracted",
    }
}
enum_column!(Kind, Status);

record! {
    /// A message as it is stored, including the content of retracted messages.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct MessageRecord in message {
        pub id: MessageId,
        pub account_id: AccountId,
        pub team_id: TeamId,
        pub kind: Kind,
        pub subject: Option<String>,
        pub body: String,
        pub audience: Audience,
        /// The event that the message is about.
        pub event_id: Option<EventId>,
        pub parent_id: Option<MessageId>,
        pub thread_id: MessageId,
        pub pinned: bool,
        pub publish_at: Option<Timestamp>,
        pub published_at: Option<Timestamp>,
        /// Sort key of lists: the time of publication, planned or actual.
        pub listed_at: Timestamp,
        pub author_id: String,
        pub author_person_id: Option<PersonId>,
        /// Whether an API key posted it on behalf of the author.
        pub by_key: bool,
        /// Whether an admin or an API key for the whole club posted it.
        pub by_club: bool,
        pub status: Status,
        pub retracted_by: Option<String>,
        pub retracted_at: Option<Timestamp>,
        /// Why a scheduled message was retracted instead of published.
        pub withheld_reason: Option<String>,
        pub delivered_count: i64,
        pub read_count: i64,
        pub metadata: Metadata,
        pub attachments: Attachments,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

impl_resource!(MessageRecord by MessageId: Versioned Saved);

/// An announcement, or a message in a conversation.
#[macros::object("message")]
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Message {
    /// Unique ID of the message.
    pub id: MessageId,
    /// Team that the message belongs to.
    pub team_id: TeamId,
    /// Kind of the message: `announcement` (also sent by email; nobody can reply) or `message` (part of a
    /// conversation).
    pub kind: Kind,
    /// Subject of the message. Announcements always have one. `null` after the message was retracted. If a minor
    /// received the message, admins and the adults who received it still see the subject.
    #[schema(examples("Training moves to 6 pm"), max_length = 200)]
    pub subject: Option<String>,
    /// Body in a subset of Markdown. `null` after the message was retracted. If a minor received the message, admins
    /// and the adults who received it still see the body.
    #[schema(examples("Bring **water**."), max_length = 10000)]
    pub body: Option<String>,
    /// Body as sanitized HTML. `null` if `body` is `null`.
    #[schema(examples("<p>Bring <strong>water</strong>.</p>\n"))]
    pub body_html: Option<String>,
    /// Files that are attached to the message. Empty after the message was retracted, except for those who still see its
    /// body.
    pub attachments: Attachments,
    /// People that the message is addressed to.
    pub audience: Audience,
    /// ID of the event that the message is about, which may have been deleted; `null` if it is about no event.
    pub event_id: Option<EventId>,
    /// ID of the message that this message replies to; `null` if it is not a reply.
    pub parent_id: Option<MessageId>,
    /// ID of the first message of the conversation, which can be this message.
    pub thread_id: MessageId,
    /// Whether the message is pinned.
    pub pinned: bool,
    /// Time at which a scheduled message is published; `null` if it was published at once.
    pub publish_at: Option<Timestamp>,
    /// When the message was published; `null` if it was not.
    pub published_at: Option<Timestamp>,
    /// Author of the message.
    pub author: Author,
    /// Status of the message: `published`, `scheduled` (it will be published at `publish_at`) or `retracted` (its
    /// content is no longer shown).
    pub status: Status,
    /// ID of the API key or user that retracted the message, or `system`; `null` if it was not retracted.
    pub retracted_by: Option<String>,
    /// When the message was retracted; `null` if it was not.
    pub retracted_at: Option<Timestamp>,
    /// Why a scheduled message could not be published and was retracted instead; otherwise `null`. Its author and the
    /// staff of its team still see its content.
    #[schema(examples("The team is archived. Restore it first."))]
    pub withheld_reason: Option<String>,
    /// Number of recipients, and how many have read the message.
    pub receipt_counts: ReceiptCounts,
    /// Key-value pairs for your own use.
    pub metadata: Metadata,
    /// When the message was created.
    pub created_at: Timestamp,
    /// When the message last changed.
    pub updated_at: Timestamp,
    /// Increases with every change, also when a recipient reads the message and when the author's name changes.
    pub version: i64,
    #[serde(skip)]
    listed_at: Timestamp,
}

/// The author of a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = MessageAuthor)]
pub struct Author {
    /// ID of the person; if there is none, ID of the API key or user.
    #[schema(examples("key_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub id: String,
    /// ID of the person; `null` if an API key or a user without a person posted the message.
    pub person_id: Option<PersonId>,
    /// Display name of the person; always `null` in notifications.
    #[schema(examples("Ana Sousa"))]
    pub name: Option<String>,
}

/// The number of recipients of a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReceiptCounts {
    /// Number of recipients of the message.
    #[schema(examples(14))]
    pub delivered: i64,
    /// Number of recipients who have read it.
    #[schema(examples(9))]
    pub read: i64,
}

impl Message {
    /// The JSON representation of a message. Notifications pass no author name: names stay on the roster, where they
    /// can be erased. `show_retracted` says whether the content is included even if the message is retracted.
    pub fn from_record(
        record: MessageRecord,
        author_name: Option<String>,
        show_retracted: bool,
    ) -> Self {
        let show_content = show_retracted || record.status != Status::Retracted;
        let (id, person_id) = (record.author_id, record.author_person_id);
        let (delivered, read) = (record.delivered_count, record.read_count);
        copy_fields! {
            Self {
                subject: record.subject.filter(|_| show_content),
                body_html: show_content.then(|| markdown::html(&record.body)),
                body: show_content.then_some(record.body),
                attachments: if show_content { record.attachments } else { Attachments::default() },
                author: Author { id, person_id, name: author_name },
                receipt_counts: ReceiptCounts { delivered, read },
                ..record {
                    id, team_id, kind, audience, event_id, parent_id, thread_id, pinned, publish_at,
                    published_at, status, retracted_by, retracted_at, withheld_reason, metadata,
                    created_at, updated_at, version, listed_at,
                }
            }
        }
    }

    /// The message as it appears in notifications.
    pub fn snapshot(record: &MessageRecord) -> Self {
        let attachments = record.attachments.without_names();
        Self::from_record(MessageRecord { attachments, ..record.clone() }, None, false)
    }
}

impl_resource!(Message by MessageId: Subject Versioned);

impl Paged for Message {
    type SortKey = (Timestamp, MessageId);

    fn sort_key(&self) -> Self::SortKey {
        (self.listed_at, self.id)
    }
}

/// A new message.
#[input(as = CreateMessageRequest, check = api::check_new)]
#[derive(Clone)]
pub struct NewMessage {
    /// Team that the message belongs to. Required, unless this is a reply.
    #[input(with(api::team_id))]
    pub team_id: Option<TeamId>,
    /// Kind of the message: `announcement` (also sent by email; nobody can reply) or `message` (starts a conversation).
    /// Required, unless this is a reply.
    #[input(with(api::kind), default = Kind::Message)]
    pub kind: Kind,
    /// Subject of the message. Required for announcements.
    #[schema(examples("Training moves to 6 pm"))]
    #[input(line(200))]
    pub subject: Option<String>,
    /// Body in a subset of Markdown.
    #[schema(examples("Bring **water**."))]
    #[input(block(10_000))]
    pub body: String,
    /// People that the message is addressed to. Default: everybody on the team. A reply always goes to all
    /// participants of its conversation.
    #[input(object)]
    pub audience: Option<Audience>,
    /// ID of the event that the message is about. It must be an event of the team. A reply is about the same event as
    /// its conversation.
    pub event_id: Option<EventId>,
    /// ID of the message that this message replies to; `null` if it is not a reply.
    pub parent_id: Option<MessageId>,
    /// IDs of at most 10 files that you uploaded with the purpose `attachment`.
    #[input(ids(MAX_ATTACHMENTS), default)]
    #[schema(max_items = 10)]
    pub attachment_ids: Vec<FileId>,
    /// Whether the message is pinned. Default: `false`.
    #[input(default)]
    pub pinned: bool,
    /// Time at which the message is published, at most a year ahead. Default: immediately.
    pub publish_at: Option<Timestamp>,
    /// Person in whose name the message is posted. They must be on the team or a guardian of one of its members. To
    /// reply, they must be in the conversation. To post an announcement, they must be a coach, a manager or staff.
    /// Default: the caller.
    pub on_behalf_of: Option<PersonId>,
    /// Key-value pairs for your own use.
    #[input(default)]
    pub metadata: Metadata,
}

/// The record of a message that the caller may see.
pub fn find_record(db: &Reader<'_>, access: &TeamAccess, id: MessageId) -> Result<MessageRecord> {
    let text = sql!(MessageRecord::SELECT, " where account_id = :account and id = :id");
    let message: MessageRecord = db.one(text, bind! { id })?;
    access.check(message.team_id)?;
    let is_visible = can_manage(access, &message) || has_receipt(db, access, id)?;
    Error::not_found().fail_if(!is_visible)?;
    Ok(message)
}

/// Whether the caller is the author, or a coach or manager of the team.
fn can_manage(access: &TeamAccess, message: &MessageRecord) -> bool {
    let is_author = message.author_person_id.is_some_and(|author| access.is_self(author));
    is_author || access.has_full_access(message.team_id)
}

/// Whether the caller or one of their dependents received the message.
fn has_receipt(db: &Reader<'_>, access: &TeamAccess, id: MessageId) -> Result<bool> {
    let (_, family) = access.own_and_family_ids();
    db.exists(
        "select person_id from receipt
         where account_id = :account and message_id = :id and person_id in (:family) limit 1",
        bind! { id, family },
    )
}

/// The record of a message that the caller may manage: as its author, or as a coach or manager of its team. Fails with
/// `forbidden` for other callers who can see it.
pub fn find_managed(db: &Reader<'_>, access: &TeamAccess, id: MessageId) -> Result<MessageRecord> {
    let message = find_record(db, access, id)?;
    Error::forbidden().fail_if(!can_manage(access, &message))?;
    Ok(message)
}

/// One message.
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: MessageId) -> Result<Message> {
    with_authors(db, access, vec![find_record(db, access, id)?])?.pop().ok_or_else(Error::not_found)
}

/// Increases the versions of all messages of an author whose name has changed, because messages show the name.
pub fn bump_versions_of_author(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.execute(
        "update message set version = version + 1, updated_at = :now
         where account_id = :account and author_person_id = :person",
        bind! { person },
    )?;
    Ok(())
}

/// The JSON representation of a message, with the author's name and without the content if it is retracted.
pub fn with_author(db: &Reader<'_>, message: MessageRecord) -> Result<Message> {
    let mut messages = from_records(db, vec![message], &BTreeSet::new())?;
    messages.pop().ok_or_else(|| Error::internal("the message is missing in the result"))
}

/// The JSON representations of messages as the caller may see them, with their authors' names.
pub fn with_authors(
    db: &Reader<'_>,
    access: &TeamAccess,
    messages: Vec<MessageRecord>,
) -> Result<Vec<Message>> {
    let mut readable = BTreeSet::new();
    for message in messages.iter().filter(|one| one.status == Status::Retracted) {
        if can_read_retracted(db, access, message)? {
            readable.insert(message.id);
        }
    }
    from_records(db, messages, &readable)
}

/// Whether the caller may see the attachments of a message: if they see its body.
pub(super) fn can_see_attachments(
    db: &Reader<'_>,
    access: &TeamAccess,
    id: MessageId,
) -> Result<bool> {
    let Some(message) = find_record(db, access, id).or_none()? else { return Ok(false) };
    Ok(message.status != Status::Retracted || can_read_retracted(db, access, &message)?)
}

/// Whether the caller may read the content of a retracted message. One that was never published may be read by those who
/// may manage it. If a minor received it, admins and the adults who received it may. Otherwise somebody could write to a child and retract the message before the second adult reads it.
fn can_read_retracted(
    db: &Reader<'_>,
    access: &TeamAccess,
    message: &MessageRecord,
) -> Result<bool> {
    if message.withheld_reason.is_some() {
        return Ok(can_manage(access, message));
    }
    let recipients = receipt::recipients(db, message.id)?;
    let minors = safeguarding::minors(db, &recipients)?;
    let (own, _) = access.own_and_family_ids();
    let is_adult = own.iter().any(|id| recipients.contains(id) && !minors.contains(id));
    Ok(!minors.is_empty() && (*access == TeamAccess::AllTeams || is_adult))
}

/// The JSON representations of messages, with their authors' names. Retracted messages include their content if they
/// are in `readable`.
fn from_records(
    db: &Reader<'_>,
    messages: Vec<MessageRecord>,
    readable: &BTreeSet<MessageId>,
) -> Result<Vec<Message>> {
    let authors: BTreeSet<_> = messages.iter().filter_map(|one| one.author_person_id).collect();
    let names = people::names(db, authors.into_iter().collect())?;
    let message = |one: MessageRecord| {
        let name = one.author_person_id.and_then(|author| names.get(&author).cloned());
        let show_retracted = readable.contains(&one.id);
        Message::from_record(one, name, show_retracted)
    };
    Ok(messages.into_iter().map(message).collect())
}
