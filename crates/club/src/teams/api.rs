//! Endpoints of teams.

use super::team::{self, NewTeam, Team, TeamChange, TeamFilter};
use crate::error::Result;
use crate::ids::TeamId;
use crate::web::caller::{TeamsManage, TeamsRead, TeamsWrite};
use crate::web::prelude::*;

/// Routes below `/teams`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive)).with(routes!(restore))
}

/// List teams
///
/// Returns teams in order of creation. Only active teams, unless you filter by `status`.
#[utoipa::path(get, path = "/teams", operation_id = "teams_list", tag = "Teams",
    params(Paging<TeamFilter>),
    responses((status = 200, description = "A page of teams.", body = ListResponse<Team>)),
    security(("key" = ["teams:read"])))]
async fn list(
    caller: Caller<TeamsRead>,
    Query(paging): Query<Paging<TeamFilter>>,
) -> Result<Response> {
    caller.page(paging, team::list).await
}

/// Create a team
///
/// Creates a team in the account.
#[utoipa::path(post, path = "/teams", operation_id = "teams_create", tag = "Teams",
    request_body(content = NewTeam, example = json!({ "name": "Harbour Hawks U12", "sport": "soccer", "season": "2026/27" })),
    responses((status = 201, description = "The new team.", body = ObjectResponse<Team>)),
    security(("key" = ["teams:write"])))]
async fn create(
    caller: Caller<TeamsManage>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<NewTeam>,
) -> Result<Response> {
    caller.require_all_teams()?;
    team::map_unique_violation(caller.create(body, team::create).await)
}

/// Retrieve a team
///
/// Returns a team, archived or not.
#[utoipa::path(get, path = "/teams/{team_id}", operation_id = "teams_get", tag = "Teams",
    params(("team_id" = TeamId, Path)),
    responses((status = 200, description = "The team.", body = ObjectResponse<Team>)),
    security(("key" = ["teams:read"])))]
async fn find(
    caller: Caller<TeamsRead>,
    PathParams(id): PathParams<TeamId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    caller.require_team(id)?;
    caller.read_object(move |db| team::find(db, id)).await
}

/// Update a team
///
/// Omitted fields stay unchanged; `null` clears a field.
#[utoipa::path(patch, path = "/teams/{team_id}", operation_id = "teams_update", tag = "Teams",
    params(("team_id" = TeamId, Path)),
    request_body(content = TeamChange, example = json!({ "season": "2027/28", "color": null })),
    responses((status = 200, description = "The updated team.", body = ObjectResponse<Team>)),
    security(("key" = ["teams:write"])))]
async fn change(
    caller: Caller<TeamsWrite>,
    PathParams(id): PathParams<TeamId>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<TeamChange>,
) -> Result<Response> {
    caller.require_team(id)?;
    let access = caller.team_access();
    caller
        .change(body, move |tx, change, expected| team::change(tx, &access, id, expected, change))
        .await
}

/// Archive a team
///
/// An archived team is read-only. Its history stays, and its name becomes available again.
#[utoipa::path(delete, path = "/teams/{team_id}", operation_id = "teams_archive", tag = "Teams",
    params(("team_id" = TeamId, Path)),
    responses((status = 200, description = "The archived team.", body = ObjectResponse<Team>)),
    security(("key" = ["teams:write"])))]
async fn archive(
    caller: Caller<TeamsManage>,
    PathParams(id): PathParams<TeamId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    caller.require_team(id)?;
    caller.change(body, move |tx, NoBody, expected| team::archive(tx, id, expected)).await
}

/// Restore a team
///
/// Makes an archived team active again, if no other active team has its name.
#[utoipa::path(post, path = "/teams/{team_id}/restore", operation_id = "teams_restore", tag = "Teams",
    params(("team_id" = TeamId, Path)),
    responses((status = 200, description = "The restored team.", body = ObjectResponse<Team>)),
    security(("key" = ["teams:write"])))]
async fn restore(
    caller: Caller<TeamsManage>,
    PathParams(id): PathParams<TeamId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    caller.require_team(id)?;
    caller.change(body, move |tx, NoBody, expected| team::restore(tx, id, expected)).await
}
