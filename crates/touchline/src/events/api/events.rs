//! The JSON endpoints of events.

use axum::response::Response;
use kit::{Change, Timestamp};
use utoipa_axum::routes;

use crate::error::Result;
use crate::events::duty::NewDuty;
use crate::events::edit::{self, ApplyTo, Cancellation, EventChange};
use crate::events::event::{self, EventFilter, Kind, Shown, Status};
use crate::events::schedule::{self, NewEvent};
use crate::events::when::{NOT_A_TIME, When};
use crate::ids::{EventId, LocationId, MemberId, SeriesId, TeamId};
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, EventsRead, EventsWrite};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

const NAME: usize = 120;
const REASON: usize = 500;
const BODY: usize = 10_000;
const DUTIES: usize = 50;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(list, create))
        .with(routes!(find, change, delete))
        .with(routes!(cancel))
        .with(routes!(postpone))
}

/// List events
///
/// By start. Cancelled events are among them, unless `status` says otherwise.
#[utoipa::path(get, path = "/events", operation_id = "events_list", tag = "Events",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many events to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("team_id" = Option<TeamId>, Query, description = "Only events of this team."),
        ("from" = Option<Timestamp>, Query, description = "Only events that start at this moment or later; a day is its beginning in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only events that start before this moment; a day is its beginning in UTC."),
        ("type" = Option<Kind>, Query, description = "Only events of this type."),
        ("status" = Option<Status>, Query, description = "Only events that stand so."),
        ("series_id" = Option<SeriesId>, Query, description = "Only events of this series."),
        ("location_id" = Option<LocationId>, Query, description = "Only events at this location."),
        ("external_id" = Option<String>, Query, description = "Only the event with this id in another system."),
        ("needs_answer" = Option<bool>, Query, description = "`true`: only scheduled events that ask for answers and lack some. Combine it with `from`."),
        ("member_id" = Option<MemberId>, Query, description = "With `needs_answer`: only events that lack the answer of this member.")),
    responses((status = 200, description = "A page of events.", body = Many<Shown>), Problems),
    security(("key" = ["events:read"])))]
async fn list(
    caller: Caller<EventsRead>,
    Query(paging): Query<Paging<EventFilter>>,
) -> Result<Response> {
    caller.page(paging, event::list).await
}

/// Create an event
///
/// With `recurrence`, a series: the answer is its first event. What overlaps is told in `warnings`.
#[utoipa::path(post, path = "/events", operation_id = "events_create", tag = "Events",
    request_body(content = NewEvent, example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "type": "practice", "starts_at": "2026-09-08T18:30", "ends_at": "2026-09-08T20:00", "recurrence": "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20" })),
    responses((status = 201, description = "The new event, or the first of the series.", body = One<Shown>), Problems),
    security(("key" = ["events:write"])))]
async fn create(
    caller: Caller<EventsWrite>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewEvent>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.create(body, move |tx, new| schedule::create(tx, &reach, new)).await
}

/// Get an event
#[utoipa::path(get, path = "/events/{event_id}", operation_id = "events_get", tag = "Events",
    params(("event_id" = EventId, Path)),
    responses((status = 200, description = "The event.", body = One<Shown>), Problems),
    security(("key" = ["events:read"])))]
async fn find(
    caller: Caller<EventsRead>,
    At(id): At<EventId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.one(move |db| event::show_one(db, event::find(db, &reach, id)?)).await
}

/// Change an event
///
/// Members that are left out stay as they are; `null` clears. In a series, `apply_to` says whether the
/// following events or all of them change too. Those that were changed by themselves keep out of it unless
/// `overwrite_edits` is `true`; then they follow in what the change names, also to where the series has
/// them. Those that are over keep their times, unless the change is sent to one that is over.
#[utoipa::path(patch, path = "/events/{event_id}", operation_id = "events_update", tag = "Events",
    params(("event_id" = EventId, Path)),
    request_body(content = EventChange, example = json!({ "starts_at": "2026-09-08T19:00", "notes": "Half an hour later" })),
    responses((status = 200, description = "The event after the change.", body = One<Shown>), Problems),
    security(("key" = ["events:write"])))]
async fn change(
    caller: Caller<EventsWrite>,
    At(id): At<EventId>,
    Query(Nothing): Query<Nothing>,
    body: Body<EventChange>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .change(body, move |tx, change, expected| edit::change(tx, &reach, id, expected, change))
        .await
}

/// Delete an event
///
/// As if it had never been planned; only while nobody has answered. Otherwise cancel it. Events that are
/// cancelled stay, and so do those of its series that are over, unless this one is over itself.
#[utoipa::path(delete, path = "/events/{event_id}", operation_id = "events_delete", tag = "Events",
    params(("event_id" = EventId, Path),
        ("apply_to" = Option<ApplyTo>, Query, description = "Which events of its series; `this` if left out.")),
    responses((status = 200, description = "The event as it was.", body = One<Shown>), Problems),
    security(("key" = ["events:write"])))]
async fn delete(
    caller: Caller<EventsWrite>,
    At(id): At<EventId>,
    Query(Meant(apply_to)): Query<Meant>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let reach = caller.reach();
    caller
        .change(body, move |tx, NoBody, expected| edit::delete(tx, &reach, id, expected, apply_to))
        .await
}

/// Cancel an event
///
/// It stays visible. In a series, `apply_to` says whether the following events or all of them are
/// cancelled too; those that are over are not, unless this one is over itself.
#[utoipa::path(post, path = "/events/{event_id}/cancel", operation_id = "events_cancel", tag = "Events",
    params(("event_id" = EventId, Path)),
    request_body(content = Cancellation, example = json!({ "reason": "Pitch under water", "apply_to": "this" })),
    responses((status = 200, description = "The cancelled event.", body = One<Shown>), Problems),
    security(("key" = ["events:write"])))]
async fn cancel(
    caller: Caller<EventsWrite>,
    At(id): At<EventId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<Cancellation>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.change(body, move |tx, why, expected| edit::cancel(tx, &reach, id, expected, why)).await
}

/// Postpone an event
///
/// It is held at another time, not yet known. Changing its `starts_at` schedules it again.
#[utoipa::path(post, path = "/events/{event_id}/postpone", operation_id = "events_postpone", tag = "Events",
    params(("event_id" = EventId, Path)),
    responses((status = 200, description = "The postponed event.", body = One<Shown>), Problems),
    security(("key" = ["events:write"])))]
async fn postpone(
    caller: Caller<EventsWrite>,
    At(id): At<EventId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.change(body, move |tx, NoBody, expected| edit::postpone(tx, &reach, id, expected)).await
}

fn when(fields: &mut Fields, name: &str) -> Change<When> {
    fields.parsed(name, "invalid_time", NOT_A_TIME)
}

fn duties(fields: &mut Fields) -> Change<Vec<NewDuty>> {
    fields.objects("duties", DUTIES, |duty| NewDuty {
        id: duty.id("id").apply(None),
        name: duty.required_line("name", NAME),
        needed: duty.number("needed", 1, 100).apply_or(1, 1),
    })
}

impl FromBody for NewEvent {
    fn read(fields: &mut Fields) -> Self {
        let (team, kind, start) =
            (fields.id("team_id"), fields.word("type"), when(fields, "starts_at"));
        // What stands in for a member that is missing is never used.
        let nowhere = When::Moment(Timestamp::from_micros(0));
        Self {
            team_id: fields.required("team_id", team).unwrap_or(TeamId::LEAST),
            kind: fields.required("type", kind).unwrap_or(Kind::Other),
            title: fields.line("title", NAME).apply(None),
            starts_at: fields.required("starts_at", start).unwrap_or(nowhere),
            ends_at: when(fields, "ends_at").apply(None),
            timezone: fields.zone("timezone").apply(None),
            all_day: fields.flag("all_day").apply_or(false, false),
            arrival_minutes: fields.number("arrival_minutes", 0, 600).apply(None),
            location_id: fields.id("location_id").apply(None),
            opponent: fields.line("opponent", NAME).apply(None),
            home_away: fields.word("home_away").apply(None),
            uniform: fields.line("uniform", NAME).apply(None),
            notes: fields.block("notes", BODY).apply(None),
            asks_rsvp: fields.flag("asks_rsvp").apply_or(true, true),
            rsvp_deadline: when(fields, "rsvp_deadline").apply(None),
            capacity: fields.number("capacity", 1, 100_000).apply(None),
            duties: duties(fields).apply(None).unwrap_or_default(),
            recurrence: fields.block("recurrence", BODY).apply(None),
            external_id: fields.line("external_id", NAME).apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        }
    }
}

impl FromBody for EventChange {
    fn read(fields: &mut Fields) -> Self {
        let (kind, start, end) =
            (fields.word("type"), when(fields, "starts_at"), when(fields, "ends_at"));
        let (all_day, asks_rsvp) = (fields.flag("all_day"), fields.flag("asks_rsvp"));
        Self {
            kind: fields.kept("type", kind),
            title: fields.line("title", NAME),
            starts_at: fields.kept("starts_at", start),
            ends_at: fields.kept("ends_at", end),
            timezone: fields.zone("timezone"),
            all_day: fields.kept("all_day", all_day),
            arrival_minutes: fields.number("arrival_minutes", 0, 600),
            location_id: fields.id("location_id"),
            opponent: fields.line("opponent", NAME),
            home_away: fields.word("home_away"),
            uniform: fields.line("uniform", NAME),
            notes: fields.block("notes", BODY),
            asks_rsvp: fields.kept("asks_rsvp", asks_rsvp),
            rsvp_deadline: when(fields, "rsvp_deadline"),
            capacity: fields.number("capacity", 1, 100_000),
            duties: match duties(fields) {
                Change::Keep => None,
                Change::Clear => Some(Vec::new()),
                Change::Set(duties) => Some(duties),
            },
            external_id: fields.line("external_id", NAME),
            metadata: fields.metadata("metadata"),
            apply_to: fields.word("apply_to").apply_or(ApplyTo::This, ApplyTo::This),
            overwrite_edits: fields.flag("overwrite_edits").apply_or(false, false),
        }
    }
}

impl FromBody for Cancellation {
    fn read(fields: &mut Fields) -> Self {
        Self {
            reason: fields.block("reason", REASON).apply(None),
            apply_to: fields.word("apply_to").apply_or(ApplyTo::This, ApplyTo::This),
        }
    }
}

/// Which events of a series a deletion means.
struct Meant(ApplyTo);

impl FromQuery for Meant {
    fn read(params: &mut Params) -> Self {
        Self(params.word("apply_to").unwrap_or(ApplyTo::This))
    }
}

impl FromQuery for EventFilter {
    fn read(params: &mut Params) -> Self {
        let filter = Self {
            team_id: params.id("team_id"),
            from: params.moment("from"),
            to: params.moment("to"),
            kind: params.word("type"),
            status: params.word("status"),
            series_id: params.id("series_id"),
            location_id: params.id("location_id"),
            external_id: params.line("external_id", NAME),
            needs_answer: params.flag("needs_answer").unwrap_or(false),
            member_id: params.id("member_id"),
        };
        if filter.member_id.is_some() && !filter.needs_answer {
            params.fault("member_id", "misplaced", "This goes together with needs_answer=true.");
        }
        filter
    }
}
