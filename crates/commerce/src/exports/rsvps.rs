//! Export of RSVPs: one row per member and event.

use std::borrow::Cow;

use kit::{Timestamp, Zone};
use store::{Reader, bind, row};

use super::table::{self, CHUNK_ROWS, CsvWriter, Table, cell, optional_cell};
use crate::error::Result;
use crate::ids::{EventId, MemberId, TeamId};
use crate::rights::TeamAccess;

/// Which RSVPs to export.
#[derive(Debug, Default)]
pub struct RsvpsTable {
    pub team_id: Option<TeamId>,
    /// Only for events that start at this time or later.
    pub from: Option<Timestamp>,
    /// Only for events that start before this time.
    pub to: Option<Timestamp>,
}

row! {
    struct Line {
        event_id: EventId,
        member_id: MemberId,
        team_id: TeamId,
        team: String,
        title: String,
        status: String,
        starts_at: Timestamp,
        timezone: Zone,
        first_name: String,
        last_name: Option<String>,
        role: String,
        answer: String,
        note: Option<String>,
        answered_by: String,
        answered_at: Timestamp,
    }
}

const COLUMNS: [&str; 15] = [
    "event_id",
    "team_id",
    "team",
    "event",
    "event_status",
    "starts_at",
    "starts_local",
    "member_id",
    "first_name",
    "last_name",
    "role",
    "answer",
    "note",
    "answered_by",
    "answered_at",
];

impl Table for RsvpsTable {
    type Position = (EventId, MemberId);

    fn columns(&self) -> Vec<Cow<'static, str>> {
        COLUMNS.map(Cow::Borrowed).to_vec()
    }

    fn write(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<Self::Position>,
        writer: &mut CsvWriter,
    ) -> Result<Option<Self::Position>> {
        let lines = self.lines(db, access, after)?;
        let last = lines.last().map(|line| (line.event_id, line.member_id));
        let next = table::next_position(lines.len(), last);
        lines.into_iter().try_for_each(|line| writer.row(cells(line)))?;
        Ok(next)
    }
}

impl RsvpsTable {
    fn lines(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<(EventId, MemberId)>,
    ) -> Result<Vec<Line>> {
        let Self { team_id, from, to } = self;
        let (narrowed, teams) = access.team_filter();
        let (event, member) = after.unwrap_or((EventId::MIN, MemberId::MIN));
        let limit = CHUNK_ROWS;
        Ok(db.all(
            "select r.event_id, r.member_id, e.team_id, t.name as team, e.title, e.status,
                 e.starts_at, e.timezone, p.first_name, p.last_name, m.role, r.answer, r.note,
                 r.answered_by, r.answered_at
             from rsvp r
             join event e on e.account_id = r.account_id and e.id = r.event_id
             join team t on t.account_id = e.account_id and t.id = e.team_id
             join member m on m.account_id = r.account_id and m.id = r.member_id
             join person p on p.account_id = m.account_id and p.id = m.person_id
             where r.account_id = :account and (r.event_id, r.member_id) > (:event, :member)
               and (cast(:team_id as bytea) is null or e.team_id = :team_id)
               and (not cast(:narrowed as boolean) or e.team_id in (:teams))
               and (cast(:from as bigint) is null or e.starts_at >= :from)
               and (cast(:to as bigint) is null or e.starts_at < :to)
             order by r.event_id, r.member_id limit :limit",
            bind! { event, member, team_id, narrowed, teams, from, to, limit },
        )?)
    }
}

fn cells(line: Line) -> [Cow<'static, str>; 15] {
    let local = line.timezone.local(line.starts_at);
    [
        cell(line.event_id),
        cell(line.team_id),
        line.team.into(),
        line.title.into(),
        line.status.into(),
        cell(line.starts_at),
        cell(local),
        cell(line.member_id),
        line.first_name.into(),
        optional_cell(line.last_name),
        line.role.into(),
        line.answer.into(),
        optional_cell(line.note),
        line.answered_by.into(),
        cell(line.answered_at),
    ]
}
