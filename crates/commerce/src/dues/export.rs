//! Export of dues: one row per due.

use macros::query;

use crate::columns::Column;
use crate::prelude::*;
use crate::table::{self, CHUNK_ROWS, Chunk, Table};

/// Which dues to export.
#[query]
#[derive(Default)]
pub struct DuesTable {
    /// Only this team.
    pub team_id: Option<TeamId>,
}

crate::export_row! {
    pub struct Line {
        due_id: DueId = "d.id",
        charge_id: ChargeId = "d.charge_id",
        team_id: TeamId = "d.team_id",
        team: String = "t.name",
        member_id: MemberId = "d.member_id",
        first_name: String = "p.first_name",
        last_name: Option<String> = "p.last_name",
        payer_id: PersonId = "d.payer_id",
        payer_first_name: String = "g.first_name",
        payer_last_name: Option<String> = "g.last_name",
        title: String = "d.title",
        category: String = "d.category",
        currency: String = "d.currency",
        amount: i64 = "d.amount",
        discount: i64 = "d.discount",
        late_fee: i64 = "d.late_fee",
        paid: i64 = "d.paid",
        waived: i64 = "d.waived",
        balance: i64 = "d.amount - d.discount + d.late_fee - d.paid - d.waived",
        status: String = "d.status",
        overdue: bool = "coalesce(d.overdue_at <= :now, false)",
        due_on: Day = "d.due_on",
        next_due_on: Option<Day> = "d.next_due_on",
        created_at: Timestamp = "d.created_at",
    }
}

impl Table for DuesTable {
    type Row = Line;
    type Position = DueId;
    const COLUMNS: &[Column<Line>] = Line::COLUMNS;

    fn read(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<DueId>,
    ) -> Result<Chunk<Line, DueId>> {
        let (narrowed, teams) = access.team_filter();
        let (team_id, after, limit) = (self.team_id, after.unwrap_or(DueId::MIN), CHUNK_ROWS);
        let lines = db.all(
            sql!(
                Line::SELECT,
                " from due d
                  join team t on t.account_id = d.account_id and t.id = d.team_id
                  join person p on p.account_id = d.account_id and p.id = d.person_id
                  join person g on g.account_id = d.account_id and g.id = d.payer_id
                  where d.account_id = :account and d.id > :after
                    and (cast(:team_id as bytea) is null or d.team_id = :team_id)
                    and (not cast(:narrowed as boolean) or d.team_id in (:teams))
                  order by d.id limit :limit"
            ),
            bind! { after, team_id, narrowed, teams, limit, now: db.now() },
        )?;
        Ok(table::chunk(lines, |line: &Line| line.due_id))
    }
}
