//! What messages need to know about people: their names, their guardians, how to write to them. People
//! who were erased are left out.

use std::collections::{BTreeMap, BTreeSet};

use store::{Reader, bind, row};

use crate::error::Result;
use crate::ids::{MemberId, PersonId, TeamId};
use crate::roster::guardian::{self, Guardianship};
use crate::roster::membership::Role;
use crate::roster::person::{self, Person};

/// The names of these people.
pub fn names(db: &Reader<'_>, ids: Vec<PersonId>) -> Result<BTreeMap<PersonId, String>> {
    let people = person::all(db, ids)?.into_values().filter(|person| person.erased_at.is_none());
    Ok(people.map(|person| (person.id, person::display_name(&person))).collect())
}

row! {
    /// Somebody on a team's roster, whether they play at present or not.
    #[derive(Debug)]
    pub struct OnTeam {
        pub id: MemberId,
        pub person_id: PersonId,
        pub role: Role,
        /// Active or injured: a part of the team at present.
        pub present: bool,
    }
}

/// Everybody on a team's roster who was not removed from it.
pub fn on_team(db: &Reader<'_>, team_id: TeamId) -> Result<Vec<OnTeam>> {
    Ok(db.all(
        "select member.id, member.person_id, member.role,
                member.status in ('active', 'injured') as present
         from member
         join person on person.account_id = member.account_id and person.id = member.person_id
         where member.account_id = :account and member.team_id = :team_id
           and member.status <> 'removed' and person.erased_at is null",
        bind! { team_id },
    )?)
}

/// Who belongs to a team at present.
#[derive(Debug)]
pub struct Belonging {
    /// Its members, and everybody who is said to be a guardian of one.
    pub people: BTreeSet<PersonId>,
    /// Its members, and those guardians of whom it was confirmed.
    pub confirmed: BTreeSet<PersonId>,
}

/// Everybody who belongs to a team at present: those who are a part of it and their guardians.
pub fn belonging(db: &Reader<'_>, team_id: TeamId) -> Result<Belonging> {
    let members = on_team(db, team_id)?.into_iter().filter(|one| one.present);
    let members: BTreeSet<_> = members.map(|one| one.person_id).collect();
    let guardians = guardians(db, &members)?;
    let with = |guardians: &mut dyn Iterator<Item = &Guardianship>| {
        members.iter().copied().chain(guardians.map(|one| one.guardian_id)).collect()
    };
    Ok(Belonging {
        people: with(&mut guardians.iter()),
        confirmed: with(&mut guardians.iter().filter(|one| one.confirmed)),
    })
}

/// Those who look after these people.
pub fn guardians(db: &Reader<'_>, wards: &BTreeSet<PersonId>) -> Result<Vec<Guardianship>> {
    let wards: Vec<_> = wards.iter().copied().collect();
    let links = guardian::of(db, &wards)?.into_iter();
    Ok(links.filter(|link| link.guardian.erased_at.is_none()).map(|link| link.tie).collect())
}

/// Those of these people who want mail and for whom `gets_email` holds, each address once: a family that shares an
/// inbox is not told twice. Nobody else may take the place of somebody who is to get it.
pub fn addressees(
    db: &Reader<'_>,
    people: &BTreeSet<PersonId>,
    gets_email: impl Fn(&Person) -> bool,
) -> Result<Vec<Person>> {
    let people = person::all(db, people.iter().copied().collect())?.into_values();
    let mut addresses = BTreeSet::new();
    let wanted = people.filter(|person| person.wants_email && person.erased_at.is_none());
    let wanted = wanted.filter(gets_email);
    Ok(wanted
        .filter(|person| person.email_folded.clone().is_some_and(|one| addresses.insert(one)))
        .collect())
}
