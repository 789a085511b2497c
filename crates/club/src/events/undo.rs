//! Undoing an answer that was just given.

use std::time::Duration;

use super::event;
use super::history;
use super::rsvp::{self, Answer, BY_AWAY_DATE, Choice, NewAnswer};
use crate::prelude::*;
use crate::teams::team;

/// How long an answer can be undone by the one who gave it.
const UNDO_PERIOD: Duration = Duration::from_secs(10 * 60);

/// Whether the caller can undo an answer that was given by `by` at this time.
pub(super) fn can_undo(db: &Reader<'_>, by: &str, answered_at: Timestamp) -> bool {
    by == db.actor() && answered_at > db.now().minus(UNDO_PERIOD)
}

/// Restores what a member had answered before the answer with this version, or withdraws it if it was the first one. A
/// version that is not the current one changes nothing: the answer was undone or changed in the meantime.
pub fn undo(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (event, member): (EventId, MemberId),
    version: i64,
) -> Result<()> {
    let event = event::find(tx, access, event)?;
    let person = rsvp::find_invited_person(tx, &event, member)?;
    access.check_person(event.team_id, person)?;
    team::find_active(tx, event.team_id)?;
    rsvp::check_accepts_answers(&event, tx.now())?;
    let current = rsvp::find_optional(tx, event.id, member)?;
    let Some(current) = current.filter(|rsvp| rsvp.version == version) else { return Ok(()) };
    let detail = "This answer can no longer be undone. Choose another answer instead.";
    Error::invalid_state(detail).fail_if(!can_undo(
        tx,
        &current.answered_by,
        current.answered_at,
    ))?;
    let previous = history::list_latest(tx, event.id, member, 2)?.into_iter().nth(1);
    match previous.and_then(|entry| Some((entry.answer?, entry))) {
        None => rsvp::withdraw_answer(tx, event, &current, tx.actor()),
        Some((answer, entry)) => {
            let new = NewAnswer { answer: choice(answer), note: entry.note, on_behalf_of: None };
            let is_away = entry.answered_by == BY_AWAY_DATE;
            let by = if is_away { BY_AWAY_DATE } else { tx.actor() };
            rsvp::record_answer(tx, event, member, new, by).map(drop)
        }
    }
}

/// What a member chose to get this answer.
fn choice(answer: Answer) -> Choice {
    match answer {
        Answer::Yes | Answer::Waitlisted => Choice::Yes,
        Answer::No => Choice::No,
        Answer::Maybe => Choice::Maybe,
    }
}
