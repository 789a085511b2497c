//! A form does not remove duties that people have taken: nobody would tell them.

use std::collections::{BTreeMap, BTreeSet};

use super::concurrent_edit::MAX_DUTIES;
use crate::events::event::Event;
use crate::prelude::*;
use crate::web::form::FilledForm;

/// Where the faults are in the body of a request.
const POINTER: &str = "/duties";

/// Fails if a change removes duties of coming events that people have taken. The pairs are the events before and after it.
pub(super) fn check(changed: &[(Event, Event)], now: Timestamp) -> Result<()> {
    let mut takers: BTreeMap<&str, BTreeSet<PersonId>> = BTreeMap::new();
    for (before, after) in changed.iter().filter(|(before, _)| !before.is_over(now)) {
        let is_kept = |id: DutyId| after.duties.0.iter().any(|duty| duty.id == id);
        for duty in before.duties.0.iter().filter(|duty| !is_kept(duty.id)) {
            takers.entry(&duty.name).or_default().extend(&duty.assignees);
        }
    }
    takers.retain(|_, people| !people.is_empty());
    let fault = |(duty, people): (&str, BTreeSet<PersonId>)| {
        let detail = message_n!(
            "“{duty}” cannot be removed, because {count} person has taken it. Ask them to withdraw first.",
            "“{duty}” cannot be removed, because {count} people have taken it. Ask them to withdraw first.",
            people.len(),
            duty
        );
        Fault::new(POINTER, "already_taken", detail)
    };
    let faults: Vec<_> = takers.into_iter().map(fault).collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::invalid(faults)) }
}

/// Whether [`check`] failed.
pub(super) fn is_refused(error: &Error) -> bool {
    error.faults.iter().any(|fault| fault.pointer == POINTER && fault.code == "already_taken")
}

/// Adds the duties that people have taken to a form from which they were removed.
pub(super) fn restore(form: &mut FilledForm, event: &Event) {
    let name = |field: &str, row: usize| format!("duty_{field}_{row}");
    for duty in event.duties.0.iter().filter(|duty| !duty.assignees.is_empty()) {
        let id = duty.id.to_string();
        let has = |form: &FilledForm, field, value: &str| {
            (1..=MAX_DUTIES).any(|row| form.text(&name(field, row)) == value)
        };
        if has(form, "id", &id) || has(form, "name", &duty.name) {
            continue;
        }
        let free = (1..=MAX_DUTIES).find(|row| form.text(&name("name", *row)).is_empty());
        if let Some(row) = free {
            form.set(&name("id", row), id);
            form.set(&name("name", row), duty.name.clone());
            form.set(&name("slots", row), duty.slots.to_string());
        }
    }
}
