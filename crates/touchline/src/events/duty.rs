//! Duties: what volunteers are needed for at an event, and who has taken them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize, Serializer};
use store::{Bound, Column, Tx, Value};
use utoipa::ToSchema;

use crate::error::{Code, Error, Fault, Result};
use crate::ids::{DutyId, PersonId};

/// Something volunteers are needed for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Duty {
    pub id: DutyId,
    #[schema(examples("Bring oranges"), max_length = 120)]
    pub name: String,
    /// How many volunteers are needed.
    #[schema(minimum = 1, maximum = 100)]
    pub needed: i64,
    /// The people who have taken it, in the order they did.
    pub taken_by: Vec<PersonId>,
}

/// A duty of a new or changed event. One with the `id` or the name of a duty that was there before is
/// that duty, and whoever has taken it keeps it.
#[derive(Debug, Clone, ToSchema)]
pub struct NewDuty {
    pub id: Option<DutyId>,
    #[schema(examples("Bring oranges"), min_length = 1, max_length = 120)]
    pub name: String,
    /// 1 if left out.
    #[schema(minimum = 1, maximum = 100, required = false)]
    pub needed: i64,
}

/// The duties of an event, kept as JSON in its row.
#[derive(Debug, Clone, PartialEq, Eq, Default, ToSchema)]
pub struct Duties(pub Vec<Duty>);

impl Serialize for Duties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Bound for Duties {
    fn write(&self) -> Value<'_> {
        Value::Text(serde_json::to_string(&self.0).expect("duties are plain data").into())
    }
}

impl Column for Duties {
    fn read(value: Value<'_>) -> store::Result<Self> {
        #[derive(Deserialize)]
        struct Kept {
            id: DutyId,
            name: String,
            needed: i64,
            taken_by: Vec<PersonId>,
        }
        let text = match &value {
            Value::Text(text) if text == "[]" => return Ok(Self::default()),
            Value::Text(text) => text,
            other => return Err(store::Error::Corrupt(format!("{other:?} for duties"))),
        };
        let kept: Vec<Kept> = serde_json::from_str(text)
            .map_err(|error| store::Error::Corrupt(format!("duties: {error}")))?;
        let duty = |Kept { id, name, needed, taken_by }| Duty { id, name, needed, taken_by };
        Ok(Self(kept.into_iter().map(duty).collect()))
    }
}

impl Duties {
    /// These duties, with whatever was taken of the ones before.
    pub fn renewed(&self, tx: &Tx<'_>, new: &[NewDuty]) -> Result<Self> {
        let mut faults = Vec::new();
        let mut duties: Vec<Duty> = Vec::new();
        for (position, wanted) in new.iter().enumerate() {
            let place = |member: &str| format!("/duties/{position}/{member}");
            let named = |duty: &Duty| new.iter().any(|other| other.id == Some(duty.id));
            let known = |duty: &&Duty| match wanted.id {
                Some(id) => duty.id == id,
                None => duty.name == wanted.name && !named(duty),
            };
            let before = self.0.iter().find(known);
            if wanted.id.is_some() && before.is_none() {
                faults.push(Fault::new(place("id"), "unknown", "The event has no such duty."));
            }
            if wanted.id.is_some_and(|id| duties.iter().any(|duty| duty.id == id)) {
                faults.push(Fault::new(place("id"), "repeated", "This duty is named twice."));
            }
            if duties.iter().any(|duty| duty.name == wanted.name) {
                faults.push(Fault::new(place("name"), "repeated", "Two duties have this name."));
            }
            let taken_by = before.map(|duty| duty.taken_by.clone()).unwrap_or_default();
            if usize::try_from(wanted.needed).is_ok_and(|needed| needed < taken_by.len()) {
                let detail = "More people than that have already taken it.";
                faults.push(Fault::new(place("needed"), "already_taken", detail));
            }
            let id = before.map_or_else(|| tx.new_id(), |duty| duty.id);
            duties.push(Duty { id, name: wanted.name.clone(), needed: wanted.needed, taken_by });
        }
        if faults.is_empty() { Ok(Self(duties)) } else { Err(Error::invalid(faults)) }
    }

    /// What is wanted of these duties, as it is said of another event of the series. A duty's id
    /// belongs to one event; elsewhere the name it had says which is meant.
    pub fn elsewhere(&self, there: &Self, new: &[NewDuty]) -> Vec<NewDuty> {
        let named = |id: DutyId| self.0.iter().find(|duty| duty.id == id).map(|duty| &duty.name);
        let there = |name: &String| there.0.iter().find(|duty| duty.name == *name);
        let said = |duty: &NewDuty| {
            let id = duty.id.and_then(named).and_then(there).map(|duty| duty.id);
            NewDuty { id, ..duty.clone() }
        };
        new.iter().map(said).collect()
    }

    /// The duties once this person has taken one of them.
    pub fn taken(&self, id: DutyId, person: PersonId) -> Result<Self> {
        let mut duties = self.clone();
        let duty = duties.0.iter_mut().find(|duty| duty.id == id).ok_or_else(Error::not_found)?;
        if duty.taken_by.contains(&person) {
            return Ok(duties);
        }
        if usize::try_from(duty.needed).is_ok_and(|needed| needed <= duty.taken_by.len()) {
            return Err(Error::new(Code::Conflict, "Enough people have already taken this duty."));
        }
        duty.taken_by.push(person);
        Ok(duties)
    }

    /// The duties once this person has given one of them back.
    pub fn released(&self, id: DutyId, person: PersonId) -> Result<Self> {
        let mut duties = self.clone();
        let duty = duties.0.iter_mut().find(|duty| duty.id == id).ok_or_else(Error::not_found)?;
        let place = duty.taken_by.iter().position(|taker| *taker == person);
        duty.taken_by.remove(place.ok_or_else(Error::not_found)?);
        Ok(duties)
    }

    /// Everybody who has taken one of them, once.
    pub fn takers(&self) -> BTreeSet<PersonId> {
        self.0.iter().flat_map(|duty| duty.taken_by.iter().copied()).collect()
    }

    /// The duties once this person has given all of them back.
    pub fn without(mut self, person: PersonId) -> Self {
        self.0.iter_mut().for_each(|duty| duty.taken_by.retain(|taker| *taker != person));
        self
    }
}
