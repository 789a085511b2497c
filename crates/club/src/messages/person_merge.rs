//! Moves messages and receipts to another record of the same person.

use super::message::MessageRecord;
use crate::personal_data::MergedRecords;
use crate::prelude::*;

/// The columns with the id of a person or member.
pub(super) const REFERENCES: &[&str] =
    &["receipt.person_id", "message.author_person_id", "message.author_id", "message.audience"];

/// Moves everything that refers to the first record.
pub(super) fn run(tx: &Tx<'_>, records: &MergedRecords) -> Result<()> {
    let (from, into) = (records.from, records.into);
    merge_receipts(tx, from, into)?;
    let (from_text, into_text) = (from.to_string(), into.to_string());
    tx.execute(
        "update message set author_person_id = :into, version = version + 1, updated_at = :now,
             author_id = case when author_id = :from_text then :into_text else author_id end
         where account_id = :account and author_person_id = :from",
        bind! { from, into, from_text, into_text },
    )?;
    records.members.iter().try_for_each(|(from, into)| move_in_audiences(tx, *from, *into))
}

row! {
    struct Times {
        message_id: MessageId,
        delivered_at: Timestamp,
        read_at: Option<Timestamp>,
    }
}

/// Combines the receipts. A message that both received was delivered and read at the earlier time.
fn merge_receipts(tx: &Tx<'_>, from: PersonId, into: PersonId) -> Result<()> {
    let both: Vec<Times> = tx.all(
        "select r.message_id, r.delivered_at, r.read_at from receipt r
         join receipt o on o.account_id = r.account_id and o.message_id = r.message_id
                       and o.person_id = :into
         where r.account_id = :account and r.person_id = :from",
        bind! { from, into },
    )?;
    for Times { message_id, delivered_at, read_at } in &both {
        tx.execute(
            "update receipt
             set delivered_at = case when delivered_at < :delivered_at then delivered_at
                                else :delivered_at end,
                 read_at = case when read_at is null or read_at > cast(:read_at as bigint)
                           then cast(:read_at as bigint) else read_at end
             where account_id = :account and message_id = :message_id and person_id = :into",
            bind! { message_id, into, delivered_at, read_at },
        )?;
        tx.execute(
            "delete from receipt
             where account_id = :account and message_id = :message_id and person_id = :from",
            bind! { message_id, from },
        )?;
        tx.execute(
            "update message set version = version + 1, updated_at = :now,
                 delivered_count = delivered_count - 1,
                 read_count = (select count(*) from receipt r
                               where r.account_id = :account and r.message_id = :message_id
                                 and r.read_at is not null)
             where account_id = :account and id = :message_id",
            bind! { message_id },
        )?;
    }
    tx.execute(
        "update receipt set person_id = :into where account_id = :account and person_id = :from",
        bind! { from, into },
    )?;
    Ok(())
}

/// Replaces a member in the audiences of messages, which may not be published yet.
fn move_in_audiences(tx: &Tx<'_>, from: MemberId, into: MemberId) -> Result<()> {
    let pattern = kit::text::contains_pattern(&from.to_string());
    let messages: Vec<MessageRecord> = tx.all(
        sql!(
            MessageRecord::SELECT,
            " where account_id = :account and audience like :pattern escape '\\' order by id"
        ),
        bind! { pattern },
    )?;
    for mut message in messages {
        let members = message.audience.member_ids.get_or_insert_default();
        let is_known = members.contains(&into);
        members.retain(|member| *member != from || !is_known);
        for member in members.iter_mut().filter(|member| **member == from) {
            *member = into;
        }
        message.save(tx)?;
    }
    Ok(())
}
