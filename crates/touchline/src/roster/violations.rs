//! Collects the violations of a request, so that the caller gets all of them at once.

use super::guards::{ADMIN_ONLY, GUARDIAN_ONLY};
use crate::error::{Candidate, Code, Error, Fault, Result};

/// Maximum number of violations in a response.
const MAX_REPORTED: usize = 50;

/// The violations so far.
#[derive(Debug, Default)]
pub(super) struct Violations {
    /// JSON pointer to the object that is being checked; empty for the request body itself.
    base_pointer: String,
    violations: Vec<(Code, Fault)>,
}

impl Violations {
    /// Sets the JSON pointer to the object that is checked next.
    pub(super) fn set_base_pointer(&mut self, pointer: String) {
        self.base_pointer = pointer;
    }

    /// A field is not valid.
    pub(super) fn invalid(&mut self, pointer: &str, word: &'static str, detail: &str) {
        self.push(Code::ValidationFailed, pointer, word, detail);
    }

    /// An id does not exist, or the caller may not see the object.
    pub(super) fn not_found(&mut self, pointer: &str) {
        self.invalid(pointer, "not_found", "No such object, or you don't have access to it.");
    }

    /// A value is already in use.
    pub(super) fn taken(&mut self, pointer: &str, detail: &str) {
        self.push(Code::Taken, pointer, "taken", detail);
    }

    /// The state of an object does not allow the change.
    pub(super) fn invalid_state(&mut self, pointer: &str, detail: &str) {
        self.push(Code::InvalidState, pointer, "invalid_state", detail);
    }

    /// Only an admin may make the change.
    pub(super) fn admin_only(&mut self, pointer: &str) {
        self.push(Code::Forbidden, pointer, "forbidden", ADMIN_ONLY);
    }

    /// The change lowers the protection of a minor.
    pub(super) fn guardian_only(&mut self, pointer: &str) {
        self.push(Code::Forbidden, pointer, "protected_minor", GUARDIAN_ONLY);
    }

    /// A person may already exist.
    pub(super) fn duplicate(&mut self, pointer: &str, detail: &str, candidates: Vec<Candidate>) {
        self.push(Code::Conflict, pointer, "duplicate", detail);
        if let Some((_, fault)) = self.violations.last_mut() {
            let pointer = fault.pointer.clone();
            let with_pointer = |candidate| Candidate { pointer: pointer.clone(), ..candidate };
            fault.candidates = candidates.into_iter().map(with_pointer).collect();
        }
    }

    fn push(&mut self, code: Code, pointer: &str, word: &'static str, detail: &str) {
        let pointer = format!("{}{pointer}", self.base_pointer);
        self.violations.push((code, Fault::new(pointer, word, detail)));
    }

    /// Fails if there are violations, with their common code if they all have the same. If the caller lacks a
    /// permission, only these violations are reported.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.violations.iter().any(|(code, _)| *code == Code::Forbidden) {
            self.violations.retain(|(code, _)| *code == Code::Forbidden);
            let faults: Vec<Fault> =
                self.violations.into_iter().take(MAX_REPORTED).map(|(_, fault)| fault).collect();
            let detail = faults.first().map_or(ADMIN_ONLY.to_owned(), |one| one.detail.clone());
            return Err(Error { faults, ..Error::new(Code::Forbidden, detail) });
        }
        let Some((first, fault)) = self.violations.first() else { return Ok(()) };
        let same_code = self.violations.iter().all(|(code, _)| code == first);
        let code = if same_code { *first } else { Code::ValidationFailed };
        let detail = match self.violations.len() {
            1 => fault.detail.clone(),
            count => format!("The request has {count} problems. The first one: {}", fault.detail),
        };
        let faults =
            self.violations.into_iter().take(MAX_REPORTED).map(|(_, fault)| fault).collect();
        Err(Error { faults, ..Error::new(code, detail) })
    }
}
