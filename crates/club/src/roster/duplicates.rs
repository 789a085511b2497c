//! Duplicate detection: existing people who may be the same person as a new one.
//!
//! Two people are similar if they have the same name and birth date, or the same email address. Families share email
//! addresses, so the address of a guardian counts only together with the same name. Otherwise two siblings would look
//! like one child.

use std::collections::BTreeSet;

use super::guardian;
use super::membership::{self, MemberStatus};
use super::person::{self, Person};
use crate::error::{Candidate, MatchedOn};
use crate::prelude::*;

/// Existing people who are similar to this person, each once. `shared` says that the email address is known to be that
/// of a guardian.
pub fn find_similar(
    db: &Reader<'_>,
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
