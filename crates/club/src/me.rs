//! `GET /me`: describes the caller. Any valid credential may use it.

use kit::{string_enum, string_schema};

use crate::accounts::account::{self, Account};
use crate::accounts::api_key;
use crate::accounts::credential::Holder;
use crate::accounts::permissions::AnyCredential;
use crate::accounts::user::{self, Role};
use crate::prelude::*;
use crate::web::module::Module;
use crate::web::prelude::*;

/// This module.
pub const MODULE: Module = Module { api: |routes| routes.with(routes!(me)), ..Module::EMPTY };

string_enum! {
    /// The type of a credential.
    enum CallerKind {
        ApiKey = "api_key",
        User = "user",
    }
}

/// The caller: an API key, or a user for whom an app acts.
#[macros::object("me")]
#[derive(Serialize, ToSchema)]
#[schema(as = Caller)]
struct Me {
    /// Type of the credential: `api_key` or `user`.
    kind: CallerKind,
    /// ID of the key or user.
    #[schema(examples("key_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    id: String,
    /// Name of the key or user.
    #[schema(examples("Website"))]
    name: String,
    /// The account that the credential belongs to.
    account: Account,
    /// Role of the user in the account: `owner`, `admin` or `member` (access according to the rosters); `null` for a
    /// key.
    role: Option<Role>,
    /// ID of the app that acts for the user; `null` for a key.
    app_id: Option<AppId>,
    /// Scopes granted to the credential.
    #[schema(value_type = Vec<GrantedScope>)]
    scopes: crate::rights::Scopes,
    /// Teams that the key is restricted to; `null` if it is not restricted.
    team_ids: Option<Vec<TeamId>>,
    /// The people and teams that the user has access to; `null` for a key.
    access: Option<UserRosterAccess>,
    /// Rate limits of the account.
    limits: AccountLimits,
}

string_schema! {
    /// A scope, or `*` for a key with full access.
    GrantedScope: ScopeName::ALL.iter().map(|(_, word)| *word).chain(["*"])
}

/// The people and teams that a user has access to.
#[derive(Serialize, ToSchema)]
#[schema(as = UserAccess)]
struct UserRosterAccess {
    /// Id of the user's own person record; `null` if the user has none in this account.
    person_id: Option<PersonId>,
    /// Roster entries of the user's own person, one for each team.
    memberships: Vec<TeamMembership>,
    /// People whose guardian the user is, with their roster entries.
    dependents: Vec<Dependent>,
    /// Teams that the user coaches or manages.
    managed_team_ids: Vec<TeamId>,
    /// Teams that the user can see: their own and those of their dependents.
    visible_team_ids: Vec<TeamId>,
}

/// A person whose guardian the user is.
#[derive(Serialize, ToSchema)]
struct Dependent {
    /// ID of the person.
    person_id: PersonId,
    /// Roster entries of the person, one for each team. Use a `member_id` to answer an RSVP.
    memberships: Vec<TeamMembership>,
}

/// A roster entry of a person.
#[derive(Serialize, ToSchema)]
struct TeamMembership {
    /// ID of the team.
    team_id: TeamId,
    /// ID of the person's roster entry on the team.
    member_id: MemberId,
}

/// Rate limits of the account.
#[derive(Serialize, ToSchema)]
struct AccountLimits {
    /// Requests per minute that the account's tier allows.
    #[schema(examples(600))]
    requests_per_minute: u32,
}

/// Retrieve the caller
///
/// Returns the credential of this request with its account, scopes and rate limits.
#[endpoint(get, "/me", id = "me.get", tag = "Account",
    200(ObjectResponse<Me>, "The caller."))]
async fn me(caller: Caller<AnyCredential>) -> Result<Response> {
    let credential = caller.credential().clone();
    let quotas = caller.app().config.rate_limits.clone();
    let access = caller.roster_access().await?.map(|access| {
        let memberships_of = |person: PersonId| {
            let memberships = access.memberships.iter().filter(move |one| one.person_id == person);
            memberships.map(|one| TeamMembership { team_id: one.team_id, member_id: one.member_id })
        };
        let dependent = |id: &PersonId| Dependent {
            person_id: *id,
            memberships: memberships_of(*id).collect(),
        };
        UserRosterAccess {
            person_id: access.own_person_ids.first().copied(),
            memberships: access.own_person_ids.iter().flat_map(|id| memberships_of(*id)).collect(),
            dependents: access.dependent_ids.iter().map(dependent).collect(),
            managed_team_ids: access.managed_team_ids.clone(),
            visible_team_ids: access.visible_team_ids.clone(),
        }
    });
    caller
        .read(move |db| {
            let account = account::find(db)?;
            let id = credential.actor();
            let (kind, name, role, app_id, team_ids) = match credential.holder {
                Holder::Key { id, team_ids, .. } => {
                    let name = api_key::find(db, id)?.name;
                    (CallerKind::ApiKey, name, None, None, team_ids.map(|listed| listed.0))
                }
                Holder::App { user, app, role, .. } => {
                    (CallerKind::User, user::find(db, user)?.name, Some(role), Some(app), None)
                }
            };
            Ok(Me {
                kind,
                id,
                name,
                role,
                app_id,
                limits: AccountLimits { requests_per_minute: quotas.of(account.tier) },
                account,
                scopes: credential.scopes,
                team_ids,
                access,
            })
        })
        .await
}
