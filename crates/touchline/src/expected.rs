//! What version of an object a caller expects to change.

use crate::error::{Code, Error, Result};

/// An object whose version rises with every change.
pub trait Versioned {
    /// The version now.
    fn version(&self) -> i64;
}

/// The caller's `If-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Nothing was said: change whatever is there.
    Anything,
    /// `*`: there must be something.
    Something,
    /// One of these versions.
    Versions(Vec<i64>),
}

impl Expected {
    /// The object, if it is what the caller expects.
    pub fn check<T: Versioned>(&self, found: Result<T>) -> Result<T> {
        match (self, found) {
            (Self::Something, Err(error)) if error.code == Code::NotFound => {
                Err(Error::new(Code::PreconditionFailed, "There is no such object."))
            }
            (Self::Versions(versions), Ok(object)) if !versions.contains(&object.version()) => {
                let detail = "The object has changed since it was read; read it again.";
                let error = Error::new(Code::PreconditionFailed, detail);
                Err(Error { version: Some(object.version()), ..error })
            }
            (_, found) => found,
        }
    }
}
