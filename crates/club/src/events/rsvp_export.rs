//! Export of RSVPs: one row per member and event.

use macros::query;

use crate::columns::{Cell, Column};
use crate::prelude::*;
use crate::table::{self, CHUNK_ROWS, Chunk, Table};

/// Which RSVPs to export.
#[query]
#[derive(Default)]
pub struct RsvpsTable {
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
        event_status: String = "e.status",
        starts_at: Timestamp = "e.starts_at",
        starts_local: Zone = "e.timezone" => |line| Cell::text(line.starts_local.local(line.starts_at)),
        member_id: MemberId = "x.member_id",
        first_name: String = "p.first_name",
        last_name: Option<String> = "p.last_name",
        role: String = "m.role",
        answer: String = "x.answer",
        note: Option<String> = "x.note",
        answered_by: String = "x.answered_by",
        answered_at: Timestamp = "x.answered_at",
    }
}

impl Table for RsvpsTable {
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
        let lines = sql!(Line::SELECT, " from rsvp x", OF_MEMBERS_AT_EVENTS);
        let lines = read_chunk(db, lines, access, (team_id, from, to), after)?;
        Ok(table::chunk(lines, |line: &Line| (line.event_id, line.member_id)))
    }
}

/// Joins the members at events in table `x`, and restricts them to what [`read_chunk`] binds.
pub(crate) const OF_MEMBERS_AT_EVENTS: &str = "
    join event e on e.account_id = x.account_id and e.id = x.event_id
    join team t on t.account_id = e.account_id and t.id = e.team_id
    join member m on m.account_id = x.account_id and m.id = x.member_id
    join person p on p.account_id = m.account_id and p.id = m.person_id
    where x.account_id = :account and (x.event_id, x.member_id) > (:event, :member)
      and (cast(:team_id as bytea) is null or e.team_id = :team_id)
      and (not cast(:narrowed as boolean) or e.team_id in (:teams))
      and (cast(:from as bigint) is null or e.starts_at >= :from)
      and (cast(:to as bigint) is null or e.starts_at < :to)
    order by x.event_id, x.member_id limit :limit";

/// Reads the next rows of a query that ends with [`OF_MEMBERS_AT_EVENTS`].
pub(crate) fn read_chunk<R: store::Record>(
    db: &Reader<'_>,
    query: &'static str,
    access: &TeamAccess,
    (team_id, from, to): (Option<TeamId>, Option<Timestamp>, Option<Timestamp>),
    after: Option<(EventId, MemberId)>,
) -> Result<Vec<R>> {
    let (narrowed, teams) = access.team_filter();
    let (event, member) = after.unwrap_or((EventId::MIN, MemberId::MIN));
    let limit = CHUNK_ROWS;
    Ok(db.all(query, bind! { event, member, team_id, narrowed, teams, from, to, limit })?)
}
