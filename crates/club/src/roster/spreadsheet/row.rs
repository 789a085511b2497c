//! Converts the rows of a pasted table to new members, with the rules of the API.

use super::column::Column;
use super::date::{self, DateOrder};
use crate::prelude::*;
use crate::roster::membership::Role;
use crate::roster::new_members::NewMember;

/// Words for the roles, in lower case.
const ROLES: &[(Role, &[&str])] = &[
    (Role::Player, &["player", "p", "jugador", "jugadora"]),
    (
        Role::Coach,
        &[
            "coach",
            "head coach",
            "assistant coach",
            "trainer",
            "entrenador",
            "entrenadora",
            "asistente",
        ],
    ),
    (Role::Manager, &["manager", "team manager", "delegado", "delegada", "gerente", "responsable"]),
    (Role::Staff, &["staff", "other staff", "other", "personal", "otro", "otra"]),
];

/// The columns of a guardian: full, first and last name, relationship, email and phone.
const GUARDIANS: [[Column; 6]; 2] = [
    [
        Column::GuardianName,
        Column::GuardianFirstName,
        Column::GuardianLastName,
        Column::GuardianRelationship,
        Column::GuardianEmail,
        Column::GuardianPhone,
    ],
    [
        Column::SecondGuardianName,
        Column::SecondGuardianFirstName,
        Column::SecondGuardianLastName,
        Column::SecondGuardianRelationship,
        Column::SecondGuardianEmail,
        Column::SecondGuardianPhone,
    ],
];

/// What is wrong with a cell: the number of its column, or `None` for the whole row, and the reason.
pub type CellFault = (Option<usize>, String);

/// A row of the table: the new member, and what is wrong. Without faults, there is a new member.
#[derive(Debug)]
pub struct Row {
    pub new: Option<NewMember>,
    pub faults: Vec<CellFault>,
}

/// Reads rows of a table with these columns.
#[derive(Debug)]
pub struct RowReader<'a> {
    pub columns: &'a [Column],
    pub order: DateOrder,
    pub today: Day,
    /// Reads a new member with the rules of the API.
    pub validate: fn(Value) -> Result<NewMember>,
}

impl RowReader<'_> {
    /// Reads a row.
    pub fn read(&self, cells: &[String]) -> Row {
        let mut faults = Vec::new();
        let body = self.body(cells, &mut faults);
        let new = match (self.validate)(body) {
            Ok(new) => Some(new),
            Err(error) => {
                for fault in error.faults {
                    let at = self.column_of(&fault.pointer);
                    // The first fault of a cell is the most exact one.
                    if !faults.iter().any(|(known, _)| *known == at) {
                        faults.push((at, fault.detail.to_string()));
                    }
                }
                None
            }
        };
        Row { new: new.filter(|_| faults.is_empty()), faults }
    }

    /// The number of the first column of this kind.
    fn position(&self, column: Column) -> Option<usize> {
        self.columns.iter().position(|known| *known == column)
    }

    /// The text in a column, or in all columns of a kind that are joined.
    fn text(&self, cells: &[String], column: Column) -> Option<String> {
        let own = self.columns.iter().zip(cells).filter(|(known, _)| **known == column);
        let texts: Vec<_> =
            own.map(|(_, cell)| cell.as_str()).filter(|cell| !cell.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// The body of the request that adds the member.
    fn body(&self, cells: &[String], faults: &mut Vec<CellFault>) -> Value {
        let text = |column| self.text(cells, column);
        let (first, last) =
            full_name(text(Column::Name), text(Column::FirstName), text(Column::LastName));
        if first.is_none() {
            let at = self.position(Column::FirstName).or_else(|| self.position(Column::Name));
            faults.push((at, t!("Enter a name.").to_owned()));
        }
        let mut body = json!({
            "first_name": first,
            "last_name": last,
            "preferred_name": text(Column::PreferredName),
            "jersey_number": text(Column::JerseyNumber).map(|text| text.trim_start_matches('#').trim().to_owned()),
            "email": text(Column::Email),
            "phone": text(Column::Phone),
            "address": text(Column::Address),
            "emergency_contact": text(Column::EmergencyContact),
            "medical_note": text(Column::MedicalNote),
            "positions": positions(&text(Column::Positions).unwrap_or_default()),
            "role": self.role(text(Column::Role), faults),
            "birth_date": self.birth_date(text(Column::BirthDate), faults),
            "guardians": self.guardians(cells, first.as_deref().unwrap_or_default()),
        });
        if let Some(fields) = body.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        body
    }

    fn role(&self, text: Option<String>, faults: &mut Vec<CellFault>) -> Option<Role> {
        let text = text?.to_lowercase();
        let role = ROLES.iter().find(|(_, words)| words.contains(&text.as_str()));
        if role.is_none() {
            let detail = t!("Enter player, coach, manager or staff.");
            faults.push((self.position(Column::Role), detail.to_owned()));
        }
        role.map(|(role, _)| *role)
    }

    fn birth_date(&self, text: Option<String>, faults: &mut Vec<CellFault>) -> Option<String> {
        let text = text?;
        let day = date::parse(&text, self.order, self.today);
        if day.is_none() {
            let detail = t!("Enter a date, such as 2014-02-27.");
            faults.push((self.position(Column::BirthDate), detail.to_owned()));
        }
        day.map(|day| day.to_string())
    }

    /// The guardians. One without a name is called the parent of the child.
    fn guardians(&self, cells: &[String], child: &str) -> Vec<Value> {
        let guardian = |columns: &[Column; 6]| {
            let [full, first, last, relationship, email, phone] =
                columns.map(|column| self.text(cells, column));
            let (first, last) = full_name(full, first, last);
            let is_empty = [&first, &last, &email, &phone].iter().all(|text| text.is_none());
            let first = first.or_else(|| Some(t!("Parent of {child}", child)));
            let all = json!({ "first_name": first, "last_name": last, "relationship": relationship,
                "email": email, "phone": phone });
            (!is_empty).then_some(all)
        };
        GUARDIANS.iter().filter_map(guardian).collect()
    }

    /// The number of the column that a fault of the API is about.
    pub fn column_of(&self, pointer: &str) -> Option<usize> {
        let parts: Vec<_> = pointer.trim_start_matches('/').split('/').collect();
        let find = |columns: &[Column]| columns.iter().find_map(|column| self.position(*column));
        match parts.as_slice() {
            ["guardians"] => find(&[Column::GuardianName, Column::GuardianFirstName]),
            ["guardians", index, rest @ ..] => {
                let [full, first, last, relationship, email, phone] =
                    *GUARDIANS.get(index.parse::<usize>().unwrap_or_default())?;
                match rest.first().copied().unwrap_or_default() {
                    "email" => find(&[email]),
                    "phone" => find(&[phone]),
                    "relationship" => find(&[relationship]),
                    "last_name" => find(&[last, full]),
                    _ => find(&[first, full, last, email, phone]),
                }
            }
            ["first_name" | "last_name", ..] => find(&[Column::FirstName, Column::Name]),
            [name, ..] => find(&[Column::parse(name)?]),
            [] => None,
        }
    }
}

/// First and last name. A full name is split at its first space, or at a comma as in `Duarte, Mila`.
fn full_name(
    full: Option<String>,
    first: Option<String>,
    last: Option<String>,
) -> (Option<String>, Option<String>) {
    let Some(full) = full.filter(|_| first.is_none()) else { return (first, last) };
    if last.is_some() {
        return (Some(full), last);
    }
    if let Some((last, first)) = full.split_once(", ") {
        return (Some(first.trim().to_owned()), Some(last.trim().to_owned()));
    }
    match full.split_once(' ') {
        Some((first, last)) => (Some(first.to_owned()), Some(last.trim().to_owned())),
        None => (Some(full), None),
    }
}

/// The positions in a text such as `goalkeeper, defender`.
pub fn positions(text: &str) -> Vec<String> {
    let all = text.split([',', ';', '/']).map(str::trim).filter(|part| !part.is_empty());
    all.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::spreadsheet::{column, table};

    fn read(text: &str) -> Vec<Row> {
        let rows = table::split(text);
        let columns = column::from_headings(&rows).unwrap();
        let today = Day::new(2026, 9, 1).unwrap();
        let reader = RowReader {
            columns: &columns,
            order: DateOrder::DayFirst,
            today,
            validate: crate::web::fields::Fields::read,
        };
        rows[1..].iter().map(|row| reader.read(row)).collect()
    }

    #[test]
    fn rows_become_new_members() {
        let text = "Name\tNo\tRole\tBorn\tPosition\tMother\tMother email\tMother phone\n\
            Duarte, Mila\t#7\tJugadora\t27/2/2014\twing/striker\tHelena Duarte\th@x.org\t912 345 678\n\
            =1+1\t\t\t\t\t\to@x.org\t";
        let rows = read(text);
        assert!(rows.iter().all(|row| row.faults.is_empty()), "{rows:?}");
        let new = rows[0].new.as_ref().unwrap();
        assert_eq!(new.person.first_name.as_deref(), Some("Mila"));
        assert_eq!(new.person.last_name, Change::Set("Duarte".to_owned()));
        assert_eq!(new.membership.jersey_number, Change::Set("7".to_owned()));
        assert_eq!(
            new.membership.positions,
            Change::Set(vec!["wing".to_owned(), "striker".to_owned()])
        );
        assert_eq!(new.guardians[0].first_name.as_deref(), Some("Helena"));
        let new = rows[1].new.as_ref().unwrap();
        assert_eq!(new.person.first_name.as_deref(), Some("=1+1"));
        assert_eq!(new.guardians[0].first_name.as_deref(), Some("Parent of =1+1"));
    }

    #[test]
    fn faults_name_the_column() {
        let rows = read("Name,Role,Born,Email,Parent,Parent email\n,boss,soon,nobody,,x\nAna,,,,,");
        let columns: Vec<_> = rows[0].faults.iter().map(|(column, _)| *column).collect();
        assert_eq!(
            columns.iter().flatten().copied().collect::<std::collections::BTreeSet<_>>(),
            [0, 1, 2, 3, 5].into()
        );
        assert!(rows[0].new.is_none() && rows[1].new.is_some());
    }
}
