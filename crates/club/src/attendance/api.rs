//! Endpoints of attendance.

use super::export::AttendanceTable;
use super::rates::{self, AttendanceFilter, MemberAttendance};
use super::sheet::{self, AttendanceSnapshot, NewEntries, Sheet};
use crate::events::{EventsOversee, EventsRead, EventsWrite};
use crate::prelude::*;
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes
        .with_schema::<AttendanceSnapshot>()
        .with(routes!(find, record))
        .with(routes!(of_team))
        .with(routes!(export))
}

/// Retrieve the attendance of an event
///
/// Returns the members whose attendance is recorded, in roster order. Families only see their own members.
#[endpoint(get, "/events/{event_id}/attendance", id = "attendance.get", tag = "Events",
    200(ObjectResponse<Sheet>, "The attendance."))]
async fn find(caller: Caller<EventsRead>, id: EventId) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| sheet::find(db, &access, id)).await
}

/// Record the attendance of an event
///
/// Replaces the entries of these members. Members who are left out stay unchanged. Possible from 24 hours before the
/// start of the event.
#[endpoint(put, "/events/{event_id}/attendance", id = "attendance.record", tag = "Events",
    example = json!({ "entries": [{ "member_id": "mem_01kbm2x5q8f7vr0n3hd9tzc4wy", "status": "late", "note": "Bus was late" }] }),
    200(ObjectResponse<Sheet>, "The recorded attendance."))]
async fn record(
    caller: Caller<EventsWrite>,
    id: EventId,
    body: Body<NewEntries>,
) -> Result<Response> {
    let access = caller.team_access();
    caller
        .change(body, move |tx, new, expected| sheet::record(tx, &access, id, expected, new))
        .await
}

/// List the attendance of a team's members
///
/// Returns how often each member was at the team's events, in roster order. Members who have left the team appear if they
/// have any attendance. Cancelled events do not count. Families only see their own members.
#[endpoint(get, "/teams/{team_id}/attendance", id = "attendance.list_for_team", tag = "Events",
    200(ListResponse<MemberAttendance>, "A page of members."))]
async fn of_team(
    caller: Caller<EventsRead>,
    team: TeamId,
    paging: Paging<AttendanceFilter>,
) -> Result<Response> {
    caller
        .page(paging, move |db, access, filter, page| {
            rates::of_team(db, access, team, filter, page)
        })
        .await
}

/// Export attendance
///
/// One row per member and event. Columns: `event_id`, `team_id`, `team`, `event`, `event_type`, `event_status`,
/// `starts_at`, `starts_local`, `member_id`, `first_name`, `last_name`, `role`, `status`, `note`, `recorded_by`,
/// `recorded_at`.
#[endpoint(get, "/exports/attendance.csv", id = "exports.attendance", tag = "Exports",
    200(String, "The CSV file.", "text/csv",
        "event_id,team_id,team,event,event_type,event_status,starts_at,starts_local,member_id,first_name,\
        last_name,role,status,note,recorded_by,recorded_at\n\
        evt_01kbm2x5q8f7vr0n3hd9tzc4wy,team_01kbm2x5q8f7vr0n3hd9tzc4wy,Hawks U12,Practice,practice,\
        scheduled,2026-10-27T17:00:00.000000Z,2026-10-27T17:00:00,mem_01kbm2x5q8f7vr0n3hd9tzc4wy,Inês,\
        Duarte,player,present,,key_01kbm2x5q8f7vr0n3hd9tzc4wy,2026-10-27T18:40:17.759460Z\n"))]
async fn export(
    caller: Caller<EventsOversee>,
    query: Download<AttendanceTable>,
) -> Result<Response> {
    caller.require_teams(query.table.team_id, &[])?;
    query.send(&caller, "attendance.csv").await
}
