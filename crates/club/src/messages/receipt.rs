//! Receipts: who received a message, and when they read it.

use std::collections::BTreeSet;

use macros::query;

use super::message::{self, Status};
use super::people;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::roster::person;
use crate::signals::Subject;

row! {
    /// The receipt of a message by one person.
    #[macros::object("receipt")]
    #[derive(Debug, Clone, Serialize, ToSchema)]
    #[schema(as = ReadReceipt)]
    pub struct Receipt {
        /// Message that was received.
        pub message_id: MessageId,
        /// Person who received the message.
        pub person_id: PersonId,
        /// Display name of the person.
        #[schema(examples("Ana Sousa"))]
        pub name: Option<String>,
        /// When the message was delivered.
        pub delivered_at: Timestamp,
        /// When the person read the message; `null` if they have not.
        pub read_at: Option<Timestamp>,
    }
}

/// Selects receipts, still without names.
const SELECT: &str =
    "select message_id, person_id, cast(null as text) as name, delivered_at, read_at from receipt";

impl Versioned for Receipt {
    /// A receipt changes only once, when the message is read.
    fn version(&self) -> i64 {
        1 + i64::from(self.read_at.is_some())
    }
}

paged_by!(Receipt, person_id: PersonId);

/// A receipt in a notification: the message was read by the person. It contains no names and no content.
#[macros::object("receipt")]
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReceiptSnapshot)]
pub struct ReceiptSnapshot {
    /// Message that was read.
    pub message_id: MessageId,
    /// Team of the message.
    pub team_id: TeamId,
    /// Person who read the message.
    pub person_id: PersonId,
    /// When the message was delivered.
    pub delivered_at: Timestamp,
    /// When the person read the message.
    pub read_at: Timestamp,
}

impl Subject for ReceiptSnapshot {
    fn subject(&self) -> String {
        self.message_id.to_string()
    }
}

/// Filters for listing receipts.
#[query(items = "receipts")]
#[derive(Default)]
pub struct ReceiptFilter {
    /// Only people who have read the message (`true`) or have not (`false`).
    pub read: Option<bool>,
}

/// The number of unread messages of a person.
#[derive(Debug, Serialize, ToSchema)]
pub struct UnreadCounts {
    /// Person whose unread messages are counted.
    pub person_id: PersonId,
    /// Number of unread messages in all teams.
    pub total: i64,
    /// Unread messages by team. Teams without unread messages are left out.
    pub teams: Vec<TeamUnreadCount>,
}

row! {
    /// The number of unread messages in one team.
    #[derive(Debug, Serialize, ToSchema)]
    pub struct TeamUnreadCount {
        /// Team of the messages.
        pub team_id: TeamId,
        /// Number of unread messages in the team.
        pub count: i64,
    }
}

/// The recipients of a message.
pub fn recipients(db: &Reader<'_>, message_id: MessageId) -> Result<BTreeSet<PersonId>> {
    db.ids(
        "select person_id from receipt where account_id = :account and message_id = :message_id",
        bind! { message_id },
    )
}

/// Creates the receipts of a published message.
pub fn create_all(
    tx: &Tx<'_>,
    message_id: MessageId,
    recipients: &BTreeSet<PersonId>,
) -> Result<()> {
    for person_id in recipients {
        tx.execute_deferred(
            "insert into receipt (account_id, message_id, person_id, delivered_at, read_at)
             values (:account, :message_id, :person_id, :now, null)",
            bind! { message_id, person_id },
        )?;
    }
    Ok(())
}

/// A page of a message's receipts.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    (message_id, filter): (MessageId, &ReceiptFilter),
    page: &Page<PersonId>,
) -> Result<Vec<Receipt>> {
    message::find_managed(db, access, message_id)?;
    let after = page.after(PersonId::MIN, PersonId::MAX);
    let (read, limit) = (filter.read, page.fetch_limit());
    let text = page_sql!(page, by "person_id", SELECT, FILTER);
    let mut receipts: Vec<Receipt> = db.all(text, bind! { message_id, read, after, limit })?;
    let mut names = people::names(db, receipts.iter().map(|one| one.person_id).collect())?;
    for receipt in &mut receipts {
        receipt.name = names.remove(&receipt.person_id);
    }
    Ok(receipts)
}

const FILTER: &str = "
    where account_id = :account and message_id = :message_id
      and (cast(:read as boolean) is null or (read_at is not null) = :read)";

/// Records that a person has read a message. Only the first call changes the receipt.
pub fn mark_read(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (message_id, person_id): (MessageId, PersonId),
    expected: &IfMatch,
) -> Result<Receipt> {
    let message = message::find_record(tx, access, message_id)?;
    let detail =
        "You can mark messages as read only for yourself and the people you are a guardian of.";
    Error::new(Code::Forbidden, detail)
        .fail_if(matches!(access, TeamAccess::User(_)) && !access.is_family(person_id))?;
    let before = expected.check(find(tx, message_id, person_id))?;
    if before.read_at.is_some() {
        return Ok(before);
    }
    Error::invalid_state("A retracted message cannot be marked as read.")
        .fail_if(message.status == Status::Retracted)?;
    tx.execute(
        "update receipt set read_at = :now
         where account_id = :account and message_id = :message_id and person_id = :person_id",
        bind! { message_id, person_id },
    )?;
    let (team_id, read_count) = (message.team_id, message.read_count + 1);
    message::MessageRecord { read_count, ..message }.save(tx)?;
    let after = Receipt { read_at: Some(tx.now()), ..before };
    let (delivered_at, read_at) = (after.delivered_at, tx.now());
    let snapshot = ReceiptSnapshot { message_id, team_id, person_id, delivered_at, read_at };
    tx.publish("message.read", &snapshot)?;
    Ok(after)
}

fn find(db: &Reader<'_>, message_id: MessageId, person_id: PersonId) -> Result<Receipt> {
    let text = sql!(
        SELECT,
        " where account_id = :account and message_id = :message_id and person_id = :person_id"
    );
    let receipt: Receipt = db.one(text, bind! { message_id, person_id })?;
    let name = people::names(db, vec![person_id])?.remove(&person_id);
    Ok(Receipt { name, ..receipt })
}

/// The conversations among these with a message that one of these people has not read.
pub fn unread_threads(
    db: &Reader<'_>,
    people: Vec<PersonId>,
    threads: Vec<MessageId>,
) -> Result<BTreeSet<MessageId>> {
    db.ids(
        "select distinct message.thread_id from message
         join receipt on receipt.account_id = message.account_id
                     and receipt.message_id = message.id
         where message.account_id = :account and message.thread_id in (:threads)
           and message.status = 'published' and receipt.person_id in (:people)
           and receipt.read_at is null",
        bind! { people, threads },
    )
}

/// The messages among these that one of these people has not read.
pub fn unread(
    db: &Reader<'_>,
    people: Vec<PersonId>,
    messages: Vec<MessageId>,
) -> Result<BTreeSet<MessageId>> {
    db.ids(
        "select distinct receipt.message_id from receipt
         join message on message.account_id = receipt.account_id
                     and message.id = receipt.message_id
         where receipt.account_id = :account and receipt.message_id in (:messages)
           and receipt.person_id in (:people) and receipt.read_at is null
           and message.status = 'published'",
        bind! { people, messages },
    )
}

/// Counts the unread messages of a person by team.
pub fn count_unread(
    db: &Reader<'_>,
    access: &TeamAccess,
    person_id: PersonId,
) -> Result<UnreadCounts> {
    let access = access.for_private_data_of(person_id)?;
    person::find_visible(db, &access, person_id)?;
    let (narrowed, teams) = access.team_filter();
    let teams: Vec<TeamUnreadCount> = db.all(
        "select message.team_id, count(*) as count
         from receipt
         join message on message.account_id = receipt.account_id
                     and message.id = receipt.message_id
         where receipt.account_id = :account and receipt.person_id = :person_id
           and receipt.read_at is null and message.status = 'published'
           and (not cast(:narrowed as boolean) or message.team_id in (:teams))
         group by message.team_id order by message.team_id",
        bind! { person_id, narrowed, teams },
    )?;
    Ok(UnreadCounts { person_id, total: teams.iter().map(|team| team.count).sum(), teams })
}
