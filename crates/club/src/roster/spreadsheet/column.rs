//! What the columns of a pasted table contain: recognized by their headings in English and Spanish, or guessed from their
//! cells.

use std::collections::BTreeSet;

use kit::contact;
use kit::string_enum;

use super::date;
use crate::prelude::*;

string_enum! {
    /// What a column contains.
    pub enum Column {
        Ignored = "ignored",
        Name = "name",
        FirstName = "first_name",
        LastName = "last_name",
        PreferredName = "preferred_name",
        JerseyNumber = "jersey_number",
        Positions = "positions",
        Role = "role",
        BirthDate = "birth_date",
        Email = "email",
        Phone = "phone",
        Address = "address",
        EmergencyContact = "emergency_contact",
        MedicalNote = "medical_note",
        GuardianName = "guardian_name",
        GuardianFirstName = "guardian_first_name",
        GuardianLastName = "guardian_last_name",
        GuardianRelationship = "guardian_relationship",
        GuardianEmail = "guardian_email",
        GuardianPhone = "guardian_phone",
        SecondGuardianName = "guardian_2_name",
        SecondGuardianFirstName = "guardian_2_first_name",
        SecondGuardianLastName = "guardian_2_last_name",
        SecondGuardianRelationship = "guardian_2_relationship",
        SecondGuardianEmail = "guardian_2_email",
        SecondGuardianPhone = "guardian_2_phone",
    }
}

impl Column {
    /// The name of the column on pages.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ignored => t!("Do not use"),
            Self::Name => t!("Full name"),
            Self::FirstName => t!("First name"),
            Self::LastName => t!("Last name"),
            Self::PreferredName => t!("Preferred name"),
            Self::JerseyNumber => t!("Jersey number"),
            Self::Positions => t!("Positions"),
            Self::Role => t!("Role"),
            Self::BirthDate => t!("Birth date"),
            Self::Email => t!("Email"),
            Self::Phone => t!("Phone"),
            Self::Address => t!("Address"),
            Self::EmergencyContact => t!("Emergency contact"),
            Self::MedicalNote => t!("Medical note"),
            Self::GuardianName => t!("Parent: full name"),
            Self::GuardianFirstName => t!("Parent: first name"),
            Self::GuardianLastName => t!("Parent: last name"),
            Self::GuardianRelationship => t!("Parent: relationship"),
            Self::GuardianEmail => t!("Parent: email"),
            Self::GuardianPhone => t!("Parent: phone"),
            Self::SecondGuardianName => t!("Second parent: full name"),
            Self::SecondGuardianFirstName => t!("Second parent: first name"),
            Self::SecondGuardianLastName => t!("Second parent: last name"),
            Self::SecondGuardianRelationship => t!("Second parent: relationship"),
            Self::SecondGuardianEmail => t!("Second parent: email"),
            Self::SecondGuardianPhone => t!("Second parent: phone"),
        }
    }

    /// Whether the cells of several such columns are joined.
    pub fn is_joined(self) -> bool {
        matches!(self, Self::EmergencyContact | Self::MedicalNote | Self::Address | Self::Positions)
    }

    /// The same column for the second guardian.
    fn of_second_guardian(self) -> Option<Self> {
        Some(match self {
            Self::GuardianName => Self::SecondGuardianName,
            Self::GuardianFirstName => Self::SecondGuardianFirstName,
            Self::GuardianLastName => Self::SecondGuardianLastName,
            Self::GuardianRelationship => Self::SecondGuardianRelationship,
            Self::GuardianEmail => Self::SecondGuardianEmail,
            Self::GuardianPhone => Self::SecondGuardianPhone,
            _ => return None,
        })
    }
}

/// Headings, in lower case and without accents and punctuation, separated by commas.
const HEADINGS: &[(Column, &str)] = &[
    (
        Column::Name,
        "name, full name, player, player name, child, child name, athlete, participant, nombre \
         completo, nombre y apellido, nombre y apellidos, jugador, jugadora, alumno, deportista",
    ),
    (
        Column::FirstName,
        "first name, first, firstname, given name, player first name, participant first name, \
         member first name, nombre, nombres, primer nombre",
    ),
    (
        Column::LastName,
        "last name, last, lastname, surname, family name, player last name, participant last name, \
         member last name, apellido, apellidos",
    ),
    (Column::PreferredName, "preferred name, nickname, known as, goes by, apodo"),
    (
        Column::JerseyNumber,
        "#, no, n, nr, num, number, jersey, jersey number, jersey no, jersey #, shirt, shirt \
         number, squad number, numero, dorsal, camiseta, numero de camiseta",
    ),
    (Column::Positions, "position, positions, pos, posicion, posiciones, puesto, demarcacion"),
    (Column::Role, "role, type, member type, rol, funcion, cargo"),
    (
        Column::BirthDate,
        "birth date, birthdate, date of birth, dob, birthday, born, fecha de nacimiento, fecha \
         nacimiento, fecha nac, f nacimiento, nacimiento, cumpleanos",
    ),
    (
        Column::Email,
        "email, e mail, mail, email address, email address 1, player email, user email, correo, \
         correo electronico",
    ),
    (
        Column::Phone,
        "phone, phone number, phone number 1, player phone, mobile, mobile phone, mobile number, \
         cell, cell phone, cellphone, telephone, tel, telefono, movil, celular, telefono movil",
    ),
    (Column::Address, "address, street address, home address, direccion, domicilio"),
    (
        Column::EmergencyContact,
        "emergency, emergency contact, contacto de emergencia, emergencia, emergencias",
    ),
    (
        Column::MedicalNote,
        "medical, medical note, medical notes, medical information, allergies, salud, nota medica, \
         notas medicas, alergias",
    ),
];

/// Words in headings of a guardian's columns.
const GUARDIAN_WORDS: &str = "parent, parents, parent1, parent2, guardian, guardians, mother, mothers, mom, moms, mum, \
     mums, father, fathers, dad, dads, p1, p2, contact, madre, padre, padres, mama, papa, tutor, \
     tutora, apoderado, apoderada, acudiente, encargado, responsable";

/// A heading in lower case, without accents, and with single spaces in place of punctuation.
fn simplify(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let plain = lower.chars().map(|c| match c {
        'á' | 'à' => 'a',
        'é' | 'è' => 'e',
        'í' => 'i',
        'ó' => 'o',
        'ú' | 'ü' => 'u',
        'ñ' => 'n',
        '\'' | '’' | 'º' | '°' | 'ª' => '\u{0}',
        c if c.is_alphanumeric() || c == '#' => c,
        _ => ' ',
    });
    let plain: String = plain.filter(|c| *c != '\u{0}').collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The column with this heading. `None` if it is unknown.
fn of_heading(heading: &str) -> Option<Column> {
    let text = simplify(heading);
    let known = HEADINGS.iter().find(|(_, all)| all.split(", ").any(|known| known == text));
    if let Some((column, _)) = known {
        return Some(*column);
    }
    let words: Vec<_> = text.split(' ').collect();
    if words.iter().any(|word| word.starts_with("emergenc")) {
        return Some(Column::EmergencyContact);
    }
    if !words.iter().any(|word| GUARDIAN_WORDS.split(", ").any(|known| known == *word)) {
        return None;
    }
    let has =
        |parts: &[&str]| words.iter().any(|word| parts.iter().any(|part| word.contains(part)));
    let column = if has(&["mail", "correo"]) {
        Column::GuardianEmail
    } else if has(&["phone", "mobile", "cell", "tel", "movil", "celular"]) {
        Column::GuardianPhone
    } else if has(&["relation", "parentesco"]) {
        Column::GuardianRelationship
    } else if has(&["last", "surname", "apellido"]) {
        Column::GuardianLastName
    } else if has(&["first"]) {
        Column::GuardianFirstName
    } else {
        Column::GuardianName
    };
    let is_second = words.iter().any(|word| word.ends_with('2'));
    if is_second { column.of_second_guardian() } else { Some(column) }
}

/// What the columns contain, by the headings in the first row. `None` if it has no headings.
pub fn from_headings(rows: &[Vec<String>]) -> Option<Vec<Column>> {
    let headings = rows.first()?;
    let found: Vec<_> = headings.iter().map(|heading| of_heading(heading)).collect();
    let known = found.iter().flatten().count();
    let filled = headings.iter().filter(|heading| !heading.is_empty()).count();
    // A single known word may be a value, such as the role in `Mila Duarte, player`.
    let is_value = known == 1 && found.first().is_none_or(Option::is_none);
    if known * 2 < filled || is_value || headings.iter().any(|cell| is_contact(cell)) {
        return None;
    }
    let columns = found.into_iter().map(|column| column.unwrap_or(Column::Ignored)).collect();
    Some(with_full_names(without_repetitions(columns), &rows[1..]))
}

/// What the columns contain, guessed from their cells.
pub fn from_cells(rows: &[Vec<String>], today: Day) -> Vec<Column> {
    let count = rows.first().map_or(0, Vec::len);
    let mut has_name = false;
    let columns = (0..count).map(|at| {
        let cells: Vec<_> =
            rows.iter().map(|row| row[at].as_str()).filter(|cell| !cell.is_empty()).collect();
        let most = |is: &dyn Fn(&str) -> bool| {
            !cells.is_empty() && cells.iter().filter(|cell| is(cell)).count() * 2 > cells.len()
        };
        let digits = |cell: &str| cell.chars().filter(char::is_ascii_digit).count();
        let has_letters = |cell: &str| cell.contains(char::is_alphabetic);
        if most(&|cell| cell.contains('@')) {
            Column::Email
        } else if most(&|cell| date::is_date(cell, today)) {
            Column::BirthDate
        } else if most(&|cell| digits(cell) >= 6 && !has_letters(cell)) {
            Column::Phone
        } else if most(&|cell| (1..=3).contains(&digits(cell)) && !has_letters(cell)) {
            Column::JerseyNumber
        } else if !has_name && most(&has_letters) {
            has_name = true;
            if most(&|cell| cell.contains(' ')) { Column::Name } else { Column::FirstName }
        } else {
            Column::Ignored
        }
    });
    let mut columns: Vec<_> = columns.collect();
    // A single word is followed by the last name.
    if let Some(first) = columns.iter().position(|column| *column == Column::FirstName) {
        match columns.get_mut(first + 1) {
            Some(next) if *next == Column::Ignored => *next = Column::LastName,
            _ => columns[first] = Column::Name,
        }
    }
    without_repetitions(columns)
}

/// Repeated columns of guardians belong to the second one. Repeated contact data belongs to the guardian, and other
/// repeated columns are ignored.
fn without_repetitions(columns: Vec<Column>) -> Vec<Column> {
    let mut seen = BTreeSet::new();
    let mut unique = |column: Column| {
        let as_guardian = match column {
            Column::Email => Some(Column::GuardianEmail),
            Column::Phone => Some(Column::GuardianPhone),
            other => other.of_second_guardian(),
        };
        let second = as_guardian.and_then(Column::of_second_guardian);
        let choices = [Some(column), as_guardian, second];
        let free = choices.into_iter().flatten().find(|one| seen.insert(one.as_str()));
        free.unwrap_or(Column::Ignored)
    };
    let unique = columns.into_iter().map(|column| match column {
        column if column == Column::Ignored || column.is_joined() => column,
        column => unique(column),
    });
    unique.collect()
}

/// First names without last names are full names, also those of guardians.
fn with_full_names(mut columns: Vec<Column>, rows: &[Vec<String>]) -> Vec<Column> {
    let names = [
        (Column::FirstName, Column::LastName, Column::Name),
        (Column::GuardianFirstName, Column::GuardianLastName, Column::GuardianName),
        (Column::GuardianName, Column::GuardianLastName, Column::GuardianFirstName),
        (
            Column::SecondGuardianName,
            Column::SecondGuardianLastName,
            Column::SecondGuardianFirstName,
        ),
    ];
    for (found, last, other) in names {
        let Some(at) = columns.iter().position(|column| *column == found) else { continue };
        let is_split = columns.contains(&last);
        let has_spaces = rows.iter().any(|row| row[at].contains(' '));
        let becomes_full = matches!(other, Column::Name | Column::GuardianName);
        if (becomes_full && !is_split && has_spaces) || (!becomes_full && is_split) {
            columns[at] = other;
        }
    }
    columns
}

/// Whether a text is an email address or has as many digits as a phone number or date, and so is no heading.
fn is_contact(text: &str) -> bool {
    contact::is_email(text) || text.chars().filter(char::is_ascii_digit).count() >= 6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::spreadsheet::table;

    fn headings(text: &str) -> Option<String> {
        let words = |columns: Vec<Column>| {
            columns.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(" ")
        };
        from_headings(&table::split(text)).map(words)
    }

    #[test]
    fn headings_are_recognized_in_english_and_spanish() {
        let cases = [
            (
                "First Name,Last Name,Jersey #,DOB,E-mail",
                "first_name last_name jersey_number birth_date email",
            ),
            (
                "Nombre,Apellidos,N.º,Fecha de nacimiento,Teléfono",
                "first_name last_name jersey_number birth_date phone",
            ),
            ("Nombre,Dorsal\nMila Duarte,7", "name jersey_number"),
            (
                "Player,Parent name,Parent's email,Parent phone",
                "name guardian_name guardian_email guardian_phone",
            ),
            (
                "Name,Mother,Father,Mother email,Father email",
                "name guardian_name guardian_2_name guardian_email guardian_2_email",
            ),
            (
                "First,Last,P1 First Name,P1 Last Name,P2 Email",
                "first_name last_name guardian_first_name guardian_last_name guardian_2_email",
            ),
            ("Name,Shoe size,Email,Email", "name ignored email guardian_email"),
            ("Jugadora,Correo de la madre", "name guardian_email"),
            (
                "Name,Emergency contact name,Emergency contact phone",
                "name emergency_contact emergency_contact",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(headings(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["Mila Duarte,7\nOtto Sand,1", "Mila Duarte,player", "Name,mila@x.org"] {
            assert_eq!(headings(text), None, "{text}");
        }
    }

    #[test]
    fn columns_without_headings_are_guessed_from_their_cells() {
        let today = Day::new(2026, 9, 1).unwrap();
        let guess = |text: &str| {
            let columns = from_cells(&table::split(text), today);
            columns.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(" ")
        };
        let text = "Mila Duarte\t7\t27/02/2014\tmila@x.org\thelena@x.org\t912 345 678\nOtto Sand\t\t\t\to@x.org\t";
        assert_eq!(guess(text), "name jersey_number birth_date email guardian_email phone");
        assert_eq!(guess("Mila,Duarte,Winger\nOtto,Sand,"), "first_name last_name ignored");
        assert_eq!(guess("7,Mila\n1,Otto"), "jersey_number name");
        assert_eq!(guess("😀\n"), "ignored");
    }
}
