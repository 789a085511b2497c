//! The outbox: an email is stored in the transaction that causes it and sent after the commit. Failed attempts are
//! repeated until the retry schedule ends or the email is too old.
//!
//! A node that sends an email holds a lease on it for two minutes. If the node dies, the lease expires and the email
//! is sent again with the same `Message-ID`. Delivery is at least once.

use std::fmt::Display;
use std::time::Duration;

use kit::string_enum;
use macros::query;

use super::summary;
use crate::accounts::user;
use crate::i18n::{Locale, Message};
use crate::paging::page_sql;
use crate::prelude::*;
use crate::roster::notification_settings::{Delivery, EmailKind, Frequency, RecipientSettings};
use crate::roster::person::{self, Person};
use crate::roster::preferences;

/// How long a node may work on an email before another node may send it. Longer than the timeout of one attempt.
const LEASE_DURATION: Duration = Duration::from_secs(120);
/// Emails older than this are not sent anymore.
const MAX_AGE: Duration = Duration::from_secs(5 * 86_400);
/// Maximum length of a stored error of the mail server, in characters.
const MAX_ERROR_CHARS: usize = 500;
/// Replaces erased text.
const ERASED: &str = "(erased)";

string_enum! {
    /// The delivery status of an email.
    pub enum Status as EmailStatus {
        /// The email waits for its first attempt or a retry.
        Pending = "pending",
        /// The mail server accepted the email.
        Sent = "sent",
        /// The mail server rejected the email, or all attempts failed.
        Failed = "failed",
        /// The email was cancelled before it was sent, or the recipient has opted out of emails.
        Cancelled = "cancelled",
        /// No mail server was configured when the email was due.
        Unsent = "unsent",
    }
}
enum_column!(Status);

record! {
    /// An email to one recipient.
    #[macros::object("email")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Email in mail {
        /// Unique ID of the email.
        pub id: EmailId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Person who receives the email; `null` if it goes to an admin of the club.
        pub person_id: Option<PersonId>,
        /// ID of the object that the email is about, such as a message.
        #[schema(examples("msg_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        #[serde(rename = "related_id")]
        pub about: String,
        /// What the email is about. The recipient's settings determine when emails of this kind are sent.
        pub kind: EmailKind,
        /// Team that the email is about; `null` if it is about no team.
        pub team_id: Option<TeamId>,
        /// Name of the recipient.
        #[schema(examples("Ana Sousa"))]
        pub to_name: String,
        /// Email address of the recipient.
        #[schema(examples("ana@example.org"))]
        pub to_address: String,
        /// Subject line of the email.
        #[schema(examples("Training moves to 6 pm"))]
        pub subject: String,
        /// Body as plain text.
        #[schema(examples("Bring water."))]
        pub body_text: String,
        #[serde(skip)]
        pub html_body: Option<String>,
        /// The language of what is added when the email is sent.
        #[serde(skip)]
        pub language: Option<String>,
        /// Delivery status: `pending` (it will be sent or retried), `sent` (the mail server accepted it), `failed` (the
        /// mail server rejected it, or all attempts failed), `cancelled` (no longer needed, or the recipient has opted
        /// out), or `unsent` (no mail server was configured when it was due).
        pub status: Status,
        /// Whether the email waits for the daily summary of its recipient, and is not sent on its own.
        #[serde(skip)]
        pub in_summary: bool,
        /// Email with the daily summary that contains this one; `null` if the email is sent on its own, or waits for the
        /// next summary.
        pub summary_id: Option<EmailId>,
        /// Number of attempts so far.
        pub attempts: i64,
        /// When the next attempt or the daily summary is due. Only meaningful while the email is pending.
        pub next_attempt_at: Timestamp,
        /// End of the lease of the node that sends the email, or of the time after which an email in a summary that was
        /// never sent is put into another one.
        #[serde(skip)]
        pub held_until: Option<Timestamp>,
        /// Error of the last failed attempt; `null` if none has failed.
        pub last_error: Option<String>,
        /// When the mail server accepted the email; `null` if it has not.
        pub sent_at: Option<Timestamp>,
        /// When the email was created.
        pub created_at: Timestamp,
        /// When the email last changed.
        pub updated_at: Timestamp,
        /// Increases with every change.
        pub version: i64,
    }
}

impl_resource!(Email by EmailId: Versioned Paged);

impl Email {
    /// The locale in which the email is written.
    pub fn locale(&self) -> Locale {
        Locale::negotiate(self.language.as_deref(), "")
    }
}

/// A new email.
#[derive(Debug, Clone)]
pub struct NewEmail {
    /// The person who receives the email. `None` for admins of the club, who cannot opt out of emails.
    pub person_id: Option<PersonId>,
    pub kind: EmailKind,
    /// The team that the email is about, by which daily summaries are grouped.
    pub team_id: Option<TeamId>,
    /// Whether the email is sent at once, also in quiet hours and to people who get daily summaries.
    pub is_urgent: bool,
    /// Id of the object that the email is about. Emails can be cancelled by it.
    pub about: String,
    pub to_name: String,
    pub to_address: String,
    pub subject: String,
    pub body_text: String,
    pub html_body: Option<String>,
    /// The locale in which the email is written.
    pub locale: Locale,
}

impl NewEmail {
    /// An email to a person about an object, still without text. `None` if the person has no address.
    pub fn to_person(
        person: &Person,
        about: impl Display,
        kind: EmailKind,
        locale: Locale,
    ) -> Option<Self> {
        Some(Self {
            person_id: Some(person.id),
            kind,
            team_id: None,
            is_urgent: false,
            about: about.to_string(),
            to_name: person::display_name(person),
            to_address: person.email.clone()?,
            subject: String::new(),
            body_text: String::new(),
            html_body: None,
            locale,
        })
    }
}

impl NewEmail {
    /// The email as it is stored, due now.
    pub(super) fn into_record(self, tx: &Tx<'_>) -> Email {
        let new = self;
        copy_fields! {
            Email {
                id: tx.new_id(),
                account_id: tx.account(),
                language: Some(new.locale.tag().to_owned()),
                status: Status::Pending,
                in_summary: false,
                summary_id: None,
                attempts: 0,
                next_attempt_at: tx.now(),
                held_until: None,
                last_error: None,
                sent_at: None,
                created_at: tx.now(),
                updated_at: tx.now(),
                version: 1,
                ..new { person_id, about, kind, team_id, to_name, to_address, subject, body_text, html_body }
            }
        }
    }
}

/// Filters for listing emails.
#[query(items = "emails", order = Desc)]
#[derive(Default)]
pub struct EmailFilter {
    /// Filter by status.
    pub status: Option<Status>,
    /// Only emails about the object with this ID, such as a message.
    #[param(name = "related_id", line(60))]
    pub about: Option<String>,
    /// Only emails to this person.
    pub person_id: Option<PersonId>,
}

/// Adds an email to the outbox. It is sent after the transaction commits, when the settings of the recipient allow it.
/// `None` if the recipient never gets emails of this kind.
pub fn enqueue(tx: &Tx<'_>, new: NewEmail) -> Result<Option<EmailId>> {
    let settings = RecipientSettings::load(tx, new.person_id)?;
    insert(tx, &settings, new)
}

/// Adds emails to the outbox, as [`enqueue`] does. Returns their number.
pub fn enqueue_all(tx: &Tx<'_>, all: Vec<NewEmail>) -> Result<i64> {
    let settings = RecipientSettings::load(tx, all.iter().filter_map(|new| new.person_id))?;
    let mut count = 0;
    for new in all {
        count += i64::from(insert(tx, &settings, new)?.is_some());
    }
    Ok(count)
}

fn insert(tx: &Tx<'_>, settings: &RecipientSettings, new: NewEmail) -> Result<Option<EmailId>> {
    let delivery = match new.person_id {
        Some(person) => settings.delivery(person, new.kind, new.is_urgent),
        None => Delivery::AtOnce,
    };
    let (next_attempt_at, in_summary) = match delivery {
        Delivery::AtOnce => (tx.now(), false),
        Delivery::HoldUntil(at) => (at, false),
        Delivery::Summary(at) => (at, true),
        Delivery::Never => return Ok(None),
    };
    let email = Email { in_summary, next_attempt_at, ..new.into_record(tx) };
    tx.execute_deferred(Email::INSERT, &email.bind())?;
    Ok(Some(email.id))
}

/// Adds an email to each owner and admin of the club to the outbox, in the language of each.
pub fn enqueue_to_admins(
    tx: &Tx<'_>,
    about: &str,
    subject: &Message,
    text: &Message,
) -> Result<()> {
    let admins = user::list_admins(tx)?;
    let locales = user::locales(tx, admins.iter().map(|user| user.id).collect())?;
    for user in admins {
        let locale = locales.get(&user.id).copied().unwrap_or(Locale::ENGLISH);
        let (subject, body_text) = locale.run(|| (subject.to_string(), text.to_string()));
        let new = NewEmail {
            person_id: None,
            kind: EmailKind::Security,
            team_id: None,
            is_urgent: false,
            about: about.to_owned(),
            to_name: user.name,
            to_address: user.email,
            subject,
            body_text,
            html_body: None,
            locale,
        };
        enqueue(tx, new)?;
    }
    Ok(())
}

/// Cancels the pending emails to people about an object and returns how many there were. Emails to admins are still
/// sent: they report something that has already happened.
pub fn cancel(tx: &Tx<'_>, about: &str) -> Result<u64> {
    Ok(tx.execute(
        "update mail set status = 'cancelled', updated_at = :now, version = version + 1
         where account_id = :account and about = :about and status = 'pending'
           and person_id is not null",
        bind! { about },
    )?)
}

/// One email.
pub fn find(db: &Reader<'_>, id: EmailId) -> Result<Email> {
    Ok(db.one(sql!(Email::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// A page of emails, in order of creation. Emails belong to no team, so only callers with access to all teams see
/// them.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &EmailFilter,
    page: &Page<EmailId>,
) -> Result<Vec<Email>> {
    if !matches!(access, TeamAccess::AllTeams) {
        return Err(Error::not_found());
    }
    let EmailFilter { status, about, person_id } = filter;
    let (after, limit) = page.bounds();
    // `about` and `person_id` are the most selective filters; each has its own index.
    let text = match (about, person_id) {
        (Some(_), _) => page_sql!(page, Email::SELECT, FILTER, ABOUT),
        (None, Some(_)) => page_sql!(page, Email::SELECT, FILTER, TO_PERSON),
        (None, None) => page_sql!(page, Email::SELECT, FILTER),
    };
    Ok(db.all(text, bind! { after, limit, status, about, person_id })?)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)";
const ABOUT: &str = "
      and about = :about and (cast(:person_id as bytea) is null or person_id = :person_id)";
const TO_PERSON: &str = " and person_id = :person_id";

/// All emails to a person, for the export of their personal data.
pub fn list_to_person(db: &Reader<'_>, person_id: PersonId) -> Result<Vec<Email>> {
    Ok(db.all(
        sql!(Email::SELECT, " where account_id = :account and person_id = :person_id order by id"),
        bind! { person_id },
    )?)
}

/// Erases the content of all emails to a person and cancels pending ones. The fact that an email was sent, and when,
/// is kept.
pub fn erase_person(tx: &Tx<'_>, person_id: PersonId) -> Result<u64> {
    summary::release_of_person(tx, person_id)?;
    Ok(tx.execute(
        "update mail set to_name = :erased, to_address = :erased, subject = :erased,
             body_text = :erased, html_body = null, last_error = null,
             status = case when status = 'pending' then 'cancelled' else status end,
             updated_at = :now, version = version + 1
         where account_id = :account and person_id = :person_id",
        bind! { person_id, erased: ERASED },
    )?)
}

/// Erases the content of all emails about an object, for all recipients, and cancels pending ones.
pub fn erase_about(tx: &Tx<'_>, about: &str) -> Result<u64> {
    Ok(tx.execute(
        "update mail set subject = :erased, body_text = :erased, html_body = null,
             status = case when status = 'pending' then 'cancelled' else status end,
             updated_at = :now, version = version + 1
         where account_id = :account and about = :about",
        bind! { about, erased: ERASED },
    )?)
}

/// Moves the emails to a person, and those about them, to another record of the same person.
pub fn move_to_person(tx: &Tx<'_>, from: PersonId, into: PersonId) -> Result<()> {
    let (from_text, into_text) = (from.to_string(), into.to_string());
    tx.execute(
        "update mail set person_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and person_id = :from",
        bind! { from, into },
    )?;
    tx.execute(
        "update mail set about = :into_text, updated_at = :now, version = version + 1
         where account_id = :account and about = :from_text",
        bind! { from_text, into_text },
    )?;
    Ok(())
}

/// Due emails of all accounts that no node holds a lease on, oldest due date first.
pub fn list_due(db: &Reader<'_>, limit: i64) -> Result<Vec<(AccountId, EmailId)>> {
    Ok(db.all(
        "select account_id, id from mail
         where status = 'pending' and next_attempt_at <= :now and not in_summary
           and (held_until is null or held_until <= :now)
         order by next_attempt_at
         limit :limit /* any account */",
        bind! { limit },
    )?)
}

/// Takes a lease on an email to send it, and counts the attempt. `None` if the email is not due, another node has the
/// lease, the recipient has opted out of emails, or the email is too old; a too old email is marked as failed.
pub fn lease(tx: &Tx<'_>, id: EmailId) -> Result<Option<Email>> {
    let Some(email) = find_due(tx, id)? else { return Ok(None) };
    if email.created_at < tx.now().minus(MAX_AGE) {
        let last_error = Some(mark!("The email is too old to be sent.").to_owned());
        update(tx, Email { status: Status::Failed, last_error, ..email })?;
        return Ok(None);
    }
    if !is_wanted(tx, &email)? {
        update(tx, Email { status: Status::Cancelled, ..email })?;
        return Ok(None);
    }
    let held_until = Some(tx.now().plus(LEASE_DURATION));
    update(tx, Email { attempts: email.attempts + 1, held_until, ..email }).map(Some)
}

/// Whether the recipient still wants an email, which may have waited for some time.
fn is_wanted(tx: &Tx<'_>, email: &Email) -> Result<bool> {
    match (email.kind, email.person_id) {
        (kind, _) if kind.is_mandatory() => Ok(true),
        (_, None) => Ok(true),
        (EmailKind::Summary, _) => summary::has_content(tx, email.id),
        (kind, Some(person)) => wants(tx, person, kind),
    }
}

/// Whether a person accepts emails of this kind.
pub(super) fn wants(db: &Reader<'_>, person: PersonId, kind: EmailKind) -> Result<bool> {
    let settings = RecipientSettings::load(db, [person])?;
    Ok(preferences::email_opt_in(db, person)?
        && settings.frequency(person, kind) != Frequency::Never)
}

/// Records that the mail server accepted an email, even if it was cancelled in the meantime.
pub fn mark_sent(tx: &Tx<'_>, leased: &Email) -> Result<()> {
    let email = find(tx, leased.id)?;
    let sent_at = Some(tx.now());
    let status = Status::Sent;
    update(tx, Email { status, sent_at, last_error: None, held_until: None, ..email }).map(drop)
}

/// Records that an email failed permanently.
pub fn mark_failed(tx: &Tx<'_>, leased: &Email, error: &str) -> Result<()> {
    let Some(email) = find_leased(tx, leased)? else { return Ok(()) };
    let last_error = Some(sanitize_error(error));
    let status = Status::Failed;
    update(tx, Email { status, last_error, held_until: None, ..email }).map(drop)
}

/// Schedules the next attempt after a temporary failure. The delay is that of the schedule for this attempt, with a
/// jitter of ±20 % so that retries are spread out. After the last attempt of the schedule the email fails.
pub fn schedule_retry(
    tx: &Tx<'_>,
    leased: &Email,
    error: &str,
    schedule: &[Duration],
) -> Result<()> {
    let attempt = usize::try_from(leased.attempts - 1).unwrap_or(0);
    let Some(delay) = schedule.get(attempt) else { return mark_failed(tx, leased, error) };
    let Some(email) = find_leased(tx, leased)? else { return Ok(()) };
    let per_mille = u32::try_from(800 + tx.rng().below(401)).unwrap_or(1000);
    let next_attempt_at = tx.now().plus(*delay * per_mille / 1000);
    let last_error = Some(sanitize_error(error));
    update(tx, Email { next_attempt_at, last_error, held_until: None, ..email }).map(drop)
}

/// Marks a due email as unsent because no mail server is configured. It can be read in the outbox, and is not sent
/// when a mail server is configured later.
pub fn mark_unsent(tx: &Tx<'_>, id: EmailId) -> Result<()> {
    let Some(email) = find_due(tx, id)? else { return Ok(()) };
    update(tx, Email { status: Status::Unsent, held_until: None, ..email }).map(drop)
}

/// The email, if it is due and no node holds a lease on it.
fn find_due(tx: &Tx<'_>, id: EmailId) -> Result<Option<Email>> {
    let email = find(tx, id)?;
    let is_leased = email.held_until.is_some_and(|until| until > tx.now());
    let is_due = email.status == Status::Pending && email.next_attempt_at <= tx.now();
    Ok((is_due && !is_leased && !email.in_summary).then_some(email))
}

/// The current state of a leased email, unless it was cancelled or another node has taken a lease since.
fn find_leased(tx: &Tx<'_>, leased: &Email) -> Result<Option<Email>> {
    let email = find(tx, leased.id)?;
    let is_same = email.status == Status::Pending && email.attempts == leased.attempts;
    Ok(is_same.then_some(email))
}

/// The error of a mail server on one line, truncated.
fn sanitize_error(error: &str) -> String {
    error.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_ERROR_CHARS).collect()
}

fn update(tx: &Tx<'_>, email: Email) -> Result<Email> {
    let email = Email { updated_at: tx.now(), version: email.version + 1, ..email };
    tx.execute(
        "update mail set status = :status, attempts = :attempts,
             next_attempt_at = :next_attempt_at, held_until = :held_until,
             last_error = :last_error, sent_at = :sent_at,
             updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &email.bind(),
    )?;
    if email.kind == EmailKind::Summary && email.status != Status::Pending {
        summary::settle(tx, &email)?;
    }
    Ok(email)
}
