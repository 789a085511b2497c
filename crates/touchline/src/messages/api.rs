//! The JSON endpoints of messages.

use axum::response::Response;
use kit::Change;
use utoipa_axum::routes;

use super::audience::{Audience, To};
use super::listing::{self, MessageFilter, Standing};
use super::message::{self, Kind, Message, MessageChange, NewMessage};
use super::posting;
use super::receipt::{self, Receipt, ReceiptFilter, Unread};
use crate::error::Result;
use crate::ids::{MessageId, PersonId, TeamId};
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, MessagesRead, MessagesWrite};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::idempotency;
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

const SUBJECT: usize = 200;
const BODY: usize = 10_000;
/// So many members can be named in an audience.
const NAMED: usize = 500;

/// Everything below `/messages`.
pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list, create))
        .with(routes!(unread))
        .with(routes!(find, change, retract))
        .with(routes!(receipts))
        .with(routes!(read))
}

/// List messages
///
/// Newest first: by when they were published, or are to be. What is scheduled is listed only when
/// `status` asks for it; what was retracted is listed without what it said. Users see what has reached
/// them or those they look after and what they wrote; coaches and managers everything of their teams.
#[utoipa::path(get, path = "/messages", operation_id = "messages_list", tag = "Messages",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many messages to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`desc` if left out."),
        ("team_id" = Option<TeamId>, Query, description = "Only messages of this team."),
        ("kind" = Option<Kind>, Query, description = "Only announcements, or only messages of conversations."),
        ("parent_id" = Option<MessageId>, Query, description = "Only replies to this message."),
        ("thread_id" = Option<MessageId>, Query, description = "Only the conversation that began with this message."),
        ("status" = Option<String>, Query, description = "`posted` (if left out: published, also if retracted since), `published`, `scheduled`, `retracted` or `all`."),
        ("pinned" = Option<bool>, Query, description = "Only what is pinned, or is not."),
        ("person_id" = Option<PersonId>, Query, description = "Only messages that reached this person."),
        ("unread" = Option<bool>, Query, description = "With `person_id`: only what the person has not read yet, or has.")),
    responses((status = 200, description = "A page of messages.", body = Many<Message>), Problems),
    security(("key" = ["messages:read"])))]
async fn list(
    caller: Caller<MessagesRead>,
    Query(paging): Query<Paging<MessageFilter>>,
) -> Result<Response> {
    caller.page(paging, listing::list).await
}

/// Post a message
///
/// An announcement, the first message of a conversation, or a reply (`parent_id`). Guardians of minors get
/// what the minors get. A conversation with a minor, or an announcement to one alone, needs two adults; guardians are added if that helps,
/// otherwise the answer is 409 with the fault `second_adult_required`. Users write as themselves;
/// only coaches and managers announce and pin.
#[utoipa::path(post, path = "/messages", operation_id = "messages_create", tag = "Messages",
    request_body(content = NewMessage, example = json!({
        "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "kind": "announcement", "subject": "Training moves to 6 pm",
        "body": "Bring **water**.", "audience": { "to": "all" } })),
    responses((status = 201, description = "The new message.", body = One<Message>), Problems),
    security(("key" = ["messages:write"])))]
async fn create(
    caller: Caller<MessagesWrite>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewMessage>,
) -> Result<Response> {
    let (reach, voice) = (caller.reach(), caller.voice().await?);
    caller.create(body, move |tx, new| posting::create(tx, &reach, &voice, new)).await
}

/// Count unread messages
///
/// How many published messages a person has not read yet, team by team.
#[utoipa::path(get, path = "/messages/unread", operation_id = "messages_unread", tag = "Messages",
    params(("person_id" = PersonId, Query)),
    responses((status = 200, description = "The counts.", body = One<Unread>), Problems),
    security(("key" = ["messages:read"])))]
async fn unread(
    caller: Caller<MessagesRead>,
    Query(Reader(person)): Query<Reader>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.look(move |db| receipt::unread(db, &reach, person)).await
}

/// Get a message
#[utoipa::path(get, path = "/messages/{message_id}", operation_id = "messages_get", tag = "Messages",
    params(("message_id" = MessageId, Path)),
    responses((status = 200, description = "The message.", body = One<Message>), Problems),
    security(("key" = ["messages:read"])))]
async fn find(
    caller: Caller<MessagesRead>,
    At(id): At<MessageId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.one(move |db| message::find(db, &reach, id)).await
}

/// Change a message
///
/// `pinned` and `metadata` at any time; what it says, to whom and when only while it is scheduled.
#[utoipa::path(patch, path = "/messages/{message_id}", operation_id = "messages_update", tag = "Messages",
    params(("message_id" = MessageId, Path)),
    request_body(content = MessageChange, example = json!({ "pinned": true })),
    responses((status = 200, description = "The message after the change.", body = One<Message>), Problems),
    security(("key" = ["messages:write"])))]
async fn change(
    caller: Caller<MessagesWrite>,
    At(id): At<MessageId>,
    Query(Nothing): Query<Nothing>,
    body: Body<MessageChange>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .change(body, move |tx, new, expected| message::change(tx, &reach, id, expected, new))
        .await
}

/// Retract a message
///
/// What it said is no longer shown; that it was there, and who retracted it, is. Mail that was not sent yet is
/// not sent. A scheduled message is never published.
#[utoipa::path(delete, path = "/messages/{message_id}", operation_id = "messages_retract", tag = "Messages",
    params(("message_id" = MessageId, Path)),
    responses((status = 200, description = "What is left of the message.", body = One<Message>), Problems),
    security(("key" = ["messages:write"])))]
async fn retract(
    caller: Caller<MessagesWrite>,
    At(id): At<MessageId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .change(body, move |tx, NoBody, expected| {
            let retracted = message::retract(tx, &reach, id, expected)?;
            idempotency::amend(tx, &id.to_string(), &retracted)?;
            Ok(retracted)
        })
        .await
}

/// List receipts
///
/// Whom the message reached, and who has read it. For its author and whoever leads the team.
#[utoipa::path(get, path = "/messages/{message_id}/receipts", operation_id = "messages_receipts", tag = "Messages",
    params(
        ("message_id" = MessageId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many receipts to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("read" = Option<bool>, Query, description = "Only those who have read it, or have not.")),
    responses((status = 200, description = "A page of receipts.", body = Many<Receipt>), Problems),
    security(("key" = ["messages:read"])))]
async fn receipts(
    caller: Caller<MessagesRead>,
    At(id): At<MessageId>,
    Query(paging): Query<Paging<ReceiptFilter>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, reach, filter, page| receipt::list(db, reach, (id, filter), page))
        .await
}

/// Mark a message as read
///
/// The first time counts; after that nothing changes. Users say it of themselves and of those they look
/// after.
#[utoipa::path(put, path = "/messages/{message_id}/receipts/{person_id}", operation_id = "messages_read", tag = "Messages",
    params(("message_id" = MessageId, Path), ("person_id" = PersonId, Path)),
    responses((status = 200, description = "The receipt.", body = One<Receipt>), Problems),
    security(("key" = ["messages:write"])))]
async fn read(
    caller: Caller<MessagesWrite>,
    At(place): At<(MessageId, PersonId)>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .change(body, move |tx, NoBody, expected| receipt::read(tx, &reach, place, expected))
        .await
}

impl FromBody for NewMessage {
    fn read(fields: &mut Fields) -> Self {
        let team_id = fields.id("team_id");
        let kind = fields.word("kind");
        let subject = fields.line("subject", SUBJECT).apply(None);
        let body = fields.block("body", BODY);
        let body = fields.required("body", body).unwrap_or_default();
        let audience = audience(fields).apply(None);
        let parent_id = fields.id("parent_id").apply(None);
        let is_reply = parent_id.is_some() || fields.is_faulty("parent_id");
        let (team_id, kind) = if is_reply {
            if kind == Change::Set(Kind::Announcement) {
                fields.fault("kind", "not_applicable", "A reply is a message.");
            }
            (team_id.apply(None), Kind::Message)
        } else {
            let kind = fields.required("kind", kind).unwrap_or(Kind::Message);
            (fields.required("team_id", team_id), kind)
        };
        if kind == Kind::Announcement && subject.is_none() && !fields.is_faulty("subject") {
            fields.fault("subject", "required", "An announcement needs a subject.");
        }
        Self {
            team_id,
            kind,
            subject,
            body,
            audience,
            parent_id,
            pinned: fields.flag("pinned").apply_or(false, false),
            publish_at: fields.moment("publish_at").apply(None),
            on_behalf_of: fields.id("on_behalf_of").apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        }
    }
}

impl FromBody for MessageChange {
    fn read(fields: &mut Fields) -> Self {
        let body = fields.block("body", BODY);
        Self {
            pinned: fields.flag("pinned"),
            subject: fields.line("subject", SUBJECT),
            body: fields.kept("body", body),
            audience: audience(fields),
            publish_at: fields.moment("publish_at"),
            metadata: fields.metadata("metadata"),
        }
    }
}

/// An audience names members or an event only where its word asks for them.
fn audience(fields: &mut Fields) -> Change<Audience> {
    fields.object("audience", |fields| {
        let to = fields.word("to").apply_or(To::All, To::All);
        let member_ids: Option<Vec<_>> = fields.ids("member_ids", NAMED).apply(None);
        let event_id = fields.id("event_id").apply(None);
        let clear = !fields.is_faulty("to");
        let named = member_ids.as_ref().is_some_and(|ids| !ids.is_empty());
        let mut expect = |name: &str, wanted: bool, given: bool| {
            if !clear || wanted == given || fields.is_faulty(name) {
                return;
            }
            if wanted {
                fields.fault(name, "required", format!("The audience {to} needs this."));
            } else {
                fields.fault(name, "not_applicable", format!("The audience {to} takes none."));
            }
        };
        expect("member_ids", to == To::Members, named);
        expect("event_id", to == To::Unanswered, event_id.is_some());
        Audience { to, member_ids: member_ids.filter(|_| named), event_id }
    })
}

impl FromQuery for MessageFilter {
    const ORDER: Order = Order::Desc;

    fn read(params: &mut Params) -> Self {
        let person_id = params.id("person_id");
        let unread = params.flag("unread");
        if unread.is_some() && person_id.is_none() {
            params.fault("unread", "needs_person", "This needs person_id beside it.");
        }
        let standing = params.word_or_all("status", Standing::Posted);
        // Nobody has to read what was taken back.
        let only_published = unread == Some(true) && standing == Some(Standing::Posted);
        Self {
            team_id: params.id("team_id"),
            kind: params.word("kind"),
            parent_id: params.id("parent_id"),
            thread_id: params.id("thread_id"),
            standing: if only_published { Some(Standing::Published) } else { standing },
            pinned: params.flag("pinned"),
            person_id,
            unread,
        }
    }
}

impl FromQuery for ReceiptFilter {
    fn read(params: &mut Params) -> Self {
        Self { read: params.flag("read") }
    }
}

/// Whose unread messages are counted.
struct Reader(PersonId);

impl FromQuery for Reader {
    fn read(params: &mut Params) -> Self {
        Self(params.required_id("person_id"))
    }
}
