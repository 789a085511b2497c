//! Events of several days, such as tournaments, that have begun and are not over. A list of coming events is read by
//! start, so it would not contain them.

use super::event::{self, Event, EventFilter, EventView};
use crate::prelude::*;

/// The maximum number of events.
const MAX_EVENTS: i64 = 100;

/// The events that began before this time and are not over, by start. Of the filter, only teams and type apply. Events of
/// up to 12 hours are left out, so `before` should be at most that long ago.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &EventFilter,
    before: Timestamp,
) -> Result<Vec<EventView>> {
    access.check_filter(filter.team_id, &filter.team_ids)?;
    let (is_limited, teams) = match filter.team_id {
        Some(team) => (true, vec![team]),
        None if !filter.team_ids.is_empty() => (true, filter.team_ids.clone()),
        None => access.team_filter(),
    };
    let kind = filter.kind;
    // `+ 0` keeps the bound out of the index choice.
    let text = sql!(
        Event::SELECT,
        " where account_id = :account and ends_at > :now and ends_at - starts_at > 43200000000
            and starts_at + 0 < :before
            and (not cast(:is_limited as boolean) or team_id in (:teams))
            and (cast(:kind as text) is null or kind = :kind)
          order by starts_at, id limit :limit"
    );
    let events = db.all(text, bind! { before, is_limited, teams, kind, limit: MAX_EVENTS })?;
    event::views(db, events)
}
