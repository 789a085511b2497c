//! The location: where events are held.
//!
//! A location belongs to the club, but it may be the home of a family. So only callers who reach the whole club see
//! every location. Others see the locations of their teams' events and those they added themselves; coaches and
//! managers also see the locations that are shared with every team, to plan with.

use std::collections::BTreeSet;

use kit::{Change, Timestamp, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::event;
use crate::accounts::rights::Reach;
use crate::error::{Error, Fault, Result, TakenExt};
use crate::expected::Expected;
use crate::ids::{AccountId, LocationId, TeamId};
use crate::metadata::Metadata;
use crate::paging::{Order, Page};
use crate::signals::Tell;
use crate::thing::thing;

words! {
    /// Whether a location is in use.
    pub enum Status as LocationStatus {
        /// It can be chosen.
        Active = "active",
        /// It is no longer offered; events that were there still name it.
        Archived = "archived",
    }
}
word_column!(Status);

record! {
    /// A place where events are held.
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "location")]
    pub struct Location in location {
        pub id: LocationId,
        #[serde(skip)]
        pub account_id: AccountId,
        #[schema(examples("Lower pitch"), max_length = 120)]
        pub name: String,
        #[serde(skip)]
        pub name_folded: String,
        #[schema(examples("12 Quay Street, Harbour"), max_length = 500)]
        pub address: Option<String>,
        #[schema(examples(38.7071), minimum = -90, maximum = 90)]
        pub latitude: Option<f64>,
        #[schema(examples(-9.1355), minimum = -180, maximum = 180)]
        pub longitude: Option<f64>,
        /// A page about it, such as a map.
        #[schema(max_length = 1000)]
        pub url: Option<String>,
        /// How to get in, where to park.
        #[schema(max_length = 10000)]
        pub notes: Option<String>,
        pub status: Status,
        /// Whether coaches and managers of every team see it. Otherwise only teams with an event there do.
        pub shared: bool,
        #[serde(skip)]
        pub created_by: String,
        /// The location's id in another system, unique in the account.
        #[schema(max_length = 120)]
        pub external_id: Option<String>,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

thing!(Location by LocationId: Subject Versioned Paged);

/// A location to be created.
#[derive(Debug, ToSchema)]
pub struct NewLocation {
    #[schema(examples("Lower pitch"), min_length = 1, max_length = 120)]
    pub name: String,
    #[schema(max_length = 500)]
    pub address: Option<String>,
    /// Given together with `longitude`, or not at all.
    #[schema(minimum = -90, maximum = 90)]
    pub latitude: Option<f64>,
    #[schema(minimum = -180, maximum = 180)]
    pub longitude: Option<f64>,
    #[schema(max_length = 1000)]
    pub url: Option<String>,
    #[schema(max_length = 10000)]
    pub notes: Option<String>,
    /// Whether coaches and managers of every team see it. `true` if left out; `false` for callers who reach some
    /// teams only, who cannot share. Set `false` for a private address.
    pub shared: Option<bool>,
    #[schema(max_length = 120)]
    pub external_id: Option<String>,
    #[schema(required = false)]
    pub metadata: Metadata,
}

/// What is to be changed: members that are left out stay, `null` clears.
#[derive(Debug, ToSchema)]
pub struct LocationChange {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 120)]
    pub name: Option<String>,
    #[schema(value_type = Option<String>, max_length = 500)]
    pub address: Change<String>,
    #[schema(value_type = Option<f64>, minimum = -90, maximum = 90)]
    pub latitude: Change<f64>,
    #[schema(value_type = Option<f64>, minimum = -180, maximum = 180)]
    pub longitude: Change<f64>,
    #[schema(value_type = Option<String>, max_length = 1000)]
    pub url: Change<String>,
    #[schema(value_type = Option<String>, max_length = 10000)]
    pub notes: Change<String>,
    /// `null` sets `true`.
    #[schema(value_type = Option<bool>)]
    pub shared: Change<bool>,
    #[schema(value_type = Option<String>, max_length = 120)]
    pub external_id: Change<String>,
    /// Replaces all pairs; `null` clears them.
    #[schema(value_type = Option<Metadata>)]
    pub metadata: Change<Metadata>,
}

/// Which locations to list.
#[derive(Debug, Default)]
pub struct LocationFilter {
    /// `None` is every status.
    pub status: Option<Status>,
    pub external_id: Option<String>,
    /// Part of the name, whatever its case.
    pub q: Option<String>,
}

/// Creates a location. Only callers who reach the whole club share it with every team.
pub fn create(tx: &Tx<'_>, reach: &Reach, new: NewLocation) -> Result<Location> {
    let whole_club = *reach == Reach::Everywhere;
    if !whole_club && new.shared == Some(true) {
        let detail = "Only callers who reach the whole club can share a location with every team.";
        return Err(Error::invalid(vec![Fault::new("/shared", "not_allowed", detail)]));
    }
    let location = Location {
        id: tx.new_id(),
        account_id: tx.account(),
        name_folded: text::folded(&new.name),
        name: new.name,
        address: new.address,
        latitude: new.latitude,
        longitude: new.longitude,
        url: new.url,
        notes: new.notes,
        status: Status::Active,
        shared: new.shared.unwrap_or(whole_club),
        created_by: tx.actor().to_owned(),
        external_id: new.external_id,
        metadata: new.metadata,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    whole(&location)?;
    unique(tx.run(Location::INSERT, &location.bind()))?;
    tx.tell("location.created", &location)?;
    Ok(location)
}

/// One location that the caller sees.
pub fn find(db: &Reader<'_>, reach: &Reach, id: LocationId) -> Result<Location> {
    if *reach == Reach::Everywhere {
        let text = sql!(Location::SELECT, " where account_id = :account and id = :id");
        return Ok(db.one(text, bind! { id })?);
    }
    let Visibility { teams, plans, creator } = Visibility::of(db, reach);
    let text = sql!(Location::SELECT, " where account_id = :account and id = :id", VISIBLE);
    Ok(db.one(text, bind! { id, teams, plans, creator })?)
}

/// What a caller who reaches some teams only sees, as statements ask.
struct Visibility {
    /// The teams whose events they see.
    teams: Vec<TeamId>,
    /// They lead a team, so they see what is shared.
    plans: bool,
    /// They see what they added.
    creator: String,
}

impl Visibility {
    fn of(db: &Reader<'_>, reach: &Reach) -> Self {
        let (teams, plans) = match reach {
            Reach::User(place) => (place.sees.clone(), !place.leads.is_empty()),
            _ => (reach.narrowing().1, false),
        };
        Self { teams, plans, creator: db.actor().to_owned() }
    }
}

const VISIBLE: &str = "
      and (created_by = :creator or (shared and cast(:plans as boolean)) or id in (
          select location_id from event
          where account_id = :account and team_id in (:teams) and location_id is not null))";

/// Those of these locations that exist, each once.
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
    reach: &Reach,
    filter: &LocationFilter,
    page: &Page<LocationId>,
) -> Result<Vec<Location>> {
    let LocationFilter { status, external_id, .. } = filter;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let after = page.after(LocationId::LEAST, LocationId::GREATEST);
    let limit = page.fetch();
    let text = match (reach, page.order) {
        (Reach::Everywhere, Order::Asc) => sql!(Location::SELECT, FILTER, ASCENDING),
        (Reach::Everywhere, Order::Desc) => sql!(Location::SELECT, FILTER, DESCENDING),
        (_, Order::Asc) => sql!(Location::SELECT, FILTER, VISIBLE, ASCENDING),
        (_, Order::Desc) => sql!(Location::SELECT, FILTER, VISIBLE, DESCENDING),
    };
    let Visibility { teams, plans, creator } = Visibility::of(db, reach);
    let values = bind! { after, limit, status, external_id, pattern, teams, plans, creator };
    Ok(db.all(text, values)?)
}

const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";

const FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\')";

/// Changes a location, for callers who reach the whole club. Events there show the change at once.
pub fn change(
    tx: &Tx<'_>,
    id: LocationId,
    expected: &Expected,
    change: LocationChange,
) -> Result<Location> {
    let before = expected.check(find(tx, &Reach::Everywhere, id))?;
    if before.status == Status::Archived {
        return Err(Error::invalid_state("An archived location cannot be changed."));
    }
    let name = change.name.unwrap_or_else(|| before.name.clone());
    let after = Location {
        name_folded: text::folded(&name),
        name,
        address: change.address.apply(before.address.clone()),
        latitude: change.latitude.apply(before.latitude),
        longitude: change.longitude.apply(before.longitude),
        url: change.url.apply(before.url.clone()),
        notes: change.notes.apply(before.notes.clone()),
        shared: change.shared.apply_or(before.shared, true),
        external_id: change.external_id.apply(before.external_id.clone()),
        metadata: change.metadata.apply_or(before.metadata.clone(), Metadata::default()),
        ..before.clone()
    };
    whole(&after)?;
    if after == before {
        return Ok(before);
    }
    update(tx, "location.updated", &before, after)
}

/// Archives a location: it can no longer be chosen; events that were there still name it.
pub fn archive(tx: &Tx<'_>, id: LocationId, expected: &Expected) -> Result<Location> {
    let before = expected.check(find(tx, &Reach::Everywhere, id))?;
    if before.status == Status::Archived {
        return Err(Error::invalid_state("The location is already archived."));
    }
    let after = Location { status: Status::Archived, ..before.clone() };
    update(tx, "location.archived", &before, after)
}

fn update(tx: &Tx<'_>, news: &'static str, before: &Location, after: Location) -> Result<Location> {
    let after = Location { updated_at: tx.now(), version: before.version + 1, ..after };
    unique(tx.run(
        "update location set name = :name, name_folded = :name_folded, address = :address,
             latitude = :latitude, longitude = :longitude, url = :url, notes = :notes,
             status = :status, shared = :shared, external_id = :external_id, metadata = :metadata,
             updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    ))?;
    event::relocated(tx, after.id)?;
    tx.tell_change(news, before, &after)?;
    Ok(after)
}

/// One coordinate alone is no place.
fn whole(location: &Location) -> Result<()> {
    let missing = match (location.latitude, location.longitude) {
        (Some(_), None) => "/longitude",
        (None, Some(_)) => "/latitude",
        _ => return Ok(()),
    };
    let detail = "Latitude and longitude are given together.";
    Err(Error::invalid(vec![Fault::new(missing, "required", detail)]))
}

fn unique(done: store::Result<u64>) -> Result<u64> {
    let others = "Another location already has this external id.";
    done.taken("location_account_id_external_id_key", "/external_id", others)
}
