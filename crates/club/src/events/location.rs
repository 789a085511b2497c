//! Locations where events take place.
//!
//! A location belongs to the club, but it may be a family's home. So only callers with access to the whole club see
//! every location. Others see the locations of their teams' events and those they created. Coaches and managers also
//! see the locations that are shared with every team, to plan events there.

use std::collections::BTreeSet;

use kit::{string_enum, text};
use macros::{inputs, query};

use super::event;
use crate::error::UniqueViolationExt;
use crate::paging::page_sql;
use crate::prelude::*;

string_enum! {
    /// Whether a location is in use.
    pub enum Status as LocationStatus {
        /// The location can be used for events.
        Active = "active",
        /// The location can no longer be used for new events. Existing events keep it.
        Archived = "archived",
    }
}
enum_column!(Status);

record! {
    /// A location where events take place.
    #[inputs(
        /// A new location.
        create(NewLocation, as = CreateLocationRequest, faults(if_rejected)),
        /// Changes to a location. Omitted fields stay unchanged; `null` clears a field.
        update(LocationChange, as = UpdateLocationRequest),
    )]
    #[macros::object("location")]
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    #[schema(as = EventLocation)]
    pub struct Location in location {
        pub id: LocationId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Name of the location.
        #[schema(examples("Lower pitch"))]
        #[input(line(120))]
        pub name: String,
        #[serde(skip)]
        #[derived(text::fold_case(&name))]
        pub name_folded: String,
        /// Postal address of the location.
        #[schema(examples("12 Quay Street, Harbour"))]
        #[input(block(500), no_example)]
        pub address: Option<String>,
        /// Latitude in degrees, from -90 to 90.
        #[schema(examples(38.7071))]
        #[input(real(-90.0, 90.0), no_example,
            create = "Latitude in degrees, from -90 to 90. Must be set together with `longitude`.")]
        pub latitude: Option<f64>,
        /// Longitude in degrees, from -180 to 180.
        #[schema(examples(-9.1355))]
        #[input(real(-180.0, 180.0), no_example)]
        pub longitude: Option<f64>,
        /// A web page about the location, such as a map.
        #[input(url(1000), doc = "Web page of the location.")]
        pub url: Option<String>,
        /// Notes, such as directions or parking.
        #[input(block(10_000), doc = "Notes for members.")]
        pub notes: Option<String>,
        /// Status of the location: `active`, or `archived` (it cannot be used for new events).
        #[value(Status::Active)]
        pub status: Status,
        /// Whether coaches and managers of every team see the location. Otherwise only teams with an event there do.
        #[input(resolved,
            create = "Whether coaches and managers of every team see the location. Set it to `false` for a private \
                address. Default:\n`true`. Callers limited to certain teams cannot share locations; for them it is \
                always `false`.",
            update = "Whether coaches and managers of every team see the location; `null` sets it to `true`.")]
        pub shared: bool,
        #[serde(skip)]
        #[value(tx.actor().to_owned())]
        pub created_by: String,
        /// ID of the location in another system; unique in the account.
        #[input(line(120), doc = "")]
        pub external_id: Option<String>,
        #[input(default, update = "Replaces all metadata; `null` clears it.")]
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Increases with every change.
        pub version: i64,
    }
}

impl_resource!(Location by LocationId: Subject Versioned Paged Saved);

impl NewLocation {
    /// The faults that can be found without the database.
    fn faults(&self) -> Vec<Fault> {
        missing_coordinate(self.latitude, self.longitude).into_iter().collect()
    }
}

/// Filters for listing locations.
#[query(items = "locations")]
#[derive(Default)]
pub struct LocationFilter {
    /// Filter by status: `active` (default), `archived` or `all`.
    #[param(or_all(Status::Active))]
    pub status: Option<Status>,
    /// Only the location with this ID in another system.
    #[param(line(120))]
    pub external_id: Option<String>,
    pub updated_since: Option<Timestamp>,
    /// Only locations whose name contains this text (case-insensitive).
    #[param(line(120))]
    pub q: Option<String>,
}

/// Creates a location. Only callers with access to the whole club can share it with every team.
pub fn create(tx: &Tx<'_>, access: &TeamAccess, new: NewLocation) -> Result<Location> {
    let whole_club = *access == TeamAccess::AllTeams;
    let mut violations = Violations::default();
    if !whole_club && new.shared == Some(true) {
        let detail = "You need access to the whole club to share a location with every team.";
        violations.invalid("/shared", "not_allowed", detail);
    }
    let shared = new.shared.unwrap_or(whole_club);
    let location = new.into_record(tx, shared);
    violations.collect(check_coordinates(&location))?;
    violations.finish()?;
    map_unique_violation(tx.execute(Location::INSERT, &location.bind()))?;
    tx.publish("location.created", &location)?;
    Ok(location)
}

/// One location that the caller may see.
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: LocationId) -> Result<Location> {
    if *access == TeamAccess::AllTeams {
        let text = sql!(Location::SELECT, " where account_id = :account and id = :id");
        return Ok(db.one(text, bind! { id })?);
    }
    let (teams, manages_team, creator) = visibility(db, access);
    let text = sql!(Location::SELECT, " where account_id = :account and id = :id", VISIBLE);
    Ok(db.one(text, bind! { id, teams, manages_team, creator })?)
}

/// SQL parameters of [`VISIBLE`]: the teams whose events the caller sees, whether the caller manages a team and so sees
/// shared locations, and the caller, who sees the locations they created.
fn visibility(db: &Reader<'_>, access: &TeamAccess) -> (Vec<TeamId>, bool, String) {
    let (teams, manages_team) = match access {
        TeamAccess::User(place) => {
            (place.visible_team_ids.clone(), !place.managed_team_ids.is_empty())
        }
        _ => (access.team_filter().1, false),
    };
    (teams, manages_team, db.actor().to_owned())
}

const VISIBLE: &str = "
      and (created_by = :creator or (shared and cast(:manages_team as boolean)) or id in (
          select location_id from event
          where account_id = :account and team_id in (:teams) and location_id is not null))";

/// The locations with these ids, without duplicates.
pub fn find_all(db: &Reader<'_>, ids: impl Iterator<Item = LocationId>) -> Result<Vec<Location>> {
    let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let text = sql!(Location::SELECT, " where account_id = :account and id in (:ids)");
    Ok(db.all(text, bind! { ids })?)
}

/// A page of locations, in order of creation.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &LocationFilter,
    page: &Page<LocationId>,
) -> Result<Vec<Location>> {
    let LocationFilter { status, external_id, updated_since, .. } = filter;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let (after, limit) = page.bounds();
    let text = match access {
        TeamAccess::AllTeams => page_sql!(page, Location::SELECT, FILTER),
        _ => page_sql!(page, Location::SELECT, FILTER, VISIBLE),
    };
    let (teams, manages_team, creator) = visibility(db, access);
    let values = bind! { after, limit, status, external_id, updated_since, pattern, teams, manages_team,
    creator };
    Ok(db.all(text, values)?)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\')";

/// Updates a location, for callers with access to the whole club. Events there show the change at once.
pub fn change(
    tx: &Tx<'_>,
    id: LocationId,
    expected: &IfMatch,
    change: LocationChange,
) -> Result<Location> {
    let before = expected.check(find(tx, &TeamAccess::AllTeams, id))?;
    Error::invalid_state("An archived location cannot be changed.")
        .fail_if(before.status == Status::Archived)?;
    let shared = change.shared.clone().apply_or(before.shared, true);
    let after = before.apply(change, shared);
    check_coordinates(&after)?;
    if after == before {
        return Ok(before);
    }
    update(tx, "location.updated", &before, after)
}

/// Archives a location: it can no longer be used for new events. Existing events keep it.
pub fn archive(tx: &Tx<'_>, id: LocationId, expected: &IfMatch) -> Result<Location> {
    let before = expected.check(find(tx, &TeamAccess::AllTeams, id))?;
    Error::invalid_state("The location is already archived.")
        .fail_if(before.status == Status::Archived)?;
    let after = Location { status: Status::Archived, ..before.clone() };
    update(tx, "location.archived", &before, after)
}

fn update(
    tx: &Tx<'_>,
    notification: &'static str,
    before: &Location,
    after: Location,
) -> Result<Location> {
    let after = map_unique_violation(after.save(tx))?;
    event::touch_at_location(tx, after.id)?;
    tx.publish_change(notification, before, &after)?;
    Ok(after)
}

/// Checks that a location has both coordinates or none.
fn check_coordinates(location: &Location) -> Result<()> {
    let missing = missing_coordinate(location.latitude, location.longitude);
    missing.map_or(Ok(()), |fault| Err(Error::invalid(vec![fault])))
}

/// The fault if only one of two coordinates is set.
fn missing_coordinate(latitude: Option<f64>, longitude: Option<f64>) -> Option<Fault> {
    let missing = match (latitude, longitude) {
        (Some(_), None) => "/longitude",
        (None, Some(_)) => "/latitude",
        _ => return None,
    };
    let detail = "Latitude and longitude must be set together.";
    Some(Fault::new(missing, "required", detail))
}

/// Turns a violation of the unique constraint into an error for the caller.
fn map_unique_violation<T>(result: store::Result<T>) -> Result<T> {
    let detail = "Another location already has this external ID.";
    result.on_unique_violation("location_account_id_external_id_key", "/external_id", detail)
}
