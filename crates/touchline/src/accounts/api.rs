//! Who am I: the one endpoint that any valid credential may ask.

use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::account::{self, Account};
use super::api_key;
use super::rights::ScopeName;
use crate::error::Result;
use crate::ids::{KeyId, TeamId};
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
    /// What the credential is; `api_key` for now.
    #[schema(examples("api_key"))]
    kind: &'static str,
    id: KeyId,
    /// The key's name.
    name: String,
    account: Account,
    /// What the credential may do.
    #[schema(value_type = Vec<ScopeName>)]
    scopes: super::rights::Scopes,
    /// The teams it is narrowed to; `null` if it reaches all.
    team_ids: Option<Vec<TeamId>>,
    limits: MyLimits,
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
    caller
        .look(move |db| {
            let account = account::find(db)?;
            Ok(Me {
                kind: "api_key",
                id: credential.id,
                name: api_key::find(db, credential.id)?.name,
                limits: MyLimits { requests_per_minute: quotas.of(account.tier) },
                account,
                scopes: credential.scopes,
                team_ids: credential.team_ids.map(|listed| listed.0),
            })
        })
        .await
}
