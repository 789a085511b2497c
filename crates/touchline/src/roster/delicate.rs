//! What of a person only few may see, and the trace that each look at it leaves.

use store::Tx;

use super::member::Member;
use super::membership::MemberStatus;
use super::profile::Profile;
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::signals::{Seen, Tell};

/// Something that shows private data of a person.
pub trait Delicate: Sized {
    /// The entry in the audit log that a look at it leaves.
    fn seen(&self) -> Option<Seen>;
    /// The same without what is private.
    #[must_use]
    fn without_private(self) -> Self;
}

impl Delicate for Member {
    fn seen(&self) -> Option<Seen> {
        Self::seen(self)
    }

    fn without_private(self) -> Self {
        Self { private: None, ..self }
    }
}

impl Delicate for Profile {
    fn seen(&self) -> Option<Seen> {
        Self::seen(self)
    }

    fn without_private(self) -> Self {
        Self { private: None, ..self }
    }
}

/// How an answer to a change is shown.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    /// Whether the caller may read what is private at all.
    pub reads: bool,
    /// Whether the caller has just written the medical note, and so knows it.
    pub wrote: bool,
}

/// The answer to a change, as this caller may see it. A change must not be a way to read what one may not
/// read, nor to read it without a trace.
pub fn answered<T: Delicate>(tx: &Tx<'_>, sight: Sight, changed: T) -> Result<T> {
    if !sight.reads {
        return Ok(changed.without_private());
    }
    if let Some(seen) = changed.seen().filter(|_| !sight.wrote) {
        tx.audit(seen.action, &seen.subject, &seen.details)?;
    }
    Ok(changed)
}

/// The member as a credential with this reach may see them: of those who have left, a credential of
/// certain teams no longer learns what is private.
pub fn within(reach: &Reach, member: Member) -> Member {
    let left = member.status == MemberStatus::Removed && *reach != Reach::Everywhere;
    if left { member.without_private() } else { member }
}
