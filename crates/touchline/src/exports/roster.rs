//! The roster as a table: a row for each membership.

use std::borrow::Cow;
use std::collections::HashMap;

use kit::Timestamp;
use store::{Reader, bind, row};

use super::table::{self, ROWS, Sheet, Table, cell, maybe};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::{MemberId, PersonId, TeamId};

/// How many guardians have columns of their own; that there are more is seen from their number.
const GUARDIANS: usize = 3;
/// What is said of each.
const GUARDIAN: [&str; 6] =
    ["name", "relationship", "email", "phone", "may_pick_up", "receives_messages"];

/// Which memberships to write.
#[derive(Debug, Default)]
pub struct RosterTable {
    pub team_id: Option<TeamId>,
    /// Also those who have left.
    pub removed: bool,
    /// Birth dates, contact, medical notes and guardians too.
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

const PLAIN: [&str; 15] = [
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
const PRIVATE: [&str; 6] =
    ["birth_date", "email", "phone", "address", "emergency_contact", "medical_note"];

row! {
    struct Guardian {
        person_id: PersonId,
        first_name: String,
        last_name: Option<String>,
        relationship: Option<String>,
        email: Option<String>,
        phone: Option<String>,
        may_pick_up: bool,
        receives_messages: bool,
    }
}

impl Table for RosterTable {
    type Place = MemberId;

    fn columns(&self) -> Vec<Cow<'static, str>> {
        let mut names: Vec<_> = PLAIN.map(Cow::Borrowed).to_vec();
        if self.private {
            names.extend(PRIVATE.map(Cow::Borrowed));
            names.push("guardians".into());
            for number in 1..=GUARDIANS {
                names.extend(GUARDIAN.map(|part| format!("guardian_{number}_{part}").into()));
            }
        }
        names
    }

    fn write(
        &self,
        db: &Reader<'_>,
        reach: &Reach,
        after: Option<MemberId>,
        sheet: &mut Sheet,
    ) -> Result<Option<MemberId>> {
        let lines = self.lines(db, reach, after)?;
        let people = lines.iter().map(|line| line.person_id).collect();
        let guardians = if self.private { guardians(db, people)? } else { HashMap::new() };
        let next = table::next(lines.len(), lines.last().map(|line| line.id));
        for line in lines {
            // Of those who have left, a key of certain teams no longer learns what is private.
            let left = line.status == "removed" && *reach != Reach::Everywhere;
            let own = guardians.get(&line.person_id).filter(|_| !left);
            let line = if left { line.without_private() } else { line };
            sheet.row(self.cells(line, own.map(Vec::as_slice).unwrap_or_default()))?;
        }
        Ok(next)
    }
}

impl RosterTable {
    fn lines(&self, db: &Reader<'_>, reach: &Reach, after: Option<MemberId>) -> Result<Vec<Line>> {
        let (team_id, removed, limit) = (self.team_id, self.removed, ROWS);
        let (narrowed, teams) = reach.narrowing();
        let after = after.unwrap_or(MemberId::LEAST);
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
               and (cast(:removed as boolean) or m.status <> 'removed')
             order by m.id limit :limit",
            bind! { after, team_id, narrowed, teams, removed, limit },
        )?)
    }

    fn cells(&self, line: Line, guardians: &[Guardian]) -> Vec<Cow<'static, str>> {
        // Positions are kept as a list in JSON.
        let positions: Vec<String> = serde_json::from_str(&line.positions).unwrap_or_default();
        let mut cells = vec![
            cell(line.id),
            cell(line.person_id),
            cell(line.team_id),
            line.team.into(),
            line.first_name.into(),
            maybe(line.last_name),
            maybe(line.preferred_name),
            line.role.into(),
            maybe(line.jersey_number),
            positions.join(", ").into(),
            line.status.into(),
            maybe(line.joined_on),
            maybe(line.left_on),
            maybe(line.external_id),
            cell(line.created_at),
        ];
        if self.private {
            cells.extend([
                maybe(line.birth_date),
                maybe(line.email),
                maybe(line.phone),
                maybe(line.address),
                maybe(line.emergency_contact),
                maybe(line.medical_note),
            ]);
            cells.push(cell(guardians.len()));
            for number in 0..GUARDIANS {
                cells.extend(contact(guardians.get(number)));
            }
        }
        cells
    }
}

fn contact(guardian: Option<&Guardian>) -> [Cow<'static, str>; GUARDIAN.len()] {
    let Some(guardian) = guardian else { return [""; GUARDIAN.len()].map(Cow::Borrowed) };
    let last = guardian.last_name.as_deref().unwrap_or_default();
    [
        format!("{} {last}", guardian.first_name).trim().to_owned().into(),
        maybe(guardian.relationship.as_ref()),
        maybe(guardian.email.as_ref()),
        maybe(guardian.phone.as_ref()),
        cell(guardian.may_pick_up),
        cell(guardian.receives_messages),
    ]
}

fn guardians(db: &Reader<'_>, people: Vec<PersonId>) -> Result<HashMap<PersonId, Vec<Guardian>>> {
    let mut found: HashMap<_, Vec<Guardian>> = HashMap::new();
    if people.is_empty() {
        return Ok(found);
    }
    let links: Vec<Guardian> = db.all(
        "select g.person_id, p.first_name, p.last_name, g.relationship, p.email, p.phone,
             g.may_pick_up, g.receives_messages
         from guardianship g
         join person p on p.account_id = g.account_id and p.id = g.guardian_id
         where g.account_id = :account and g.person_id in (:people)
         order by g.person_id, g.position",
        bind! { people },
    )?;
    for link in links {
        found.entry(link.person_id).or_default().push(link);
    }
    Ok(found)
}
