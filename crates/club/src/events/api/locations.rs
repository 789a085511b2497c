//! Endpoints of locations.

use crate::error::Result;
use crate::events::location::{self, Location, LocationChange, LocationFilter, NewLocation};
use crate::ids::LocationId;
use crate::web::caller::{EventsRead, EventsWrite, LocationsManage};
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List locations
///
/// Returns locations in order of creation. Only active locations, unless you filter by `status`. Players and parents
/// see the locations of their teams' events. API keys for certain teams also see locations they created. Coaches and
/// managers see both, and `shared` locations. Admins and keys for the whole club see all locations.
#[utoipa::path(get, path = "/locations", operation_id = "locations_list", tag = "Events",
    params(Paging<LocationFilter>),
    responses((status = 200, description = "A page of locations.", body = ListResponse<Location>)),
    security(("key" = ["events:read"])))]
async fn list(
    caller: Caller<EventsRead>,
    Query(paging): Query<Paging<LocationFilter>>,
) -> Result<Response> {
    caller.page(paging, location::list).await
}

/// Create a location
///
/// A location created by an admin or a key for the whole club is shared with the coaches and managers of every team,
/// unless `shared` is `false`. Other locations are only visible to their creator and to teams with an event there.
#[utoipa::path(post, path = "/locations", operation_id = "locations_create", tag = "Events",
    request_body(content = NewLocation, example = json!({ "name": "Lower pitch", "address": "12 Quay Street, Harbour", "latitude": 38.7071, "longitude": -9.1355 })),
    responses((status = 201, description = "The new location.", body = ObjectResponse<Location>)),
    security(("key" = ["events:write"])))]
async fn create(
    caller: Caller<EventsWrite>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<NewLocation>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.create(body, move |tx, new| location::create(tx, &access, new)).await
}

/// Retrieve a location
///
/// Returns 404 for a location that the caller may not see. See "List locations" for the rules.
#[utoipa::path(get, path = "/locations/{location_id}", operation_id = "locations_get", tag = "Events",
    params(("location_id" = LocationId, Path)),
    responses((status = 200, description = "The location.", body = ObjectResponse<Location>)),
    security(("key" = ["events:read"])))]
async fn find(
    caller: Caller<EventsRead>,
    PathParams(id): PathParams<LocationId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| location::find(db, &access, id)).await
}

/// Update a location
///
/// Omitted fields stay unchanged; `null` clears a field. Only for admins and keys for the whole club, because
/// other teams may have events there.
#[utoipa::path(patch, path = "/locations/{location_id}", operation_id = "locations_update", tag = "Events",
    params(("location_id" = LocationId, Path)),
    request_body(content = LocationChange, example = json!({ "notes": "Gate code at the desk" })),
    responses((status = 200, description = "The updated location.", body = ObjectResponse<Location>)),
    security(("key" = ["events:write"])))]
async fn change(
    caller: Caller<LocationsManage>,
    PathParams(id): PathParams<LocationId>,
    Query(NoQuery): Query<NoQuery>,
    body: Body<LocationChange>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller
        .change(body, move |tx, change, expected| location::change(tx, id, expected, change))
        .await
}

/// Archive a location
///
/// The location can no longer be used for new events. Existing events keep it. Only for admins and keys for the whole
/// club.
#[utoipa::path(delete, path = "/locations/{location_id}", operation_id = "locations_archive", tag = "Events",
    params(("location_id" = LocationId, Path)),
    responses((status = 200, description = "The archived location.", body = ObjectResponse<Location>)),
    security(("key" = ["events:write"])))]
async fn archive(
    caller: Caller<LocationsManage>,
    PathParams(id): PathParams<LocationId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.change(body, move |tx, NoBody, expected| location::archive(tx, id, expected)).await
}
