//! The JSON endpoints of messages.

use macros::query;

use super::audience::{Audience, AudienceKind};
use super::editing::{self, MessageChange};
use super::listing::{self, MessageFilter, StatusFilter};
use super::message::{self, Kind, Message, NewMessage};
use super::posting;
use super::preview::{self, MessagePreview};
use super::receipt::{self, Receipt, ReceiptFilter, UnreadCounts};
use crate::messages::receipt::ReceiptSnapshot;
use crate::messages::{MessagesRead, MessagesWrite};
use crate::prelude::*;
use crate::web::idempotency;
use crate::web::prelude::*;

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
#[endpoint(get, "/messages/unread", id = "messages.count_unread", tag = "Messages",
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
    outcome = json!({ "status": "retracted", "subject": null, "body": null }),
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
#[endpoint(get, "/messages/{message_id}/receipts", id = "messages.list_receipts", tag = "Messages",
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

/// The team of a new message. A reply has that of its conversation.
pub(super) fn team_id(fields: &mut Fields, name: &str) -> Change<TeamId> {
    let team = fields.id(name);
    if is_reply(fields) { team } else { required(fields, name, team) }
}

/// The kind of a new message.
pub(super) fn kind(fields: &mut Fields, name: &str) -> Change<Kind> {
    let kind = fields.enum_value(name);
    if !is_reply(fields) {
        return required(fields, name, kind);
    }
    if kind == Change::Set(Kind::Announcement) {
        fields.fault(name, "not_applicable", "A reply must have the kind `message`.");
    }
    Change::Keep
}

/// Whether a new message is a reply. Only before `parent_id` is read.
fn is_reply(fields: &Fields) -> bool {
    fields.has("parent_id")
}

fn required<T>(fields: &mut Fields, name: &str, read: Change<T>) -> Change<T> {
    fields.required(name, read).map_or(Change::Keep, Change::Set)
}

/// An announcement needs a subject.
pub(super) fn check_new(new: &NewMessage, fields: &mut Fields) {
    let needs_subject = new.kind == Kind::Announcement && new.subject.is_none();
    if needs_subject && !fields.is_faulty("subject") {
        fields.fault("subject", "required", "An announcement must have a subject.");
    }
}

/// The members of an audience. An empty list is the same as none.
pub(super) fn member_ids(fields: &mut Fields, name: &str) -> Change<Vec<MemberId>> {
    match fields.ids(name, MAX_MEMBER_IDS) {
        Change::Set(ids) if ids.is_empty() => Change::Clear,
        ids => ids,
    }
}

/// `member_ids` and `event_id` are only allowed with the matching value of `to`.
pub(super) fn check_audience(audience: &Audience, fields: &mut Fields) {
    let Audience { to, member_ids, event_id } = audience;
    let to_is_valid = !fields.is_faulty("to");
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
    check("member_ids", *to == AudienceKind::Members, member_ids.is_some());
    check("event_id", *to == AudienceKind::Unanswered, event_id.is_some());
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
