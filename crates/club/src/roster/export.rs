//! Export of the roster: one row per membership.

use std::collections::HashMap;

use macros::query;

use super::api;
use crate::columns::{Cell, Column, ToCell};
use crate::prelude::*;
use crate::table::{self, CHUNK_ROWS, Chunk, Table};

/// Which memberships to export.
#[query]
#[derive(Default)]
pub struct RosterTable {
    /// Only this team.
    pub team_id: Option<TeamId>,
    /// Set to `true` to include members who have left.
    pub include_removed: bool,
    /// Set to `private` to include the private columns.
    #[param(name = "include", with(api::include_private), schema(value_type = Option<api::Include>, inline))]
    pub private: bool,
}

crate::export_row! {
    pub struct Line {
        member_id: MemberId = "m.id",
        person_id: PersonId = "m.person_id",
        team_id: TeamId = "m.team_id",
        team: String = "t.name",
        first_name: String = "p.first_name",
        last_name: Option<String> = "p.last_name",
        preferred_name: Option<String> = "p.preferred_name",
        role: String = "m.role",
        jersey_number: Option<String> = "m.jersey_number",
        positions: String = "m.positions" => |line| positions(&line.positions),
        status: String = "m.status",
        joined_on: Option<String> = "m.joined_on",
        left_on: Option<String> = "m.left_on",
        external_id: Option<String> = "m.external_id",
        created_at: Timestamp = "m.created_at",
        birth_date: Option<String> = "p.birth_date",
        email: Option<String> = "p.email",
        phone: Option<String> = "p.phone",
        address: Option<String> = "p.address",
        emergency_contact: Option<String> = "p.emergency_contact",
        medical_note: Option<String> = "p.medical_note";
        guardians: Vec<Guardian>
    }
}

/// The number of columns before the private ones.
const PUBLIC_COLUMNS: usize = 15;
const GUARDIAN_COUNT: &Column<Line> =
    &Column::csv("guardians", |line| Cell::text(line.guardians.len()));

impl Line {
    fn hide_private(&mut self) {
        for private in [
            &mut self.birth_date,
            &mut self.email,
            &mut self.phone,
            &mut self.address,
            &mut self.emergency_contact,
            &mut self.medical_note,
        ] {
            *private = None;
        }
    }
}

row! {
    #[derive(Debug, Clone)]
    pub struct Guardian {
        person_id: PersonId,
        first_name: String,
        last_name: Option<String>,
        relationship: Option<String>,
        email: Option<String>,
        phone: Option<String>,
        can_pick_up: bool,
        receives_messages: bool,
    }
}

/// The columns of the guardian with this number.
macro_rules! guardian_columns {
    ($number:literal) => {
        guardian_columns! { $number,
            "name" => |guardian| guardian.name(),
            "relationship" => |guardian| guardian.relationship.cell(),
            "email" => |guardian| guardian.email.cell(),
            "phone" => |guardian| guardian.phone.cell(),
            "can_pick_up" => |guardian| guardian.can_pick_up.cell(),
            "receives_messages" => |guardian| guardian.receives_messages.cell(),
        }
    };
    ($number:literal, $($part:literal => $cell:expr,)+) => {
        [$(Column::csv(concat!("guardian_", $number, "_", $part), |line| {
            let cell: fn(&Guardian) -> Cell<'_> = $cell;
            line.guardians.get($number - 1).map_or(Cell::EMPTY, cell)
        })),+]
    };
}

/// The columns of the first three guardians.
const GUARDIAN_COLUMNS: &[[Column<Line>; 6]] =
    &[guardian_columns!(1), guardian_columns!(2), guardian_columns!(3)];

impl Guardian {
    fn name(&self) -> Cell<'_> {
        let last = self.last_name.as_deref().unwrap_or_default();
        Cell::text(format!("{} {last}", self.first_name).trim())
    }
}

/// Positions are stored as a JSON array.
fn positions(json: &str) -> Cell<'_> {
    Cell::text(serde_json::from_str::<Vec<String>>(json).unwrap_or_default().join(", "))
}

impl Table for RosterTable {
    type Row = Line;
    type Position = MemberId;
    const COLUMNS: &[Column<Line>] = Line::COLUMNS;

    fn columns(&self) -> Vec<&'static Column<Line>> {
        let guardians = std::iter::once(GUARDIAN_COUNT).chain(GUARDIAN_COLUMNS.iter().flatten());
        let all = Line::COLUMNS.iter().chain(guardians);
        all.take(if self.private { usize::MAX } else { PUBLIC_COLUMNS }).collect()
    }

    fn read(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<MemberId>,
    ) -> Result<Chunk<Line, MemberId>> {
        let mut lines = self.lines(db, access, after)?;
        let people = lines.iter().map(|line| line.person_id).collect();
        let guardians = if self.private { guardians(db, people)? } else { HashMap::new() };
        for line in &mut lines {
            // A key limited to certain teams may not see private data of members who have left.
            if line.status == "removed" && *access != TeamAccess::AllTeams {
                line.hide_private();
            } else {
                line.guardians = guardians.get(&line.person_id).cloned().unwrap_or_default();
            }
        }
        Ok(table::chunk(lines, |line| line.member_id))
    }
}

impl RosterTable {
    fn lines(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<MemberId>,
    ) -> Result<Vec<Line>> {
        let (team_id, include_removed, limit) = (self.team_id, self.include_removed, CHUNK_ROWS);
        let (narrowed, teams) = access.team_filter();
        let after = after.unwrap_or(MemberId::MIN);
        Ok(db.all(
            sql!(
                Line::SELECT,
                " from member m
                  join person p on p.account_id = m.account_id and p.id = m.person_id
                  join team t on t.account_id = m.account_id and t.id = m.team_id
                  where m.account_id = :account and m.id > :after
                    and (cast(:team_id as bytea) is null or m.team_id = :team_id)
                    and (not cast(:narrowed as boolean) or m.team_id in (:teams))
                    and (cast(:include_removed as boolean) or m.status <> 'removed')
                  order by m.id limit :limit"
            ),
            bind! { after, team_id, narrowed, teams, include_removed, limit },
        )?)
    }
}

fn guardians(db: &Reader<'_>, people: Vec<PersonId>) -> Result<HashMap<PersonId, Vec<Guardian>>> {
    let mut guardians: HashMap<_, Vec<Guardian>> = HashMap::new();
    if people.is_empty() {
        return Ok(guardians);
    }
    let links: Vec<Guardian> = db.all(
        "select g.person_id, p.first_name, p.last_name, g.relationship, p.email, p.phone,
             g.can_pick_up, g.receives_messages
         from guardianship g
         join person p on p.account_id = g.account_id and p.id = g.guardian_id
         where g.account_id = :account and g.person_id in (:people)
         order by g.person_id, g.position",
        bind! { people },
    )?;
    for link in links {
        guardians.entry(link.person_id).or_default().push(link);
    }
    Ok(guardians)
}
