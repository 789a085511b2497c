//! The guardianships of two records of the same person that are merged.

use std::collections::BTreeSet;

use super::guardian::{self, Guardianship, MAX_GUARDIANS};
use super::merge::MergePlan;
use super::person::Person;
use super::safeguarding;
use super::version_cascade::VersionCascade;
use crate::prelude::*;

/// Fails if one of the people is the guardian of the other one, or if they have too many guardians together.
pub(super) fn check(db: &Reader<'_>, from: PersonId, into: PersonId) -> Result<()> {
    let guardianships = load(db, &[from, into])?;
    let is_between = guardianships.iter().any(|one| [from, into].contains(&one.guardian_id));
    let detail = "One of these people is a guardian of the other. If they are the same person, remove that guardian first.";
    Error::invalid_state(detail).fail_if(is_between)?;
    let guardians: BTreeSet<_> = guardianships.iter().map(|one| one.guardian_id).collect();
    Error::invalid_state(
        "Together, the two records have more than 10 guardians. Remove some of them first.",
    )
    .fail_if(guardians.len() > MAX_GUARDIANS)
}

/// Merges the guardians and the dependents of the two records. Returns the people who had the deleted record as a
/// guardian.
pub(super) fn merge(
    tx: &Tx<'_>,
    plan: &MergePlan,
    cascade: &mut VersionCascade,
) -> Result<BTreeSet<PersonId>> {
    merge_guardians(tx, (plan.from.id, plan.into.id), cascade)?;
    merge_dependents(tx, plan, cascade)
}

fn load(db: &Reader<'_>, people: &[PersonId]) -> Result<Vec<Guardianship>> {
    Ok(guardian::list_for(db, people)?.into_iter().map(|link| link.guardianship).collect())
}

/// Adds the guardians of the first person to those of the second one.
fn merge_guardians(
    tx: &Tx<'_>,
    (from, into): (PersonId, PersonId),
    cascade: &mut VersionCascade,
) -> Result<()> {
    let (moved, before) = (load(tx, &[from])?, load(tx, &[into])?);
    let mut after = before.clone();
    for (other, position) in moved.into_iter().zip(next_position(&before)..) {
        match after.iter_mut().find(|own| own.guardian_id == other.guardian_id) {
            Some(own) => *own = combine(own, &other),
            None => after.push(Guardianship { person_id: into, position, ..other }),
        }
    }
    for person in [from, into] {
        tx.execute(
            "delete from guardianship where account_id = :account and person_id = :person",
            bind! { person },
        )?;
    }
    for guardianship in &after {
        tx.execute(Guardianship::INSERT, &guardianship.bind())?;
        cascade.profile_changed(guardianship.guardian_id);
    }
    if safeguarding::is_minor(tx, into)? {
        for (change, guardian) in safeguarding::guardian_changes(&before, &after) {
            safeguarding::record(tx, into, change, Some(guardian))?;
        }
    }
    Ok(())
}

fn next_position(guardianships: &[Guardianship]) -> i64 {
    guardianships.iter().map(|one| one.position + 1).max().unwrap_or(0)
}

/// Makes the second person the guardian of everybody who had the first one as a guardian.
fn merge_dependents(
    tx: &Tx<'_>,
    plan: &MergePlan,
    cascade: &mut VersionCascade,
) -> Result<BTreeSet<PersonId>> {
    let (from, into) = (plan.from.id, plan.into.id);
    let own = guardian::list_by_guardian(tx, &[into])?;
    let moved = guardian::list_by_guardian(tx, &[from])?;
    for one in own.iter().chain(&moved) {
        cascade.members_changed(one.person_id);
    }
    for other in &moved {
        let same_child = own.iter().find(|own| own.person_id == other.person_id);
        let after = match same_child {
            Some(own) => combine(own, other),
            None => Guardianship {
                guardian_id: into,
                confirmed: other.confirmed && !gains_trust(&plan.from, &plan.merged),
                ..other.clone()
            },
        };
        let child = other.person_id;
        tx.execute(
            "delete from guardianship
             where account_id = :account and person_id = :child and guardian_id in (:guardians)",
            bind! { child, guardians: vec![from, into] },
        )?;
        tx.execute(Guardianship::INSERT, &after.bind())?;
    }
    Ok(moved.into_iter().map(|one| one.person_id).collect())
}

/// Whether only the remaining record is that of a confirmed adult.
fn gains_trust(from: &Person, merged: &Person) -> bool {
    from.adult_confirmed_at.is_none() && merged.adult_confirmed_at.is_some()
}

/// One guardianship in place of two: picking up a child must be allowed in both.
fn combine(own: &Guardianship, other: &Guardianship) -> Guardianship {
    Guardianship {
        relationship: own.relationship.clone().or_else(|| other.relationship.clone()),
        can_pick_up: own.can_pick_up && other.can_pick_up,
        receives_messages: own.receives_messages || other.receives_messages,
        ..own.clone()
    }
}
