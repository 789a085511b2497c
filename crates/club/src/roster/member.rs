//! The member: a person on a team's roster.

use std::collections::BTreeMap;

use kit::text;
use macros::{input, query};

use super::api;
use super::guardian::{self, NewGuardian};
use super::guards::report_admin_only;
use super::guards::{self, Dependent};
use super::membership::{self, roster_count};
pub use super::membership::{MemberStatus, Membership, MembershipChange, Positions, Role};
use super::person::{self, Person, PersonChange};
use super::profile::Private;
use super::safeguarding;
use super::version_cascade::VersionCascade;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::teams::team;

/// A person on a team's roster.
#[macros::object("member")]
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Member {
    /// Unique ID of the member.
    pub id: MemberId,
    /// Team of the member.
    pub team_id: TeamId,
    /// ID of the person, the same on all teams.
    pub person_id: PersonId,
    /// First name of the person.
    #[schema(examples("Inês"), max_length = 120)]
    pub first_name: String,
    /// Last name of the person.
    #[schema(examples("Duarte"), max_length = 120)]
    pub last_name: Option<String>,
    /// Name that the person goes by, if it is not the first name.
    #[schema(max_length = 120)]
    pub preferred_name: Option<String>,
    /// Role on the team: `player`, `coach`, `manager`, or `staff` (other staff, who cannot manage the team).
    pub role: Role,
    /// Jersey number as printed, as a string: `00` and `0` are different.
    #[schema(examples("7"), max_length = 10)]
    pub jersey_number: Option<String>,
    /// Positions that the member plays.
    #[schema(value_type = Vec<String>)]
    pub positions: Positions,
    /// Status on the team: `active`, `injured` (still on the roster), `inactive` (does not take part at present) or
    /// `removed` (no longer on the team).
    pub status: MemberStatus,
    /// Day on which the member joined the team.
    #[schema(value_type = Option<String>, format = Date)]
    pub joined_on: Option<Day>,
    /// Day on which the member left the team; `null` if they have not.
    #[schema(value_type = Option<String>, format = Date)]
    pub left_on: Option<Day>,
    /// ID of the user who signs in as this person; `null` if nobody does.
    pub user_id: Option<UserId>,
    /// ID of the member in another system; unique in the account.
    #[schema(max_length = 120)]
    pub external_id: Option<String>,
    /// Key-value pairs for your own use.
    pub metadata: Metadata,
    /// When the member was created.
    pub created_at: Timestamp,
    /// When the member last changed.
    pub updated_at: Timestamp,
    /// Increases with every change, including changes of the person and their guardians.
    pub version: i64,
    #[serde(flatten)]
    pub private: Option<Private>,
}

impl Member {
    /// The member without private data.
    pub(super) fn new(membership: Membership, person: &Person) -> Self {
        copy_fields! {
            Self {
                private: None,
                ..membership {
                    id, team_id, person_id, role, jersey_number, positions, status, joined_on,
                    left_on, external_id, metadata, created_at, updated_at, version,
                }
                ..&person { first_name, last_name, preferred_name, user_id }
            }
        }
    }
}

impl_resource!(Member by MemberId: Subject Versioned Paged);

/// Changes to a member. Fields of the person change on all teams that the person is on.
#[input(as = UpdateMemberRequest)]
pub struct MemberChange {
    #[serde(flatten)]
    #[input(flatten)]
    pub person: PersonChange,
    #[serde(flatten)]
    #[input(flatten)]
    pub membership: MembershipChange,
    /// Replaces all guardians. If left out, the guardians stay unchanged.
    #[input(objects(10))]
    pub guardians: Change<Vec<NewGuardian>>,
}

/// Filters for listing the members of a team.
#[query(items = "members")]
#[derive(Default)]
pub struct MemberFilter {
    /// Only members with this role.
    pub role: Option<Role>,
    /// Leaves out members with this status.
    #[param(with(api::excluded_status), schema(ignore))]
    pub excluded_status: Option<MemberStatus>,
    /// Filter by status: `active`, `injured`, `inactive`, `removed` or `all`. Default: all except removed members.
    #[param(with(api::status_filter), schema(value_type = Option<api::OrAll<MemberStatus>>, inline))]
    pub status: Option<MemberStatus>,
    /// Only the member with this external ID.
    #[param(line(120))]
    pub external_id: Option<String>,
    pub updated_since: Option<Timestamp>,
    /// Only members whose name or preferred name contains this text (case-insensitive).
    #[param(line(120))]
    pub q: Option<String>,
    /// `private` includes contact data, birth dates, medical notes and guardians.
    #[param(name = "include", with(api::include_private), schema(value_type = Option<api::Include>, inline))]
    pub private: bool,
}

/// One member without private data.
pub fn find(db: &Reader<'_>, id: MemberId) -> Result<Member> {
    let text = sql!(Membership::SELECT, " where account_id = :account and id = :id");
    let membership: Membership = db.one(text, bind! { id })?;
    let person = person::find(db, membership.person_id)?;
    Ok(Member::new(membership, &person))
}

/// One member of a team with private data.
pub fn show(db: &Reader<'_>, team: TeamId, id: MemberId) -> Result<Member> {
    to_members(db, vec![find_on_team(db, team, id)?], true)?.pop().ok_or_else(Error::not_found)
}

/// A page of a team's members, in order of creation.
pub fn list(
    db: &Reader<'_>,
    team: TeamId,
    filter: &MemberFilter,
    page: &Page<MemberId>,
) -> Result<Vec<Member>> {
    team::find(db, team)?;
    let MemberFilter { role, status, excluded_status: hidden, external_id, .. } = filter;
    let updated_since = filter.updated_since;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let (after, limit) = page.bounds();
    let text = page_sql!(page, Membership::SELECT, FILTER);
    let rows = bind! { team, after, limit, role, status, hidden, external_id, updated_since,
    pattern };
    to_members(db, db.all(text, rows)?, filter.private)
}

const FILTER: &str = "
    where account_id = :account and team_id = :team
      and (cast(:role as text) is null or role = :role)
      and (cast(:status as text) is null or status = :status)
      and (cast(:hidden as text) is null or status <> :hidden)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (cast(:pattern as text) is null or exists (
              select 1 from person p
              where p.account_id = member.account_id and p.id = member.person_id
                and (p.name_folded like :pattern escape '\\'
                  or p.preferred_folded like :pattern escape '\\')))";

/// Updates a member and the person. If nothing changes, nothing is published.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (team, id): (TeamId, MemberId),
    expected: &IfMatch,
    change: MemberChange,
) -> Result<Member> {
    let before = expected.check(find_on_team(tx, team, id))?;
    let team = team::find_active(tx, team)?;
    Error::invalid_state("The member was removed. Add the person again.")
        .fail_if(before.status == MemberStatus::Removed)?;
    let old_person = person::find(tx, before.person_id)?;
    let mut violations = Violations::default();
    let mut after = change.membership.apply(&before);
    membership::validate(tx, &team, Some(&before), &mut after, &mut violations)?;
    let person = change.person.apply(&old_person);
    person::validate(&person, tx.now(), &mut violations);
    if !guards::can_assign_role(access, &old_person, Some(&before), &after) {
        report_admin_only(&mut violations, "/role");
    }
    if let Some(field) = guards::forbidden_contact_change(tx, access, &old_person, &person)? {
        report_admin_only(&mut violations, format!("/{field}"));
    }
    let person = safeguarding::clear_confirmation_on_new_email(tx, access, &old_person, person)?;
    safeguarding::check_change(tx, access, (&old_person, &person), &mut violations)?;
    let guardians = match change.guardians {
        Change::Keep => None,
        change => {
            let items = change.apply(None).unwrap_or_default();
            let (before, role) = (&old_person, Some(after.role));
            let dependent = Dependent { before, after: &person, role };
            Some(guardian::plan(tx, access, dependent, items, &mut violations)?)
        }
    };
    violations.finish()?;

    let mut cascade = VersionCascade::default();
    if (after.role, after.status) != (before.role, before.status) {
        cascade.profile_changed(person.id);
    }
    if person != old_person {
        safeguarding::record_change(tx, &old_person, &person)?;
        person::update(tx, &person)?;
        cascade.person_changed(old_person, &person);
    }
    let mut new_adults = Vec::new();
    if let Some(plan) = guardians {
        new_adults.extend(guardian::replace(tx, person.id, plan, &mut cascade)?);
    }
    if after.role != Role::Player && before.role == Role::Player {
        new_adults.push(person.id);
    }
    let was_staff = before.role != Role::Player;
    if was_staff && safeguarding::may_be_minor(access, &team, &person, after.role) {
        safeguarding::mark_minors(tx, vec![person.id])?;
    }
    let more = roster_count(after.status) - roster_count(before.status);
    team::adjust_roster_count(tx, team.id, more)?;
    cascade.apply(tx, (after != before).then_some((before, after)))?;
    safeguarding::confirm_new_adults(tx, access, new_adults)?;
    show(tx, team.id, id)
}

/// Removes a member from the team. The history is kept.
pub fn remove(tx: &Tx<'_>, (team, id): (TeamId, MemberId), expected: &IfMatch) -> Result<Member> {
    let before = expected.check(find_on_team(tx, team, id))?;
    let team = team::find_active(tx, team)?;
    Error::invalid_state("The member is already removed.")
        .fail_if(before.status == MemberStatus::Removed)?;
    let left_on = before.left_on.or(Some(person::today(tx.now())));
    let after = Membership { status: MemberStatus::Removed, left_on, ..before.clone() }.save(tx)?;
    person::bump_versions(tx, vec![before.person_id])?;
    team::adjust_roster_count(tx, team.id, -roster_count(before.status))?;
    let person = person::find(tx, before.person_id)?;
    let (before, after) = (Member::new(before, &person), Member::new(after, &person));
    tx.publish_change("roster.member_removed", &before, &after)?;
    show(tx, team.id, id)
}

/// The membership, if it belongs to this team.
fn find_on_team(db: &Reader<'_>, team: TeamId, id: MemberId) -> Result<Membership> {
    Ok(db.one(
        sql!(Membership::SELECT, " where account_id = :account and id = :id and team_id = :team"),
        bind! { id, team },
    )?)
}

/// The JSON representations of memberships, in the same order.
pub(super) fn to_members(
    db: &Reader<'_>,
    memberships: Vec<Membership>,
    private: bool,
) -> Result<Vec<Member>> {
    let ids = memberships.iter().map(|membership| membership.person_id).collect();
    let people = person::find_many(db, ids)?;
    let details = if private { Private::load(db, &people)? } else { BTreeMap::new() };
    let member = |membership: Membership| {
        let person = people.get(&membership.person_id)?;
        let private = details.get(&person.id).cloned();
        Some(Member { private, ..Member::new(membership, person) })
    };
    Ok(memberships.into_iter().filter_map(member).collect())
}
