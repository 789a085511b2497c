//! Endpoints of events.

use macros::query;

use crate::events::edit::{self, ApplyTo, Cancellation, EventChange};
use crate::events::event::{self, EventFilter, EventView};
use crate::events::export::EventsTable;
use crate::events::result::{self, NewResult};
use crate::events::schedule::{self, NewEvent};
use crate::events::{EventsOversee, EventsRead, EventsWrite};
use crate::prelude::*;
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list, create))
        .with(routes!(find, change, delete))
        .with(routes!(cancel))
        .with(routes!(postpone))
        .with(routes!(record_result, delete_result))
        .with(routes!(export))
}

/// List events
///
/// Returns events ordered by start, including cancelled ones unless you filter by `status`.
#[endpoint(get, "/events", id = "events.list", tag = "Events",
    200(ListResponse<EventView>, "A page of events."))]
async fn list(caller: Caller<EventsRead>, paging: Paging<EventFilter>) -> Result<Response> {
    caller.page(paging, event::list).await
}

/// Create an event
///
/// With `recurrence`, creates a series and returns its first event. `warnings` lists overlapping events.
#[endpoint(post, "/events", id = "events.create", tag = "Events",
    outcome = json!({ "series_id": "ser_01kbm2x5q8f7vr0n3hd9tzc4wy", "title": "Practice", "opponent": null, "home_away": null, "uniform": null }),
    example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "type": "practice", "starts_at": "2026-09-08T18:30", "ends_at": "2026-09-08T20:00", "recurrence": "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20" }),
    201(ObjectResponse<EventView>, "The new event, or the first of the series."))]
async fn create(caller: Caller<EventsWrite>, body: Body<NewEvent>) -> Result<Response> {
    let access = caller.team_access();
    caller.create(body, move |tx, new| schedule::create(tx, &access, new)).await
}

/// Retrieve an event
///
/// Returns an event with its location, duties and RSVP counts. `warnings` is empty here.
#[endpoint(get, "/events/{event_id}", id = "events.get", tag = "Events",
    200(ObjectResponse<EventView>, "The event."))]
async fn find(caller: Caller<EventsRead>, id: EventId) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| event::view(db, event::find(db, &access, id)?)).await
}

/// Update an event
///
/// Omitted fields stay unchanged; `null` clears a field. In a series, `apply_to` selects whether the following events
/// or all events change too. Events that were changed individually stay unchanged, unless `override_exceptions` is
/// `true`: then the fields of this request apply to them too, and a new start moves them back into the series. Events
/// that are over keep their times, unless this event is over itself. The people on the team get an email if the time or
/// place of an event within the next 14 days changes.
#[endpoint(patch, "/events/{event_id}", id = "events.update", tag = "Events",
    example = json!({ "starts_at": "2026-09-08T19:00", "notes": "Starts half an hour later" }),
    200(ObjectResponse<EventView>, "The updated event."))]
async fn change(
    caller: Caller<EventsWrite>,
    id: EventId,
    body: Body<EventChange>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, change, expected| edit::change(tx, &access, id, expected, change))
        .await
}

/// Delete an event
///
/// Only possible while the event has no RSVPs; otherwise cancel it. With `apply_to`, cancelled events of the series
/// stay, and so do events that are over, unless this event is over itself.
#[endpoint(delete, "/events/{event_id}", id = "events.delete", tag = "Events",
    200(ObjectResponse<EventView>, "The deleted event."))]
async fn delete(
    caller: Caller<EventsWrite>,
    id: EventId,
    DeleteQuery { apply_to }: DeleteQuery,
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, NoBody, expected| {
            let deleted =
                edit::delete(tx, &access, id, expected, apply_to.unwrap_or(ApplyTo::This));
            deleted.map_err(Error::with_parameters)
        })
        .await
}

/// Cancel an event
///
/// The event stays visible. In a series, `apply_to` selects whether the following events or all events are cancelled
/// too. Events that are over are skipped, unless this event is over itself. The people on the team get an email about
/// events within the next 14 days.
#[endpoint(post, "/events/{event_id}/cancel", id = "events.cancel", tag = "Events",
    outcome = json!({ "status": "cancelled", "cancel_reason": "Pitch under water", "cancelled_at": "2026-09-05T09:30:00.000000Z" }),
    example = json!({ "reason": "Pitch under water", "apply_to": "this" }),
    200(ObjectResponse<EventView>, "The cancelled event."))]
async fn cancel(
    caller: Caller<EventsWrite>,
    id: EventId,
    body: OptionalBody<Cancellation>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, cancellation, expected| {
            edit::cancel(tx, &access, id, expected, cancellation)
        })
        .await
}

/// Postpone an event
///
/// Marks an event as postponed: it takes place later, at a time that is not known yet. Updating `starts_at` schedules
/// it again. The people on the team get an email about an event within the next 14 days.
#[endpoint(post, "/events/{event_id}/postpone", id = "events.postpone", tag = "Events",
    outcome = json!({ "status": "postponed" }),
    200(ObjectResponse<EventView>, "The postponed event."))]
async fn postpone(
    caller: Caller<EventsWrite>,
    id: EventId,
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.change(body, move |tx, NoBody, expected| edit::postpone(tx, &access, id, expected)).await
}

/// Record the result of a game
///
/// Records or replaces the result, seen from the team of the event. A final score or a forfeit completes the event. Send
/// `in_progress` while the game is played: its score can be replaced as often as you like. A result can be recorded from
/// 24 hours before the start. It can be corrected later; the previous value is kept in the audit log.
#[endpoint(put, "/events/{event_id}/result", id = "results.record", tag = "Events",
    example = json!({ "score_for": 3, "score_against": 2, "periods": [{ "for": 1, "against": 2 }, { "for": 2, "against": 0 }] }),
    200(ObjectResponse<EventView>, "The event with its result."))]
async fn record_result(
    caller: Caller<EventsWrite>,
    id: EventId,
    body: Body<NewResult>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, new, expected| result::record(tx, &access, id, expected, new))
        .await
}

/// Delete the result of a game
///
/// Use this for a result that was recorded for the wrong game. The event is scheduled again.
#[endpoint(delete, "/events/{event_id}/result", id = "results.delete", tag = "Events",
    200(ObjectResponse<EventView>, "The event without a result."))]
async fn delete_result(
    caller: Caller<EventsWrite>,
    id: EventId,
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.change(body, move |tx, NoBody, expected| result::delete(tx, &access, id, expected)).await
}

/// Which events of the series to delete.
#[query]
struct DeleteQuery {
    /// Which events of the series to delete. Default: `this`.
    apply_to: Option<ApplyTo>,
}

/// `member_id` needs `needs_rsvp`.
pub(in crate::events) fn check_filter(filter: &mut EventFilter, params: &mut Params) {
    if filter.member_id.is_some() && !filter.needs_rsvp {
        let detail = "`member_id` can only be used together with `needs_rsvp=true`.";
        params.fault("member_id", "not_allowed", detail);
    }
}

/// Export the schedule
///
/// One row per event, ordered by start. Columns: `event_id`, `team_id`, `team`, `type`, `title`, `status`,
/// `starts_at`, `ends_at`, `starts_local`, `ends_local`, `timezone`, `all_day`, `arrival_minutes`, `location`,
/// `address`, `opponent`, `home_away`, `uniform`, `notes`, `rsvp_deadline`, `capacity`, `yes`, `no`, `maybe`,
/// `waitlisted`, `unanswered`, `series_id`, `cancel_reason`, `external_id`.
#[endpoint(get, "/exports/events.csv", id = "exports.events", tag = "Exports",
    200(String, "The CSV file.", "text/csv",
        "event_id,team_id,team,type,title,status,starts_at,ends_at,starts_local,ends_local,timezone,all_day,\
        arrival_minutes,location,address,opponent,home_away,uniform,notes,rsvp_deadline,capacity,yes,no,\
        maybe,waitlisted,unanswered,series_id,cancel_reason,external_id\n\
        evt_01kbm2x5q8f7vr0n3hd9tzc4wy,team_01kbm2x5q8f7vr0n3hd9tzc4wy,Hawks U12,practice,Practice,\
        scheduled,2026-09-07T17:00:00.000000Z,2026-09-07T18:30:00.000000Z,2026-09-07T18:00:00,\
        2026-09-07T19:30:00,Europe/Lisbon,false,,Upper pitch,5 Quay Street,,,,Bring water.,,,11,1,0,0,2,\
        ser_01kbm2x5q8f7vr0n3hd9tzc4wy,,\n"))]
async fn export(caller: Caller<EventsOversee>, query: Download<EventsTable>) -> Result<Response> {
    query.send(&caller, "events.csv").await
}
