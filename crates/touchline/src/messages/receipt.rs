//! Receipts: whom a message reached, and when they read it.

use std::collections::BTreeSet;

use kit::Timestamp;
use serde::Serialize;
use store::{Reader, Tx, bind, row, sql};
use utoipa::ToSchema;

use super::message::{self, Status};
use super::people;
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result};
use crate::expected::{Expected, Versioned};
use crate::ids::{MessageId, PersonId, TeamId};
use crate::paging::{Order, Page, Paged};
use crate::roster::person;
use crate::signals::{Subject, Tell};

/// That a message reached a person.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "object", rename = "receipt")]
pub struct Receipt {
    pub message_id: MessageId,
    pub person_id: PersonId,
    /// How the person is called.
    #[schema(examples("Ana Sousa"))]
    pub name: Option<String>,
    pub delivered_at: Timestamp,
    /// When they read it, if they did.
    pub read_at: Option<Timestamp>,
}

impl Versioned for Receipt {
    /// A receipt changes once: when the message is read.
    fn version(&self) -> i64 {
        1 + i64::from(self.read_at.is_some())
    }
}

impl Paged for Receipt {
    type Place = PersonId;

    fn place(&self) -> PersonId {
        self.person_id
    }
}

row! {
    struct Kept {
        message_id: MessageId,
        person_id: PersonId,
        delivered_at: Timestamp,
        read_at: Option<Timestamp>,
    }
}

impl Kept {
    const SELECT: &'static str = "select message_id, person_id, delivered_at, read_at from receipt";
}

/// Somebody has read a message, as news tell it: without names, and without the message once more.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "receipt")]
#[schema(as = ReceiptNews)]
pub struct ReadNews {
    pub message_id: MessageId,
    pub team_id: TeamId,
    pub person_id: PersonId,
    pub delivered_at: Timestamp,
    pub read_at: Timestamp,
}

impl Subject for ReadNews {
    fn subject(&self) -> String {
        self.message_id.to_string()
    }
}

/// Which receipts to list.
#[derive(Debug, Default)]
pub struct ReceiptFilter {
    /// Only those of people who have read the message, or have not.
    pub read: Option<bool>,
}

/// What a person has not read yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unread {
    pub person_id: PersonId,
    pub total: i64,
    pub teams: Vec<UnreadOfTeam>,
}

row! {
    /// How many messages of a team a person has not read yet.
    #[derive(Debug, Serialize, ToSchema)]
    pub struct UnreadOfTeam {
        pub team_id: TeamId,
        pub count: i64,
    }
}

/// Everybody who got a message.
pub fn readers(db: &Reader<'_>, message_id: MessageId) -> Result<BTreeSet<PersonId>> {
    let rows: Vec<(PersonId,)> = db.all(
        "select person_id from receipt where account_id = :account and message_id = :message_id",
        bind! { message_id },
    )?;
    Ok(rows.into_iter().map(|(person,)| person).collect())
}

/// Notes that a message has reached these people.
pub fn deliver(tx: &Tx<'_>, message_id: MessageId, readers: &BTreeSet<PersonId>) -> Result<()> {
    for person_id in readers {
        tx.later(
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
    reach: &Reach,
    (message_id, filter): (MessageId, &ReceiptFilter),
    page: &Page<PersonId>,
) -> Result<Vec<Receipt>> {
    message::owned(db, reach, message_id)?;
    let after = page.after(PersonId::LEAST, PersonId::GREATEST);
    let (read, limit) = (filter.read, page.fetch());
    let text = match page.order {
        Order::Asc => {
            sql!(Kept::SELECT, FILTER, " and person_id > :after order by person_id limit :limit")
        }
        Order::Desc => sql!(
            Kept::SELECT,
            FILTER,
            " and person_id < :after order by person_id desc limit :limit"
        ),
    };
    let rows: Vec<Kept> = db.all(text, bind! { message_id, read, after, limit })?;
    let mut names = people::names(db, rows.iter().map(|row| row.person_id).collect())?;
    Ok(rows.into_iter().map(|row| shown(&row, names.remove(&row.person_id))).collect())
}

const FILTER: &str = "
    where account_id = :account and message_id = :message_id
      and (cast(:read as boolean) is null or (read_at is not null) = :read)";

fn shown(row: &Kept, name: Option<String>) -> Receipt {
    let Kept { message_id, person_id, delivered_at, read_at } = *row;
    Receipt { message_id, person_id, name, delivered_at, read_at }
}

/// Notes that a person has read a message. The first time counts.
pub fn read(
    tx: &Tx<'_>,
    reach: &Reach,
    (message_id, person_id): (MessageId, PersonId),
    expected: &Expected,
) -> Result<Receipt> {
    let message = message::stored(tx, reach, message_id)?;
    if matches!(reach, Reach::User(_)) && !reach.is_family(person_id) {
        return Err(Error::new(
            Code::Forbidden,
            "You can only say that your own people have read it.",
        ));
    }
    let before = expected.check(find(tx, message_id, person_id))?;
    if before.read_at.is_some() {
        return Ok(before);
    }
    if message.status == Status::Retracted {
        return Err(Error::invalid_state("The message was retracted before it was read."));
    }
    tx.run(
        "update receipt set read_at = :now
         where account_id = :account and message_id = :message_id and person_id = :person_id",
        bind! { message_id, person_id },
    )?;
    let (team_id, read_count) = (message.team_id, message.read_count + 1);
    message::update(tx, message::Stored { read_count, ..message })?;
    let after = Receipt { read_at: Some(tx.now()), ..before };
    let (delivered_at, read_at) = (after.delivered_at, tx.now());
    let news = ReadNews { message_id, team_id, person_id, delivered_at, read_at };
    tx.tell("message.read", &news)?;
    Ok(after)
}

fn find(db: &Reader<'_>, message_id: MessageId, person_id: PersonId) -> Result<Receipt> {
    let row: Kept = db.one(
        sql!(
            Kept::SELECT,
            " where account_id = :account and message_id = :message_id and person_id = :person_id"
        ),
        bind! { message_id, person_id },
    )?;
    let name = people::names(db, vec![person_id])?.remove(&person_id);
    Ok(shown(&row, name))
}

/// How much a person has not read yet, team by team.
pub fn unread(db: &Reader<'_>, reach: &Reach, person_id: PersonId) -> Result<Unread> {
    let reach = reach.around(person_id)?;
    person::reachable(db, &reach, person_id)?;
    let (narrowed, teams) = reach.narrowing();
    let teams: Vec<UnreadOfTeam> = db.all(
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
    Ok(Unread { person_id, total: teams.iter().map(|team| team.count).sum(), teams })
}
