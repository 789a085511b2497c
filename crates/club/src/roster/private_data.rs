//! Private data of people: who may see it, and audit entries for reading medical notes.

use super::member::Member;
use super::membership::MemberStatus;
use super::profile::{Private, Profile};
use crate::prelude::*;
use crate::signals::SensitiveRead;

/// A response object that may contain private data of a person.
pub trait HasPrivateData: Sized {
    /// The key of the ids in the details of the audit entry.
    const AUDIT_KEY: &'static str;

    /// The id of the object.
    fn audit_id(&self) -> String;
    /// The id of the object that a list belongs to, such as the team.
    fn list_subject(&self) -> String;
    /// The private data, if it is included.
    fn private(&self) -> Option<&Private>;
    /// Removes the private data.
    #[must_use]
    fn without_private(self) -> Self;

    /// The audit entry for reading this object, if it includes a medical note.
    fn read_audit_entry(&self) -> Option<SensitiveRead> {
        audit_entry(self.audit_id(), std::slice::from_ref(self))
    }

    /// The audit entry for reading a list, if it includes medical notes.
    fn list_audit_entry(list: &[Self]) -> Option<SensitiveRead> {
        list.first().and_then(|first| audit_entry(first.list_subject(), list))
    }
}

/// The audit entry for the objects in a list that include a medical note, if there are any.
fn audit_entry<T: HasPrivateData>(subject: String, list: &[T]) -> Option<SensitiveRead> {
    let has_note = |one: &&T| one.private().is_some_and(|p| p.medical_note.is_some());
    let ids: Vec<_> = list.iter().filter(has_note).map(T::audit_id).collect();
    let details = json!({ T::AUDIT_KEY: ids });
    (!ids.is_empty()).then_some(SensitiveRead { action: "roster.medical_read", subject, details })
}

/// Implements the trait for an object with the field `private`. Its lists belong to the object with the id `$list`.
macro_rules! has_private_data {
    ($type:ident, $key:literal, $list:ident) => {
        impl HasPrivateData for $type {
            const AUDIT_KEY: &'static str = $key;

            fn audit_id(&self) -> String {
                self.id.to_string()
            }

            fn list_subject(&self) -> String {
                self.$list.to_string()
            }

            fn private(&self) -> Option<&Private> {
                self.private.as_ref()
            }

            fn without_private(self) -> Self {
                Self { private: None, ..self }
            }
        }
    };
}
has_private_data!(Member, "member_ids", team_id);
has_private_data!(Profile, "person_ids", account_id);

/// Whether the caller of a write request may see private data in the response.
#[derive(Debug, Clone, Copy)]
pub struct PrivateAccess {
    /// Whether the caller may read private data.
    pub can_read: bool,
    /// Whether the caller has just written the medical note, so that showing it needs no audit entry.
    pub wrote_note: bool,
}

/// The response to a write request as this caller may see it. Write requests must not reveal private data to callers
/// who may not read it, nor reveal medical notes without an audit entry.
pub fn redact_response<T: HasPrivateData>(
    tx: &Tx<'_>,
    access: PrivateAccess,
    response: T,
) -> Result<T> {
    if !access.can_read {
        return Ok(response.without_private());
    }
    if let Some(entry) = response.read_audit_entry().filter(|_| !access.wrote_note) {
        tx.audit(entry.action, &entry.subject, &entry.details)?;
    }
    Ok(response)
}

/// The member as a caller with this access may see them. Callers without access to all teams do not see private data of
/// removed members. Families see private data of their own people only.
pub fn redact_member(access: &TeamAccess, member: Member) -> Member {
    let left = member.status == MemberStatus::Removed && *access != TeamAccess::AllTeams;
    let is_allowed = access.check_person(member.team_id, member.person_id).is_ok();
    if left || !is_allowed { member.without_private() } else { member }
}
