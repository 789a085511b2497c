//! Endpoints of teams.

use axum::response::Response;
use kit::Timestamp;
use utoipa_axum::routes;

use super::team::{self, NewTeam, Status, Team, TeamChange, TeamFilter};
use crate::error::Result;
use crate::ids::TeamId;
use crate::paging::Order;
use crate::web::body::{Body, NoBody, OptionalBody};
use crate::web::caller::{Caller, TeamsManage, TeamsRead, TeamsWrite};
use crate::web::cursor::Paging;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::PathParams;
use crate::web::query::{FromQuery, NoQuery, Params, Query};
use crate::web::reply::{ListResponse, ObjectResponse};
use crate::web::routes::Routes;

const NAME: usize = 120;
const SHORT_TEXT: usize = 60;
const BODY: usize = 10_000;

/// Routes below `/teams`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive)).with(routes!(restore))
}

/// List teams
///
/// Returns teams in order of creation. Only active teams, unless you filter by `status`.
#[utoipa::path(get, path = "/teams", operation_id = "teams_list", tag = "Teams",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Number of teams per page. Default: 50."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the previous page."),
        ("order" = Option<Order>, Query, description = "Sort order. Default: `asc`."),
        ("status" = Option<String>, Query, description = "Filter by status: `active` (default), `archived` or `all`."),
        ("sport" = Option<String>, Query, description = "Only teams with this sport."),
        ("season" = Option<String>, Query, description = "Only teams of this season."),
        ("external_id" = Option<String>, Query, description = "Only the team with this ID in another system."),
        ("updated_since" = Option<Timestamp>, Query, description = "Only objects that changed at or after this time."),
        ("q" = Option<String>, Query, description = "Only teams whose name contains this text (case-insensitive).")),
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

impl FromBody for NewTeam {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.required_line("name", NAME),
            sport: fields.line("sport", SHORT_TEXT).apply(None),
            season: fields.line("season", SHORT_TEXT).apply(None),
            age_group: fields.line("age_group", SHORT_TEXT).apply(None),
            gender: fields.line("gender", SHORT_TEXT).apply(None),
            timezone: fields.zone("timezone").apply(None),
            color: fields.color("color").apply(None),
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
            name: fields.non_null_line("name", NAME),
            sport: fields.line("sport", SHORT_TEXT),
            season: fields.line("season", SHORT_TEXT),
            age_group: fields.line("age_group", SHORT_TEXT),
            gender: fields.line("gender", SHORT_TEXT),
            timezone: fields.zone("timezone"),
            color: fields.color("color"),
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
            status: params.enum_or_all("status", Status::Active),
            sport: params.line("sport", SHORT_TEXT),
            season: params.line("season", SHORT_TEXT),
            external_id: params.line("external_id", NAME),
            updated_since: params.timestamp("updated_since"),
            q: params.line("q", NAME),
        }
    }
}
