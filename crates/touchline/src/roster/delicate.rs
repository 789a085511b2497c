//! What of a person only few may see, and the trace that each look at it leaves.

use serde_json::json;
use store::Tx;

use super::member::Member;
use super::membership::MemberStatus;
use super::profile::{Private, Profile};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::signals::{Seen, Tell};

/// Something that shows private data of a person.
pub trait Delicate: Sized {
    /// What its ids are called in the audit log.
    const IDS: &'static str;

    /// Its id, as it is shown.
    fn shown_id(&self) -> String;
    /// The id of what it is listed by.
    fn listed_by(&self) -> String;
    /// What is private of it, if that is shown.
    fn private(&self) -> Option<&Private>;
    /// The same without what is private.
    #[must_use]
    fn without_private(self) -> Self;

    /// The entry in the audit log that a look at it leaves.
    fn seen(&self) -> Option<Seen> {
        entry(self.shown_id(), std::slice::from_ref(self))
    }

    /// The entry in the audit log that a look at a list leaves.
    fn all_seen(list: &[Self]) -> Option<Seen> {
        list.first().and_then(|first| entry(first.listed_by(), list))
    }
}

/// The entry for those of whom a medical note is shown, if there are any.
fn entry<T: Delicate>(subject: String, list: &[T]) -> Option<Seen> {
    let noted = list.iter().filter(|one| one.private().is_some_and(|p| p.medical_note.is_some()));
    let ids: Vec<_> = noted.map(T::shown_id).collect();
    let details = json!({ T::IDS: ids });
    (!ids.is_empty()).then_some(Seen { action: "roster.medical_read", subject, details })
}

impl Delicate for Member {
    const IDS: &'static str = "member_ids";

    fn shown_id(&self) -> String {
        self.id.to_string()
    }

    fn listed_by(&self) -> String {
        self.team_id.to_string()
    }

    fn private(&self) -> Option<&Private> {
        self.private.as_ref()
    }

    fn without_private(self) -> Self {
        Self { private: None, ..self }
    }
}

impl Delicate for Profile {
    const IDS: &'static str = "person_ids";

    fn shown_id(&self) -> String {
        self.id.to_string()
    }

    fn listed_by(&self) -> String {
        self.account_id.to_string()
    }

    fn private(&self) -> Option<&Private> {
        self.private.as_ref()
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
/// certain teams no longer learns what is private; nor does a family of others.
pub fn within(reach: &Reach, member: Member) -> Member {
    let left = member.status == MemberStatus::Removed && *reach != Reach::Everywhere;
    let open = reach.check_person(member.team_id, member.person_id).is_ok();
    if left || !open { member.without_private() } else { member }
}
