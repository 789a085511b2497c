//! Permissions of callers who only manage some teams, such as coaches.
//!
//! A person has one record for all teams, so a coach's change also affects teams that the coach does not manage. A
//! guardian sees all teams of a child, emails go to the address in the record, and coaches and managers see the private
//! data of their teams. Nobody may grant or redirect such access beyond their own teams: only admins and API keys for
//! the whole club may. Archived teams do not count, because nobody sees them.

use super::guardian;
use super::membership::{self, MemberStatus, Membership, Role, roster_count};
use super::person::{self, Person};
use super::safeguarding;
use crate::prelude::*;

/// Error detail for changes that only an admin may make.
pub const ADMIN_ONLY: &str = mark!("Only an admin of the club can do this.");

/// Error detail for changes that lower the protection of a minor.
pub const GUARDIAN_ONLY: &str = mark!(
    "Only an admin or a confirmed guardian can make this change, because it lowers a minor's protection."
);

/// The error for changes that only an admin may make.
pub fn admin_only() -> Error {
    Error::new(Code::Forbidden, ADMIN_ONLY)
}

/// Reports a field that only an admin may change.
pub fn report_admin_only(violations: &mut Violations, pointer: impl AsRef<str>) {
    violations.forbidden(pointer, "forbidden", ADMIN_ONLY);
}

/// Reports a change that lowers the protection of a minor.
pub fn report_guardian_only(violations: &mut Violations, pointer: impl AsRef<str>) {
    violations.forbidden(pointer, "protected_minor", GUARDIAN_ONLY);
}

/// The active teams of these people, as pairs of person and team.
pub fn active_teams_of(db: &Reader<'_>, people: Vec<PersonId>) -> Result<Vec<(PersonId, TeamId)>> {
    Ok(db.all(
        "select m.person_id, m.team_id from member m
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.account_id = :account and m.person_id in (:people)
           and m.status <> 'removed' and t.status = 'active'",
        bind! { people },
    )?)
}

fn are_only_on_managed_teams(
    db: &Reader<'_>,
    access: &TeamAccess,
    people: Vec<PersonId>,
) -> Result<bool> {
    Ok(active_teams_of(db, people)?.iter().all(|(_, team)| access.has_full_access(*team)))
}

/// A person who gets a guardian.
#[derive(Debug, Clone, Copy)]
pub struct Dependent<'a> {
    /// The person before the request.
    pub before: &'a Person,
    /// The person after the request.
    pub after: &'a Person,
    /// The role on a team that the same request sets.
    pub role: Option<Role>,
}

impl<'a> Dependent<'a> {
    /// A person who does not change otherwise.
    pub fn unchanged(person: &'a Person) -> Self {
        Self { before: person, after: person, role: None }
    }
}

/// Whether the caller may add a guardian to this person.
pub(super) fn can_add_guardian(
    db: &Reader<'_>,
    access: &TeamAccess,
    dependent: Dependent<'_>,
) -> Result<bool> {
    if *access == TeamAccess::AllTeams {
        return Ok(true);
    }
    Ok(can_have_guardian(db, dependent)?
        && are_only_on_managed_teams(db, access, vec![dependent.after.id])?)
}

/// Whether this person can have a guardian: not a known adult, not linked to a user, not staff, and not a guardian.
/// Otherwise a coach could become the "dependent" of a friend, who would then see the coach's emails and teams.
pub fn can_have_guardian(db: &Reader<'_>, dependent: Dependent<'_>) -> Result<bool> {
    let id = dependent.after.id;
    let today = person::today(db.now());
    let is_adult =
        |person: &Person| person.birth_date.is_some_and(|day| safeguarding::is_adult(day, today));
    if is_adult(dependent.before) || is_adult(dependent.after) || dependent.before.user_id.is_some()
    {
        return Ok(false);
    }
    let is_staff = |role: Role| role != Role::Player;
    if dependent.role.is_some_and(is_staff) || has_role(db, id, is_staff)? {
        return Ok(false);
    }
    Ok(!guardian::any_is_guardian(db, vec![id])?)
}

/// Whether a person is a coach or manager of any team, including archived teams and inactive members.
pub fn is_coach_or_manager(db: &Reader<'_>, person: PersonId) -> Result<bool> {
    has_role(db, person, Role::can_manage_team)
}

fn has_role(db: &Reader<'_>, person: PersonId, matches: impl Fn(Role) -> bool) -> Result<bool> {
    let memberships = membership::list_for(db, vec![person])?;
    Ok(memberships.iter().any(|m| m.status != MemberStatus::Removed && matches(m.role)))
}

/// The first contact field that the caller changes without permission. Callers may change their own contact data, and
/// that of people who do not sign in and are only on teams that the caller manages.
pub(super) fn forbidden_contact_change(
    db: &Reader<'_>,
    access: &TeamAccess,
    before: &Person,
    after: &Person,
) -> Result<Option<&'static str>> {
    let fields = [
        ("email", before.email != after.email),
        ("phone", before.phone != after.phone),
        ("address", before.address != after.address),
    ];
    let changed = fields.into_iter().find_map(|(name, differs)| differs.then_some(name));
    if changed.is_none() || *access == TeamAccess::AllTeams || access.is_self(before.id) {
        return Ok(None);
    }
    Ok(if manages_contact_data(db, access, before)? { None } else { changed })
}

/// Whether a person does not sign in and is, with their dependents, only on teams that the caller manages.
pub(super) fn manages_contact_data(
    db: &Reader<'_>,
    access: &TeamAccess,
    person: &Person,
) -> Result<bool> {
    if person.user_id.is_some() {
        return Ok(false);
    }
    let dependents =
        guardian::list_by_guardian(db, &[person.id])?.into_iter().map(|one| one.person_id);
    let family = dependents.chain([person.id]).collect();
    are_only_on_managed_teams(db, access, family)
}

/// Whether the caller may give a person the role of this membership. Coaches and managers who sign in see the private
/// data of the team, so only admins may give these roles to people who sign in.
pub(super) fn can_assign_role(
    access: &TeamAccess,
    person: &Person,
    before: Option<&Membership>,
    after: &Membership,
) -> bool {
    let is_new_role = |before: &Membership| {
        before.role != after.role || roster_count(before.status) < roster_count(after.status)
    };
    let grants_access = after.role.can_manage_team() && before.is_none_or(is_new_role);
    !grants_access || person.user_id.is_none() || *access == TeamAccess::AllTeams
}
