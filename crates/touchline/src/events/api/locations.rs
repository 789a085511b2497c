//! The JSON endpoints of locations.

use axum::response::Response;
use utoipa_axum::routes;

use crate::error::Result;
use crate::events::location::{
    self, Location, LocationChange, LocationFilter, NewLocation, Status,
};
use crate::ids::LocationId;
use crate::paging::Order;
use crate::web::body::{Body, MaybeBody, NoBody};
use crate::web::caller::{Caller, EventsRead, EventsWrite, LocationsManage};
use crate::web::cursor::Paging;
use crate::web::docs::Problems;
use crate::web::fields::{Fields, FromBody};
use crate::web::path::At;
use crate::web::query::{FromQuery, Nothing, Params, Query};
use crate::web::reply::{Many, One};
use crate::web::routes::Routes;

const NAME: usize = 120;
const ADDRESS: usize = 500;
const LINK: usize = 1000;
const BODY: usize = 10_000;

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, archive))
}

/// List locations
///
/// In order of creation. Only active locations, unless `status` says otherwise. Players and
/// parents see the locations of their teams' events. API keys for certain teams also see locations they added.
/// Coaches and managers see both, and locations that are `shared`. Admins and keys for the whole club see all.
#[utoipa::path(get, path = "/locations", operation_id = "locations_list", tag = "Events",
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many locations to a page; 50 if left out."),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before."),
        ("order" = Option<Order>, Query, description = "`asc` if left out."),
        ("status" = Option<String>, Query, description = "`active` (if left out), `archived` or `all`."),
        ("external_id" = Option<String>, Query, description = "Only the location with this id in another system."),
        ("q" = Option<String>, Query, description = "Only locations whose name contains this, whatever its case.")),
    responses((status = 200, description = "A page of locations.", body = Many<Location>), Problems),
    security(("key" = ["events:read"])))]
async fn list(
    caller: Caller<EventsRead>,
    Query(paging): Query<Paging<LocationFilter>>,
) -> Result<Response> {
    caller.page(paging, location::list).await
}

/// Create a location
///
/// A location made by an admin or a key for the whole club is shared with the coaches and managers of every team,
/// unless `shared` is `false`. A location made by anybody else is seen by the teams that have an event there.
#[utoipa::path(post, path = "/locations", operation_id = "locations_create", tag = "Events",
    request_body(content = NewLocation, example = json!({ "name": "Lower pitch", "address": "12 Quay Street, Harbour", "latitude": 38.7071, "longitude": -9.1355 })),
    responses((status = 201, description = "The new location.", body = One<Location>), Problems),
    security(("key" = ["events:write"])))]
async fn create(
    caller: Caller<EventsWrite>,
    Query(Nothing): Query<Nothing>,
    body: Body<NewLocation>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.create(body, move |tx, new| location::create(tx, &reach, new)).await
}

/// Get a location
///
/// 404 for a location that the caller does not see; see the list of locations.
#[utoipa::path(get, path = "/locations/{location_id}", operation_id = "locations_get", tag = "Events",
    params(("location_id" = LocationId, Path)),
    responses((status = 200, description = "The location.", body = One<Location>), Problems),
    security(("key" = ["events:read"])))]
async fn find(
    caller: Caller<EventsRead>,
    At(id): At<LocationId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    let reach = caller.reach();
    caller.one(move |db| location::find(db, &reach, id)).await
}

/// Change a location
///
/// Fields that are left out stay as they are; `null` clears. Only admins and keys for the whole club can do this,
/// because other teams may meet there.
#[utoipa::path(patch, path = "/locations/{location_id}", operation_id = "locations_update", tag = "Events",
    params(("location_id" = LocationId, Path)),
    request_body(content = LocationChange, example = json!({ "notes": "Gate code at the desk" })),
    responses((status = 200, description = "The location after the change.", body = One<Location>), Problems),
    security(("key" = ["events:write"])))]
async fn change(
    caller: Caller<LocationsManage>,
    At(id): At<LocationId>,
    Query(Nothing): Query<Nothing>,
    body: Body<LocationChange>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller
        .change(body, move |tx, change, expected| location::change(tx, id, expected, change))
        .await
}

/// Archive a location
///
/// It is no longer offered; events that were there still name it. Only admins and keys for the whole club can do
/// this.
#[utoipa::path(delete, path = "/locations/{location_id}", operation_id = "locations_archive", tag = "Events",
    params(("location_id" = LocationId, Path)),
    responses((status = 200, description = "The archived location.", body = One<Location>), Problems),
    security(("key" = ["events:write"])))]
async fn archive(
    caller: Caller<LocationsManage>,
    At(id): At<LocationId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    caller.reaches_all()?;
    caller.change(body, move |tx, NoBody, expected| location::archive(tx, id, expected)).await
}

impl FromBody for NewLocation {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.required_line("name", NAME),
            address: fields.block("address", ADDRESS).apply(None),
            latitude: fields.real("latitude", -90.0, 90.0).apply(None),
            longitude: fields.real("longitude", -180.0, 180.0).apply(None),
            url: fields.link("url", LINK).apply(None),
            notes: fields.block("notes", BODY).apply(None),
            shared: fields.flag("shared").apply(None),
            external_id: fields.line("external_id", NAME).apply(None),
            metadata: fields.metadata("metadata").apply(None).unwrap_or_default(),
        }
    }
}

impl FromBody for LocationChange {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.kept_line("name", NAME),
            address: fields.block("address", ADDRESS),
            latitude: fields.real("latitude", -90.0, 90.0),
            longitude: fields.real("longitude", -180.0, 180.0),
            url: fields.link("url", LINK),
            notes: fields.block("notes", BODY),
            shared: fields.flag("shared"),
            external_id: fields.line("external_id", NAME),
            metadata: fields.metadata("metadata"),
        }
    }
}

impl FromQuery for LocationFilter {
    fn read(params: &mut Params) -> Self {
        Self {
            status: params.word_or_all("status", Status::Active),
            external_id: params.line("external_id", NAME),
            q: params.line("q", NAME),
        }
    }
}
