//! The JSON endpoints of messages.

use macros::query;

use super::audience::{Audience, AudienceKind};
use super::editing::{self, MessageChange};
use super::listing::{self, MessageFilter, StatusFilter};
use super::message::{self, Kind, Message, NewMessage};
use super::posting;
use super::preview::{self, MessagePreview};
use super::receipt::{self, Receipt, ReceiptFilter, UnreadCounts};
use crate::files::api::upload::MAX_ATTACHMENTS;
use crate::messages::receipt::ReceiptSnapshot;
use crate::messages::{MessagesRead, MessagesWrite};
use crate::prelude::*;
use crate::web::idempotency;
use crate::web::prelude::*;

/// Maximum length of a subject, in characters.
const MAX_SUBJECT_CHARS: usize = 200;
/// Maximum length of a body, in characters.
const MAX_BODY_CHARS: usize = 10_000;
/// Maximum number of `member_ids` in an audience.
const MAX_MEMBER_IDS: usize = 500;

/// Routes below `/messages`.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_schema::<ReceiptSnapshot>();
    routes
        .with(routes!(list, create))
        .with(routes!(preview))
        .with(routes!(unread))
        .with(routes!(find, change, retract))
        .with(routes!(receipts))
        .with(routes!(read))
}

/// List messages
///
/// Returns messages, most recently published first. Scheduled messages are only listed if you filter by `status`.
/// Retracted messages are listed without their content. Users see the messages that they or their dependents received
/// and the messages they wrote. Coaches and managers see all messages of their teams.
#[endpoint(get, "/messages", id = "messages.list", tag = "Messages",
    200(ListResponse<Message>, "A page of messages."))]
async fn list(caller: Caller<MessagesRead>, paging: Paging<MessageFilter>) -> Result<Response> {
    caller.page(paging, listing::list).await
}

/// Post a message
///
/// Posts an announcement, the first message of a conversation, or a reply (`parent_id`). Guardians of minors receive
/// the messages to the minors. A conversation with a minor needs two confirmed adults, or a guardian of each minor. So
/// does an announcement to one minor, to named members, to staff or to `unanswered`. If necessary, guardians are added
/// to the recipients. If there are still too few adults, the request fails with 409 `conflict` and the error code
/// `second_adult_required`. Users post in their own name. Only coaches and managers can post announcements and pin
/// messages.
#[endpoint(post, "/messages", id = "messages.create", tag = "Messages",
    example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "kind": "announcement", "subject": "Training moves to 6 pm",
        "body": "Bring **water**.", "audience": { "to": "all" } }),
    201(ObjectResponse<Message>, "The new message."))]
async fn create(caller: Caller<MessagesWrite>, body: Body<NewMessage>) -> Result<Response> {
    let (access, sender) = (caller.team_access(), caller.sender_identity().await?);
    caller.create(body, move |tx, new| posting::create(tx, &access, &sender, new)).await
}

/// Preview a message
///
/// Returns how many people would receive a message, without posting it. Send the body of `POST /messages`. The request
/// fails as `POST /messages` does, for example if the message needs a second adult. The numbers are the current ones:
/// the recipients of a scheduled message are determined when it is published.
#[endpoint(post, "/messages/preview", id = "messages.preview", tag = "Messages",
    example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "kind": "announcement", "subject": "Training moves to 6 pm",
        "body": "Bring **water**.", "audience": { "to": "all" } }),
    200(ObjectResponse<MessagePreview>, "The number of recipients."))]
async fn preview(caller: Caller<MessagesWrite>, body: Body<NewMessage>) -> Result<Response> {
    let (access, sender) = (caller.team_access(), caller.sender_identity().await?);
    caller.read(move |db| Ok(preview::load(db, &access, &sender, body.value)?.counts())).await
}

/// Count unread messages
///
/// Returns the number of published messages that a person has not read, in total and by team.
#[endpoint(get, "/messages/unread", id = "messages.unread", tag = "Messages",
    200(ObjectResponse<UnreadCounts>, "The number of unread messages."))]
async fn unread(
    caller: Caller<MessagesRead>,
    UnreadQuery { person_id }: UnreadQuery,
) -> Result<Response> {
    let access = caller.team_access();
    caller.read(move |db| receipt::count_unread(db, &access, person_id)).await
}

/// Retrieve a message
///
/// Returns a message. After a message is retracted, `subject` and `body` are `null`, except for admins and adults who
/// received a message to a minor.
#[endpoint(get, "/messages/{message_id}", id = "messages.get", tag = "Messages",
    200(ObjectResponse<Message>, "The message."))]
async fn find(caller: Caller<MessagesRead>, id: MessageId) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| message::find(db, &access, id)).await
}

/// Update a message
///
/// `pinned` and `metadata` can always be changed. All other fields can only be changed while the message is scheduled.
/// Omitted fields stay unchanged.
#[endpoint(patch, "/messages/{message_id}", id = "messages.update", tag = "Messages",
    example = json!({ "pinned": true }),
    200(ObjectResponse<Message>, "The updated message."))]
async fn change(
    caller: Caller<MessagesWrite>,
    id: MessageId,
    body: Body<MessageChange>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, new, expected| editing::change(tx, &access, id, expected, new))
        .await
}

/// Retract a message
///
/// The content of a retracted message is no longer shown. The message stays in lists, with who retracted it and when.
/// Pending emails about it are cancelled, unless a minor received it. A scheduled message is not published.
#[endpoint(delete, "/messages/{message_id}", id = "messages.retract", tag = "Messages",
    200(ObjectResponse<Message>, "The retracted message, without its content."))]
async fn retract(
    caller: Caller<MessagesWrite>,
    id: MessageId,
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, NoBody, expected| {
            let retracted = editing::retract(tx, &access, id, expected)?;
            idempotency::replace_stored(tx, &id.to_string(), &retracted)?;
            Ok(retracted)
        })
        .await
}

/// List receipts
///
/// Lists who received the message and who has read it. Only for the author and for coaches and managers of the team.
#[endpoint(get, "/messages/{message_id}/receipts", id = "messages.receipts", tag = "Messages",
    200(ListResponse<Receipt>, "A page of receipts."))]
async fn receipts(
    caller: Caller<MessagesRead>,
    id: MessageId,
    paging: Paging<ReceiptFilter>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, filter, page| receipt::list(db, access, (id, filter), page))
        .await
}

/// Mark a message as read
///
/// Idempotent: `read_at` stays the time of the first request. Users can mark messages as read for themselves and their
/// dependents.
#[endpoint(put, "/messages/{message_id}/receipts/{person_id}", id = "messages.mark_read", tag = "Messages",
    params(("message_id" = MessageId, Path, description = "ID of the message."),
        ("person_id" = PersonId, Path, description = "Person who has read the message.")),
    200(ObjectResponse<Receipt>, "The receipt."))]
async fn read(
    caller: Caller<MessagesWrite>,
    ids: (MessageId, PersonId),
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, NoBody, expected| receipt::mark_read(tx, &access, ids, expected))
        .await
}

impl FromBody for NewMessage {
    fn read(fields: &mut Fields) -> Self {
        let team_id = fields.id("team_id");
        let kind = fields.enum_value("kind");
        let subject = fields.line("subject", MAX_SUBJECT_CHARS).apply(None);
        let body = fields.block("body", MAX_BODY_CHARS);
        let body = fields.required("body", body).unwrap_or_default();
        let audience = audience(fields, "audience").apply(None);
        let parent_id = fields.id("parent_id").apply(None);
        let is_reply = parent_id.is_some() || fields.is_faulty("parent_id");
        let (team_id, kind) = if is_reply {
            if kind == Change::Set(Kind::Announcement) {
                fields.fault("kind", "not_applicable", "A reply must have the kind `message`.");
            }
            (team_id.apply(None), Kind::Message)
        } else {
            let kind = fields.required("kind", kind).unwrap_or(Kind::Message);
            (fields.required("team_id", team_id), kind)
        };
        if kind == Kind::Announcement && subject.is_none() && !fields.is_faulty("subject") {
            fields.fault("subject", "required", "An announcement must have a subject.");
        }
        Self {
            team_id,
            kind,
            subject,
            body,
            audience,
            event_id: fields.id("event_id").apply(None),
            parent_id,
            attachment_ids: fields.ids("attachment_ids", MAX_ATTACHMENTS).apply_or(vec![], vec![]),
            pinned: fields.flag("pinned").apply_or(false, false),
            publish_at: fields.timestamp("publish_at").apply(None),
            on_behalf_of: fields.id("on_behalf_of").apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        }
    }
}

/// Reads an audience. `member_ids` and `event_id` are only allowed with the matching value of `to`.
pub(super) fn audience(fields: &mut Fields, name: &str) -> Change<Audience> {
    fields.object(name, |fields| {
        let to = fields.enum_value("to").apply_or(AudienceKind::All, AudienceKind::All);
        let member_ids: Option<Vec<_>> = fields.ids("member_ids", MAX_MEMBER_IDS).apply(None);
        let event_id = fields.id("event_id").apply(None);
        let to_is_valid = !fields.is_faulty("to");
        let has_member_ids = member_ids.as_ref().is_some_and(|ids| !ids.is_empty());
        let mut check = |name: &str, is_required: bool, is_present: bool| {
            if !to_is_valid || is_required == is_present || fields.is_faulty(name) {
                return;
            }
            if is_required {
                let detail = format!("This field is required if `to` is `{to}`.");
                fields.fault(name, "required", detail);
            } else {
                let detail = format!("This field is not allowed if `to` is `{to}`.");
                fields.fault(name, "not_applicable", detail);
            }
        };
        check("member_ids", to == AudienceKind::Members, has_member_ids);
        check("event_id", to == AudienceKind::Unanswered, event_id.is_some());
        Audience { to, member_ids: member_ids.filter(|_| has_member_ids), event_id }
    })
}

/// The query of the unread count.
#[query]
struct UnreadQuery {
    /// Person whose unread messages are counted.
    #[param(required_id)]
    person_id: PersonId,
}

/// `unread` needs a person. A retracted message does not count as unread.
pub(super) fn check_filter(filter: &mut MessageFilter, params: &mut Params) {
    if filter.unread.is_some() && filter.person_id.is_none() {
        params.fault("unread", "needs_person", "`unread` requires `person_id`.");
    }
    if filter.unread == Some(true) && filter.status == Some(StatusFilter::Posted) {
        filter.status = Some(StatusFilter::Published);
    }
}
