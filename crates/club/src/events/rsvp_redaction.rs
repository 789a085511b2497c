//! What families do not see of the answers of other families.

use std::collections::BTreeMap;

use super::rsvp::{BY_AWAY_DATE, Rsvp};
use crate::prelude::*;

/// Removes what the caller may not see: families see all answers, but only of their own family the notes, and whether
/// somebody is away.
pub fn redact(
    db: &Reader<'_>,
    access: &TeamAccess,
    team: TeamId,
    mut answers: Vec<Rsvp>,
) -> Result<Vec<Rsvp>> {
    if access.has_full_access(team) {
        return Ok(answers);
    }
    let (_, family) = access.own_and_family_ids();
    let members: Vec<MemberId> = answers.iter().map(|answer| answer.member_id).collect();
    let people: Vec<(MemberId, PersonId)> = db.all(
        "select id, person_id from member
         where account_id = :account and id in (:members) and team_id = :team",
        bind! { members, team },
    )?;
    let people: BTreeMap<_, _> = people.into_iter().collect();
    for answer in &mut answers {
        let person = people.get(&answer.member_id);
        if person.is_some_and(|person| family.contains(person)) {
            continue;
        }
        answer.note = None;
        if let Some(person) = person.filter(|_| answer.answered_by == BY_AWAY_DATE) {
            answer.answered_by = person.to_string();
        }
    }
    Ok(answers)
}
