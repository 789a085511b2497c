//! Personal data in messages: export and erasure.

use super::attachments::Attachments;
use super::editing;
use super::message::{MessageRecord, Status};
use crate::files::attaching;
use crate::prelude::*;

row! {
    #[derive(Serialize)]
    struct ReceiptRow {
        message_id: MessageId,
        delivered_at: kit::Timestamp,
        read_at: Option<kit::Timestamp>,
    }
}

/// All messages that a person wrote, including retracted ones, and the receipts of messages they received.
pub fn export_person(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let written = list_by_author(db, person)?.into_iter().map(|message| {
        json!({
            "id": message.id, "team_id": message.team_id, "kind": message.kind,
            "subject": message.subject, "body": message.body, "status": message.status,
            "attachments": message.attachments,
            "created_at": message.created_at, "published_at": message.published_at,
            "retracted_at": message.retracted_at,
        })
    });
    let written: Vec<_> = written.collect();
    let receipts: Vec<ReceiptRow> = db.all(
        "select message_id, delivered_at, read_at from receipt
         where account_id = :account and person_id = :person order by message_id",
        bind! { person },
    )?;
    Ok(json!({ "messages": written, "receipts": receipts }))
}

/// Erases the scheduled messages of a person and retracts them, so that nothing is published in their name anymore.
/// Published messages stay, without the author's name, because conversations with children must be kept. Returns the
/// erased messages, so that their content can be erased from logs too.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<Vec<String>> {
    let scheduled =
        list_by_author(tx, person)?.into_iter().filter(|one| one.status == Status::Scheduled);
    let erased = scheduled.map(|message| {
        attaching::remove_of(tx, &message.id.to_string())?;
        let (body, attachments) = (String::new(), Attachments::default());
        let empty = MessageRecord { subject: None, body, attachments, ..message };
        Ok(editing::mark_retracted(tx, empty)?.id.to_string())
    });
    erased.collect()
}

fn list_by_author(db: &Reader<'_>, person: PersonId) -> Result<Vec<MessageRecord>> {
    Ok(db.all(
        sql!(
            MessageRecord::SELECT,
            " where account_id = :account and author_person_id = :person order by id"
        ),
        bind! { person },
    )?)
}
