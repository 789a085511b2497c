//! The JSON endpoints of teams.

use axum::response::Response;
use utoipa_axum::routes;

use super::team::{self, NewTeam, Status, Team, TeamChange, TeamFilter};
use crate::error::Result;
use crate::ids::TeamId;
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, TeamsManage, TeamsRead, TeamsWrite};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

const NAME: usize = 120;
const WORD: usize = 60;
const BODY: usize = 10_000;

/// Everything below `/teams` and `/teams/{team_id}`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive)).with(routes!(restore))
}

/// List teams
///
/// In order of creation. Only active teams, unless `status` says otherwise.
#[utoipa::path(get, path = "/teams", operation_id = "teams_list", tag = "Teams",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many teams to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("status" = Option<String>, Query, description = "`active` (if left out), `archived` or `all`."),
        ("sport" = Option<String>, Query, description = "Only teams that play this."),
        ("season" = Option<String>, Query, description = "Only teams of this season."),
        ("external_id" = Option<String>, Query, description = "Only the team with this id in another system."),
        ("q" = Option<String>, Query, description = "Only teams whose name contains this, whatever its case.")),
    responses((status = 200, description = "A page of teams.", body = Many<Team>), Problems),
    security(("key" = ["teams:read"])))]
async fn list(
    caller: Caller<TeamsRead>,
    Query(paging): Query<Paging<TeamFilter>>,
) -> Result<Response> {
    caller.page(paging, team::list).await
}

/// Create a team
#[utoipa::path(post, path = "/teams", operation_id = "teams_create", tag = "Teams",
    request_body(content = NewTeam, example = json!({ "name": "Harbour Hawks U12", "sport": "soccer", "season": "2026/27" })),
    responses((status = 201, description = "The new team.", body = One<Team>), Problems),
    security(("key" = ["teams:write"])))]
async fn create(
    caller: Caller<TeamsManage>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewTeam>,
) -> Result<Response> {
    caller.reaches_all()?;
    team::unique(caller.create(body, team::create).await)
}

/// Get a team
#[utoipa::path(get, path = "/teams/{team_id}", operation_id = "teams_get", tag = "Teams",
    params(("team_id" = TeamId, Path)),
    responses((status = 200, description = "The team.", body = One<Team>), Problems),
    security(("key" = ["teams:read"])))]
async fn find(
    caller: Caller<TeamsRead>,
    At(id): At<TeamId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    caller.reaches(id)?;
    caller.one(move |db| team::find(db, id)).await
}

/// Change a team
///
/// Members that are left out stay as they are; `null` clears.
#[utoipa::path(patch, path = "/teams/{team_id}", operation_id = "teams_update", tag = "Teams",
    params(("team_id" = TeamId, Path)),
    request_body(content = TeamChange, example = json!({ "season": "2027/28", "color": null })),
    responses((status = 200, description = "The team after the change.", body = One<Team>), Problems),
    security(("key" = ["teams:write"])))]
async fn change(
    caller: Caller<TeamsWrite>,
    At(id): At<TeamId>,
    Query(Nothing): Query<Nothing>,
    body: Body<TeamChange>,
) -> Result<Response> {
    caller.reaches(id)?;
    let reach = caller.reach();
    caller
        .change(body, move |tx, change, expected| team::change(tx, &reach, id, expected, change))
        .await
}

/// Archive a team
///
/// The team stops playing; its history stays and its name is free again.
#[utoipa::path(delete, path = "/teams/{team_id}", operation_id = "teams_archive", tag = "Teams",
    params(("team_id" = TeamId, Path)),
    responses((status = 200, description = "The archived team.", body = One<Team>), Problems),
    security(("key" = ["teams:write"])))]
async fn archive(
    caller: Caller<TeamsManage>,
    At(id): At<TeamId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    caller.reaches(id)?;
    caller.change(body, move |tx, NoBody, expected| team::archive(tx, id, expected)).await
}

/// Restore a team
///
/// Brings an archived team back, if no active team has taken its name.
#[utoipa::path(post, path = "/teams/{team_id}/restore", operation_id = "teams_restore", tag = "Teams",
    params(("team_id" = TeamId, Path)),
    responses((status = 200, description = "The restored team.", body = One<Team>), Problems),
    security(("key" = ["teams:write"])))]
async fn restore(
    caller: Caller<TeamsManage>,
    At(id): At<TeamId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    caller.reaches(id)?;
    caller.change(body, move |tx, NoBody, expected| team::restore(tx, id, expected)).await
}

impl FromBody for NewTeam {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.required_line("name", NAME),
            sport: fields.line("sport", WORD).apply(None),
            season: fields.line("season", WORD).apply(None),
            age_group: fields.line("age_group", WORD).apply(None),
            gender: fields.line("gender", WORD).apply(None),
            timezone: fields.zone("timezone").apply(None),
            color: fields.colour("color").apply(None),
            description: fields.block("description", BODY).apply(None),
            unique_jerseys: fields.flag("unique_jerseys").apply_or(false, false),
            external_id: fields.line("external_id", NAME).apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        }
    }
}

impl FromBody for TeamChange {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.kept_line("name", NAME),
            sport: fields.line("sport", WORD),
            season: fields.line("season", WORD),
            age_group: fields.line("age_group", WORD),
            gender: fields.line("gender", WORD),
            timezone: fields.zone("timezone"),
            color: fields.colour("color"),
            description: fields.block("description", BODY),
            unique_jerseys: fields.flag("unique_jerseys"),
            external_id: fields.line("external_id", NAME),
            metadata: fields.metadata("metadata"),
        }
    }
}

impl FromQuery for TeamFilter {
    fn read(params: &mut Params) -> Self {
        Self {
            status: params.word_or_all("status", Status::Active),
            sport: params.line("sport", WORD),
            season: params.line("season", WORD),
            external_id: params.line("external_id", NAME),
            q: params.line("q", NAME),
        }
    }
}
