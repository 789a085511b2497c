//! Personal data on the roster: export and erasure of a person.

use std::collections::BTreeMap;

use super::guardian;
use super::member::{self, Member};
use super::membership::{self, MemberStatus, Membership, Positions, roster_count};
use super::person::{self, Person};
use super::profile;
use super::version_cascade::VersionCascade;
use crate::prelude::*;
use crate::teams::team;

/// All data on the roster about a person.
pub fn export_person(db: &Reader<'_>, id: PersonId) -> Result<Value> {
    let person = profile::show(db, &TeamAccess::AllTeams, id)?;
    let memberships = member::to_members(db, membership::list_for(db, vec![id])?, false)?;
    let dependents = guardian::list_by_guardian(db, &[id])?.into_iter().map(|one| {
        json!({
            "person_id": one.person_id,
            "relationship": one.relationship,
            "can_pick_up": one.can_pick_up,
            "receives_messages": one.receives_messages,
            "confirmed": one.confirmed,
            "since": one.created_at,
        })
    });
    let dependents: Vec<_> = dependents.collect();
    Ok(json!({ "person": person, "memberships": memberships, "dependents": dependents }))
}

/// Erases all personal data of a person, ends their memberships and removes their guardianships. Guardians who have no
/// other role in the club are erased too. Returns the erased people.
pub fn erase(tx: &Tx<'_>, id: PersonId) -> Result<Vec<PersonId>> {
    let person = person::find(tx, id)?;
    Error::invalid_state("The person is already erased.").fail_if(person.erased_at.is_some())?;
    let guardians = guardian::list_for(tx, &[id])?;
    let mut cascade = VersionCascade::default();
    for guardianship in guardian::list_by_guardian(tx, &[id])? {
        cascade.members_changed(guardianship.person_id);
    }
    guardian::remove_all(tx, id)?;
    let person = anonymize(tx, person);
    person::update(tx, &person)?;
    person::bump_versions(tx, vec![id])?;
    if !remove_memberships(tx, &person)? {
        // A person without memberships has no member notifications.
        tx.publish("roster.person_updated", &profile::snapshot(tx, id)?)?;
    }
    let mut erased = vec![id];
    for link in guardians {
        if has_no_other_role(tx, &link.guardian)? {
            erased.extend(erase(tx, link.guardian.id)?);
        } else {
            cascade.profile_changed(link.guardian.id);
        }
    }
    cascade.apply(tx, None)?;
    Ok(erased)
}

/// The guardians who would be erased together with a person.
pub fn guardians_erased_with(db: &Reader<'_>, id: PersonId) -> Result<Vec<Person>> {
    let mut guardians = Vec::new();
    for link in guardian::list_for(db, &[id])? {
        let dependents = guardian::list_by_guardian(db, &[link.guardian.id])?;
        let is_only_theirs = dependents.iter().all(|one| one.person_id == id);
        if is_only_theirs && has_no_place(db, &link.guardian)? {
            guardians.push(link.guardian);
        }
    }
    Ok(guardians)
}

fn anonymize(tx: &Tx<'_>, person: Person) -> Person {
    let (first, last) = ("Erased", "person");
    Person {
        id: person.id,
        first_name: first.to_owned(),
        last_name: Some(last.to_owned()),
        name_folded: person::folded_name(first, Some(last)),
        email_opt_in: false,
        user_id: None,
        erased_at: Some(tx.now()),
        created_at: person.created_at,
        version: person.version,
        ..person::blank(tx)
    }
}

/// Whether a guardian was never on a team, is not linked to a user and has no other dependents.
fn has_no_other_role(tx: &Tx<'_>, guardian: &Person) -> Result<bool> {
    Ok(has_no_place(tx, guardian)? && guardian::list_by_guardian(tx, &[guardian.id])?.is_empty())
}

/// Whether a guardian was never on a team and is not linked to a user.
fn has_no_place(db: &Reader<'_>, guardian: &Person) -> Result<bool> {
    Ok(guardian.erased_at.is_none()
        && guardian.user_id.is_none()
        && membership::list_for(db, vec![guardian.id])?.is_empty())
}

/// Ends all memberships of an erased person and returns whether there were any. The notifications do not contain the
/// previous values.
fn remove_memberships(tx: &Tx<'_>, person: &Person) -> Result<bool> {
    let mut removed: BTreeMap<&'static str, Vec<Member>> = BTreeMap::new();
    let memberships = membership::list_for(tx, vec![person.id])?;
    let counts = memberships.iter().map(|one| (one.team_id, -roster_count(one.status)));
    team::adjust_roster_counts(tx, counts)?;
    for before in memberships {
        let event_type = match before.status {
            MemberStatus::Removed => "roster.member_updated",
            _ => "roster.member_removed",
        };
        let after = Membership {
            status: MemberStatus::Removed,
            left_on: before.left_on.or(Some(person::today(tx.now()))),
            jersey_number: None,
            positions: Positions::default(),
            external_id: None,
            metadata: Metadata::default(),
            ..before
        };
        removed.entry(event_type).or_default().push(Member::new(after.save(tx)?, person));
    }
    for (event_type, members) in &removed {
        let snapshots: Vec<_> = members.iter().map(|member| (None, member)).collect();
        tx.publish_all(event_type, &snapshots)?;
    }
    Ok(!removed.is_empty())
}
