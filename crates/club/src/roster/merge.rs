//! Merging two records of the same person: the first one becomes part of the second.
//!
//! The remaining record keeps its own values and takes over those that it lacks. A merge never lowers the protection of
//! a child and never confirms anybody: a person is a known minor if either record was, and the confirmation as an adult
//! is not taken over.

use std::collections::BTreeSet;

use macros::input;

use super::member::Member;
use super::membership::{self, MemberStatus, Membership, Positions, roster_count};
use super::merged_guardians;
use super::notification_settings;
use super::person::{self, Person, PersonChange};
use super::safeguarding::{self, ProtectionChange};
use super::version_cascade::VersionCascade;
use crate::files::attaching;
use crate::personal_data::MergedRecords;
use crate::prelude::*;
use crate::signals::Subject;
use crate::teams::team;

/// The columns of the roster that contain the id of a person.
pub const REFERENCES: &[&str] = &[
    "member.person_id",
    "guardianship.person_id",
    "guardianship.guardian_id",
    "merged_person.into_id",
    "person_notification_settings.person_id",
];
/// The maximum length of a medical note.
const MAX_NOTE_CHARS: usize = 10_000;

/// The record that another one becomes part of.
#[input(as = MergePersonRequest)]
#[derive(Clone)]
pub struct MergeRequest {
    /// ID of the record that stays.
    pub into_person_id: PersonId,
    /// Birth date of the person. Required if the two records have different ones; must be one of them.
    #[schema(value_type = Option<String>, format = Date, examples("2014-02-27"))]
    pub birth_date: Change<Day>,
}

record! {
    /// A record that became part of another one.
    #[derive(Debug)]
    struct MergedPerson in merged_person {
        account_id: AccountId,
        id: PersonId,
        into_id: PersonId,
        merged_at: Timestamp,
    }
}

/// A merge in a notification.
#[macros::object("person_merge")]
#[derive(Debug, Serialize, ToSchema)]
pub struct PersonMergeSnapshot {
    /// ID of the record that no longer exists.
    pub person_id: PersonId,
    /// ID of the record that it became part of.
    pub into_person_id: PersonId,
    /// Members of both records on the same team. The others keep their IDs.
    pub members: Vec<MergedMember>,
}

/// Two members on the same team who became one.
#[derive(Debug, Serialize, ToSchema)]
pub struct MergedMember {
    /// ID of the member that no longer exists.
    pub member_id: MemberId,
    /// ID of the member that it became part of.
    pub into_member_id: MemberId,
}

impl Subject for PersonMergeSnapshot {
    fn subject(&self) -> String {
        self.into_person_id.to_string()
    }
}

/// Two records that can be merged, and the result.
#[derive(Debug, Clone)]
pub struct MergePlan {
    pub from: Person,
    pub into: Person,
    /// The remaining record after the merge.
    pub merged: Person,
    pub memberships: Vec<Membership>,
}

/// The record that this one became part of, if it was merged.
pub fn find_remaining(db: &Reader<'_>, id: PersonId) -> Result<Option<PersonId>> {
    let text = "select into_id from merged_person where account_id = :account and id = :id";
    let row: Option<(PersonId,)> = db.optional(text, bind! { id })?;
    Ok(row.map(|(into,)| into))
}

/// The records that became part of this one.
pub fn find_merged(db: &Reader<'_>, into: PersonId) -> Result<BTreeSet<PersonId>> {
    let text = "select id from merged_person where account_id = :account and into_id = :into";
    db.ids(text, bind! { into })
}

/// Replaces "not found" with "gone" if the person was merged, but only for callers who can see all people.
pub fn or_gone<T>(
    db: &Reader<'_>,
    access: &TeamAccess,
    id: PersonId,
    found: Result<T>,
) -> Result<T> {
    let sees_all = *access == TeamAccess::AllTeams;
    match found {
        Err(error) if error.code == Code::NotFound && sees_all => match find_remaining(db, id)? {
            Some(into) => Err(Error::new(
                Code::Gone,
                message!("This record was merged into the person with the ID {into}.", into),
            )),
            None => Err(error),
        },
        found => found,
    }
}

/// Checks whether the records can be merged, and computes the result.
pub fn plan(
    db: &Reader<'_>,
    from: PersonId,
    expected: &IfMatch,
    request: &MergeRequest,
) -> Result<MergePlan> {
    let from = or_gone(db, &TeamAccess::AllTeams, from, person::find(db, from));
    let from = expected.check(from)?;
    let mut violations = Violations::default();
    let into = request.into_person_id;
    if into == from.id {
        let detail = "A record cannot be merged with itself. Choose another one.";
        violations.invalid("/into_person_id", "same_person", detail);
    }
    let found = violations.collect_reference("/into_person_id", person::find(db, into))?;
    violations.finish()?;
    let into = found.ok_or_else(Error::not_found)?;
    check_mergeable(db, &from, &into)?;
    let birth_date = choose_birth_date(&from, &into, request)?;
    let merged = combine(db, (&from, &into), birth_date)?;
    let memberships = membership::list_for(db, vec![from.id, into.id])?;
    Ok(MergePlan { from, into, merged, memberships })
}

fn check_mergeable(db: &Reader<'_>, from: &Person, into: &Person) -> Result<()> {
    Error::invalid_state("One of the two records was erased.")
        .fail_if(from.erased_at.is_some() || into.erased_at.is_some())?;
    let detail = "Different users sign in as these people. Remove one of the links first, if it is the same person.";
    Error::new(Code::Conflict, detail).fail_if(from.user_id.is_some() && into.user_id.is_some())?;
    merged_guardians::check(db, from.id, into.id)
}

/// Records with different birth dates are often different people, so the caller must say which date is right.
fn choose_birth_date(from: &Person, into: &Person, request: &MergeRequest) -> Result<Option<Day>> {
    let known = [into.birth_date, from.birth_date];
    let fault = |code, detail| Err(Error::invalid(vec![Fault::new("/birth_date", code, detail)]));
    match (request.birth_date.clone().apply(None), known) {
        (Some(day), _) if known.contains(&Some(day)) => Ok(Some(day)),
        (Some(_), _) => {
            fault("not_allowed", "The birth date must be that of one of the two records.")
        }
        (None, [Some(one), Some(other)]) if one != other => fault(
            "required",
            "The two records have different birth dates. Send the right one as `birth_date`.",
        ),
        (None, [one, other]) => Ok(one.or(other)),
    }
}

/// The remaining record with the values that it lacks, and both medical notes.
fn combine(
    db: &Reader<'_>,
    (from, into): (&Person, &Person),
    birth_date: Option<Day>,
) -> Result<Person> {
    let fill = |own: &Option<String>, other: &Option<String>| {
        other.clone().filter(|_| own.is_none()).map_or(Change::Keep, Change::Set)
    };
    let change = PersonChange {
        last_name: fill(&into.last_name, &from.last_name),
        preferred_name: fill(&into.preferred_name, &from.preferred_name),
        birth_date: birth_date.map_or(Change::Keep, Change::Set),
        email: fill(&into.email, &from.email),
        phone: fill(&into.phone, &from.phone),
        address: fill(&into.address, &from.address),
        emergency_contact: fill(&into.emergency_contact, &from.emergency_contact),
        medical_note: combine_notes(into, from)?.map_or(Change::Keep, Change::Set),
        ..PersonChange::default()
    };
    let is_minor = safeguarding::is_any_known_minor(db, &BTreeSet::from([from.id, into.id]))?;
    // Nobody asked a guardian about the photo of a person who was not known to be a minor.
    let keeps_photo = !is_minor || safeguarding::is_minor(db, into.id)?;
    let takes_email = into.email.is_none() && from.email.is_some();
    let takes_user = from.user_id.is_some();
    // Nobody confirmed the person behind the email address or user that comes from an unconfirmed record.
    let is_trusted = from.adult_confirmed_at.is_some() || !(takes_email || takes_user);
    let is_confirmed = !is_minor && is_trusted;
    let filled = change.apply(into);
    Ok(Person {
        email_opt_in: into.email_opt_in && from.email_opt_in,
        email_confirmed_at: if takes_email {
            from.email_confirmed_at
        } else {
            into.email_confirmed_at
        },
        user_id: into.user_id.or(from.user_id),
        known_minor: is_minor,
        photo_file_id: into.photo_file_id.filter(|_| keeps_photo),
        adult_confirmed_at: into.adult_confirmed_at.filter(|_| is_confirmed),
        adult_confirmed_by: into.adult_confirmed_by.clone().filter(|_| is_confirmed),
        ..filled
    })
}

/// The medical notes of both records: an allergy must not get lost.
fn combine_notes(into: &Person, from: &Person) -> Result<Option<String>> {
    let notes = match (&into.medical_note, &from.medical_note) {
        (Some(own), Some(other)) if own != other => format!("{own}\n\n{other}"),
        (own, other) => return Ok(own.clone().or_else(|| other.clone())),
    };
    let detail = "Together, the medical notes of the two records have more than 10000 characters. Shorten one of them first.";
    Error::invalid_state(detail).fail_if(notes.chars().count() > MAX_NOTE_CHARS)?;
    Ok(Some(notes))
}

impl MergePlan {
    /// The ids that other modules replace.
    pub fn records(&self) -> MergedRecords {
        let pairs = self.pairs().map(|(from, into)| (from.id, into.id));
        MergedRecords { from: self.from.id, into: self.into.id, members: pairs.collect() }
    }

    /// Whether one of the records is of a confirmed adult, and the result is not.
    pub fn loses_confirmation(&self) -> bool {
        let is_confirmed = |person: &Person| person.adult_confirmed_at.is_some();
        (is_confirmed(&self.from) || is_confirmed(&self.into)) && !is_confirmed(&self.merged)
    }

    /// The current memberships of both records on the same team.
    pub fn pairs(&self) -> impl Iterator<Item = (&Membership, &Membership)> {
        let current = |person: PersonId| {
            let all = self.memberships.iter();
            all.filter(move |one| one.person_id == person && one.status != MemberStatus::Removed)
        };
        current(self.from.id).filter_map(move |from| {
            let into = current(self.into.id).find(|into| into.team_id == from.team_id)?;
            Some((from, into))
        })
    }
}

/// Merges the records on the roster. All other references to the first one must have been moved before.
pub fn apply(tx: &Tx<'_>, plan: &MergePlan) -> Result<()> {
    let MergePlan { from, into, merged, .. } = plan;
    safeguarding::record_change(tx, into, merged)?;
    if from.user_id.is_some() {
        person::update(tx, &Person { user_id: None, ..from.clone() })?;
    }
    person::update(tx, merged)?;
    notification_settings::move_to_person(tx, from.id, into.id)?;
    attaching::remove_of(tx, &from.id.to_string())?;
    if merged.photo_file_id.is_none() {
        attaching::remove_of(tx, &into.id.to_string())?;
    }
    let members = merge_members(tx, plan)?;
    let mut cascade = VersionCascade::default();
    cascade.profile_changed(into.id);
    let dependents = merged_guardians::merge(tx, plan, &mut cascade)?;
    replace_record(tx, (from.id, into.id))?;
    publish(tx, plan)?;
    members.publish(tx)?;
    let gone: Vec<_> = plan.pairs().map(|(from, _)| from.id).collect();
    tx.execute("delete from member where account_id = :account and id in (:gone)", bind! { gone })?;
    tx.execute(
        "delete from person where account_id = :account and id = :id",
        bind! { id: from.id },
    )?;
    cascade.apply(tx, None)?;
    for minor in safeguarding::minors(tx, &dependents)? {
        safeguarding::record(tx, minor, ProtectionChange::GuardianMerged, Some(into.id))?;
    }
    if merged.user_id != into.user_id && safeguarding::is_minor(tx, into.id)? {
        safeguarding::record(tx, into.id, ProtectionChange::SignsIn, None)?;
    }
    safeguarding::record_lost_address(tx, from, merged)
}

/// Members before and after the merge.
struct MergedMembers {
    removed: Vec<(Member, Member)>,
    changed: Vec<(Member, Member)>,
}

impl MergedMembers {
    fn publish(&self, tx: &Tx<'_>) -> Result<()> {
        let kinds =
            [("roster.member_removed", &self.removed), ("roster.member_updated", &self.changed)];
        for (kind, members) in kinds.into_iter().filter(|(_, members)| !members.is_empty()) {
            let snapshots: Vec<_> =
                members.iter().map(|(before, after)| (Some(before), after)).collect();
            tx.publish_all(kind, &snapshots)?;
        }
        Ok(())
    }
}

/// Moves the memberships to the remaining record. Of two on the same team, the one of the other record is removed.
fn merge_members(tx: &Tx<'_>, plan: &MergePlan) -> Result<MergedMembers> {
    let MergePlan { from, into, merged, .. } = plan;
    let (mut removed, mut changed) = (Vec::new(), Vec::new());
    for (before, _) in plan.pairs() {
        let after = Membership {
            person_id: into.id,
            status: MemberStatus::Removed,
            external_id: None,
            ..before.clone()
        };
        let after = Member::new(after.save(tx)?, merged);
        team::adjust_roster_count(tx, before.team_id, -roster_count(before.status))?;
        removed.push((Member::new(before.clone(), from), after));
    }
    let is_removed = |id: MemberId| removed.iter().any(|(before, _): &(Member, _)| before.id == id);
    for before in plan.memberships.iter().filter(|one| !is_removed(one.id)) {
        let own = if before.person_id == from.id { from } else { into };
        let same_team = plan.pairs().find(|(_, into)| into.id == before.id);
        let after = match same_team {
            Some((other, _)) => combine_memberships(before, other),
            None => Membership { person_id: into.id, ..before.clone() },
        };
        let after = Member::new(after.save(tx)?, merged);
        changed.push((Member::new(before.clone(), own), after));
    }
    Ok(MergedMembers { removed, changed })
}

/// The remaining membership of two on the same team.
fn combine_memberships(own: &Membership, other: &Membership) -> Membership {
    let positions =
        if own.positions == Positions::default() { &other.positions } else { &own.positions };
    let metadata =
        if own.metadata == Metadata::default() { &other.metadata } else { &own.metadata };
    let joined = [own.joined_on, other.joined_on];
    Membership {
        has_played: own.has_played || other.has_played,
        jersey_number: own.jersey_number.clone().or_else(|| other.jersey_number.clone()),
        positions: positions.clone(),
        metadata: metadata.clone(),
        external_id: own.external_id.clone().or_else(|| other.external_id.clone()),
        joined_on: joined.into_iter().flatten().min(),
        ..own.clone()
    }
}

/// Maps the old ID, and the IDs of records that were merged into it before, to the remaining record.
fn replace_record(tx: &Tx<'_>, (id, into_id): (PersonId, PersonId)) -> Result<()> {
    tx.execute(
        "update merged_person set into_id = :into_id where account_id = :account and into_id = :id",
        bind! { id, into_id },
    )?;
    let row = MergedPerson { account_id: tx.account(), id, into_id, merged_at: tx.now() };
    tx.execute(MergedPerson::INSERT, &row.bind())?;
    Ok(())
}

/// Publishes the merge. The audit log also has the values of the record that is deleted.
fn publish(tx: &Tx<'_>, plan: &MergePlan) -> Result<()> {
    let MergePlan { from, into, .. } = plan;
    let member = |(from, into): (&Membership, &Membership)| MergedMember {
        member_id: from.id,
        into_member_id: into.id,
    };
    let members = plan.pairs().map(member).collect();
    let snapshot = PersonMergeSnapshot { person_id: from.id, into_person_id: into.id, members };
    tx.publish("roster.person_merged", &snapshot)?;
    // The medical note is part of the remaining record.
    let previous = json!({
        "id": from.id,
        "first_name": from.first_name,
        "last_name": from.last_name,
        "preferred_name": from.preferred_name,
        "birth_date": from.birth_date,
        "email": from.email,
        "phone": from.phone,
        "address": from.address,
        "emergency_contact": from.emergency_contact,
        "email_opt_in": from.email_opt_in,
        "user_id": from.user_id,
        "known_minor": from.known_minor,
        "adult_confirmed_at": from.adult_confirmed_at,
        "created_at": from.created_at,
    });
    let details = json!({ "into": into.id, "person": previous });
    tx.audit("person.merged", &from.id.to_string(), &details)
}
