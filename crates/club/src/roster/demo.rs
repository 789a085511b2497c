//! The demo club's people. Every name is made up.

use kit::text;

use crate::demo_club::DemoClub;
use crate::prelude::*;
use crate::roster::email_confirmation;
use crate::roster::guardian::NewGuardian;
use crate::roster::member::Member;
use crate::roster::membership::{MemberStatus, MembershipChange, Role};
use crate::roster::new_members::{self, NewMember};
use crate::roster::person::PersonChange;
use crate::teams::demo::{SampleTeam, TEAMS};
use crate::teams::team::Team;

const PLAYERS: usize = 12;

const FIRST_NAMES: [&str; 48] = [
    "Inês", "Maya", "Zoë", "Freya", "Amara", "Leonor", "Sofia", "Yuki", "Nora", "Elif", "Clara",
    "Ada", "Tomás", "Kwame", "Luca", "Omar", "Jonas", "Mateo", "Noah", "Emil", "Rafael", "Idris",
    "Hugo", "Finn", "Petra", "Ravi", "Chloé", "Marek", "Ingrid", "Paulo", "Aisha", "Sven",
    "Teresa", "Dimitri", "Hana", "Joaquim", "Samira", "Anders", "Lucía", "Bruno", "Kirsten",
    "Nadia", "Oskar", "Mina", "Theo", "Alva", "Jamal", "Vera",
];
const LAST_NAMES: &str = "Duarte Okafor Lindqvist Moreau Tanaka Ferreira Novak Haddad O'Brien Costa \
                          Petrov Silva Andersen Mensah Rossi Yilmaz Keller Nunes Kowalski Santos \
                          Dubois Larsen Ibrahim Weber Almeida Park Jensen Romano Vieira Sato";
const PARENT_NAMES: [&str; 12] = [
    "Helena", "Miguel", "Fatima", "Lars", "Sandra", "Kofi", "Akiko", "Pedro", "Julia", "Hassan",
    "Marta", "Erik",
];

/// A team with its people.
#[derive(Debug, Clone)]
pub struct DemoTeam {
    /// Its position in [`TEAMS`].
    pub number: usize,
    pub sample: &'static SampleTeam,
    pub team: Team,
    pub roster: Vec<Member>,
}

/// Creates the rosters of all teams.
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    let teams = club.get::<Vec<Team>>()?.clone();
    let with_roster = |(number, (sample, team)): (usize, (&'static SampleTeam, Team))| {
        let roster = create_roster(tx, number, sample, &team)?;
        Ok(DemoTeam { number, sample, team, roster })
    };
    let teams = TEAMS.iter().zip(teams).enumerate().map(with_roster);
    club.insert(teams.collect::<Result<Vec<_>>>()?);
    Ok(())
}

/// Adds twelve players, a coach and, for minors, a manager to the roster.
fn create_roster(
    tx: &Tx<'_>,
    number: usize,
    sample: &SampleTeam,
    team: &Team,
) -> Result<Vec<Member>> {
    let add = |new| new_members::add(tx, &TeamAccess::AllTeams, team.id, new);
    let players = (0..PLAYERS).map(|index| add(player(tx, sample, number, index)));
    let mut roster = players.collect::<Result<Vec<_>>>()?;
    roster.push(add(staff(number, 0, Role::Coach))?);
    if sample.has_minors() {
        roster.push(add(staff(number, 1, Role::Manager))?);
    }
    email_confirmation::confirm_new_emails(tx, adults(&roster))?;
    if number == 0 {
        // A coach added this helper, so an admin has yet to confirm them.
        let helper = staff(number, 2, Role::Staff);
        roster.push(new_members::add(tx, &TeamAccess::Teams(vec![team.id]), team.id, helper)?);
    }
    Ok(roster)
}

/// The staff on a roster and the guardians of its players.
fn adults(roster: &[Member]) -> Vec<PersonId> {
    let staff = roster.iter().filter(|member| member.role != Role::Player);
    let guardians = roster.iter().filter_map(|member| member.private.as_ref());
    let guardians = guardians.flat_map(|private| private.guardians.iter().map(|one| one.id));
    staff.map(|member| member.person_id).chain(guardians).collect()
}

/// The last name with this number. They repeat after the end of the list.
fn last_name(number: usize) -> &'static str {
    LAST_NAMES.split(' ').cycle().nth(number).unwrap_or_default()
}

fn set(text: impl Into<String>) -> Change<String> {
    Change::Set(text.into())
}

/// Players of one team have different first names. Last names repeat across the club.
fn player(tx: &Tx<'_>, sample: &SampleTeam, team: usize, index: usize) -> NewMember {
    let first = FIRST_NAMES[(team * 7 + index * 3 + index / 4) % FIRST_NAMES.len()];
    let last = last_name(team * 5 + index * 7);
    let year =
        kit::Zone::utc().day(tx.now()).year() - sample.age - i16::try_from(index % 2).unwrap_or(0);
    let (month, day) =
        ([2, 5, 7, 9, 11, 12][index % 6], [3, 9, 14, 21, 26, 27][(index + team) % 6]);
    let set_if = |is_set: bool, text: &str| if is_set { set(text) } else { Change::Keep };
    let guardians = if sample.has_minors() { guardians(last, index) } else { Vec::new() };
    let status = if index == 9 { MemberStatus::Injured } else { MemberStatus::Active };
    NewMember {
        person: PersonChange {
            first_name: Some(first.to_owned()),
            last_name: set(last),
            birth_date: Day::new(year, month, day).map_or(Change::Keep, Change::Set),
            email: set_if(!sample.has_minors(), &address(first, last)),
            emergency_contact: set_if(index.is_multiple_of(3), "Grandmother, 555-0142"),
            medical_note: set_if(index == 4, "Asthma; inhaler in the side pocket."),
            ..PersonChange::default()
        },
        membership: MembershipChange {
            jersey_number: set((index + 1).to_string()),
            positions: Change::Set(vec![sample.positions[index % 4].to_owned()]),
            status: Change::Set(status),
            ..MembershipChange::default()
        },
        guardians,
        allow_duplicate: true,
        ..NewMember::default()
    }
}

/// Children with the same last name have the same guardians.
fn guardians(last: &str, index: usize) -> Vec<NewGuardian> {
    let family = LAST_NAMES.split(' ').position(|name| name == last).unwrap_or(0);
    let guardian = |first: &str, relationship: &str| NewGuardian {
        first_name: Some(first.to_owned()),
        last_name: set(last),
        relationship: set(relationship),
        email: set(address(first, last)),
        phone: set(format!("+351 555 0{:03}", family * 2 + 100)),
        ..NewGuardian::default()
    };
    let mother = guardian(PARENT_NAMES[family * 2 % PARENT_NAMES.len()], "mother");
    let father = guardian(PARENT_NAMES[(family * 2 + 1) % PARENT_NAMES.len()], "father");
    if index % 3 == 1 { vec![mother, father] } else { vec![mother] }
}

fn staff(team: usize, index: usize, role: Role) -> NewMember {
    let first = FIRST_NAMES[(24 + team * 2 + index) % FIRST_NAMES.len()];
    let last = last_name(team * 3 + index * 11 + 1);
    NewMember {
        person: PersonChange {
            first_name: Some(first.to_owned()),
            last_name: set(last),
            email: set(address(first, last)),
            phone: set(format!("+351 555 1{:03}", team * 10 + index)),
            ..PersonChange::default()
        },
        membership: MembershipChange { role: Change::Set(role), ..MembershipChange::default() },
        allow_duplicate: true,
        ..NewMember::default()
    }
}

/// An address at a domain that never receives mail.
fn address(first: &str, last: &str) -> String {
    let ascii = |name: &str| -> String {
        let letter = |c: char| match c {
            'a'..='z' => Some(c),
            'ê' | 'ë' | 'é' => Some('e'),
            'á' => Some('a'),
            'í' => Some('i'),
            _ => None,
        };
        text::fold_case(name).chars().filter_map(letter).collect()
    };
    format!("{}.{}@example.com", ascii(first), ascii(last))
}
