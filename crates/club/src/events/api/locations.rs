//! Endpoints of locations.

use crate::error::Result;
use crate::events::location::{self, Location, LocationChange, LocationFilter, NewLocation};
use crate::events::{EventsRead, EventsWrite, LocationsManage};
use crate::ids::LocationId;
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List locations
///
/// Returns locations in order of creation. Only active locations, unless you filter by `status`. Players and parents
/// see the locations of their teams' events. API keys for certain teams also see locations they created. Coaches and
/// managers see both, and `shared` locations. Admins and keys for the whole club see all locations.
#[endpoint(get, "/locations", id = "locations.list", tag = "Events",
    200(ListResponse<Location>, "A page of locations."))]
async fn list(caller: Caller<EventsRead>, paging: Paging<LocationFilter>) -> Result<Response> {
    caller.page(paging, location::list).await
}

/// Create a location
///
/// A location created by an admin or a key for the whole club is shared with the coaches and managers of every team,
/// unless `shared` is `false`. Other locations are only visible to their creator and to teams with an event there.
#[endpoint(post, "/locations", id = "locations.create", tag = "Events",
    example = json!({ "name": "Lower pitch", "address": "12 Quay Street, Harbour", "latitude": 38.7071, "longitude": -9.1355 }),
    201(ObjectResponse<Location>, "The new location."))]
async fn create(caller: Caller<EventsWrite>, body: Body<NewLocation>) -> Result<Response> {
    let access = caller.team_access();
    caller.create(body, move |tx, new| location::create(tx, &access, new)).await
}

/// Retrieve a location
///
/// Returns 404 for a location that the caller may not see. See "List locations" for the rules.
#[endpoint(get, "/locations/{location_id}", id = "locations.get", tag = "Events",
    200(ObjectResponse<Location>, "The location."))]
async fn find(caller: Caller<EventsRead>, id: LocationId) -> Result<Response> {
    let access = caller.team_access();
    caller.read_object(move |db| location::find(db, &access, id)).await
}

/// Update a location
///
/// Omitted fields stay unchanged; `null` clears a field. Only for admins and keys for the whole club, because
/// other teams may have events there.
#[endpoint(patch, "/locations/{location_id}", id = "locations.update", tag = "Events",
    example = json!({ "notes": "Gate code at the desk" }),
    200(ObjectResponse<Location>, "The updated location."))]
async fn change(
    caller: Caller<LocationsManage>,
    id: LocationId,
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
#[endpoint(delete, "/locations/{location_id}", id = "locations.archive", tag = "Events",
    outcome = json!({ "status": "archived" }),
    200(ObjectResponse<Location>, "The archived location."))]
async fn archive(
    caller: Caller<LocationsManage>,
    id: LocationId,
    body: Body<NoBody>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.change(body, move |tx, NoBody, expected| location::archive(tx, id, expected)).await
}
