//! Export of attendance: one row per member and event.

use macros::query;

use crate::columns::{Cell, Column};
use crate::events::rsvp_export::{OF_MEMBERS_AT_EVENTS, read_chunk};
use crate::prelude::*;
use crate::table::{self, Chunk, Table};

/// Which attendance to export.
#[query]
#[derive(Default)]
pub struct AttendanceTable {
    /// Only this team.
    pub team_id: Option<TeamId>,
    /// Only events that start at this time or later. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only events that start before this time. A date means the start of that day in UTC.
    pub to: Option<Timestamp>,
}

crate::export_row! {
    pub struct Line {
        event_id: EventId = "x.event_id",
        team_id: TeamId = "e.team_id",
        team: String = "t.name",
        event: String = "e.title",
        event_type: String = "e.kind",
        event_status: String = "e.status",
        starts_at: Timestamp = "e.starts_at",
        starts_local: Zone = "e.timezone" => |line| Cell::text(line.starts_local.local(line.starts_at)),
        member_id: MemberId = "x.member_id",
        first_name: String = "p.first_name",
        last_name: Option<String> = "p.last_name",
        role: String = "m.role",
        status: String = "x.status",
        note: Option<String> = "x.note",
        recorded_by: String = "x.recorded_by",
        recorded_at: Timestamp = "x.recorded_at",
    }
}

impl Table for AttendanceTable {
    type Row = Line;
    type Position = (EventId, MemberId);
    const COLUMNS: &[Column<Line>] = Line::COLUMNS;

    fn read(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<Self::Position>,
    ) -> Result<Chunk<Line, Self::Position>> {
        let Self { team_id, from, to } = *self;
        let lines = sql!(Line::SELECT, " from attendance x", OF_MEMBERS_AT_EVENTS);
        let lines = read_chunk(db, lines, access, (team_id, from, to), after)?;
        Ok(table::chunk(lines, |line: &Line| (line.event_id, line.member_id)))
    }
}
