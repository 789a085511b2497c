//! The member: a person on a team's roster.

use std::collections::BTreeMap;

use kit::{Change, Day, Timestamp, text};
use serde::Serialize;
use store::{Reader, Tx, bind, sql};
use utoipa::ToSchema;

use super::guardian::{self, NewGuardian};
use super::membership::{self, counted};
pub use super::membership::{MemberStatus, Membership, MembershipChange, Positions, Role};
use super::person::{self, Person, PersonChange};
use super::profile::Private;
use super::refusals::Refusals;
use super::ripple::Ripple;
use super::safeguarding;
use super::trust::{self, Ward};
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::ids::{MemberId, PersonId, TeamId, UserId};
use crate::metadata::Metadata;
use crate::paging::{Order, Page};
use crate::signals::Tell;
use crate::teams::team;
use crate::thing::thing;

/// A person on a team's roster, as they are shown.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "object", rename = "member")]
pub struct Member {
    pub id: MemberId,
    pub team_id: TeamId,
    /// The same on every team the person is on.
    pub person_id: PersonId,
    #[schema(examples("Inês"), max_length = 120)]
    pub first_name: String,
    #[schema(examples("Duarte"), max_length = 120)]
    pub last_name: Option<String>,
    #[schema(max_length = 120)]
    pub preferred_name: Option<String>,
    pub role: Role,
    /// As it is worn: `00` is not `0`.
    #[schema(examples("7"), max_length = 10)]
    pub jersey_number: Option<String>,
    #[schema(value_type = Vec<String>)]
    pub positions: Positions,
    pub status: MemberStatus,
    #[schema(value_type = Option<String>, format = Date)]
    pub joined_on: Option<Day>,
    #[schema(value_type = Option<String>, format = Date)]
    pub left_on: Option<Day>,
    /// The user who signs in as this person.
    pub user_id: Option<UserId>,
    /// The member's id in another system, unique in the account.
    #[schema(max_length = 120)]
    pub external_id: Option<String>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Rises with every change, of the person and of their guardians too.
    pub version: i64,
    #[serde(flatten)]
    #[schema(value_type = Private)]
    pub private: Option<Private>,
}

impl Member {
    /// The member, without what is private.
    pub(super) fn new(membership: Membership, person: &Person) -> Self {
        Self {
            id: membership.id,
            team_id: membership.team_id,
            person_id: membership.person_id,
            first_name: person.first_name.clone(),
            last_name: person.last_name.clone(),
            preferred_name: person.preferred_name.clone(),
            role: membership.role,
            jersey_number: membership.jersey_number,
            positions: membership.positions,
            status: membership.status,
            joined_on: membership.joined_on,
            left_on: membership.left_on,
            user_id: person.user_id,
            external_id: membership.external_id,
            metadata: membership.metadata,
            created_at: membership.created_at,
            updated_at: membership.updated_at,
            version: membership.version,
            private: None,
        }
    }
}

thing!(Member by MemberId: Subject Versioned Paged);

/// What is to be changed of a member. What is said of the person holds on every team they are on.
#[derive(Debug, ToSchema)]
pub struct MemberChange {
    #[serde(flatten)]
    pub person: PersonChange,
    #[serde(flatten)]
    pub membership: MembershipChange,
    /// Replaces all guardians; if it is left out, they stay.
    #[schema(value_type = Option<Vec<NewGuardian>>, max_items = 10)]
    pub guardians: Change<Vec<NewGuardian>>,
}

/// Which members of a team to list.
#[derive(Debug, Default)]
pub struct MemberFilter {
    pub role: Option<Role>,
    pub status: Option<MemberStatus>,
    /// Members who were removed are left out unless the status says otherwise.
    pub hidden: Option<MemberStatus>,
    pub external_id: Option<String>,
    /// Part of a name, whatever its case.
    pub q: Option<String>,
    /// Whether to show what is private.
    pub private: bool,
}

/// One member, without what is private.
pub fn find(db: &Reader<'_>, id: MemberId) -> Result<Member> {
    let text = sql!(Membership::SELECT, " where account_id = :account and id = :id");
    let membership: Membership = db.one(text, bind! { id })?;
    let person = person::find(db, membership.person_id)?;
    Ok(Member::new(membership, &person))
}

/// One member of a team, in full.
pub fn show(db: &Reader<'_>, team: TeamId, id: MemberId) -> Result<Member> {
    shown(db, vec![on_team(db, team, id)?], true)?.pop().ok_or_else(Error::not_found)
}

/// A page of a team's members, in order of creation.
pub fn list(
    db: &Reader<'_>,
    team: TeamId,
    filter: &MemberFilter,
    page: &Page<MemberId>,
) -> Result<Vec<Member>> {
    team::find(db, team)?;
    let MemberFilter { role, status, hidden, external_id, .. } = filter;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let after = page.after(MemberId::LEAST, MemberId::GREATEST);
    let limit = page.fetch();
    let text = match page.order {
        Order::Asc => {
            sql!(Membership::SELECT, FILTER, " and id > :after order by id limit :limit")
        }
        Order::Desc => {
            sql!(Membership::SELECT, FILTER, " and id < :after order by id desc limit :limit")
        }
    };
    let rows = bind! { team, after, limit, role, status, hidden, external_id, pattern };
    shown(db, db.all(text, rows)?, filter.private)
}

const FILTER: &str = "
    where account_id = :account and team_id = :team
      and (cast(:role as text) is null or role = :role)
      and (cast(:status as text) is null or status = :status)
      and (cast(:hidden as text) is null or status <> :hidden)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (cast(:pattern as text) is null or exists (
              select 1 from person p
              where p.account_id = member.account_id and p.id = member.person_id
                and (p.name_folded like :pattern escape '\\'
                  or p.preferred_folded like :pattern escape '\\')))";

/// Changes a member, and the person they are. A change that changes nothing tells nobody.
pub fn change(
    tx: &Tx<'_>,
    reach: &Reach,
    (team, id): (TeamId, MemberId),
    expected: &Expected,
    change: MemberChange,
) -> Result<Member> {
    let before = expected.check(on_team(tx, team, id))?;
    let team = team::playing(tx, team)?;
    if before.status == MemberStatus::Removed {
        return Err(Error::invalid_state("The member was removed; add the person again."));
    }
    let was = person::find(tx, before.person_id)?;
    let mut refusals = Refusals::default();
    let mut after = change.membership.apply(&before);
    membership::check(tx, &team, Some(&before), &mut after, &mut refusals)?;
    let now = change.person.apply(&was);
    person::check(&now, tx.now(), &mut refusals);
    if !trust::may_become(reach, &was, Some(&before), &after) {
        refusals.admin_decides("/role");
    }
    if let Some(member) = trust::foreign_contact(tx, reach, &was, &now)? {
        refusals.admin_decides(&format!("/{member}"));
    }
    let now = safeguarding::with_new_email(tx, reach, &was, now)?;
    safeguarding::check(tx, reach, (&was, &now), &mut refusals)?;
    let guardians = match change.guardians {
        Change::Keep => None,
        said => {
            let wanted = said.apply(None).unwrap_or_default();
            let ward = Ward { was: &was, now: &now, role: Some(after.role) };
            Some(guardian::plan(tx, reach, ward, wanted, &mut refusals)?)
        }
    };
    refusals.finish()?;

    let mut ripple = Ripple::default();
    if (after.role, after.status) != (before.role, before.status) {
        ripple.listed(was.id);
    }
    if now != was {
        safeguarding::record_change(tx, &was, &now)?;
        person::update(tx, &now)?;
        ripple.changed(was, &now);
    }
    let mut new_adults = Vec::new();
    if let Some(plan) = guardians {
        new_adults.extend(guardian::replace(tx, now.id, plan, &mut ripple)?);
    }
    if after.role != Role::Player && before.role == Role::Player {
        new_adults.push(now.id);
    }
    let becomes_player = before.role != Role::Player;
    if becomes_player && safeguarding::is_doubtful(reach, &team, &now, after.role) {
        safeguarding::mark_minors(tx, vec![now.id])?;
    }
    team::count_roster(tx, team.id, counted(after.status) - counted(before.status))?;
    ripple.settle(tx, (after != before).then_some((before, after)))?;
    safeguarding::confirm_new_adults(tx, reach, new_adults)?;
    show(tx, team.id, id)
}

/// Takes a member off the team; the history stays.
pub fn remove(tx: &Tx<'_>, (team, id): (TeamId, MemberId), expected: &Expected) -> Result<Member> {
    let before = expected.check(on_team(tx, team, id))?;
    let team = team::playing(tx, team)?;
    if before.status == MemberStatus::Removed {
        return Err(Error::invalid_state("The member is already removed."));
    }
    let left_on = before.left_on.or(Some(person::today(tx.now())));
    let after = Membership { status: MemberStatus::Removed, left_on, ..before.clone() };
    let after = membership::save(tx, after)?;
    person::raise(tx, vec![before.person_id])?;
    team::count_roster(tx, team.id, -counted(before.status))?;
    let person = person::find(tx, before.person_id)?;
    let (before, after) = (Member::new(before, &person), Member::new(after, &person));
    tx.tell_change("roster.member_removed", &before, &after)?;
    show(tx, team.id, id)
}

/// The membership, if it is one of this team.
fn on_team(db: &Reader<'_>, team: TeamId, id: MemberId) -> Result<Membership> {
    Ok(db.one(
        sql!(Membership::SELECT, " where account_id = :account and id = :id and team_id = :team"),
        bind! { id, team },
    )?)
}

/// Memberships as they are shown, in the same order.
pub(super) fn shown(
    db: &Reader<'_>,
    memberships: Vec<Membership>,
    private: bool,
) -> Result<Vec<Member>> {
    let ids = memberships.iter().map(|membership| membership.person_id).collect();
    let people = person::all(db, ids)?;
    let details = if private { Private::of(db, &people)? } else { BTreeMap::new() };
    let member = |membership: Membership| {
        let person = people.get(&membership.person_id)?;
        let private = details.get(&person.id).cloned();
        Some(Member { private, ..Member::new(membership, person) })
    };
    Ok(memberships.into_iter().filter_map(member).collect())
}
