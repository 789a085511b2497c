//! The JSON endpoints of answers and of volunteers.

use axum::response::Response;
use utoipa_axum::routes;

use crate::accounts::rights::Voice;
use crate::error::Result;
use crate::events::event::{self, Shown};
use crate::events::history::{self, Answered, Unanswered};
use crate::events::rsvp::{self, Answer, Choice, NewAnswer, Rsvp, RsvpFilter};
use crate::events::volunteers::{self, Taking};
use crate::ids::{DutyId, EventId, MemberId, PersonId};
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, EventsAnswer, EventsOversee, EventsRead};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

const NOTE: usize = 500;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list))
        .with(routes!(find, answer))
        .with(routes!(answers))
        .with(routes!(unanswered))
        .with(routes!(take, release))
}

/// List the answers to an event
///
/// In the order of the roster. Families see the notes of their own people only.
#[utoipa::path(get, path = "/events/{event_id}/rsvps", operation_id = "rsvps_list", tag = "Events",
    params(("event_id" = EventId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many answers to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("answer" = Option<Answer>, Query, description = "Only these answers.")),
    responses((status = 200, description = "A page of answers.", body = Many<Rsvp>), Problems),
    security(("key" = ["events:read"])))]
async fn list(
    caller: Caller<EventsRead>,
    At(id): At<EventId>,
    Query(paging): Query<Paging<RsvpFilter>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, reach, filter, page| {
            let event = event::find(db, reach, id)?;
            let answers = rsvp::list(db, id, filter, page)?;
            rsvp::within(db, reach, event.team_id, answers)
        })
        .await
}

/// Get a member's answer
#[utoipa::path(get, path = "/events/{event_id}/rsvps/{member_id}", operation_id = "rsvps_get", tag = "Events",
    params(("event_id" = EventId, Path), ("member_id" = MemberId, Path)),
    responses((status = 200, description = "The answer.", body = One<Rsvp>), Problems),
    security(("key" = ["events:read"])))]
async fn find(
    caller: Caller<EventsRead>,
    At((event, member)): At<(EventId, MemberId)>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.one(move |db| rsvp::find(db, &reach, event, member)).await
}

/// Answer for a member
///
/// Whoever says yes to a full event gets the answer `waiting` and moves up, in order, when places
/// become free. Users answer for themselves and for those they look after; coaches and managers for
/// everybody on their team.
#[utoipa::path(put, path = "/events/{event_id}/rsvps/{member_id}", operation_id = "rsvps_answer", tag = "Events",
    params(("event_id" = EventId, Path), ("member_id" = MemberId, Path)),
    request_body(content = NewAnswer, example = json!({ "answer": "yes", "note": "Ten minutes late" })),
    responses((status = 200, description = "The answer as it is kept.", body = One<Rsvp>), Problems),
    security(("key" = ["events:write"])))]
async fn answer(
    caller: Caller<EventsAnswer>,
    At(at): At<(EventId, MemberId)>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewAnswer>,
) -> Result<Response> {
    let (reach, voice) = (caller.reach(), caller.voice().await?);
    caller
        .change(body, move |tx, new, expected| {
            voice.check(new.on_behalf_of)?;
            // A user answers as the user, whoever that is on the roster.
            let named = new.on_behalf_of.filter(|_| voice == Voice::Anybodys);
            let new = NewAnswer { on_behalf_of: named, ..new };
            rsvp::answer(tx, &reach, at, expected, new)
        })
        .await
}

/// List everything a member answered
///
/// Oldest first. `answer` is `null` where the answer was taken back because the member left.
#[utoipa::path(get, path = "/events/{event_id}/rsvps/{member_id}/history", operation_id = "rsvps_history", tag = "Events",
    params(("event_id" = EventId, Path), ("member_id" = MemberId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out.")),
    responses((status = 200, description = "A page of answers.", body = Many<Answered>), Problems),
    security(("key" = ["events:read"])))]
async fn answers(
    caller: Caller<EventsOversee>,
    At((event, member)): At<(EventId, MemberId)>,
    Query(paging): Query<Paging<Nothing>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, reach, _, page| {
            event::find(db, reach, event)?;
            history::list(db, event, member, page)
        })
        .await
}

/// List who has not answered
///
/// Members on the roster now whose answer is missing, in the order of the roster.
#[utoipa::path(get, path = "/events/{event_id}/unanswered", operation_id = "rsvps_unanswered", tag = "Events",
    params(("event_id" = EventId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many members to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out.")),
    responses((status = 200, description = "A page of members.", body = Many<Unanswered>), Problems),
    security(("key" = ["events:read"])))]
async fn unanswered(
    caller: Caller<EventsOversee>,
    At(id): At<EventId>,
    Query(paging): Query<Paging<Nothing>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, reach, _, page| {
            let event = event::find(db, reach, id)?;
            history::unanswered(db, &event, page)
        })
        .await
}

/// Take a duty
///
/// For somebody on the team, or a guardian of somebody who is. Users take duties for themselves and for
/// those they look after; coaches and managers for everybody on their team.
#[utoipa::path(put, path = "/events/{event_id}/duties/{duty_id}/takers/{person_id}", operation_id = "duties_take", tag = "Events",
    params(("event_id" = EventId, Path), ("duty_id" = DutyId, Path), ("person_id" = PersonId, Path)),
    responses((status = 200, description = "The event.", body = One<Shown>), Problems),
    security(("key" = ["events:write"])))]
async fn take(
    caller: Caller<EventsAnswer>,
    At((event, duty, person)): At<(EventId, DutyId, PersonId)>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let (reach, taking) = (caller.reach(), Taking { event, duty, person });
    caller
        .change(body, move |tx, NoBody, expected| volunteers::take(tx, &reach, taking, expected))
        .await
}

/// Give a duty back
#[utoipa::path(delete, path = "/events/{event_id}/duties/{duty_id}/takers/{person_id}", operation_id = "duties_release", tag = "Events",
    params(("event_id" = EventId, Path), ("duty_id" = DutyId, Path), ("person_id" = PersonId, Path)),
    responses((status = 200, description = "The event.", body = One<Shown>), Problems),
    security(("key" = ["events:write"])))]
async fn release(
    caller: Caller<EventsAnswer>,
    At((event, duty, person)): At<(EventId, DutyId, PersonId)>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let (reach, taking) = (caller.reach(), Taking { event, duty, person });
    caller
        .change(body, move |tx, NoBody, expected| volunteers::release(tx, &reach, taking, expected))
        .await
}

impl FromBody for NewAnswer {
    fn read(fields: &mut Fields) -> Self {
        let answer = fields.word("answer");
        Self {
            answer: fields.required("answer", answer).unwrap_or(Choice::No),
            note: fields.block("note", NOTE).apply(None),
            on_behalf_of: fields.id("on_behalf_of").apply(None),
        }
    }
}

impl FromQuery for RsvpFilter {
    fn read(params: &mut Params) -> Self {
        Self { answer: params.word("answer") }
    }
}
