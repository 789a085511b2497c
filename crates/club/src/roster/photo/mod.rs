//! Photos of people. The photo of a minor needs the consent of a guardian.

pub mod pages;

use super::guards;
use super::person::{self, Person};
use super::profile::{self, Profile};
use super::safeguarding;
use super::version_cascade;
use crate::files::attaching;
use crate::files::file::Purpose;
use crate::prelude::*;

const CONSENT_REQUIRED: &str = mark!(
    "A photo of a minor needs the consent of a guardian. Only a guardian or an admin can set it."
);

/// Attaches the photo of a person, and removes the one they had before. `consent` says that a guardian agreed.
pub(super) fn replace(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (before, after): (&Person, &Person),
    consent: bool,
    violations: &mut Violations,
) -> Result<()> {
    let ids = (before.photo_file_id, after.photo_file_id);
    if ids.0 != ids.1 && ids.1.is_some() {
        check_consent(tx, access, before.id, consent, violations)?;
    }
    let owner = after.id.to_string();
    attaching::replace(tx, (Purpose::Photo, &owner), ids, "/photo_file_id", violations)
}

/// Adds a violation unless the photo of this person may be shown: a guardian of a minor sets it, or an admin who confirms
/// that a guardian agreed.
fn check_consent(
    db: &Reader<'_>,
    access: &TeamAccess,
    id: PersonId,
    consent: bool,
    violations: &mut Violations,
) -> Result<()> {
    let is_minor = safeguarding::is_minor(db, id)?;
    if let Some((code, detail)) = refusal(db, access, id)? {
        violations.forbidden("/photo_file_id", code, detail);
    } else if is_minor && *access == TeamAccess::AllTeams && !consent {
        let detail = "Confirm that a guardian of this minor agreed to the photo.";
        violations.invalid("/photo_consent", "consent_required", detail);
    }
    Ok(())
}

/// Removes the photos of people who become minors, because no guardian was asked about them. A photo that the same request
/// sets was checked.
pub(super) fn remove_unchecked(tx: &Tx<'_>, people: &[PersonId]) -> Result<()> {
    if people.is_empty() {
        return Ok(());
    }
    let people = people.to_vec();
    let with_photo: Vec<(PersonId,)> = tx.all(
        "select p.id from person p
         join file f on f.account_id = p.account_id and f.id = p.photo_file_id
         where p.account_id = :account and p.id in (:people) and f.updated_at < :now",
        bind! { people },
    )?;
    for (id,) in with_photo {
        attaching::remove_of(tx, &id.to_string())?;
        tx.execute(
            "update person set photo_file_id = null where account_id = :account and id = :id",
            bind! { id },
        )?;
        tx.audit("person.photo_removed", &id.to_string(), &json!({ "reason": "minor" }))?;
    }
    Ok(())
}

/// Whether the caller may decide about a photo of this minor: confirmed guardians and admins may.
fn can_consent(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<bool> {
    safeguarding::can_lower_protection(db, access, id)
}

/// Why the caller may not set the photo of this person: a code and a text. `None` if they may.
fn refusal(
    db: &Reader<'_>,
    access: &TeamAccess,
    id: PersonId,
) -> Result<Option<(&'static str, &'static str)>> {
    let (may_set, reason) = if safeguarding::is_minor(db, id)? {
        (can_consent(db, access, id)?, ("consent_required", CONSENT_REQUIRED))
    } else {
        (can_set_of_adult(db, access, id)?, ("forbidden", guards::ADMIN_ONLY))
    };
    Ok((!may_set).then_some(reason))
}

/// Whether the caller may set the photo of this adult: their own, or as for contact data, that of a person who does not sign
/// in and is only on teams that the caller manages.
fn can_set_of_adult(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<bool> {
    Ok(*access == TeamAccess::AllTeams
        || access.is_self(id)
        || guards::manages_contact_data(db, access, &person::find(db, id)?)?)
}

/// Whether a caller may see the photo of a person: like their private data.
pub(super) fn can_see(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<bool> {
    Ok(person::filter_visible(db, access, &[id])?.contains(&id))
}

/// Sets or removes the photo of a person: of the caller's family, or of a person on a team that the caller manages.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: PersonId,
    photo_file_id: Option<FileId>,
    consent: bool,
) -> Result<Profile> {
    let before = person::find_visible(tx, access, id)?;
    Error::invalid_state("This person was erased.").fail_if(before.erased_at.is_some())?;
    let after = Person { photo_file_id, ..before.clone() };
    let mut violations = Violations::default();
    replace(tx, access, (&before, &after), consent, &mut violations)?;
    violations.finish()?;
    if after != before {
        version_cascade::save_person(tx, before, &after)?;
    }
    profile::show(tx, access, id)
}
