//! Export of the roster: one row per membership.

use std::borrow::Cow;
use std::collections::HashMap;

use kit::Timestamp;
use store::{Reader, bind, row};

use super::table::{self, CHUNK_ROWS, CsvWriter, Table, cell, optional_cell};
use crate::error::Result;
use crate::ids::{MemberId, PersonId, TeamId};
use crate::rights::TeamAccess;

/// Number of guardians with their own columns. The column `guardians` has the total number.
const GUARDIAN_COLUMN_SETS: usize = 3;
/// Columns of each guardian.
const GUARDIAN_COLUMNS: [&str; 6] =
    ["name", "relationship", "email", "phone", "can_pick_up", "receives_messages"];

/// Which memberships to export.
#[derive(Debug, Default)]
pub struct RosterTable {
    pub team_id: Option<TeamId>,
    /// Whether to include members who have left.
    pub include_removed: bool,
    /// Whether to include birth dates, contact data, medical notes and guardians.
    pub private: bool,
}

row! {
    struct Line {
        id: MemberId,
        person_id: PersonId,
        team_id: TeamId,
        team: String,
        first_name: String,
        last_name: Option<String>,
        preferred_name: Option<String>,
        role: String,
        jersey_number: Option<String>,
        positions: String,
        status: String,
        joined_on: Option<String>,
        left_on: Option<String>,
        external_id: Option<String>,
        created_at: Timestamp,
        birth_date: Option<String>,
        email: Option<String>,
        phone: Option<String>,
        address: Option<String>,
        emergency_contact: Option<String>,
        medical_note: Option<String>,
    }
}

impl Line {
    fn without_private(self) -> Self {
        Self {
            birth_date: None,
            email: None,
            phone: None,
            address: None,
            emergency_contact: None,
            medical_note: None,
            ..self
        }
    }
}

const PUBLIC_COLUMNS: [&str; 15] = [
    "member_id",
    "person_id",
    "team_id",
    "team",
    "first_name",
    "last_name",
    "preferred_name",
    "role",
    "jersey_number",
    "positions",
    "status",
    "joined_on",
    "left_on",
    "external_id",
    "created_at",
];
const PRIVATE_COLUMNS: [&str; 6] =
    ["birth_date", "email", "phone", "address", "emergency_contact", "medical_note"];

row! {
    struct Guardian {
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

impl Table for RosterTable {
    type Position = MemberId;

    fn columns(&self) -> Vec<Cow<'static, str>> {
        let mut names: Vec<_> = PUBLIC_COLUMNS.map(Cow::Borrowed).to_vec();
        if self.private {
            names.extend(PRIVATE_COLUMNS.map(Cow::Borrowed));
            names.push("guardians".into());
            for number in 1..=GUARDIAN_COLUMN_SETS {
                names.extend(
                    GUARDIAN_COLUMNS.map(|part| format!("guardian_{number}_{part}").into()),
                );
            }
        }
        names
    }

    fn write(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<MemberId>,
        writer: &mut CsvWriter,
    ) -> Result<Option<MemberId>> {
        let lines = self.lines(db, access, after)?;
        let people = lines.iter().map(|line| line.person_id).collect();
        let guardians = if self.private { guardians(db, people)? } else { HashMap::new() };
        let next = table::next_position(lines.len(), lines.last().map(|line| line.id));
        for line in lines {
            // A key limited to certain teams may not see private data of members who have left.
            let hide_private = line.status == "removed" && *access != TeamAccess::AllTeams;
            let guardians = guardians.get(&line.person_id).filter(|_| !hide_private);
            let line = if hide_private { line.without_private() } else { line };
            writer.row(self.cells(line, guardians.map(Vec::as_slice).unwrap_or_default()))?;
        }
        Ok(next)
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
            "select m.id, m.person_id, m.team_id, t.name as team, p.first_name, p.last_name,
                 p.preferred_name, m.role, m.jersey_number, m.positions, m.status, m.joined_on,
                 m.left_on, m.external_id, m.created_at, p.birth_date, p.email, p.phone,
                 p.address, p.emergency_contact, p.medical_note
             from member m
             join person p on p.account_id = m.account_id and p.id = m.person_id
             join team t on t.account_id = m.account_id and t.id = m.team_id
             where m.account_id = :account and m.id > :after
               and (cast(:team_id as bytea) is null or m.team_id = :team_id)
               and (not cast(:narrowed as boolean) or m.team_id in (:teams))
               and (cast(:include_removed as boolean) or m.status <> 'removed')
             order by m.id limit :limit",
            bind! { after, team_id, narrowed, teams, include_removed, limit },
        )?)
    }

    fn cells(&self, line: Line, guardians: &[Guardian]) -> Vec<Cow<'static, str>> {
        // Positions are stored as a JSON array.
        let positions: Vec<String> = serde_json::from_str(&line.positions).unwrap_or_default();
        let mut cells = vec![
            cell(line.id),
            cell(line.person_id),
            cell(line.team_id),
            line.team.into(),
            line.first_name.into(),
            optional_cell(line.last_name),
            optional_cell(line.preferred_name),
            line.role.into(),
            optional_cell(line.jersey_number),
            positions.join(", ").into(),
            line.status.into(),
            optional_cell(line.joined_on),
            optional_cell(line.left_on),
            optional_cell(line.external_id),
            cell(line.created_at),
        ];
        if self.private {
            cells.extend([
                optional_cell(line.birth_date),
                optional_cell(line.email),
                optional_cell(line.phone),
                optional_cell(line.address),
                optional_cell(line.emergency_contact),
                optional_cell(line.medical_note),
            ]);
            cells.push(cell(guardians.len()));
            for number in 0..GUARDIAN_COLUMN_SETS {
                cells.extend(contact(guardians.get(number)));
            }
        }
        cells
    }
}

fn contact(guardian: Option<&Guardian>) -> [Cow<'static, str>; GUARDIAN_COLUMNS.len()] {
    let Some(guardian) = guardian else { return [""; GUARDIAN_COLUMNS.len()].map(Cow::Borrowed) };
    let last = guardian.last_name.as_deref().unwrap_or_default();
    [
        format!("{} {last}", guardian.first_name).trim().to_owned().into(),
        optional_cell(guardian.relationship.as_ref()),
        optional_cell(guardian.email.as_ref()),
        optional_cell(guardian.phone.as_ref()),
        cell(guardian.can_pick_up),
        cell(guardian.receives_messages),
    ]
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
