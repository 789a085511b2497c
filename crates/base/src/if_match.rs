//! Optimistic concurrency control: the versions of an object that a request accepts (`If-Match`).

use crate::error::{Code, Error, Result};

/// An object whose version increases with every change.
pub trait Versioned {
    /// The current version.
    fn version(&self) -> i64;
}

/// The value of the `If-Match` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// The header was not sent: accept any version.
    Absent,
    /// `*`: the object must exist.
    Any,
    /// The object must have one of these versions.
    Versions(Vec<i64>),
}

impl IfMatch {
    /// Returns the object if it meets the condition.
    pub fn check<T: Versioned>(&self, object: Result<T>) -> Result<T> {
        match (self, object) {
            (Self::Any, Err(error)) if error.code == Code::NotFound => {
                let detail = "The object does not exist, so `If-Match: *` cannot match.";
                Err(Error::new(Code::PreconditionFailed, detail))
            }
            (Self::Versions(versions), Ok(object)) if !versions.contains(&object.version()) => {
                let detail = "The object has changed since you read it. Read it again and retry.";
                let error = Error::new(Code::PreconditionFailed, detail);
                Err(Error { version: Some(object.version()), ..error })
            }
            (_, object) => object,
        }
    }
}
