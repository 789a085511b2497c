//! Guardians of people, usually parents. Siblings share them.

use std::collections::BTreeSet;

use macros::input;

use super::api;
use super::guards::{self, Dependent};
use super::guards::{report_admin_only, report_guardian_only};
use super::person::{self, Person, PersonChange};
use super::safeguarding;
use super::version_cascade::VersionCascade;
use crate::prelude::*;

/// Maximum number of guardians of a person.
pub const MAX_GUARDIANS: usize = 10;

record! {
    /// A guardian of a person, with their permissions.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Guardianship in guardianship {
        pub account_id: AccountId,
        /// The dependent.
        pub person_id: PersonId,
        pub guardian_id: PersonId,
        /// Position in the list of guardians, from 0.
        pub position: i64,
        pub relationship: Option<String>,
        pub can_pick_up: bool,
        pub receives_messages: bool,
        /// Whether an admin or a confirmed guardian of the same person confirmed the guardianship.
        pub confirmed: bool,
        pub created_at: Timestamp,
    }
}

/// A guardianship with the person who is the guardian.
#[derive(Debug, Clone)]
pub struct GuardianLink {
    pub guardianship: Guardianship,
    pub guardian: Person,
}

impl GuardianLink {
    /// Whether both the guardianship and the guardian as an adult are confirmed.
    pub fn is_confirmed(&self) -> bool {
        self.guardianship.confirmed && self.guardian.adult_confirmed_at.is_some()
    }
}

/// A guardian of a person.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Guardian {
    /// ID of the guardian, who is a person too.
    pub id: PersonId,
    /// First name of the guardian.
    pub first_name: String,
    /// Last name of the guardian.
    pub last_name: Option<String>,
    /// Relationship to the child, such as `mother`.
    #[schema(examples("mother"))]
    pub relationship: Option<String>,
    /// Email address of the guardian.
    pub email: Option<String>,
    /// Phone number of the guardian.
    pub phone: Option<String>,
    /// Whether the guardian may pick up the child.
    pub can_pick_up: bool,
    /// Whether the guardian receives the messages to the child.
    pub receives_messages: bool,
    /// Whether an admin or another confirmed guardian has confirmed the guardian. An unconfirmed guardian does not
    /// count as a guardian in conversations with the child.
    pub confirmed: bool,
}

impl From<&GuardianLink> for Guardian {
    fn from(GuardianLink { guardianship, guardian }: &GuardianLink) -> Self {
        copy_fields! {
            Self {
                ..&guardian { id, first_name, last_name, email, phone }
                ..&guardianship { relationship, can_pick_up, receives_messages, confirmed }
            }
        }
    }
}

/// A guardian to add or update. With `id` it is that person, and only the given fields change. Without `id` it is an
/// existing person with the same name and email address, or a new person if there is none.
#[input(as = GuardianInput)]
#[derive(Clone, Default)]
pub struct NewGuardian {
    /// First name of the guardian. Required without `id`.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 120)]
    #[input(with(api::guardian_name), non_null)]
    pub first_name: Option<String>,
    /// ID of an existing person.
    pub id: Option<PersonId>,
    /// Last name of the guardian.
    #[input(line(120))]
    pub last_name: Change<String>,
    /// Relationship to the child, such as `mother`.
    #[input(line(60))]
    pub relationship: Change<String>,
    /// Email address of the guardian.
    #[input(email)]
    pub email: Change<String>,
    /// Phone number of the guardian.
    #[input(line(40))]
    pub phone: Change<String>,
    /// Whether the guardian may pick up the child. Default for new guardians: `true`.
    pub can_pick_up: Change<bool>,
    /// Whether the guardian receives the messages to the child. Default for new guardians: `true`.
    pub receives_messages: Change<bool>,
    /// Whether the guardian is confirmed. Only an admin or a confirmed guardian can change it. Default for new
    /// guardians: `true` if an admin or a confirmed guardian adds them, otherwise `false`.
    pub confirmed: Change<bool>,
}

impl NewGuardian {
    /// The changes to the person, as opposed to the guardianship.
    fn person_change(&mut self) -> PersonChange {
        PersonChange {
            first_name: self.first_name.take(),
            last_name: std::mem::take(&mut self.last_name),
            email: std::mem::take(&mut self.email),
            phone: std::mem::take(&mut self.phone),
            ..PersonChange::default()
        }
    }

    /// Applies the changes to a guardianship.
    fn apply_to(self, before: &Guardianship, position: usize) -> Guardianship {
        Guardianship {
            position: i64::try_from(position).unwrap_or(i64::MAX),
            relationship: self.relationship.apply(before.relationship.clone()),
            can_pick_up: self.can_pick_up.apply_or(before.can_pick_up, true),
            receives_messages: self.receives_messages.apply_or(before.receives_messages, true),
            confirmed: self.confirmed.apply_or(before.confirmed, before.confirmed),
            ..before.clone()
        }
    }
}

/// The guardians of these people, sorted by person and position.
pub fn list_for(db: &Reader<'_>, people: &[PersonId]) -> Result<Vec<GuardianLink>> {
    let guardianships: Vec<Guardianship> = db.all(
        sql!(
            Guardianship::SELECT,
            " where account_id = :account and person_id in (:people) order by person_id, position"
        ),
        bind! { people: people.to_vec() },
    )?;
    let guardians =
        person::find_many(db, guardianships.iter().map(|one| one.guardian_id).collect())?;
    let link = |guardianship: Guardianship| {
        let guardian = guardians.get(&guardianship.guardian_id)?.clone();
        Some(GuardianLink { guardianship, guardian })
    };
    Ok(guardianships.into_iter().filter_map(link).collect())
}

/// The guardianships in which these people are the guardians.
pub fn list_by_guardian(db: &Reader<'_>, guardians: &[PersonId]) -> Result<Vec<Guardianship>> {
    Ok(db.all(
        sql!(
            Guardianship::SELECT,
            " where account_id = :account and guardian_id in (:guardians)
              order by guardian_id, person_id"
        ),
        bind! { guardians: guardians.to_vec() },
    )?)
}

/// Whether any of these people is a guardian.
pub(super) fn any_is_guardian(db: &Reader<'_>, people: Vec<PersonId>) -> Result<bool> {
    db.exists(
        "select 1 from guardianship where account_id = :account and guardian_id in (:people) limit 1",
        bind! { people },
    )
}

/// A guardian to save: the existing person, if there is one, the person after the change, and the guardianship.
pub(super) struct PlannedGuardian {
    before: Option<Person>,
    after: Person,
    guardianship: Guardianship,
}

/// Resolves and validates the new list of guardians of a child, without saving anything.
pub(super) fn plan(
    tx: &Tx<'_>,
    access: &TeamAccess,
    dependent: Dependent<'_>,
    items: Vec<NewGuardian>,
    violations: &mut Violations,
) -> Result<Vec<PlannedGuardian>> {
    let child = dependent.after.id;
    let current = list_for(tx, &[child])?;
    let can_add = guards::can_add_guardian(tx, access, dependent)?;
    let can_lower = safeguarding::can_lower_protection(tx, access, child)?;
    let mut plan: Vec<PlannedGuardian> = Vec::new();
    for (position, mut item) in items.into_iter().enumerate() {
        let pointer = format!("/guardians/{position}");
        let Some((before, after)) = resolve_person(tx, access, child, &current, &mut item)? else {
            violations.not_found(format!("{pointer}/id"));
            continue;
        };
        let is_current = current.iter().any(|link| link.guardian.id == after.id);
        let after = match &before {
            Some(before) => {
                if let Some(field) = guards::forbidden_contact_change(tx, access, before, &after)? {
                    report_admin_only(violations, format!("{pointer}/{field}"));
                }
                safeguarding::clear_confirmation_on_new_email(tx, access, before, after)?
            }
            None => after,
        };
        if access.is_self(after.id) && !is_current {
            // A guardian sees all teams of the child, so nobody may give themselves this access.
            let detail = "You cannot make yourself a guardian. Ask an admin of the club.";
            violations.invalid(&pointer, "not_allowed", detail);
        } else if !is_current && (!can_add || needs_admin(tx, access, before.as_ref())?) {
            report_admin_only(violations, &pointer);
        } else if after.id == child {
            violations.invalid(&pointer, "own_guardian", "A person cannot be their own guardian.");
        } else if plan.iter().any(|other| other.is_same_guardian(before.is_some(), &after)) {
            let detail = "This guardian is in the list more than once.";
            violations.invalid(&pointer, "repeated", detail);
        } else {
            let link = current.iter().find(|link| link.guardian.id == after.id);
            let old = link.map(|link| link.guardianship.clone());
            let old = old.unwrap_or_else(|| new_guardianship(tx, (child, after.id), can_lower));
            let guardianship = item.apply_to(&old, position);
            if !can_lower && guardianship.confirmed != old.confirmed {
                report_guardian_only(violations, format!("{pointer}/confirmed"));
            }
            plan.push(PlannedGuardian { before, after, guardianship });
        }
    }
    if !can_lower && safeguarding::is_minor(tx, child)? {
        let before: Vec<_> = current.into_iter().map(|link| link.guardianship).collect();
        let after: Vec<_> = plan.iter().map(|planned| planned.guardianship.clone()).collect();
        reject_protection_changes(&before, &after, violations);
    }
    Ok(plan)
}

/// Whether only an admin may make this person a guardian, and the caller is not an admin. This applies to confirmed
/// coaches, who could then write to the child alone, and to minors, who would get messages in place of an adult.
fn needs_admin(db: &Reader<'_>, access: &TeamAccess, guardian: Option<&Person>) -> Result<bool> {
    let guardian = guardian.filter(|_| *access != TeamAccess::AllTeams);
    let Some(Person { id, adult_confirmed_at, .. }) = guardian else { return Ok(false) };
    let is_confirmed_coach = adult_confirmed_at.is_some() && guards::is_coach_or_manager(db, *id)?;
    Ok(is_confirmed_coach || safeguarding::is_minor(db, *id)?)
}

/// Adds a violation for each change that lowers the protection of a minor.
fn reject_protection_changes(
    before: &[Guardianship],
    after: &[Guardianship],
    violations: &mut Violations,
) {
    let position_of = |id| after.iter().position(|one| one.guardian_id == id);
    for (_, guardian) in safeguarding::guardian_changes(before, after) {
        let position = position_of(guardian);
        let pointer = position.map_or("/guardians".to_owned(), |at| format!("/guardians/{at}"));
        report_guardian_only(violations, &pointer);
    }
}

impl PlannedGuardian {
    /// Whether this is the same guardian: the same person, or two new people with the same name and email address.
    /// `exists` says whether the other one is an existing person.
    fn is_same_guardian(&self, exists: bool, other: &Person) -> bool {
        let is_similar = self.after.name_folded == other.name_folded
            && self.after.email_folded.is_some()
            && self.after.email_folded == other.email_folded;
        self.after.id == other.id || (!exists && self.before.is_none() && is_similar)
    }
}

fn new_guardianship(
    tx: &Tx<'_>,
    (child, guardian): (PersonId, PersonId),
    confirmed: bool,
) -> Guardianship {
    Guardianship {
        account_id: tx.account(),
        person_id: child,
        guardian_id: guardian,
        position: 0,
        relationship: None,
        can_pick_up: true,
        receives_messages: true,
        confirmed,
        created_at: tx.now(),
    }
}

/// The person of an item, before and after the change. `None` if the person does not exist or is not visible to the
/// caller.
fn resolve_person(
    tx: &Tx<'_>,
    access: &TeamAccess,
    child: PersonId,
    current: &[GuardianLink],
    item: &mut NewGuardian,
) -> Result<Option<(Option<Person>, Person)>> {
    let change = item.person_change();
    if let Some(id) = item.id {
        let Some(person) = person::find_visible(tx, access, id).or_none()? else {
            return Ok(None);
        };
        let after = change.apply(&person);
        return Ok(person.erased_at.is_none().then_some((Some(person), after)));
    }
    let new = change.apply(&person::blank(tx));
    let mut similar: Vec<_> = current.iter().map(|link| link.guardian.clone()).collect();
    if let Some(email) = &new.email_folded {
        similar.extend(person::find_by_email(tx, email)?);
    }
    let ids: Vec<_> = similar.iter().map(|person| person.id).collect();
    let visible = person::filter_visible(tx, access, &ids)?;
    let existing = similar.into_iter().find(|person| {
        person.id != child && visible.contains(&person.id) && is_match(person, &new)
    });
    let after = match &existing {
        Some(person) => fill_missing_contacts(person, new),
        None => new,
    };
    Ok(Some((existing, after)))
}

/// Whether a new person matches an existing one: same name, and no conflicting email address or phone number.
fn is_match(existing: &Person, new: &Person) -> bool {
    let differ = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    existing.name_folded == new.name_folded
        && !differ(&existing.email_folded, &new.email_folded)
        && !differ(&existing.phone_normalized, &new.phone_normalized)
}

/// The existing person, with missing contact data filled in.
fn fill_missing_contacts(existing: &Person, new: Person) -> Person {
    let fill = |old: &Option<String>, new: Option<String>| {
        new.filter(|_| old.is_none()).map_or(Change::Keep, Change::Set)
    };
    let change = PersonChange {
        email: fill(&existing.email, new.email),
        phone: fill(&existing.phone, new.phone),
        ..PersonChange::default()
    };
    change.apply(existing)
}

/// Replaces all guardians of a child. Returns the added ones.
pub(super) fn replace(
    tx: &Tx<'_>,
    child: PersonId,
    plan: Vec<PlannedGuardian>,
    cascade: &mut VersionCascade,
) -> Result<Vec<PersonId>> {
    let before: Vec<_> =
        list_for(tx, &[child])?.into_iter().map(|link| link.guardianship).collect();
    let after: Vec<_> = plan.iter().map(|planned| planned.guardianship.clone()).collect();
    for PlannedGuardian { before, after, .. } in plan {
        match before {
            None => {
                tx.execute(Person::INSERT, &after.bind())?;
                cascade.person_created(after.id);
            }
            Some(before) if before != after => {
                safeguarding::record_change(tx, &before, &after)?;
                person::update(tx, &after)?;
                cascade.person_changed(before, &after);
            }
            Some(_) => {}
        }
    }
    save_all(tx, child, (&before, &after), cascade)
}

/// Adds a guardian to a child. `confirmed` says whether an admin or a confirmed guardian made the decision.
pub(super) fn add(
    tx: &Tx<'_>,
    (child, guardian): (PersonId, PersonId),
    confirmed: bool,
    cascade: &mut VersionCascade,
) -> Result<()> {
    let before: Vec<_> =
        list_for(tx, &[child])?.into_iter().map(|link| link.guardianship).collect();
    Error::invalid_state("A person can have at most 10 guardians.")
        .fail_if(before.len() >= MAX_GUARDIANS)?;
    let last = before.iter().map(|one| one.position).max();
    let new = Guardianship {
        position: last.map_or(0, |last| last + 1),
        ..new_guardianship(tx, (child, guardian), confirmed)
    };
    let after: Vec<_> = before.iter().cloned().chain([new]).collect();
    save_all(tx, child, (&before, &after), cascade).map(drop)
}

/// Confirms the guardianships of a guardian for all their dependents, or only for this child.
pub fn confirm(tx: &Tx<'_>, guardian: PersonId, child: Option<PersonId>) -> Result<()> {
    let unconfirmed = list_by_guardian(tx, &[guardian])?.into_iter().filter(|one| !one.confirmed);
    let mut cascade = VersionCascade::default();
    for one in unconfirmed.filter(|one| child.is_none_or(|child| child == one.person_id)) {
        tx.execute(
            "update guardianship set confirmed = true
             where account_id = :account and person_id = :child and guardian_id = :guardian",
            bind! { child: one.person_id, guardian },
        )?;
        cascade.members_changed(one.person_id);
        let details = json!({ "guardian": guardian });
        tx.audit("person.guardian_confirmed", &one.person_id.to_string(), &details)?;
    }
    cascade.apply(tx, None)
}

/// Removes the unconfirmed guardianships of a guardian.
pub fn remove_unconfirmed(tx: &Tx<'_>, guardian: PersonId) -> Result<()> {
    let mut cascade = VersionCascade::default();
    for removed in list_by_guardian(tx, &[guardian])?.into_iter().filter(|one| !one.confirmed) {
        let child = removed.person_id;
        let before: Vec<_> =
            list_for(tx, &[child])?.into_iter().map(|link| link.guardianship).collect();
        let after: Vec<_> = before.iter().filter(|one| **one != removed).cloned().collect();
        save_all(tx, child, (&before, &after), &mut cascade)?;
    }
    cascade.apply(tx, None)
}

/// Saves the new guardianships of a child in place of the previous ones. Returns the added guardians.
fn save_all(
    tx: &Tx<'_>,
    child: PersonId,
    (before, after): (&[Guardianship], &[Guardianship]),
    cascade: &mut VersionCascade,
) -> Result<Vec<PersonId>> {
    if before == after {
        return Ok(Vec::new());
    }
    tx.execute(
        "delete from guardianship where account_id = :account and person_id = :child",
        bind! { child },
    )?;
    for guardianship in after {
        tx.execute(Guardianship::INSERT, &guardianship.bind())?;
    }
    cascade.members_changed(child);
    if safeguarding::is_minor(tx, child)? {
        for (change, guardian) in safeguarding::guardian_changes(before, after) {
            safeguarding::record(tx, child, change, Some(guardian))?;
        }
    }
    let ids =
        |list: &[Guardianship]| -> BTreeSet<_> { list.iter().map(|one| one.guardian_id).collect() };
    for guardian in ids(before).symmetric_difference(&ids(after)) {
        cascade.profile_changed(*guardian);
    }
    Ok(ids(after).difference(&ids(before)).copied().collect())
}

/// Removes all guardians and all dependents of a person.
pub(super) fn remove_all(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    for text in [
        "delete from guardianship where account_id = :account and person_id = :person",
        "delete from guardianship where account_id = :account and guardian_id = :person",
    ] {
        tx.execute(text, bind! { person })?;
    }
    Ok(())
}
