//! Endpoints of RSVPs and volunteer duties.

use crate::events::event::{self, EventView};
use crate::events::history::{self, RsvpChange, UnansweredMember};
use crate::events::rsvp::{self, NewAnswer, Rsvp, RsvpFilter};
use crate::events::rsvp_export::RsvpsTable;
use crate::events::rsvp_redaction;
use crate::events::volunteers;
use crate::events::{EventsAnswer, EventsOversee, EventsRead};
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list))
        .with(routes!(find, answer))
        .with(routes!(answers))
        .with(routes!(unanswered))
        .with(routes!(take, release))
        .with(routes!(export))
}

/// List the RSVPs of an event
///
/// Returns RSVPs in roster order. Families only see the notes of their own family.
#[endpoint(get, "/events/{event_id}/rsvps", id = "rsvps.list", tag = "Events",
    200(ListResponse<Rsvp>, "A page of RSVPs."))]
async fn list(
    caller: Caller<EventsRead>,
    id: EventId,
    paging: Paging<RsvpFilter>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, filter, page| {
            let event = event::find(db, access, id)?;
            let answers = rsvp::list(db, id, filter, page)?;
            rsvp_redaction::redact(db, access, event.team_id, answers)
        })
        .await
}

/// Retrieve a member's RSVP
///
/// Returns the current answer of a member.
#[endpoint(get, "/events/{event_id}/rsvps/{member_id}", id = "rsvps.get", tag = "Events",
    200(ObjectResponse<Rsvp>, "The RSVP."))]
async fn find(caller: Caller<EventsRead>, event: EventId, member: MemberId) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| rsvp::find(db, &access, event, member)).await
}

/// Record a member's RSVP
///
/// A yes to a full event is recorded as `waitlisted` and becomes `yes`, in order, when places become free. Users can
/// answer for themselves and their dependents; coaches and managers for everybody on their team.
#[endpoint(put, "/events/{event_id}/rsvps/{member_id}", id = "rsvps.answer", tag = "Events",
    example = json!({ "answer": "yes", "note": "Ten minutes late" }),
    200(ObjectResponse<Rsvp>, "The recorded RSVP."))]
async fn answer(
    caller: Caller<EventsAnswer>,
    at: (EventId, MemberId),
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
/// Returns all answers, oldest first. `answer` is `null` if the answer was withdrawn because the member left the team or is
/// no longer away.
#[endpoint(get, "/events/{event_id}/rsvps/{member_id}/history", id = "rsvps.list_history", tag = "Events",
    params(("event_id" = EventId, Path), ("member_id" = MemberId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of entries per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`.")),
    200(ListResponse<RsvpChange>, "A page of history entries."))]
async fn answers(
    caller: Caller<EventsOversee>,
    event: EventId,
    member: MemberId,
    paging: Paging<NoQuery>,
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
#[endpoint(get, "/events/{event_id}/unanswered", id = "rsvps.list_unanswered", tag = "Events",
    params(("event_id" = EventId, Path),
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of members per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`.")),
    200(ListResponse<UnansweredMember>, "A page of members."))]
async fn unanswered(
    caller: Caller<EventsOversee>,
    id: EventId,
    paging: Paging<NoQuery>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, _, page| {
            let event = event::find(db, access, id)?;
            history::list_unanswered(db, &event, page)
        })
        .await
}

/// Take a duty
///
/// Assigns a duty to a person: a member of the team, or a guardian of a member. Users can take duties for themselves
/// and their dependents; coaches and managers for everybody on their team.
#[endpoint(put, "/events/{event_id}/duties/{duty_id}/assignees/{person_id}", id = "duties.assign", tag = "Events",
    200(ObjectResponse<EventView>, "The updated event."))]
async fn take(
    caller: Caller<EventsAnswer>,
    at: (EventId, DutyId, PersonId),
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, NoBody, expected| volunteers::take(tx, &access, at, expected))
        .await
}

/// Give up a duty
///
/// Removes a person from the assignees of a duty.
#[endpoint(delete, "/events/{event_id}/duties/{duty_id}/assignees/{person_id}", id = "duties.unassign", tag = "Events",
    200(ObjectResponse<EventView>, "The updated event."))]
async fn release(
    caller: Caller<EventsAnswer>,
    at: (EventId, DutyId, PersonId),
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, NoBody, expected| volunteers::release(tx, &access, at, expected))
        .await
}

/// Export RSVPs
///
/// One row per RSVP. Columns: `event_id`, `team_id`, `team`, `event`, `event_status`,
/// `starts_at`, `starts_local`, `member_id`, `first_name`, `last_name`, `role`, `answer`, `note`, `answered_by`,
/// `answered_at`.
#[endpoint(get, "/exports/rsvps.csv", id = "exports.rsvps", tag = "Exports",
    200(String, "The CSV file.", "text/csv",
        "event_id,team_id,team,event,event_status,starts_at,starts_local,member_id,first_name,last_name,role,\
        answer,note,answered_by,answered_at\n\
        evt_01kbm2x5q8f7vr0n3hd9tzc4wy,team_01kbm2x5q8f7vr0n3hd9tzc4wy,Hawks U12,Practice,scheduled,\
        2026-10-20T16:00:00.000000Z,2026-10-20T17:00:00,mem_01kbm2x5q8f7vr0n3hd9tzc4wy,Inês,Duarte,player,\
        yes,,user_01kbm2x5q8f7vr0n3hd9tzc4wy,2026-10-18T08:30:00.000000Z\n"))]
async fn export(caller: Caller<EventsOversee>, query: Download<RsvpsTable>) -> Result<Response> {
    caller.require_teams(query.table.team_id, &[])?;
    query.send(&caller, "rsvps.csv").await
}
