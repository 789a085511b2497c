//! What a change of somebody reaches: they are shown on every team they are on, and with every child
//! they look after. All of these get a new version, and their teams are told.

use std::collections::{BTreeMap, BTreeSet};

use store::Tx;

use super::guardian;
use super::member::Member;
use super::membership::{self, Membership};
use super::person::{self, Person};
use super::profile::{self, Profile};
use super::safeguarding;
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::PersonId;
use crate::signals::Tell;

/// The people a change has touched so far.
#[derive(Debug, Default)]
pub(super) struct Ripple {
    /// Who changed, as they were before.
    changed: BTreeMap<PersonId, Person>,
    /// Of whom something changed that is shown with the children they look after.
    guardians: BTreeSet<PersonId>,
    /// Of whom something changed that is shown on their teams.
    shown: BTreeSet<PersonId>,
    /// Of whom only their own object changed: the teams they are on, the children they look after.
    listed: BTreeSet<PersonId>,
    /// Who is new: nobody has seen an earlier version of them.
    made: BTreeSet<PersonId>,
}

impl Ripple {
    /// Somebody changed.
    pub(super) fn changed(&mut self, before: Person, after: &Person) {
        let id = before.id;
        let as_guardian = |person: &Person| {
            let Person { first_name, last_name, email, phone, .. } = person.clone();
            (first_name, last_name, email, phone)
        };
        if as_guardian(&before) != as_guardian(after) {
            self.guardians.insert(id);
        }
        // Whether they want mail is shown with the person alone.
        if (Person { wants_email: after.wants_email, ..before.clone() }) != *after {
            self.shown(id);
        }
        self.listed(id);
        self.changed.entry(id).or_insert(before);
    }

    /// Something changed that is shown with somebody on their teams.
    pub(super) fn shown(&mut self, person: PersonId) {
        self.shown.insert(person);
    }

    /// A list in somebody's own object changed.
    pub(super) fn listed(&mut self, person: PersonId) {
        self.listed.insert(person);
    }

    /// Somebody is new.
    pub(super) fn made(&mut self, person: PersonId) {
        self.made.insert(person);
    }

    /// Raises every version that has to rise and tells the teams. `own` is the membership that is
    /// itself changed, before and after.
    pub(super) fn settle(
        mut self,
        tx: &Tx<'_>,
        own: Option<(Membership, Membership)>,
    ) -> Result<()> {
        let guardians: Vec<_> = self.guardians.iter().copied().collect();
        self.shown.extend(guardian::children(tx, &guardians)?.iter().map(|tie| tie.person_id));
        let seen = self.shown.union(&self.listed).filter(|person| !self.made.contains(person));
        person::raise(tx, seen.copied().collect())?;
        let touched = self.shown.iter().chain(&self.listed).chain(&self.made);
        safeguarding::remember_minors(tx, &touched.copied().collect())?;

        let shown = self.shown.difference(&self.made).copied().collect();
        let mut memberships = membership::of(tx, shown)?;
        if let Some((before, _)) = &own
            && !memberships.iter().any(|other| other.id == before.id)
        {
            memberships.push(before.clone());
        }
        if memberships.is_empty() {
            return self.tell_people(tx);
        }
        let people = person::all(tx, memberships.iter().map(|m| m.person_id).collect())?;
        let mut told = Vec::with_capacity(memberships.len());
        for before in memberships {
            let after = match &own {
                Some((own, after)) if own.id == before.id => after.clone(),
                _ => before.clone(),
            };
            let after = membership::save(tx, after)?;
            let Some(now) = people.get(&before.person_id) else { continue };
            let was = self.changed.get(&before.person_id).unwrap_or(now);
            told.push((Member::new(before, was), Member::new(after, now)));
        }
        let news: Vec<_> = told.iter().map(|(before, after)| (Some(before), after)).collect();
        tx.tell_all("roster.member_updated", &news)
    }

    /// Where no team has anything to hear, the news is about the people themselves.
    fn tell_people(mut self, tx: &Tx<'_>) -> Result<()> {
        self.changed.retain(|person, _| !self.made.contains(person));
        let people = person::all(tx, self.changed.keys().copied().collect())?;
        for now in profile::shown(tx, &Reach::Everywhere, people.into_values().collect(), false)? {
            let Some(was) = self.changed.get(&now.id).cloned() else { continue };
            let before = Profile {
                first_name: was.first_name,
                last_name: was.last_name,
                preferred_name: was.preferred_name,
                wants_email: was.wants_email,
                user_id: was.user_id,
                ..now.clone()
            };
            tx.tell_change("roster.person_updated", &before, &now)?;
        }
        Ok(())
    }
}
