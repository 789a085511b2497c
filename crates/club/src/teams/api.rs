//! Endpoints of teams.

use super::team::{self, NewTeam, Team, TeamChange, TeamFilter};
use crate::error::Result;
use crate::ids::TeamId;
use crate::teams::{TeamsManage, TeamsRead, TeamsWrite};
use crate::web::prelude::*;

/// Routes below `/teams`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive)).with(routes!(restore))
}

/// List teams
///
/// Returns teams in order of creation. Only active teams, unless you filter by `status`.
#[endpoint(get, "/teams", id = "teams.list", tag = "Teams",
    200(ListResponse<Team>, "A page of teams."))]
async fn list(caller: Caller<TeamsRead>, paging: Paging<TeamFilter>) -> Result<Response> {
    caller.page(paging, team::list).await
}

/// Create a team
///
/// Creates a team in the account.
#[endpoint(post, "/teams", id = "teams.create", tag = "Teams",
    example = json!({ "name": "Harbour Hawks U12", "sport": "soccer", "season": "2026/27" }),
    201(ObjectResponse<Team>, "The new team."))]
async fn create(caller: Caller<TeamsManage>, body: Body<NewTeam>) -> Result<Response> {
    caller.require_all_teams()?;
    team::map_unique_violation(caller.create(body, team::create).await)
}

/// Retrieve a team
///
/// Returns a team, archived or not.
#[endpoint(get, "/teams/{team_id}", id = "teams.get", tag = "Teams",
    200(ObjectResponse<Team>, "The team."))]
async fn find(caller: Caller<TeamsRead>, id: TeamId) -> Result<Response> {
    caller.require_team(id)?;
    caller.read_object(move |db| team::find(db, id)).await
}

/// Update a team
///
/// Omitted fields stay unchanged; `null` clears a field.
#[endpoint(patch, "/teams/{team_id}", id = "teams.update", tag = "Teams",
    example = json!({ "season": "2027/28", "color": null }),
    200(ObjectResponse<Team>, "The updated team."))]
async fn change(
    caller: Caller<TeamsWrite>,
    id: TeamId,
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
#[endpoint(delete, "/teams/{team_id}", id = "teams.archive", tag = "Teams",
    outcome = json!({ "status": "archived" }),
    200(ObjectResponse<Team>, "The archived team."))]
async fn archive(caller: Caller<TeamsManage>, id: TeamId, body: Body<NoBody>) -> Result<Response> {
    caller.require_team(id)?;
    caller.change(body, move |tx, NoBody, expected| team::archive(tx, id, expected)).await
}

/// Restore a team
///
/// Makes an archived team active again, if no other active team has its name.
#[endpoint(post, "/teams/{team_id}/restore", id = "teams.restore", tag = "Teams",
    200(ObjectResponse<Team>, "The restored team."))]
async fn restore(caller: Caller<TeamsManage>, id: TeamId, body: Body<NoBody>) -> Result<Response> {
    caller.require_team(id)?;
    caller.change(body, move |tx, NoBody, expected| team::restore(tx, id, expected)).await
}
