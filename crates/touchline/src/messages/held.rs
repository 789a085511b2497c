//! What messages hold about a person, to be shown to them or to be let go of.

use serde_json::{Value, json};
use store::{Reader, Tx, bind, row, sql};

use super::message::{self, Status, Stored};
use crate::error::Result;
use crate::ids::{MessageId, PersonId};

row! {
    struct Reached {
        message_id: MessageId,
        delivered_at: kit::Timestamp,
        read_at: Option<kit::Timestamp>,
    }
}

/// Everything messages hold about a person: what they wrote, retracted or not, and what reached them.
pub fn held_about(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let written = by(db, person)?.into_iter().map(|message| {
        json!({
            "id": message.id, "team_id": message.team_id, "kind": message.kind,
            "subject": message.subject, "body": message.body, "status": message.status,
            "created_at": message.created_at, "published_at": message.published_at,
            "retracted_at": message.retracted_at,
        })
    });
    let written: Vec<_> = written.collect();
    let reached: Vec<Reached> = db.all(
        "select message_id, delivered_at, read_at from receipt
         where account_id = :account and person_id = :person order by message_id",
        bind! { person },
    )?;
    let reached = reached.into_iter().map(|row| {
        json!({ "message_id": row.message_id, "delivered_at": row.delivered_at, "read_at": row.read_at })
    });
    let reached: Vec<_> = reached.collect();
    Ok(json!({ "messages": written, "receipts": reached }))
}

/// Lets go of a person who is being erased: nothing is published in their name any more. What they
/// said stays, without their name, because what was said on a conversation with children is kept. What
/// they only meant to say is forgotten; these messages are told, so that the logs can forget it too.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<Vec<MessageId>> {
    let unsaid = by(tx, person)?.into_iter().filter(|one| one.status == Status::Scheduled);
    let forgotten = unsaid.map(|message| {
        let empty = Stored { subject: None, body: String::new(), ..message };
        Ok(message::take_back(tx, empty)?.id)
    });
    forgotten.collect()
}

fn by(db: &Reader<'_>, person: PersonId) -> Result<Vec<Stored>> {
    Ok(db.all(
        sql!(
            Stored::SELECT,
            " where account_id = :account and author_person_id = :person order by id"
        ),
        bind! { person },
    )?)
}
