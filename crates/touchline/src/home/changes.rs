//! Changes and cancellations of coming events since the user last confirmed them.

use std::time::Duration;

use crate::events::event::{self, Event, EventView};
use crate::prelude::*;

/// How long changes are shown to somebody who has never confirmed any.
const FIRST_VISIT: Duration = Duration::from_secs(7 * 86_400);
/// Changes of events further in the future are not shown.
const HORIZON: Duration = Duration::from_secs(60 * 86_400);
const MAX_CHANGES: i64 = 8;

/// The changes that a user has not confirmed yet: cancellations first, then by start.
pub(super) fn list(db: &Reader<'_>, access: &TeamAccess, user: UserId) -> Result<Vec<EventView>> {
    let (is_limited, teams) = access.team_filter();
    if is_limited && teams.is_empty() {
        return Ok(Vec::new());
    }
    let seen = last_confirmed(db, user)?;
    let until = db.now().plus(HORIZON);
    let values = bind! { teams, seen, until, limit: MAX_CHANGES };
    let text = if is_limited {
        sql!(Event::SELECT, " where account_id = :account and team_id in (:teams)", CHANGED)
    } else {
        sql!(Event::SELECT, " where account_id = :account", CHANGED)
    };
    event::views(db, db.all(text, values)?)
}

const CHANGED: &str = "
    and starts_at > :now and starts_at < :until and revision > 0 and revised_at > :seen
    order by case when status = 'cancelled' then 0 else 1 end, starts_at, id limit :limit";

fn last_confirmed(db: &Reader<'_>, user: UserId) -> Result<Timestamp> {
    let seen: Option<(Timestamp,)> = db.optional(
        "select seen_at from home_visit where account_id = :account and user_id = :user",
        bind! { user },
    )?;
    Ok(seen.map_or_else(|| db.now().minus(FIRST_VISIT), |(seen,)| seen))
}

/// Records that the user has seen all changes until this time. It is the time when the page was created, so a change
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
