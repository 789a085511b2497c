//! What messages need to know of people: their names, their ages, who looks after them, how to
//! write to them. Asked of the roster; who was erased is nobody.

use std::collections::{BTreeMap, BTreeSet};

use kit::Day;
use store::{Reader, bind, row};

use super::safety::Facts;
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

/// Everybody who belongs to a team at present: those who are a part of it and their guardians.
pub fn belonging(db: &Reader<'_>, team_id: TeamId) -> Result<BTreeSet<PersonId>> {
    let members = on_team(db, team_id)?.into_iter().filter(|one| one.present);
    let members: BTreeSet<_> = members.map(|one| one.person_id).collect();
    let guardians = guardians(db, &members)?.into_iter().map(|one| one.guardian_id);
    Ok(members.iter().copied().chain(guardians).collect())
}

/// Those who look after these people.
pub fn guardians(db: &Reader<'_>, wards: &BTreeSet<PersonId>) -> Result<Vec<Guardianship>> {
    let wards: Vec<_> = wards.iter().copied().collect();
    let links = guardian::of(db, &wards)?.into_iter();
    Ok(links.filter(|link| link.guardian.erased_at.is_none()).map(|link| link.tie).collect())
}

/// What decides whether these people are minors.
pub fn facts(db: &Reader<'_>, ids: &BTreeSet<PersonId>) -> Result<Vec<Facts>> {
    let ids: Vec<_> = ids.iter().copied().collect();
    let mut played: BTreeMap<PersonId, Vec<Option<String>>> = BTreeMap::new();
    let teams: Vec<(PersonId, Option<String>)> = db.all(
        "select distinct member.person_id, team.age_group
         from member
         join team on team.account_id = member.account_id and team.id = member.team_id
         where member.account_id = :account and member.person_id in (:ids) and member.has_played",
        bind! { ids },
    )?;
    for (person, age_group) in teams {
        played.entry(person).or_default().push(age_group);
    }
    let people: Vec<(PersonId, Option<Day>, bool)> = db.all(
        "select id, birth_date,
                exists (select 1 from guardianship
                        where guardianship.account_id = :account
                          and guardianship.person_id = person.id) as guarded
         from person
         where account_id = :account and id in (:ids) and erased_at is null",
        bind! { ids },
    )?;
    let facts = people.into_iter().map(|(person_id, birth_date, guarded)| {
        let played = played.remove(&person_id).unwrap_or_default();
        Facts { person_id, birth_date, guarded, played }
    });
    Ok(facts.collect())
}

/// Those of these people who want mail, each address once: a family that shares an inbox is not told
/// twice.
pub fn addressees(db: &Reader<'_>, people: &BTreeSet<PersonId>) -> Result<Vec<Person>> {
    let people = person::all(db, people.iter().copied().collect())?.into_values();
    let mut addresses = BTreeSet::new();
    let wanted = people.filter(|person| person.wants_email && person.erased_at.is_none());
    Ok(wanted
        .filter(|person| person.email_folded.clone().is_some_and(|one| addresses.insert(one)))
        .collect())
}
