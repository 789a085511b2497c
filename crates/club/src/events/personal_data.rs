//! Personal data in the schedule: export and erasure.

use super::feed;
use crate::prelude::*;

row! {
    #[derive(Serialize)]
    struct AnswerRow {
        event_id: EventId,
        member_id: MemberId,
        #[serde(rename = "event")]
        title: String,
        starts_at: kit::Timestamp,
        answer: Option<String>,
        note: Option<String>,
        answered_by: String,
        answered_at: kit::Timestamp,
    }
}

/// Exports a person's RSVPs, duties and calendar feeds.
pub fn export_person(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let answers: Vec<AnswerRow> = db.all(
        "select c.event_id, c.member_id, e.title, e.starts_at, c.answer, c.note, c.answered_by,
             c.answered_at
         from rsvp_change c
         join event e on e.account_id = c.account_id and e.id = c.event_id
         where c.account_id = :account and c.member_id in (
             select id from member where account_id = :account and person_id = :person)
         order by c.answered_at, c.event_id",
        bind! { person },
    )?;
    let pattern = kit::text::contains_pattern(&person.to_string());
    let duties: Vec<(EventId, String)> = db.all(
        "select id, duties from event
         where account_id = :account and duties like :pattern escape '\\' order by id",
        bind! { pattern },
    )?;
    let duties = duties.into_iter().map(|(id, duties)| {
        json!({ "event_id": id, "duties": serde_json::from_str::<Value>(&duties).unwrap_or_default() })
    });
    let (feeds, duties) = (feed::of_person(db, person)?, duties.collect::<Vec<_>>());
    Ok(json!({ "rsvps": answers, "duties": duties, "calendar_feeds": feeds }))
}

/// Erases a person from the schedule: the notes of their RSVPs and their calendar feeds. The answers themselves stay.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    for text in [
        "update rsvp set note = null, updated_at = :now, version = version + 1
         where account_id = :account and member_id in (
             select id from member where account_id = :account and person_id = :person)",
        "update rsvp_change set note = null
         where account_id = :account and member_id in (
             select id from member where account_id = :account and person_id = :person)",
        "update calendar_feed set name = null
         where account_id = :account and person_id = :person",
    ] {
        tx.execute(text, bind! { person })?;
    }
    feed::revoke_all_of(tx, person)
}
