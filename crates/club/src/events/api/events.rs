//! Endpoints of events.

use axum::response::Response;
use kit::recurrence::Rule;
use kit::{Change, Timestamp};
use utoipa_axum::routes;

use crate::error::{Error, Result};
use crate::events::duty::NewDuty;
use crate::events::edit::{self, ApplyTo, Cancellation, EventChange};
use crate::events::event::{self, EventFilter, EventView, Kind, Status};
use crate::events::event_time::{EventTime, NOT_A_TIME};
use crate::events::schedule::{self, NewEvent};
use crate::ids::{EventId, LocationId, MemberId, SeriesId, TeamId};
use crate::paging::Order;
use crate::web::body::{Body, NoBody, OptionalBody};
use crate::web::caller::{Caller, EventsRead, EventsWrite};
use crate::web::cursor::Paging;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::PathParams;
use crate::web::query::{FromQuery, MAX_IDS, NoQuery, Params, Query, one_or_several};
use crate::web::reply::{ListResponse, ObjectResponse};
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
/// Returns events ordered by start, including cancelled ones unless you filter by `status`.
#[utoipa::path(get, path = "/events", operation_id = "events_list", tag = "Events",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of events per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`."),
        ("team_id" = Option<Vec<TeamId>>, Query, style = Form, explode = false, description = "Only objects of these teams, separated by commas; at most 50."),
        ("from" = Option<Timestamp>, Query, description = "Only events that start at this time or later. A date means the start of that day in UTC."),
        ("to" = Option<Timestamp>, Query, description = "Only events that start before this time. A date means the start of that day in UTC."),
        ("type" = Option<Vec<Kind>>, Query, style = Form, explode = false, description = "Only events of these types, separated by commas."),
        ("status" = Option<Status>, Query, description = "Filter by status."),
        ("series_id" = Option<SeriesId>, Query, description = "Only events of this series."),
        ("location_id" = Option<LocationId>, Query, description = "Only events at this location."),
        ("external_id" = Option<String>, Query, description = "Only the event with this ID in another system."),
        ("updated_since" = Option<Timestamp>, Query, description = "Only objects that changed at or after this time."),
        ("needs_rsvp" = Option<bool>, Query, description = "Set to `true` for scheduled events with missing RSVPs only. Best combined with `from`."),
        ("member_id" = Option<MemberId>, Query, description = "With `needs_rsvp`: only events without an RSVP of this member.")),
    responses((status = 200, description = "A page of events.", body = ListResponse<EventView>)),
    security(("key" = ["events:read"])))]
async fn list(
    caller: Caller<EventsRead>,
    Query(paging): Query<Paging<EventFilter>>,
) -> Result<Response> {
    caller.page(paging, event::list).await
}

/// Create an event
///
/// With `recurrence`, creates a series and returns its first event. `warnings` lists overlapping events.
#[utoipa::path(post, path = "/events", operation_id = "events_create", tag = "Events",
    request_body(content = NewEvent, example = json!({ "team_id": "team_01kbm2x5q8f7vr0n3hd9tzc4wy", "type": "practice", "starts_at": "2026-09-08T18:30", "ends_at": "2026-09-08T20:00", "recurrence": "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=20" })),
    responses((status = 201, description = "The new event, or the first of the series.", body = ObjectResponse<EventView>)),
    security(("key" = ["events:write"])))]
async fn create(
    caller: Caller<EventsWrite>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<NewEvent>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.create(body, move |tx, new| schedule::create(tx, &access, new)).await
}

/// Retrieve an event
///
/// Returns an event with its location, duties and RSVP counts. `warnings` is empty here.
#[utoipa::path(get, path = "/events/{event_id}", operation_id = "events_get", tag = "Events",
    params(("event_id" = EventId, Path)),
    responses((status = 200, description = "The event.", body = ObjectResponse<EventView>)),
    security(("key" = ["events:read"])))]
async fn find(
    caller: Caller<EventsRead>,
    PathParams(id): PathParams<EventId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| event::view(db, event::find(db, &access, id)?)).await
}

/// Update an event
///
/// Omitted fields stay unchanged; `null` clears a field. In a series, `apply_to` selects whether the following events
/// or all events change too. Events that were changed individually stay unchanged, unless `override_exceptions` is
/// `true`: then the fields of this request apply to them too, and a new start moves them back into the series. Events
/// that are over keep their times, unless this event is over itself.
#[utoipa::path(patch, path = "/events/{event_id}", operation_id = "events_update", tag = "Events",
    params(("event_id" = EventId, Path)),
    request_body(content = EventChange, example = json!({ "starts_at": "2026-09-08T19:00", "notes": "Starts half an hour later" })),
    responses((status = 200, description = "The updated event.", body = ObjectResponse<EventView>)),
    security(("key" = ["events:write"])))]
async fn change(
    caller: Caller<EventsWrite>,
    PathParams(id): PathParams<EventId>,
    Query(NoQuery): Query<NoQuery>,
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
#[utoipa::path(delete, path = "/events/{event_id}", operation_id = "events_delete", tag = "Events",
    params(("event_id" = EventId, Path),
        ("apply_to" = Option<ApplyTo>, Query, description = "Which events of the series to delete. Default: `this`.")),
    responses((status = 200, description = "The deleted event.", body = ObjectResponse<EventView>)),
    security(("key" = ["events:write"])))]
async fn delete(
    caller: Caller<EventsWrite>,
    PathParams(id): PathParams<EventId>,
    Query(DeleteQuery(apply_to)): Query<DeleteQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, NoBody, expected| {
            let deleted = edit::delete(tx, &access, id, expected, apply_to);
            deleted.map_err(Error::with_parameters)
        })
        .await
}

/// Cancel an event
///
/// The event stays visible. In a series, `apply_to` selects whether the following events or all events are cancelled
/// too. Events that are over are skipped, unless this event is over itself.
#[utoipa::path(post, path = "/events/{event_id}/cancel", operation_id = "events_cancel", tag = "Events",
    params(("event_id" = EventId, Path)),
    request_body(content = Cancellation, example = json!({ "reason": "Pitch under water", "apply_to": "this" })),
    responses((status = 200, description = "The cancelled event.", body = ObjectResponse<EventView>)),
    security(("key" = ["events:write"])))]
async fn cancel(
    caller: Caller<EventsWrite>,
    PathParams(id): PathParams<EventId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<Cancellation>,
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
/// it again.
#[utoipa::path(post, path = "/events/{event_id}/postpone", operation_id = "events_postpone", tag = "Events",
    params(("event_id" = EventId, Path)),
    responses((status = 200, description = "The postponed event.", body = ObjectResponse<EventView>)),
    security(("key" = ["events:write"])))]
async fn postpone(
    caller: Caller<EventsWrite>,
    PathParams(id): PathParams<EventId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.change(body, move |tx, NoBody, expected| edit::postpone(tx, &access, id, expected)).await
}

fn time(fields: &mut Fields, name: &str) -> Change<EventTime> {
    fields.parsed(name, "invalid_time", NOT_A_TIME)
}

/// Reports an end that is not after the start, if the body has other faults.
fn check_times(fields: &mut Fields, start: Option<EventTime>, end: Option<EventTime>) {
    let is_wrong = start.zip(end).is_some_and(|(start, end)| end.is_not_after(&start));
    if is_wrong && fields.has_faults() {
        fields.fault("ends_at", "ends_before_start", "`ends_at` must be after `starts_at`.");
    }
}

fn duties(fields: &mut Fields) -> Change<Vec<NewDuty>> {
    fields.objects("duties", DUTIES, |duty| NewDuty {
        id: duty.id("id").apply(None),
        name: duty.required_line("name", NAME),
        slots: duty.number("slots", 1, 100).apply_or(1, 1),
    })
}

impl FromBody for NewEvent {
    fn read(fields: &mut Fields) -> Self {
        let (team, kind, start) =
            (fields.id("team_id"), fields.enum_value("type"), time(fields, "starts_at"));
        // Placeholder for a missing field. It is never used, since the request is rejected.
        let placeholder = EventTime::Moment(Timestamp::from_micros(0));
        let new = Self {
            team_id: fields.required("team_id", team).unwrap_or(TeamId::MIN),
            kind: fields.required("type", kind).unwrap_or(Kind::Other),
            title: fields.line("title", NAME).apply(None),
            starts_at: fields.required("starts_at", start).unwrap_or(placeholder),
            ends_at: time(fields, "ends_at").apply(None),
            timezone: fields.zone("timezone").apply(None),
            all_day: fields.flag("all_day").apply_or(false, false),
            arrival_minutes: fields.number("arrival_minutes", 0, 600).apply(None),
            location_id: fields.id("location_id").apply(None),
            opponent: fields.line("opponent", NAME).apply(None),
            home_away: fields.enum_value("home_away").apply(None),
            uniform: fields.line("uniform", NAME).apply(None),
            notes: fields.block("notes", BODY).apply(None),
            rsvp_enabled: fields.flag("rsvp_enabled").apply_or(true, true),
            rsvp_deadline: time(fields, "rsvp_deadline").apply(None),
            capacity: fields.number("capacity", 1, 100_000).apply(None),
            duties: duties(fields).apply(None).unwrap_or_default(),
            recurrence: fields.block("recurrence", BODY).apply(None),
            external_id: fields.line("external_id", NAME).apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        };
        if !fields.is_faulty("starts_at") {
            check_times(fields, Some(new.starts_at), new.ends_at);
        }
        if let Some(Err(fault)) = new.recurrence.as_deref().map(str::parse::<Rule>)
            && fields.has_faults()
        {
            fields.fault("recurrence", "invalid_recurrence", fault.to_string());
        }
        new
    }
}

impl FromBody for EventChange {
    fn read(fields: &mut Fields) -> Self {
        let (kind, start, end) =
            (fields.enum_value("type"), time(fields, "starts_at"), time(fields, "ends_at"));
        let (all_day, rsvp_enabled) = (fields.flag("all_day"), fields.flag("rsvp_enabled"));
        let read = Self {
            kind: fields.non_null("type", kind),
            title: fields.line("title", NAME),
            starts_at: fields.non_null("starts_at", start),
            ends_at: fields.non_null("ends_at", end),
            timezone: fields.zone("timezone"),
            all_day: fields.non_null("all_day", all_day),
            arrival_minutes: fields.number("arrival_minutes", 0, 600),
            location_id: fields.id("location_id"),
            opponent: fields.line("opponent", NAME),
            home_away: fields.enum_value("home_away"),
            uniform: fields.line("uniform", NAME),
            notes: fields.block("notes", BODY),
            rsvp_enabled: fields.non_null("rsvp_enabled", rsvp_enabled),
            rsvp_deadline: time(fields, "rsvp_deadline"),
            capacity: fields.number("capacity", 1, 100_000),
            duties: match duties(fields) {
                Change::Keep => None,
                Change::Clear => Some(Vec::new()),
                Change::Set(duties) => Some(duties),
            },
            external_id: fields.line("external_id", NAME),
            metadata: fields.metadata("metadata"),
            apply_to: fields.enum_value("apply_to").apply_or(ApplyTo::This, ApplyTo::This),
            override_exceptions: fields.flag("override_exceptions").apply_or(false, false),
        };
        check_times(fields, read.starts_at, read.ends_at);
        read
    }
}

impl FromBody for Cancellation {
    fn read(fields: &mut Fields) -> Self {
        Self {
            reason: fields.block("reason", REASON).apply(None),
            apply_to: fields.enum_value("apply_to").apply_or(ApplyTo::This, ApplyTo::This),
        }
    }
}

/// Query parameters of a deletion.
struct DeleteQuery(ApplyTo);

impl FromQuery for DeleteQuery {
    fn read(params: &mut Params) -> Self {
        Self(params.enum_value("apply_to").unwrap_or(ApplyTo::This))
    }
}

impl FromQuery for EventFilter {
    fn read(params: &mut Params) -> Self {
        let (team_id, team_ids) = one_or_several(params.ids("team_id", MAX_IDS));
        let (kind, kinds) = one_or_several(params.enum_values("type"));
        let filter = Self {
            team_id,
            team_ids,
            from: params.timestamp("from"),
            to: params.timestamp("to"),
            kind,
            kinds,
            status: params.enum_value("status"),
            series_id: params.id("series_id"),
            location_id: params.id("location_id"),
            external_id: params.line("external_id", NAME),
            updated_since: params.timestamp("updated_since"),
            needs_rsvp: params.flag("needs_rsvp").unwrap_or(false),
            member_id: params.id("member_id"),
        };
        if filter.member_id.is_some() && !filter.needs_rsvp {
            params.fault(
                "member_id",
                "not_allowed",
                "`member_id` can only be used together with `needs_rsvp=true`.",
            );
        }
        filter
    }
}
