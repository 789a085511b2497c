//! Changes to messages after they were posted: updating and retracting them.

use macros::input;

use super::audience::{self, Audience};
use super::message::{Kind, Message, MessageRecord, Status, find_managed, with_author};
use super::{attachments, conversation, emails, posting};
use crate::files::api::upload::MAX_ATTACHMENTS;
use crate::prelude::*;
use crate::teams::team;

/// Changes to a message. Omitted fields stay unchanged. `subject`, `body`, `audience`, `attachment_ids` and `publish_at`
/// can only be changed while the message is scheduled.
#[input(as = UpdateMessageRequest)]
pub struct MessageChange {
    /// Whether the message is pinned.
    pub pinned: Change<bool>,
    /// Subject of the message; `null` clears it, except for announcements.
    #[input(line(200))]
    pub subject: Change<String>,
    /// Body in a subset of Markdown.
    #[input(block(10_000), non_null)]
    pub body: Option<String>,
    /// People that the message is addressed to; `null` means everybody on the team.
    #[input(object)]
    pub audience: Change<Audience>,
    /// IDs of at most 10 files: those of the message that stay, and others that you uploaded with the purpose
    /// `attachment`. The message's other files are removed.
    #[input(ids(MAX_ATTACHMENTS))]
    #[schema(max_items = 10)]
    pub attachment_ids: Change<Vec<FileId>>,
    /// Time at which the message is published, at most a year ahead; `null` publishes it at once.
    pub publish_at: Change<Timestamp>,
    /// Replaces all metadata; `null` clears it.
    pub metadata: Change<Metadata>,
}

impl MessageChange {
    /// Whether it changes the content, the audience or the time of publication.
    fn changes_content(&self) -> bool {
        self.subject != Change::Keep
            || self.body.is_some()
            || self.audience != Change::Keep
            || self.attachment_ids != Change::Keep
            || self.publish_at != Change::Keep
    }
}

/// Updates a message of an active team. If nothing changes, the version stays the same and nothing is published.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: MessageId,
    expected: &IfMatch,
    change: MessageChange,
) -> Result<Message> {
    let before = expected.check(find_managed(tx, access, id))?;
    if change.pinned != Change::Keep {
        posting::check_can_pin(access, before.team_id)?;
    }
    Error::invalid_state("A retracted message cannot be changed.")
        .fail_if(before.status == Status::Retracted)?;
    Error::invalid_state(
        "The content of a published message cannot be changed. Retract it instead.",
    )
    .fail_if(before.status == Status::Published && change.changes_content())?;
    team::find_active(tx, before.team_id)?;
    let at_once = change.publish_at == Change::Clear;
    let changes_content = change.changes_content();
    let mut violations = Violations::default();
    let attachments = match change.attachment_ids.clone() {
        Change::Keep => before.attachments.clone(),
        ids => {
            let ids = ids.apply_or(Vec::new(), Vec::new());
            attachments::replace(tx, id, &before.attachments, &ids, &mut violations)?
        }
    };
    let after = MessageRecord { attachments, ..apply_change(&before, change) };
    if changes_content {
        let mut faults = Vec::new();
        if after.kind == Kind::Announcement && after.subject.is_none() {
            faults.push(Fault::new("/subject", "required", "An announcement must have a subject."));
        }
        if before.parent_id.is_some() {
            faults.extend(conversation::validate_audience(&before, Some(&after.audience)));
        } else if after.audience != before.audience {
            faults.extend(audience::validate(tx, after.team_id, &after.audience)?);
        }
        faults.extend(posting::validate_publish_at(tx, after.publish_at.filter(|_| !at_once)));
        violations.invalid_fields(faults);
        posting::check(tx, &after, violations)?;
    }
    if at_once {
        let after = MessageRecord { publish_at: before.publish_at, ..after };
        return with_author(tx, posting::publish_now(tx, after)?);
    }
    if after == before {
        return with_author(tx, before);
    }
    let after = after.save(tx)?;
    tx.publish_change("message.updated", &Message::snapshot(&before), &Message::snapshot(&after))?;
    with_author(tx, after)
}

fn apply_change(before: &MessageRecord, change: MessageChange) -> MessageRecord {
    let publish_at = change.publish_at.apply(before.publish_at);
    let listed_at = match before.status {
        Status::Scheduled => publish_at.unwrap_or(before.listed_at),
        _ => before.listed_at,
    };
    MessageRecord {
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

/// Retracts a message: it is kept, but its content is no longer shown.
pub fn retract(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: MessageId,
    expected: &IfMatch,
) -> Result<Message> {
    let before = expected.check(find_managed(tx, access, id))?;
    Error::invalid_state("The message is already retracted.")
        .fail_if(before.status == Status::Retracted)?;
    with_author(tx, mark_retracted(tx, before)?)
}

/// Sets the status to retracted, cancels pending emails and publishes a notification.
pub fn mark_retracted(tx: &Tx<'_>, before: MessageRecord) -> Result<MessageRecord> {
    let after = MessageRecord {
        status: Status::Retracted,
        retracted_by: Some(tx.actor().to_owned()),
        retracted_at: Some(tx.now()),
        pinned: false,
        ..before
    };
    let after = after.save(tx)?;
    emails::cancel(tx, &after)?;
    // The notification does not repeat the content.
    tx.publish("message.retracted", &Message::snapshot(&after))?;
    Ok(after)
}
