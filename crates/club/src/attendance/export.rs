//! Export of attendance: one row per member and event.

use macros::query;

use crate::columns::{Cell, Column};
use crate::prelude::*;
use crate::table::{self, CHUNK_ROWS, Chunk, Table};

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
        event_id: EventId = "a.event_id",
        team_id: TeamId = "e.team_id",
        team: String = "t.name",
        event: String = "e.title",
        event_type: String = "e.kind",
        event_status: String = "e.status",
        starts_at: Timestamp = "e.starts_at",
        starts_local: Zone = "e.timezone" => |line| Cell::text(line.starts_local.local(line.starts_at)),
        member_id: MemberId = "a.member_id",
        first_name: String = "p.first_name",
        last_name: Option<String> = "p.last_name",
        role: String = "m.role",
        status: String = "a.status",
        note: Option<String> = "a.note",
        recorded_by: String = "a.recorded_by",
        recorded_at: Timestamp = "a.recorded_at",
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
        let Self { team_id, from, to } = self;
        let (narrowed, teams) = access.team_filter();
        let (event, member) = after.unwrap_or((EventId::MIN, MemberId::MIN));
        let limit = CHUNK_ROWS;
        let lines = db.all(
            sql!(
                Line::SELECT,
                " from attendance a
                  join event e on e.account_id = a.account_id and e.id = a.event_id
                  join team t on t.account_id = e.account_id and t.id = e.team_id
                  join member m on m.account_id = a.account_id and m.id = a.member_id
                  join person p on p.account_id = m.account_id and p.id = m.person_id
                  where a.account_id = :account and (a.event_id, a.member_id) > (:event, :member)
                    and (cast(:team_id as bytea) is null or e.team_id = :team_id)
                    and (not cast(:narrowed as boolean) or e.team_id in (:teams))
                    and (cast(:from as bigint) is null or e.starts_at >= :from)
                    and (cast(:to as bigint) is null or e.starts_at < :to)
                  order by a.event_id, a.member_id limit :limit"
            ),
            bind! { event, member, team_id, narrowed, teams, from, to, limit },
        )?;
        Ok(table::chunk(lines, |line: &Line| (line.event_id, line.member_id)))
    }
}
