//! Export of dues: one row per due.

use std::borrow::Cow;

use kit::{Currency, Day, Timestamp};
use store::{Reader, bind, row};

use super::table::{self, CHUNK_ROWS, CsvWriter, Table, cell, optional_cell};
use crate::error::Result;
use crate::ids::{ChargeId, DueId, MemberId, PersonId, TeamId};
use crate::rights::TeamAccess;

/// Which dues to export.
#[derive(Debug, Default)]
pub struct DuesTable {
    pub team_id: Option<TeamId>,
}

row! {
    struct Line {
        id: DueId,
        charge_id: ChargeId,
        team_id: TeamId,
        team: String,
        member_id: MemberId,
        first_name: String,
        last_name: Option<String>,
        payer_id: PersonId,
        payer_first_name: String,
        payer_last_name: Option<String>,
        title: String,
        category: String,
        currency: Currency,
        amount: i64,
        discount: i64,
        late_fee: i64,
        paid: i64,
        waived: i64,
        status: String,
        due_on: Day,
        next_due_on: Option<Day>,
        overdue_at: Option<Timestamp>,
        created_at: Timestamp,
    }
}

const COLUMNS: [&str; 24] = [
    "due_id",
    "charge_id",
    "team_id",
    "team",
    "member_id",
    "first_name",
    "last_name",
    "payer_id",
    "payer_first_name",
    "payer_last_name",
    "title",
    "category",
    "currency",
    "amount",
    "discount",
    "late_fee",
    "paid",
    "waived",
    "balance",
    "status",
    "overdue",
    "due_on",
    "next_due_on",
    "created_at",
];

impl Table for DuesTable {
    type Position = DueId;

    fn columns(&self) -> Vec<Cow<'static, str>> {
        COLUMNS.map(Cow::Borrowed).to_vec()
    }

    fn write(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<DueId>,
        writer: &mut CsvWriter,
    ) -> Result<Option<DueId>> {
        let (narrowed, teams) = access.team_filter();
        let (team_id, after, limit) = (self.team_id, after.unwrap_or(DueId::MIN), CHUNK_ROWS);
        let lines: Vec<Line> = db.all(
            "select d.id, d.charge_id, d.team_id, t.name as team, d.member_id, p.first_name,
                 p.last_name, d.payer_id, g.first_name as payer_first_name,
                 g.last_name as payer_last_name, d.title, d.category, d.currency, d.amount,
                 d.discount, d.late_fee, d.paid, d.waived, d.status, d.due_on, d.next_due_on,
                 d.overdue_at, d.created_at
             from due d
             join team t on t.account_id = d.account_id and t.id = d.team_id
             join person p on p.account_id = d.account_id and p.id = d.person_id
             join person g on g.account_id = d.account_id and g.id = d.payer_id
             where d.account_id = :account and d.id > :after
               and (cast(:team_id as bytea) is null or d.team_id = :team_id)
               and (not cast(:narrowed as boolean) or d.team_id in (:teams))
             order by d.id limit :limit",
            bind! { after, team_id, narrowed, teams, limit },
        )?;
        let next = table::next_position(lines.len(), lines.last().map(|line| line.id));
        lines.into_iter().try_for_each(|line| writer.row(cells(line, db.now())))?;
        Ok(next)
    }
}

fn cells(line: Line, now: Timestamp) -> [Cow<'static, str>; 24] {
    let balance = line.amount - line.discount + line.late_fee - line.paid - line.waived;
    [
        cell(line.id),
        cell(line.charge_id),
        cell(line.team_id),
        line.team.into(),
        cell(line.member_id),
        line.first_name.into(),
        optional_cell(line.last_name),
        cell(line.payer_id),
        line.payer_first_name.into(),
        optional_cell(line.payer_last_name),
        line.title.into(),
        line.category.into(),
        cell(line.currency.code()),
        cell(line.amount),
        cell(line.discount),
        cell(line.late_fee),
        cell(line.paid),
        cell(line.waived),
        cell(balance),
        line.status.into(),
        cell(line.overdue_at.is_some_and(|at| at <= now)),
        cell(line.due_on),
        optional_cell(line.next_due_on),
        cell(line.created_at),
    ]
}
