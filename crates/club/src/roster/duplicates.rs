//! Duplicate detection: existing people who may be the same person as a new one.
//!
//! Two people are similar if they have the same name and birth date, or the same email address. Families share email
//! addresses, so the address of a guardian counts only together with the same name. Otherwise two siblings would look
//! like one child.

use std::collections::{BTreeMap, BTreeSet};

use super::guardian;
use super::membership::{self, MemberStatus};
use super::person::{self, Person};
use crate::error::{Candidate, MatchedOn};
use crate::prelude::*;

/// The maximum number of names, and of email addresses, that are compared.
const MAX_GROUPS: i64 = 100;

/// Two records that may be of the same person.
#[derive(Debug, Clone)]
pub struct PossibleDuplicate {
    pub older: Person,
    pub newer: Person,
    /// What they have in common; `None` if it is only the name.
    pub matched_on: Option<MatchedOn>,
}

/// The people of the club who may have two records. People with different birth dates, a child and their guardian, and
/// people who sign in as different users are left out.
pub fn list(db: &Reader<'_>) -> Result<Vec<PossibleDuplicate>> {
    let mut groups = group_by_value(
        db,
        "select name_folded from person where account_id = :account and erased_at is null
         group by name_folded having count(*) > 1 order by name_folded limit :limit",
        person::find_by_name,
    )?;
    groups.extend(group_by_value(
        db,
        "select email_folded from person
         where account_id = :account and email_folded is not null and erased_at is null
         group by email_folded having count(*) > 1 order by email_folded limit :limit",
        person::find_by_email,
    )?);
    let mut found: BTreeMap<(PersonId, PersonId), PossibleDuplicate> = BTreeMap::new();
    for group in groups {
        let ids: Vec<_> = group.iter().map(|person| person.id).collect();
        let shared = guardian::any_is_guardian(db, ids.clone())?;
        let links = guardian::list_by_guardian(db, &ids)?;
        let are_family = |a: PersonId, b: PersonId| {
            links.iter().any(|link| [(a, b), (b, a)].contains(&(link.person_id, link.guardian_id)))
        };
        for (index, older) in group.iter().enumerate() {
            for newer in group.iter().skip(index + 1).filter(|one| !are_family(older.id, one.id)) {
                if let Some(pair) = compare(older, newer, shared) {
                    found.entry((older.id, newer.id)).or_insert(pair);
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The people of each repeated value, in order of creation.
fn group_by_value(
    db: &Reader<'_>,
    values: &'static str,
    find: fn(&Reader<'_>, &str) -> Result<Vec<Person>>,
) -> Result<Vec<Vec<Person>>> {
    let values: Vec<(String,)> = db.all(values, bind! { limit: MAX_GROUPS })?;
    values.iter().map(|(value,)| find(db, value)).collect()
}

fn compare(older: &Person, newer: &Person, shared: bool) -> Option<PossibleDuplicate> {
    let differ = older.birth_date.zip(newer.birth_date).is_some_and(|(one, other)| one != other);
    if differ || (older.user_id.is_some() && newer.user_id.is_some()) {
        return None;
    }
    let same_name = older.name_folded == newer.name_folded;
    let same_email = older.email_folded.is_some() && older.email_folded == newer.email_folded;
    let matched_on = match (same_name, same_email) {
        (true, _) if older.birth_date.is_some() && older.birth_date == newer.birth_date => {
            Some(MatchedOn::NameAndBirthDate)
        }
        (true, true) => Some(MatchedOn::Email),
        (false, true) if !shared => Some(MatchedOn::Email),
        (true, false) => None,
        (false, _) => return None,
    };
    Some(PossibleDuplicate { older: older.clone(), newer: newer.clone(), matched_on })
}

/// Existing people who are similar to this person, each once. With a team, people on it with the same name count too.
/// `shared` says that the email address is known to be that of a guardian.
pub fn find_similar(
    db: &Reader<'_>,
    team: Option<TeamId>,
    new: &Person,
    shared: bool,
) -> Result<Vec<(Person, MatchedOn)>> {
    let mut similar = Vec::new();
    if let Some(email) = &new.email_folded {
        let others = person::find_by_email(db, email)?;
        let shared =
            shared || guardian::any_is_guardian(db, others.iter().map(|other| other.id).collect())?;
        let matches = |other: &Person| !shared || other.name_folded == new.name_folded;
        similar.extend(others.into_iter().filter(matches).map(|other| (other, MatchedOn::Email)));
    }
    if let Some(day) = new.birth_date {
        let others = person::find_by_name_and_birth_date(db, &new.name_folded, day)?.into_iter();
        similar.extend(others.map(|other| (other, MatchedOn::NameAndBirthDate)));
    }
    if let Some(team) = team {
        let others = person::find_by_name_on_team(db, &new.name_folded, team, new.birth_date)?;
        similar.extend(others.into_iter().map(|other| (other, MatchedOn::NameAndTeam)));
    }
    let mut seen = BTreeSet::new();
    similar.retain(|(other, _)| seen.insert(other.id));
    Ok(similar)
}

/// The similar people as this caller may see them: without contact data, and without people and teams that the caller
/// has no access to.
pub fn candidates(
    db: &Reader<'_>,
    access: &TeamAccess,
    similar: Vec<(Person, MatchedOn)>,
) -> Result<Vec<Candidate>> {
    let ids: Vec<_> = similar.iter().map(|(person, _)| person.id).collect();
    let visible = person::filter_visible(db, access, &ids)?;
    let memberships = membership::list_for(db, ids)?;
    let candidate = |(person, matched_on): (Person, MatchedOn)| {
        let teams = memberships.iter().filter(|membership| {
            membership.person_id == person.id
                && membership.status != MemberStatus::Removed
                && access.check(membership.team_id).is_ok()
        });
        Candidate {
            pointer: String::new(),
            person_id: person.id,
            team_ids: teams.map(|membership| membership.team_id).collect(),
            first_name: person.first_name,
            last_name: person.last_name,
            matched_on,
        }
    };
    let similar = similar.into_iter().filter(|(person, _)| visible.contains(&person.id));
    Ok(similar.map(candidate).collect())
}
