//! Volunteer duties of an event and their assignees.

use std::collections::BTreeSet;

use macros::input;
use serde::Deserialize;

use crate::prelude::*;

/// A volunteer duty at an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Duty {
    pub id: DutyId,
    /// Name of the duty.
    #[schema(examples("Bring oranges"), max_length = 120)]
    pub name: String,
    /// Number of volunteers needed.
    #[schema(minimum = 1, maximum = 100)]
    pub slots: i64,
    /// People who have taken the duty, in the order they took it.
    pub assignees: Vec<PersonId>,
}

/// A duty of a new or updated event. A duty with the `id` or the name of an existing one replaces it and keeps its
/// volunteers.
#[input(as = DutyInput)]
#[derive(Clone)]
pub struct NewDuty {
    /// ID of an existing duty to keep or change; omit it for a new duty.
    pub id: Option<DutyId>,
    /// Name of the duty.
    #[schema(examples("Bring oranges"))]
    #[input(line(120))]
    pub name: String,
    /// Number of volunteers needed. Default: 1.
    #[input(number(1, 100), default = 1)]
    pub slots: i64,
}

/// The duties of an event, stored as JSON in its row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Duties(pub Vec<Duty>);
json_column!(Duties);

impl Duties {
    /// Replaces the duties, keeping the volunteers of those that existed before.
    pub fn replace(&self, tx: &Tx<'_>, new: &[NewDuty]) -> Result<Self> {
        let mut faults = Vec::new();
        let mut duties: Vec<Duty> = Vec::new();
        for (position, wanted) in new.iter().enumerate() {
            let pointer = |field: &str| format!("/duties/{position}/{field}");
            let has_id = |duty: &Duty| new.iter().any(|other| other.id == Some(duty.id));
            let known = |duty: &&Duty| match wanted.id {
                Some(id) => duty.id == id,
                None => duty.name == wanted.name && !has_id(duty),
            };
            let before = self.0.iter().find(known);
            if wanted.id.is_some() && before.is_none() {
                let detail = "The event has no duty with this ID.";
                faults.push(Fault::new(pointer("id"), "not_found", detail));
            }
            if wanted.id.is_some_and(|id| duties.iter().any(|duty| duty.id == id)) {
                faults.push(Fault::new(pointer("id"), "repeated", "This duty is listed twice."));
            }
            if duties.iter().any(|duty| duty.name == wanted.name) {
                faults.push(Fault::new(pointer("name"), "repeated", "Two duties have this name."));
            }
            let assignees = before.map(|duty| duty.assignees.clone()).unwrap_or_default();
            if usize::try_from(wanted.slots).is_ok_and(|slots| slots < assignees.len()) {
                let detail = message_n!(
                    "{count} person has already taken this duty. Enter at least {count}.",
                    "{count} people have already taken this duty. Enter at least {count}.",
                    assignees.len()
                );
                faults.push(Fault::new(pointer("slots"), "already_taken", detail));
            }
            let id = before.map_or_else(|| tx.new_id(), |duty| duty.id);
            duties.push(Duty { id, name: wanted.name.clone(), slots: wanted.slots, assignees });
        }
        if faults.is_empty() { Ok(Self(duties)) } else { Err(Error::invalid(faults)) }
    }

    /// Translates new duties of this event to another event of the series. A duty's id belongs to one event, so in the
    /// other event the duty with the same previous name is used.
    pub fn for_other_event(&self, other: &Self, new: &[NewDuty]) -> Vec<NewDuty> {
        let name_of = |id: DutyId| self.0.iter().find(|duty| duty.id == id).map(|duty| &duty.name);
        let in_other = |name: &String| other.0.iter().find(|duty| duty.name == *name);
        let translate = |duty: &NewDuty| {
            let id = duty.id.and_then(name_of).and_then(in_other).map(|duty| duty.id);
            NewDuty { id, ..duty.clone() }
        };
        new.iter().map(translate).collect()
    }

    /// The duties after this person has taken one of them.
    pub fn assign(&self, id: DutyId, person: PersonId) -> Result<Self> {
        let mut duties = self.clone();
        let duty = duties.0.iter_mut().find(|duty| duty.id == id).ok_or_else(Error::not_found)?;
        if duty.assignees.contains(&person) {
            return Ok(duties);
        }
        if usize::try_from(duty.slots).is_ok_and(|slots| slots <= duty.assignees.len()) {
            return Err(Error::new(Code::Conflict, "This duty already has enough volunteers."));
        }
        duty.assignees.push(person);
        Ok(duties)
    }

    /// The duties after this person has given up one of them.
    pub fn unassign(&self, id: DutyId, person: PersonId) -> Result<Self> {
        let mut duties = self.clone();
        let duty = duties.0.iter_mut().find(|duty| duty.id == id).ok_or_else(Error::not_found)?;
        let index = duty.assignees.iter().position(|taker| *taker == person);
        duty.assignees.remove(index.ok_or_else(Error::not_found)?);
        Ok(duties)
    }

    /// Everybody who has taken at least one duty.
    pub fn assignees(&self) -> BTreeSet<PersonId> {
        self.0.iter().flat_map(|duty| duty.assignees.iter().copied()).collect()
    }

    /// The duties after this person has given up all of them.
    pub fn without_person(mut self, person: PersonId) -> Self {
        self.0.iter_mut().for_each(|duty| duty.assignees.retain(|taker| *taker != person));
        self
    }
}
