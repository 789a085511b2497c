//! What a change of somebody reaches: they are shown on every team they are on, and with every child
//! they look after. All of these get a new version, and their teams are told.

use std::collections::{BTreeMap, BTreeSet};

use store::Tx;

use super::guardian;
use super::member::Member;
use super::membership::{self, Membership};
use super::person::{self, Person};
use crate::error::Result;
use crate::ids::PersonId;
use crate::signals::Tell;

/// The people a change has touched so far.
#[derive(Debug, Default)]
pub(super) struct Ripple {
    /// Who changed, as they were before.
    changed: BTreeMap<PersonId, Person>,
    /// Of whom something changed that their teams see.
    shown: BTreeSet<PersonId>,
    /// Of whom only their own object changed: the teams they are on, the children they look after.
    listed: BTreeSet<PersonId>,
    /// Who is new: nobody has seen an earlier version of them.
    made: BTreeSet<PersonId>,
}

impl Ripple {
    /// Somebody changed, who was this before.
    pub(super) fn changed(&mut self, before: Person) {
        self.shown(before.id);
        self.changed.entry(before.id).or_insert(before);
    }

    /// Something changed that is shown with somebody.
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
        let changed: Vec<_> = self.changed.keys().copied().collect();
        self.shown.extend(guardian::children(tx, &changed)?.iter().map(|tie| tie.person_id));
        self.shown.retain(|person| !self.made.contains(person));
        self.listed.retain(|person| !self.made.contains(person));
        person::raise(tx, self.shown.union(&self.listed).copied().collect())?;

        let mut memberships: Vec<_> = membership::of(tx, self.shown.iter().copied().collect())?;
        if let Some((before, _)) = &own
            && !memberships.iter().any(|other| other.id == before.id)
        {
            memberships.push(before.clone());
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
        if news.is_empty() { Ok(()) } else { tx.tell_all("roster.member_updated", &news) }
    }
}
