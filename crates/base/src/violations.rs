//! Collects everything that is wrong with a request, so that the caller gets all problems in one response.
//!
//! The fields of a body are checked first, by [`crate::web::fields`]. This collects what needs the database: objects
//! that the request refers to, and rules that depend on the current state.

use i18n::Message;

use crate::error::{Candidate, Code, Error, Fault, Result};

/// Maximum number of violations in a response.
const MAX_REPORTED: usize = 50;

/// The violations so far.
#[derive(Debug, Default)]
pub struct Violations {
    /// JSON pointer to the object that is being checked; empty for the request body itself.
    base_pointer: String,
    violations: Vec<(Code, Fault)>,
}

impl Violations {
    /// Sets the JSON pointer to the object that is checked next.
    pub fn set_base_pointer(&mut self, pointer: String) {
        self.base_pointer = pointer;
    }

    /// A field is not valid.
    pub fn invalid(
        &mut self,
        pointer: impl AsRef<str>,
        code: &'static str,
        detail: impl Into<Message>,
    ) {
        self.push(Code::ValidationFailed, pointer, code, detail);
    }

    /// Fields are not valid.
    pub fn invalid_fields(&mut self, faults: impl IntoIterator<Item = Fault>) {
        self.violations.extend(faults.into_iter().map(|fault| (Code::ValidationFailed, fault)));
    }

    /// An id does not exist, or the caller may not see the object.
    pub fn not_found(&mut self, pointer: impl AsRef<str>) {
        self.invalid(pointer, "not_found", "No such object, or you don't have access to it.");
    }

    /// A value is already in use.
    pub fn already_in_use(&mut self, pointer: impl AsRef<str>, detail: impl Into<Message>) {
        self.push(Code::Taken, pointer, "taken", detail);
    }

    /// The state of an object does not allow the change.
    pub fn invalid_state(&mut self, pointer: impl AsRef<str>, detail: impl Into<Message>) {
        self.push(Code::InvalidState, pointer, "invalid_state", detail);
    }

    /// The request conflicts with existing data, such as a sold-out product.
    pub fn conflict(
        &mut self,
        pointer: impl AsRef<str>,
        code: &'static str,
        detail: impl Into<Message>,
    ) {
        self.push(Code::Conflict, pointer, code, detail);
    }

    /// The caller may not make the change.
    pub fn forbidden(
        &mut self,
        pointer: impl AsRef<str>,
        code: &'static str,
        detail: impl Into<Message>,
    ) {
        self.push(Code::Forbidden, pointer, code, detail);
    }

    /// A person may already exist.
    pub fn duplicate(
        &mut self,
        pointer: &str,
        detail: impl Into<Message>,
        candidates: Vec<Candidate>,
    ) {
        self.conflict(pointer, "duplicate", detail);
        if let Some((_, fault)) = self.violations.last_mut() {
            let pointer = fault.pointer.clone();
            let with_pointer = |candidate| Candidate { pointer: pointer.clone(), ..candidate };
            fault.candidates = candidates.into_iter().map(with_pointer).collect();
        }
    }

    fn push(
        &mut self,
        code: Code,
        pointer: impl AsRef<str>,
        fault_code: &'static str,
        detail: impl Into<Message>,
    ) {
        let pointer = format!("{}{}", self.base_pointer, pointer.as_ref());
        self.violations.push((code, Fault::new(pointer, fault_code, detail)));
    }

    /// Adds the faults of a validation error and returns `None`. Other errors are returned.
    pub fn collect<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.code == Code::ValidationFailed => {
                self.invalid_fields(error.faults);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// An object that the request refers to. `None` if it was not found or if its state does not allow the change.
    pub fn collect_reference<T>(&mut self, pointer: &str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => return Ok(Some(value)),
            Err(error) if error.code == Code::NotFound => self.not_found(pointer),
            Err(error) if error.code == Code::InvalidState => {
                self.invalid_state(pointer, error.detail);
            }
            Err(error) if error.code == Code::Forbidden => return Err(error.at(pointer)),
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// Fails if there are violations. The error has the code that all violations share; otherwise it is a validation
    /// error. If the caller lacks a permission, only this is reported.
    pub fn finish(&mut self) -> Result<()> {
        let mut violations = std::mem::take(&mut self.violations);
        if violations.iter().any(|(code, _)| *code == Code::Forbidden) {
            violations.retain(|(code, _)| *code == Code::Forbidden);
        }
        violations.truncate(MAX_REPORTED);
        let Some(&(code, _)) = violations.first() else { return Ok(()) };
        let same_code = violations.iter().all(|(other, _)| *other == code);
        let faults: Vec<_> = violations.into_iter().map(|(_, fault)| fault).collect();
        if !same_code || code == Code::ValidationFailed {
            return Err(Error::invalid(faults));
        }
        let detail = faults.first().map(|fault| fault.detail.clone()).unwrap_or_default();
        Err(Error { faults, ..Error::new(code, detail) })
    }
}
