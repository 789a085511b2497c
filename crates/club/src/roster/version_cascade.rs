//! Cascades a change of a person to all objects that show their data: their memberships, and the members and people
//! that they are a guardian of. These get a new version, and notifications are published.

use std::collections::{BTreeMap, BTreeSet};

use super::guardian;
use super::member::Member;
use super::membership::{self, Membership};
use super::person::{self, Person};
use super::profile::{self, Profile};
use super::safeguarding;
use crate::prelude::*;

/// Saves a changed person, and cascades the change.
pub(super) fn save_person(tx: &Tx<'_>, before: Person, after: &Person) -> Result<()> {
    person::update(tx, after)?;
    let mut cascade = VersionCascade::default();
    cascade.person_changed(before, after);
    cascade.apply(tx, None)
}

/// The people that a change has affected so far.
#[derive(Debug, Default)]
pub(super) struct VersionCascade {
    /// Changed people, as they were before.
    previous: BTreeMap<PersonId, Person>,
    /// People with changes that are shown in the guardian lists of their dependents.
    changed_guardians: BTreeSet<PersonId>,
    /// People with changes that are shown in their members.
    changed_members: BTreeSet<PersonId>,
    /// People with changes that are only shown in the person itself, such as the lists of teams and children.
    changed_people: BTreeSet<PersonId>,
    /// New people. They have no previous version.
    created: BTreeSet<PersonId>,
}

impl VersionCascade {
    /// Records a changed person.
    pub(super) fn person_changed(&mut self, before: Person, after: &Person) {
        let id = before.id;
        let as_guardian = |person: &Person| {
            let Person { first_name, last_name, email, phone, .. } = person.clone();
            (first_name, last_name, email, phone)
        };
        if as_guardian(&before) != as_guardian(after) {
            self.changed_guardians.insert(id);
        }
        // `email_opt_in` is not shown in members.
        if (Person { email_opt_in: after.email_opt_in, ..before.clone() }) != *after {
            self.members_changed(id);
        }
        self.profile_changed(id);
        self.previous.entry(id).or_insert(before);
    }

    /// Records a change that is shown in the members of a person.
    pub(super) fn members_changed(&mut self, person: PersonId) {
        self.changed_members.insert(person);
    }

    /// Records a change that is only shown in the person itself.
    pub(super) fn profile_changed(&mut self, person: PersonId) {
        self.changed_people.insert(person);
    }

    /// Records a new person.
    pub(super) fn person_created(&mut self, person: PersonId) {
        self.created.insert(person);
    }

    /// Increases all affected versions and publishes the notifications. `own` is the changed membership, before and
    /// after, if the request changes one.
    pub(super) fn apply(
        mut self,
        tx: &Tx<'_>,
        own: Option<(Membership, Membership)>,
    ) -> Result<()> {
        let guardians: Vec<_> = self.changed_guardians.iter().copied().collect();
        self.changed_members
            .extend(guardian::list_by_guardian(tx, &guardians)?.iter().map(|one| one.person_id));
        let existing = self
            .changed_members
            .union(&self.changed_people)
            .filter(|person| !self.created.contains(person));
        person::bump_versions(tx, existing.copied().collect())?;
        let affected = self.changed_members.iter().chain(&self.changed_people).chain(&self.created);
        safeguarding::mark_known_minors(tx, &affected.copied().collect())?;

        let with_changed_members =
            self.changed_members.difference(&self.created).copied().collect();
        let mut memberships = membership::list_for(tx, with_changed_members)?;
        if let Some((before, _)) = &own
            && !memberships.iter().any(|other| other.id == before.id)
        {
            memberships.push(before.clone());
        }
        if memberships.is_empty() {
            return self.publish_people(tx);
        }
        let people = person::find_many(tx, memberships.iter().map(|m| m.person_id).collect())?;
        let mut members = Vec::with_capacity(memberships.len());
        for before in memberships {
            let after = match &own {
                Some((own, after)) if own.id == before.id => after.clone(),
                _ => before.clone(),
            };
            let after = after.save(tx)?;
            let Some(person) = people.get(&before.person_id) else { continue };
            let old_person = self.previous.get(&before.person_id).unwrap_or(person);
            members.push((Member::new(before, old_person), Member::new(after, person)));
        }
        let snapshots: Vec<_> =
            members.iter().map(|(before, after)| (Some(before), after)).collect();
        tx.publish_all("roster.member_updated", &snapshots)
    }

    /// Publishes notifications about the people themselves, because no member is affected.
    fn publish_people(mut self, tx: &Tx<'_>) -> Result<()> {
        self.previous.retain(|person, _| !self.created.contains(person));
        let people = person::find_many(tx, self.previous.keys().copied().collect())?;
        for after in
            profile::to_profiles(tx, &TeamAccess::AllTeams, people.into_values().collect(), false)?
        {
            let Some(old) = self.previous.get(&after.id).cloned() else { continue };
            let before = Profile {
                first_name: old.first_name,
                last_name: old.last_name,
                preferred_name: old.preferred_name,
                email_opt_in: old.email_opt_in,
                user_id: old.user_id,
                ..after.clone()
            };
            tx.publish_change("roster.person_updated", &before, &after)?;
        }
        Ok(())
    }
}
