//! Changes and cancellations of events that are not over, since the user last confirmed them.

use std::time::Duration;

use crate::events::event::{self, Event, EventView};
use crate::events::event_time::MAX_DURATION;
use crate::prelude::*;

/// How long changes are shown to somebody who has never confirmed any.
const FIRST_VISIT: Duration = Duration::from_secs(7 * 86_400);
/// Changes of events further in the future are not shown.
const HORIZON: Duration = Duration::from_secs(60 * 86_400);
/// More than a club changes before somebody confirms. All of them are on the page, because all are confirmed together.
const MAX_EVENTS: i64 = 1000;

/// Changes of events. Those of a series that were changed in the same way are one change.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The changed events of each change.
    pub groups: Vec<Vec<EventView>>,
    /// When the last of all these events was changed.
    pub until: Option<Timestamp>,
}

impl Changes {
    fn new(events: Vec<EventView>) -> Self {
        let until = events.iter().filter_map(|view| view.event.changed_at).max();
        let mut groups: Vec<Vec<EventView>> = Vec::new();
        for view in events {
            let is_same = |other: &EventView| {
                let key = |event: &Event| (event.series_id, event.status, event.changed_at);
                view.event.series_id.is_some() && key(&other.event) == key(&view.event)
            };
            match groups.iter_mut().find(|group| is_same(&group[0])) {
                Some(group) => group.push(view),
                None => groups.push(vec![view]),
            }
        }
        Self { groups, until }
    }
}

/// The changes that a user has not confirmed yet: cancellations first, then by start.
pub(super) fn list(db: &Reader<'_>, access: &TeamAccess, user: UserId) -> Result<Changes> {
    let (is_limited, teams) = access.team_filter();
    if is_limited && teams.is_empty() {
        return Ok(Changes::default());
    }
    let seen = last_confirmed(db, user)?;
    let (earliest, until) = (db.now().minus(MAX_DURATION), db.now().plus(HORIZON));
    let values = bind! { teams, seen, earliest, until, limit: MAX_EVENTS };
    let text = if is_limited {
        sql!(Event::SELECT, " where account_id = :account and team_id in (:teams)", CHANGED)
    } else {
        sql!(Event::SELECT, " where account_id = :account", CHANGED)
    };
    Ok(Changes::new(event::views(db, db.all(text, values)?)?))
}

const CHANGED: &str = "
    and starts_at > :earliest and starts_at < :until and ends_at > :now and changed_at > :seen
    order by case when status = 'cancelled' then 0 else 1 end, starts_at, id limit :limit";

fn last_confirmed(db: &Reader<'_>, user: UserId) -> Result<Timestamp> {
    let seen: Option<(Timestamp,)> = db.optional(
        "select seen_at from home_visit where account_id = :account and user_id = :user",
        bind! { user },
    )?;
    Ok(seen.map_or_else(|| db.now().minus(FIRST_VISIT), |(seen,)| seen))
}

/// Records that the user has seen all changes until this time. It is the time of the last one on the page, so a change
/// that came later is still shown.
pub(super) fn confirm(tx: &Tx<'_>, user: UserId, until: Timestamp) -> Result<()> {
    let until = until.min(tx.now());
    tx.execute(
        "insert into home_visit (account_id, user_id, seen_at) values (:account, :user, :until)
         on conflict (account_id, user_id) do update set
             seen_at = case when home_visit.seen_at < :until then :until else home_visit.seen_at end",
        bind! { user, until },
    )?;
    Ok(())
}
