//! What stands against a change, collected so that the caller learns all of it at once.

use super::trust::{ADMIN_DECIDES, GUARDIAN_DECIDES};
use crate::error::{Candidate, Code, Error, Fault, Result};

/// At most so many are told.
const TOLD: usize = 50;

/// The refusals found so far.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// Where in the body the object stands that is looked at; empty for the body itself.
    place: String,
    found: Vec<(Code, Fault)>,
}

impl Refusals {
    /// What follows is about the object at this place.
    pub(super) fn look_at(&mut self, place: String) {
        self.place = place;
    }

    /// A member that is not valid.
    pub(super) fn invalid(&mut self, pointer: &str, word: &'static str, detail: &str) {
        self.refuse(Code::ValidationFailed, pointer, word, detail);
    }

    /// The id of something that does not exist, or that the caller may not know of.
    pub(super) fn missing(&mut self, pointer: &str) {
        self.invalid(pointer, "not_found", "No such object, or it is not yours to see.");
    }

    /// A value that somebody else has.
    pub(super) fn taken(&mut self, pointer: &str, detail: &str) {
        self.refuse(Code::Taken, pointer, "taken", detail);
    }

    /// A state that does not allow it.
    pub(super) fn state(&mut self, pointer: &str, detail: &str) {
        self.refuse(Code::InvalidState, pointer, "invalid_state", detail);
    }

    /// Something that is not for this caller to decide.
    pub(super) fn admin_decides(&mut self, pointer: &str) {
        self.refuse(Code::Forbidden, pointer, "forbidden", ADMIN_DECIDES);
    }

    /// Something that lowers the protection of a minor.
    pub(super) fn guardian_decides(&mut self, pointer: &str) {
        self.refuse(Code::Forbidden, pointer, "protected_minor", GUARDIAN_DECIDES);
    }

    /// Somebody who may be there already.
    pub(super) fn duplicate(&mut self, pointer: &str, detail: &str, candidates: Vec<Candidate>) {
        self.refuse(Code::Conflict, pointer, "duplicate", detail);
        if let Some((_, fault)) = self.found.last_mut() {
            let place = fault.pointer.clone();
            let placed = |candidate| Candidate { pointer: place.clone(), ..candidate };
            fault.candidates = candidates.into_iter().map(placed).collect();
        }
    }

    fn refuse(&mut self, code: Code, pointer: &str, word: &'static str, detail: &str) {
        let pointer = format!("{}{pointer}", self.place);
        self.found.push((code, Fault::new(pointer, word, detail)));
    }

    /// Fails if anything was found: with its own code if all of it is of one kind. Whoever may not do it is
    /// told that and nothing else.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.found.iter().any(|(code, _)| *code == Code::Forbidden) {
            self.found.retain(|(code, _)| *code == Code::Forbidden);
            let faults: Vec<Fault> =
                self.found.into_iter().take(TOLD).map(|(_, fault)| fault).collect();
            let detail = faults.first().map_or(ADMIN_DECIDES.to_owned(), |one| one.detail.clone());
            return Err(Error { faults, ..Error::new(Code::Forbidden, detail) });
        }
        let Some((first, fault)) = self.found.first() else { return Ok(()) };
        let alike = self.found.iter().all(|(code, _)| code == first);
        let code = if alike { *first } else { Code::ValidationFailed };
        let detail = match self.found.len() {
            1 => fault.detail.clone(),
            count => format!("There are {count} faults."),
        };
        let faults = self.found.into_iter().take(TOLD).map(|(_, fault)| fault).collect();
        Err(Error { faults, ..Error::new(code, detail) })
    }
}
