//! The letter: written in the transaction of what caused it, sent afterwards, tried again until it
//! arrives or no longer makes sense.
//!
//! Whoever sends a letter takes it in hand for two minutes. A node that dies in between lets go by
//! itself, and the letter is sent again under the same name: it arrives at least once.

use std::time::Duration;

use kit::{Timestamp, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use crate::accounts::rights::Reach;
use crate::accounts::user;
use crate::error::{Error, Result};
use crate::ids::{AccountId, MailId, PersonId};
use crate::paging::{Order, Page};
use crate::roster::preferences;
use crate::thing::thing;

/// How long a letter is held by whoever sends it; longer than an exchange with a server may take.
const HOLD: Duration = Duration::from_secs(120);
/// A letter that could not be sent for so long is no news any more.
const OLD: Duration = Duration::from_secs(5 * 86_400);
/// As much of a server's reason as is worth keeping.
const REASON: usize = 500;
/// What stands where something was erased.
const ERASED: &str = "(erased)";

words! {
    /// What has become of a letter.
    pub enum Status as LetterStatus {
        /// It is to be sent, or to be tried again.
        Pending = "pending",
        /// The mail server took it.
        Sent = "sent",
        /// It was refused, or could not be sent for too long.
        Failed = "failed",
        /// It was called back before it was sent, or its reader wants no letters any more.
        Cancelled = "cancelled",
        /// No mail server was configured when it was due.
        Unsent = "unsent",
    }
}
word_column!(Status);

record! {
    /// A letter to one reader.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "mail")]
    pub struct Letter in mail {
        pub id: MailId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// The person it is to; none if it is to somebody who looks after the club.
        pub person_id: Option<PersonId>,
        /// The id of what it is about, such as a message.
        #[schema(examples("msg_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub about: String,
        pub to_name: String,
        #[schema(examples("ana@example.org"))]
        pub to_address: String,
        pub subject: String,
        pub text_body: String,
        #[serde(skip)]
        pub html_body: Option<String>,
        pub status: Status,
        /// How often it was tried.
        pub attempts: i64,
        /// When it is tried next, while it is pending.
        pub next_attempt_at: Timestamp,
        #[serde(skip)]
        pub held_until: Option<Timestamp>,
        /// Why the last attempt failed.
        pub last_error: Option<String>,
        pub sent_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

thing!(Letter by MailId: Versioned Paged);

/// A letter to be written.
#[derive(Debug, Clone)]
pub struct NewLetter {
    /// None for those who look after the club: it is their task, so they are written to whether or not they like letters.
    pub person_id: Option<PersonId>,
    /// The id of what it is about: by it, all letters about it can be called back.
    pub about: String,
    pub to_name: String,
    pub to_address: String,
    pub subject: String,
    pub text_body: String,
    pub html_body: Option<String>,
}

/// Which letters to list.
#[derive(Debug, Default)]
pub struct LetterFilter {
    pub status: Option<Status>,
    pub about: Option<String>,
    pub person_id: Option<PersonId>,
}

/// Puts a letter into the outbox. It is sent once the transaction is through.
pub fn put(tx: &Tx<'_>, new: NewLetter) -> Result<MailId> {
    let letter = Letter {
        id: tx.new_id(),
        account_id: tx.account(),
        person_id: new.person_id,
        about: new.about,
        to_name: new.to_name,
        to_address: new.to_address,
        subject: new.subject,
        text_body: new.text_body,
        html_body: new.html_body,
        status: Status::Pending,
        attempts: 0,
        next_attempt_at: tx.now(),
        held_until: None,
        last_error: None,
        sent_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.later(Letter::INSERT, &letter.bind())?;
    Ok(letter.id)
}

/// Puts a letter to each of those who look after the club into the outbox.
pub fn put_to_those_in_charge(tx: &Tx<'_>, about: &str, subject: &str, text: &str) -> Result<()> {
    for user in user::in_charge(tx)? {
        put(
            tx,
            NewLetter {
                person_id: None,
                about: about.to_owned(),
                to_name: user.name,
                to_address: user.email,
                subject: subject.to_owned(),
                text_body: text.to_owned(),
                html_body: None,
            },
        )?;
    }
    Ok(())
}

/// Calls back the letters to people about something that were not sent yet, and says how many. What those who look
/// after the club are told has happened, whatever happens next.
pub fn cancel(tx: &Tx<'_>, about: &str) -> Result<u64> {
    Ok(tx.run(
        "update mail set status = 'cancelled', updated_at = :now, version = version + 1
         where account_id = :account and about = :about and status = 'pending'
           and person_id is not null",
        bind! { about },
    )?)
}

/// One letter.
pub fn find(db: &Reader<'_>, id: MailId) -> Result<Letter> {
    Ok(db.one(sql!(Letter::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// A page of letters, in order of writing. They belong to no team, so only whoever reaches all teams
/// sees them.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &LetterFilter,
    page: &Page<MailId>,
) -> Result<Vec<Letter>> {
    if !matches!(reach, Reach::Everywhere) {
        return Err(Error::not_found());
    }
    let LetterFilter { status, about, person_id } = filter;
    let after = page.after(MailId::LEAST, MailId::GREATEST);
    let limit = page.fetch();
    // What it is about and whose it is narrow most: each is found by its own index.
    let text = match (about, person_id, page.order) {
        (Some(_), _, Order::Asc) => sql!(Letter::SELECT, FILTER, ABOUT, ASCENDING),
        (Some(_), _, Order::Desc) => sql!(Letter::SELECT, FILTER, ABOUT, DESCENDING),
        (None, Some(_), Order::Asc) => sql!(Letter::SELECT, FILTER, TO_PERSON, ASCENDING),
        (None, Some(_), Order::Desc) => sql!(Letter::SELECT, FILTER, TO_PERSON, DESCENDING),
        (None, None, Order::Asc) => sql!(Letter::SELECT, FILTER, ASCENDING),
        (None, None, Order::Desc) => sql!(Letter::SELECT, FILTER, DESCENDING),
    };
    Ok(db.all(text, bind! { after, limit, status, about, person_id })?)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)";
const ABOUT: &str = "
      and about = :about and (cast(:person_id as bytea) is null or person_id = :person_id)";
const TO_PERSON: &str = " and person_id = :person_id";
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";

/// Every letter to a person, for whoever asks what is held about them.
pub fn held_about(db: &Reader<'_>, person_id: PersonId) -> Result<Vec<Letter>> {
    Ok(db.all(
        sql!(Letter::SELECT, " where account_id = :account and person_id = :person_id order by id"),
        bind! { person_id },
    )?)
}

/// Erases what letters say of a person and to them; what was not sent yet is called back. That there
/// was a letter, and when, is kept.
pub fn erase_person(tx: &Tx<'_>, person_id: PersonId) -> Result<u64> {
    Ok(tx.run(
        "update mail set to_name = :erased, to_address = :erased, subject = :erased,
             text_body = :erased, html_body = null, last_error = null,
             status = case when status = 'pending' then 'cancelled' else status end,
             updated_at = :now, version = version + 1
         where account_id = :account and person_id = :person_id",
        bind! { person_id, erased: ERASED },
    )?)
}

/// Erases what letters about something say, whoever they went to; what was not sent yet is called back.
pub fn erase_about(tx: &Tx<'_>, about: &str) -> Result<u64> {
    Ok(tx.run(
        "update mail set subject = :erased, text_body = :erased, html_body = null,
             status = case when status = 'pending' then 'cancelled' else status end,
             updated_at = :now, version = version + 1
         where account_id = :account and about = :about",
        bind! { about, erased: ERASED },
    )?)
}

/// Letters that are due and in nobody's hand, the longest due first, whoever's they are.
pub fn due(db: &Reader<'_>, limit: i64) -> Result<Vec<(AccountId, MailId)>> {
    Ok(db.all(
        "select account_id, id from mail
         where status = 'pending' and next_attempt_at <= :now
           and (held_until is null or held_until <= :now)
         order by next_attempt_at
         limit :limit /* any account */",
        bind! { limit },
    )?)
}

/// Takes a letter in hand to send it. `None` if it is not due any more, is in another's hand, has become
/// too old, of which it then fails, or is to somebody who wants no letters by now.
pub fn take(tx: &Tx<'_>, id: MailId) -> Result<Option<Letter>> {
    let Some(letter) = find_due(tx, id)? else { return Ok(None) };
    if letter.created_at < tx.now().minus(OLD) {
        let last_error = Some("The letter is too old to be sent.".to_owned());
        update(tx, Letter { status: Status::Failed, last_error, ..letter })?;
        return Ok(None);
    }
    let wanted = letter.person_id.map_or(Ok(true), |id| preferences::wants_email(tx, id))?;
    if !wanted {
        update(tx, Letter { status: Status::Cancelled, ..letter })?;
        return Ok(None);
    }
    let held_until = Some(tx.now().plus(HOLD));
    update(tx, Letter { attempts: letter.attempts + 1, held_until, ..letter }).map(Some)
}

/// The mail server took the letter. That is so even if it was called back in the meantime.
pub fn sent(tx: &Tx<'_>, in_hand: &Letter) -> Result<()> {
    let letter = find(tx, in_hand.id)?;
    let sent_at = Some(tx.now());
    let status = Status::Sent;
    update(tx, Letter { status, sent_at, last_error: None, held_until: None, ..letter }).map(drop)
}

/// The letter cannot be sent, now or later.
pub fn failed(tx: &Tx<'_>, in_hand: &Letter, why: &str) -> Result<()> {
    let Some(letter) = still_in_hand(tx, in_hand)? else { return Ok(()) };
    let last_error = Some(reason(why));
    let status = Status::Failed;
    update(tx, Letter { status, last_error, held_until: None, ..letter }).map(drop)
}

/// The letter could not be sent this time. It is tried again after the time that the schedule has for
/// this attempt, a fifth more or less so that letters do not come back all at once; an attempt that
/// the schedule does not know was the last.
pub fn put_off(tx: &Tx<'_>, in_hand: &Letter, why: &str, schedule: &[Duration]) -> Result<()> {
    let attempt = usize::try_from(in_hand.attempts - 1).unwrap_or(0);
    let Some(wait) = schedule.get(attempt) else { return failed(tx, in_hand, why) };
    let Some(letter) = still_in_hand(tx, in_hand)? else { return Ok(()) };
    let per_mille = u32::try_from(800 + tx.dice().below(401)).unwrap_or(1000);
    let next_attempt_at = tx.now().plus(*wait * per_mille / 1000);
    let last_error = Some(reason(why));
    update(tx, Letter { next_attempt_at, last_error, held_until: None, ..letter }).map(drop)
}

/// There is no mail server: a letter that is due is kept to be looked at, and never sent by surprise
/// when there is one.
pub fn leave_unsent(tx: &Tx<'_>, id: MailId) -> Result<()> {
    let Some(letter) = find_due(tx, id)? else { return Ok(()) };
    update(tx, Letter { status: Status::Unsent, held_until: None, ..letter }).map(drop)
}

/// The letter, if it is due and in nobody's hand.
fn find_due(tx: &Tx<'_>, id: MailId) -> Result<Option<Letter>> {
    let letter = find(tx, id)?;
    let held = letter.held_until.is_some_and(|until| until > tx.now());
    let due = letter.status == Status::Pending && letter.next_attempt_at <= tx.now();
    Ok((due && !held).then_some(letter))
}

/// The letter as it is now, unless it was called back or another has taken it since.
fn still_in_hand(tx: &Tx<'_>, in_hand: &Letter) -> Result<Option<Letter>> {
    let letter = find(tx, in_hand.id)?;
    let same = letter.status == Status::Pending && letter.attempts == in_hand.attempts;
    Ok(same.then_some(letter))
}

/// A server's reason on one line, cut to a sensible length.
fn reason(why: &str) -> String {
    why.chars().map(|c| if c.is_control() { ' ' } else { c }).take(REASON).collect()
}

fn update(tx: &Tx<'_>, letter: Letter) -> Result<Letter> {
    let letter = Letter { updated_at: tx.now(), version: letter.version + 1, ..letter };
    tx.run(
        "update mail set status = :status, attempts = :attempts,
             next_attempt_at = :next_attempt_at, held_until = :held_until,
             last_error = :last_error, sent_at = :sent_at,
             updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &letter.bind(),
    )?;
    Ok(letter)
}
