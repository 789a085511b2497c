//! The users of a club, as its admins see them.

use std::collections::BTreeMap;

use crate::accounts::user::Role;
use crate::prelude::*;
use crate::roster::membership::Role as TeamRole;

row! {
    /// A user of the club.
    #[derive(Debug, Clone)]
    pub struct ClubUser {
        pub id: UserId,
        pub name: String,
        pub email: String,
        pub role: Role,
        pub email_verified_at: Option<Timestamp>,
        pub disabled_at: Option<Timestamp>,
        /// When they joined the club.
        pub created_at: Timestamp,
        pub last_seen_at: Option<Timestamp>,
        /// Whether they have a confirmed authenticator app or a passkey.
        pub two_step: bool,
    }
}

impl_resource!(ClubUser by UserId: Paged);

const SELECT_USER: &str = "
    select u.id, u.name, u.email, a.role, u.email_verified_at, u.disabled_at, a.created_at,
           (select max(s.last_seen_at) from session s where s.user_id = u.id) as last_seen_at,
           (exists (select 1 from totp t where t.user_id = u.id and t.confirmed_at is not null)
            or exists (select 1 from passkey p where p.user_id = u.id)) as two_step
    from account_user a join app_user u on u.id = a.user_id
    where a.account_id = :account";

/// Which users to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserFilter {
    pub role: Option<Role>,
    /// Whether they have two-step sign-in.
    pub two_step: Option<bool>,
}

impl UserFilter {
    /// Owners without two-step sign-in.
    pub const PASSWORD_ONLY_OWNERS: Self = Self { role: Some(Role::Owner), two_step: Some(false) };
}

const FILTER: &str = "
      and (cast(:role as text) is null or a.role = :role)
      and (cast(:two_step as boolean) is null
           or (exists (select 1 from totp t
                       where t.user_id = a.user_id and t.confirmed_at is not null)
               or exists (select 1 from passkey p where p.user_id = a.user_id)) = :two_step)";

/// A page of users, oldest first.
pub fn page(db: &Reader<'_>, filter: &UserFilter, page: &Page<UserId>) -> Result<Vec<ClubUser>> {
    let UserFilter { role, two_step } = *filter;
    let after = page.after(UserId::MIN, UserId::MAX);
    let text = sql!(SELECT_USER, FILTER, " and a.user_id > :after order by a.user_id limit :limit");
    Ok(db.all(text, bind! { after, role, two_step, limit: page.fetch_limit() })?)
}

/// Finds a user of the club.
pub fn find(db: &Reader<'_>, id: UserId) -> Result<ClubUser> {
    Ok(db.one(sql!(SELECT_USER, " and a.user_id = :id"), bind! { id })?)
}

/// Counts the users that match a filter.
pub fn count(db: &Reader<'_>, filter: &UserFilter) -> Result<i64> {
    let UserFilter { role, two_step } = *filter;
    let (count,) = db.one(
        sql!("select count(*) from account_user a where a.account_id = :account", FILTER),
        bind! { role, two_step },
    )?;
    Ok(count)
}

/// The teams of users, with their role on each: `Hawks (coach)`, `Owls (parent)`.
pub fn teams_of(db: &Reader<'_>, users: Vec<UserId>) -> Result<BTreeMap<UserId, Vec<String>>> {
    let mut teams: BTreeMap<UserId, Vec<String>> = BTreeMap::new();
    if users.is_empty() {
        return Ok(teams);
    }
    let memberships: Vec<(UserId, String, TeamRole)> = db.all(
        "select p.user_id, t.name, m.role
         from person p
         join member m on m.account_id = p.account_id and m.person_id = p.id
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where p.account_id = :account and p.user_id in (:users)
           and m.status <> 'removed' and t.status = 'active'
         order by t.name, t.id",
        bind! { users },
    )?;
    for (user, team, role) in memberships {
        teams.entry(user).or_default().push(team_with_role(&team, role));
    }
    let child_teams: Vec<(UserId, String)> = db.all(
        "select distinct p.user_id, t.name
         from person p
         join guardianship g on g.account_id = p.account_id and g.guardian_id = p.id
         join member m on m.account_id = g.account_id and m.person_id = g.person_id
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where p.account_id = :account and p.user_id in (:users)
           and m.status <> 'removed' and t.status = 'active'
         order by t.name",
        bind! { users },
    )?;
    for (user, team) in child_teams {
        teams.entry(user).or_default().push(t!("{team} (parent)", team));
    }
    Ok(teams)
}

fn team_with_role(team: &str, role: TeamRole) -> String {
    match role {
        TeamRole::Player => t!("{team} (player)", team),
        TeamRole::Coach => t!("{team} (coach)", team),
        TeamRole::Manager => t!("{team} (manager)", team),
        TeamRole::Staff => t!("{team} (staff)", team),
    }
}
