//! Who am I: the one endpoint that any valid credential may ask.

use axum::response::Response;
use kit::word::Word;
use serde::Serialize;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::routes;

use super::account::{self, Account};
use super::api_key;
use super::credential::Holder;
use super::rights::ScopeName;
use super::user::{self, Role};
use crate::error::Result;
use crate::ids::{AppId, PersonId, TeamId};
use crate::web::caller::{Anything, Caller};
use crate::web::docs::Problems;
use crate::web::query::{Nothing, Query};
use crate::web::reply::One;
use crate::web::routes::Routes;

/// `/me`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(me))
}

/// Who is calling.
#[derive(Serialize, ToSchema)]
#[serde(tag = "object", rename = "me")]
struct Me {
    /// What the credential is: `api_key` or `user`.
    #[schema(examples("api_key"))]
    kind: &'static str,
    /// The id of the key or the user.
    #[schema(examples("key_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    id: String,
    /// The name of the key or the user.
    name: String,
    account: Account,
    /// What the user is in the account; `null` for a key.
    role: Option<Role>,
    /// The app that acts for the user; `null` for a key.
    app_id: Option<AppId>,
    /// What the credential may do.
    #[schema(value_type = Vec<GrantedScope>)]
    scopes: super::rights::Scopes,
    /// The teams it is narrowed to; `null` if it reaches all.
    team_ids: Option<Vec<TeamId>>,
    /// What the user is on the rosters of the account; `null` for a key.
    standing: Option<MyStanding>,
    limits: MyLimits,
}

/// A scope that a credential has: one of the named scopes, or `*` for a key that may do everything.
struct GrantedScope;

impl PartialSchema for GrantedScope {
    fn schema() -> RefOr<Schema> {
        let named = ScopeName::ALL.iter().map(|(_, word)| *word);
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("A scope, or `*` for a key that may do everything."))
            .enum_values(Some(named.chain(["*"])))
            .into()
    }
}

impl ToSchema for GrantedScope {}

/// Where the user stands.
#[derive(Serialize, ToSchema)]
struct MyStanding {
    /// Who they are: at most one person of the account.
    person_ids: Vec<PersonId>,
    /// Whom they look after.
    ward_ids: Vec<PersonId>,
    /// The teams they coach or manage.
    leads: Vec<TeamId>,
    /// Every team that they or those they look after are on.
    sees: Vec<TeamId>,
}

/// What the account may use.
#[derive(Serialize, ToSchema)]
struct MyLimits {
    #[schema(examples(600))]
    requests_per_minute: u32,
}

/// Who am I
///
/// The credential, its account, tier, scopes and limits.
#[utoipa::path(get, path = "/me", operation_id = "me_get", tag = "Account",
    responses((status = 200, description = "The caller.", body = One<Me>), Problems),
    security(("key" = [])))]
async fn me(caller: Caller<Anything>, Query(Nothing): Query<Nothing>) -> Result<Response> {
    let credential = caller.credential().clone();
    let quotas = caller.app().config.rate_limits.clone();
    let standing = caller.standing().await?.map(|standing| MyStanding {
        person_ids: standing.own.clone(),
        ward_ids: standing.wards.clone(),
        leads: standing.leads.clone(),
        sees: standing.sees.clone(),
    });
    caller
        .look(move |db| {
            let account = account::find(db)?;
            let (kind, id) = (credential.kind(), credential.actor());
            let (name, role, app_id, team_ids) = match credential.holder {
                Holder::Key { id, team_ids, .. } => {
                    (api_key::find(db, id)?.name, None, None, team_ids.map(|listed| listed.0))
                }
                Holder::App { user, app, role, .. } => {
                    (user::find(db, user)?.name, Some(role), Some(app), None)
                }
            };
            Ok(Me {
                kind,
                id,
                name,
                role,
                app_id,
                limits: MyLimits { requests_per_minute: quotas.of(account.tier) },
                account,
                scopes: credential.scopes,
                team_ids,
                standing,
            })
        })
        .await
}
