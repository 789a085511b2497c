//! Endpoints of RSVPs and volunteer duties.

use crate::events::event::{self, EventView};
use crate::events::history::{self, RsvpChange, Unanswered};
use crate::events::rsvp::{self, NewAnswer, Rsvp, RsvpFilter};
use crate::events::volunteers::{self, DutyAssignment};
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::web::caller::{EventsAnswer, EventsOversee, EventsRead};
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list))
        .with(routes!(find, answer))
        .with(routes!(answers))
        .with(routes!(unanswered))
        .with(routes!(take, release))
}

/// List the RSVPs of an event
///
/// Returns RSVPs in roster order. Families only see the notes of their own family.
#[utoipa::path(get, path = "/events/{event_id}/rsvps", operation_id = "rsvps_list", tag = "Events",
    params(("event_id" = EventId, Path), Paging<RsvpFilter>),
    responses((status = 200, description = "A page of RSVPs.", body = ListResponse<Rsvp>)),
    security(("key" = ["events:read"])))]
async fn list(
    caller: Caller<EventsRead>,
    PathParams(id): PathParams<EventId>,
    Query(paging): Query<Paging<RsvpFilter>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, filter, page| {
            let event = event::find(db, access, id)?;
            let answers = rsvp::list(db, id, filter, page)?;
            rsvp::redact_notes(db, access, event.team_id, answers)
        })
        .await
}

/// Retrieve a member's RSVP
///
/// Returns the current answer of a member.
#[utoipa::path(get, path = "/events/{event_id}/rsvps/{member_id}", operation_id = "rsvps_get", tag = "Events",
    params(("event_id" = EventId, Path), ("member_id" = MemberId, Path)),
    responses((status = 200, description = "The RSVP.", body = ObjectResponse<Rsvp>)),
    security(("key" = ["events:read"])))]
async fn find(
    caller: Caller<EventsRead>,
    PathParams((event, member)): PathParams<(EventId, MemberId)>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| rsvp::find(db, &access, event, member)).await
}

/// Record a member's RSVP
///
/// A yes to a full event is recorded as `waitlisted` and becomes `yes`, in order, when places become free. Users can
/// answer for themselves and their dependents; coaches and managers for everybody on their team.
#[utoipa::path(put, path = "/events/{event_id}/rsvps/{member_id}", operation_id = "rsvps_answer", tag = "Events",
    params(("event_id" = EventId, Path), ("member_id" = MemberId, Path)),
    request_body(content = NewAnswer, example = json!({ "answer": "yes", "note": "Ten minutes late" })),
    responses((status = 200, description = "The recorded RSVP.", body = ObjectResponse<Rsvp>)),
    security(("key" = ["events:write"])))]
async fn answer(
    caller: Caller<EventsAnswer>,
    PathParams(at): PathParams<(EventId, MemberId)>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<NewAnswer>,
) -> Result<Response> {
    let (access, sender) = (caller.team_access(), caller.sender_identity().await?);
    caller
        .change(body, move |tx, new, expected| {
            sender.check(new.on_behalf_of)?;
            // Users always answer as themselves; only keys can name another person.
            let on_behalf_of = new.on_behalf_of.filter(|_| sender == SenderIdentity::Anybody);
            let new = NewAnswer { on_behalf_of, ..new };
            rsvp::answer(tx, &access, at, expected, new)
        })
        .await
}

/// List a member's RSVP history
///
/// Returns all answers, oldest first. `answer` is `null` if the answer was withdrawn because the member left the team.
#[utoipa::path(get, path = "/events/{event_id}/rsvps/{member_id}/history", operation_id = "rsvps_history", tag = "Events",
    params(("event_id" = EventId, Path), ("member_id" = MemberId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of entries per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`.")),
    responses((status = 200, description = "A page of history entries.", body = ListResponse<RsvpChange>)),
    security(("key" = ["events:read"])))]
async fn answers(
    caller: Caller<EventsOversee>,
    PathParams((event, member)): PathParams<(EventId, MemberId)>,
    Query(paging): Query<Paging<NoQuery>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, _, page| {
            event::find(db, access, event)?;
            history::list(db, event, member, page)
        })
        .await
}

/// List members without an RSVP
///
/// Returns current members of the roster who have not answered, in roster order.
#[utoipa::path(get, path = "/events/{event_id}/unanswered", operation_id = "rsvps_unanswered", tag = "Events",
    params(("event_id" = EventId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of members per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`.")),
    responses((status = 200, description = "A page of members.", body = ListResponse<Unanswered>)),
    security(("key" = ["events:read"])))]
async fn unanswered(
    caller: Caller<EventsOversee>,
    PathParams(id): PathParams<EventId>,
    Query(paging): Query<Paging<NoQuery>>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, _, page| {
            let event = event::find(db, access, id)?;
            history::unanswered(db, &event, page)
        })
        .await
}

/// Take a duty
///
/// Assigns a duty to a person: a member of the team, or a guardian of a member. Users can take duties for themselves
/// and their dependents; coaches and managers for everybody on their team.
#[utoipa::path(put, path = "/events/{event_id}/duties/{duty_id}/assignees/{person_id}", operation_id = "duties_assign", tag = "Events",
    params(("event_id" = EventId, Path), ("duty_id" = DutyId, Path), ("person_id" = PersonId, Path)),
    responses((status = 200, description = "The updated event.", body = ObjectResponse<EventView>)),
    security(("key" = ["events:write"])))]
async fn take(
    caller: Caller<EventsAnswer>,
    PathParams((event, duty, person)): PathParams<(EventId, DutyId, PersonId)>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    let (access, assignment) = (caller.team_access(), DutyAssignment { event, duty, person });
    caller
        .change(body, move |tx, NoBody, expected| {
            volunteers::take(tx, &access, assignment, expected)
        })
        .await
}

/// Give up a duty
///
/// Removes a person from the assignees of a duty.
#[utoipa::path(delete, path = "/events/{event_id}/duties/{duty_id}/assignees/{person_id}", operation_id = "duties_unassign", tag = "Events",
    params(("event_id" = EventId, Path), ("duty_id" = DutyId, Path), ("person_id" = PersonId, Path)),
    responses((status = 200, description = "The updated event.", body = ObjectResponse<EventView>)),
    security(("key" = ["events:write"])))]
async fn release(
    caller: Caller<EventsAnswer>,
    PathParams((event, duty, person)): PathParams<(EventId, DutyId, PersonId)>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    let (access, assignment) = (caller.team_access(), DutyAssignment { event, duty, person });
    caller
        .change(body, move |tx, NoBody, expected| {
            volunteers::release(tx, &access, assignment, expected)
        })
        .await
}
