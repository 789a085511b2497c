//! What the schedule holds about a person: to be handed over, or to be erased.

use serde_json::{Value, json};
use store::{Reader, Tx, bind, row};

use super::feed;
use crate::error::Result;
use crate::ids::{EventId, MemberId, PersonId};

row! {
    struct Given {
        event_id: EventId,
        member_id: MemberId,
        title: String,
        starts_at: kit::Timestamp,
        answer: Option<String>,
        note: Option<String>,
        answered_by: String,
        answered_at: kit::Timestamp,
    }
}

/// Everything the schedule holds about a person: what was answered for them, what they took on, and
/// their calendars.
pub fn held_about(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let answers: Vec<Given> = db.all(
        "select c.event_id, c.member_id, e.title, e.starts_at, c.answer, c.note, c.answered_by,
             c.answered_at
         from rsvp_change c
         join event e on e.account_id = c.account_id and e.id = c.event_id
         where c.account_id = :account and c.member_id in (
             select id from member where account_id = :account and person_id = :person)
         order by c.answered_at, c.event_id",
        bind! { person },
    )?;
    let answers = answers.into_iter().map(|row| {
        json!({
            "event_id": row.event_id, "event": row.title, "starts_at": row.starts_at,
            "member_id": row.member_id, "answer": row.answer, "note": row.note,
            "answered_by": row.answered_by, "answered_at": row.answered_at,
        })
    });
    let pattern = kit::text::contains_pattern(&person.to_string());
    let taken: Vec<(EventId, String)> = db.all(
        "select id, duties from event
         where account_id = :account and duties like :pattern escape '\\' order by id",
        bind! { pattern },
    )?;
    let taken = taken.into_iter().map(|(id, duties)| {
        json!({ "event_id": id, "duties": serde_json::from_str::<Value>(&duties).unwrap_or_default() })
    });
    let feeds = feed::of_person(db, person)?;
    let (answers, taken): (Vec<_>, Vec<_>) = (answers.collect(), taken.collect());
    Ok(json!({ "answers": answers, "duties": taken, "calendar_feeds": feeds }))
}

/// Lets go of a person who is being erased: notes of their answers and their calendars. That somebody
/// answered, and what, is kept.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.run(
        "update rsvp set note = null, updated_at = :now, version = version + 1
         where account_id = :account and member_id in (
             select id from member where account_id = :account and person_id = :person)",
        bind! { person },
    )?;
    tx.run(
        "update rsvp_change set note = null
         where account_id = :account and member_id in (
             select id from member where account_id = :account and person_id = :person)",
        bind! { person },
    )?;
    tx.run(
        "update calendar_feed set name = null
         where account_id = :account and person_id = :person",
        bind! { person },
    )?;
    feed::revoke_all_of(tx, person)
}
