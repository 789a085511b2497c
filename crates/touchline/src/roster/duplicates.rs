//! Duplicates: who may be the same person as somebody who is to be added.
//!
//! Two people look alike if they have the same name and were born on the same day, or if they have the
//! same address of mail. Families share addresses: where one belongs to a guardian, it counts only
//! together with the name, so that it never makes one child of two.

use store::Reader;

use super::guardian;
use super::membership::{self, MemberStatus};
use super::person::{self, Person};
use crate::accounts::rights::Reach;
use crate::error::{Candidate, MatchedOn, Result};

/// Everybody who looks like this person, each once. `shared` says that the address of mail is known
/// to be a guardian's.
pub fn of(db: &Reader<'_>, new: &Person, shared: bool) -> Result<Vec<(Person, MatchedOn)>> {
    let mut alike = Vec::new();
    if let Some(email) = &new.email_folded {
        let others = person::with_email(db, email)?;
        let shared = shared || guardian::any(db, others.iter().map(|other| other.id).collect())?;
        let counts = |other: &Person| !shared || other.name_folded == new.name_folded;
        alike.extend(others.into_iter().filter(counts).map(|other| (other, MatchedOn::Email)));
    }
    if let Some(day) = new.birth_date {
        let others = person::born_as(db, &new.name_folded, day)?.into_iter();
        alike.extend(others.map(|other| (other, MatchedOn::NameAndBirthDate)));
    }
    let mut known = Vec::new();
    alike.retain(|(other, _)| {
        let first = !known.contains(&other.id);
        known.push(other.id);
        first
    });
    Ok(alike)
}

/// The people who look alike, as far as the caller may know of them: without any contact data, and
/// with no trace of those on teams that are out of reach.
pub fn candidates(
    db: &Reader<'_>,
    reach: &Reach,
    alike: Vec<(Person, MatchedOn)>,
) -> Result<Vec<Candidate>> {
    let ids: Vec<_> = alike.iter().map(|(person, _)| person.id).collect();
    let reached = person::reached(db, reach, &ids)?;
    let memberships = membership::of(db, ids)?;
    let candidate = |(person, matched_on): (Person, MatchedOn)| {
        let teams = memberships.iter().filter(|membership| {
            membership.person_id == person.id
                && membership.status != MemberStatus::Removed
                && reach.check(membership.team_id).is_ok()
        });
        Candidate {
            pointer: String::new(),
            person_id: person.id,
            teams: teams.map(|membership| membership.team_id).collect(),
            first_name: person.first_name,
            last_name: person.last_name,
            matched_on,
        }
    };
    let alike = alike.into_iter().filter(|(person, _)| reached.contains(&person.id));
    Ok(alike.map(candidate).collect())
}
