//! How news leaves a room: an audit entry and a notification, in the transaction of the change.
//!
//! Every account has two logs. Notifications are what subscribers are told: numbered without a gap,
//! in the order of the commits. Audit entries are who did what: each carries the hash of the one
//! before, so that a removed or altered entry shows. Both end in the account's journal row, which is
//! taken last in every job. The journal's sequence is also the version of all the account shows:
//! nothing visible changes without it rising.

use kit::Timestamp;
use kit::secret::sha256;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};
use sha2::{Digest, Sha256};
use store::{Reader, Tx, bind, record, row, sql};

use crate::error::{Error, Result};
use crate::ids::{AccountId, NotificationId};
use crate::reactions;
use crate::webhooks::kinds;

/// Something that news can be about.
pub trait Subject: Serialize {
    /// Its id, as it is shown.
    fn subject(&self) -> String;
}

/// Something delicate that was read, such as a medical note, as the audit log keeps it.
#[derive(Debug)]
pub struct Seen {
    pub action: &'static str,
    pub subject: String,
    pub details: Value,
}

/// The one way news leaves a room.
pub trait Tell {
    /// Something came to be, or changed in a way its kind already says.
    fn tell<T: Subject>(&self, kind: &'static str, object: &T) -> Result<()>;
    /// Something changed; subscribers also learn what the changed members were before.
    fn tell_change<T: Subject>(&self, kind: &'static str, before: &T, after: &T) -> Result<()>;
    /// Many things came to be or changed alike, each with what it was before if that is to be told.
    fn tell_all<T: Subject>(&self, kind: &'static str, objects: &[(Option<&T>, &T)]) -> Result<()>;
    /// Something that only the audit log keeps.
    fn audit(&self, action: &'static str, subject: &str, details: &Value) -> Result<()>;
}

impl Tell for Tx<'_> {
    fn tell<T: Subject>(&self, kind: &'static str, object: &T) -> Result<()> {
        self.tell_all(kind, &[(None, object)])
    }

    fn tell_change<T: Subject>(&self, kind: &'static str, before: &T, after: &T) -> Result<()> {
        self.tell_all(kind, &[(Some(before), after)])
    }

    fn tell_all<T: Subject>(&self, kind: &'static str, objects: &[(Option<&T>, &T)]) -> Result<()> {
        let mut journal = Journal::open(self)?;
        let mut told = Vec::with_capacity(objects.len());
        for (before, object) in objects {
            let previous = before.map(|before| changed(before, *object)).transpose()?;
            told.push(publish(self, &mut journal, kind, &Data { object: *object, previous })?);
        }
        let news: Vec<_> = told.iter().map(|(news, _)| news.bind()).collect();
        self.later_all(Notification::INSERT, &news)?;
        let entries: Vec<_> = told.iter().map(|(_, entry)| entry.bind()).collect();
        self.later_all(AuditEntry::INSERT, &entries)?;
        journal.close(self)?;
        let subjects = objects.iter().map(|(_, object)| object.subject());
        reactions::after(self, kind, subjects)
    }

    fn audit(&self, action: &'static str, subject: &str, details: &Value) -> Result<()> {
        let mut journal = Journal::open(self)?;
        let entry = journal.enter(self, action, subject, &details.to_string());
        self.later(AuditEntry::INSERT, &entry.bind())?;
        journal.close(self)
    }
}

/// The body of a notification, as it is stored, signed and sent.
#[derive(Serialize)]
struct Body<'a> {
    id: NotificationId,
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: Timestamp,
    api_version: &'a str,
    account_id: AccountId,
    sequence: i64,
    data: &'a RawValue,
}

#[derive(Serialize)]
struct Data<'a, T> {
    object: &'a T,
    previous: Option<Map<String, Value>>,
}

/// What is told of one thing, and the audit entry for it.
fn publish<T: Subject>(
    tx: &Tx<'_>,
    journal: &mut Journal,
    kind: &'static str,
    news: &Data<'_, T>,
) -> Result<(Notification, AuditEntry)> {
    debug_assert!(kinds::find(kind).is_some(), "{kind} is not in the table of kinds");
    let data = serde_json::value::to_raw_value(news).map_err(broken)?;
    journal.sequence += 1;
    let body = Body {
        id: tx.new_id(),
        kind,
        timestamp: tx.now(),
        api_version: "v1",
        account_id: tx.account(),
        sequence: journal.sequence,
        data: &data,
    };
    let notification = Notification {
        account_id: body.account_id,
        sequence: body.sequence,
        id: body.id,
        kind: kind.to_owned(),
        body: serde_json::to_string(&body).map_err(broken)?,
        created_at: body.timestamp,
    };
    let entry = journal.enter(tx, kind, &news.object.subject(), data.get());
    Ok((notification, entry))
}

/// The members that differ, with the values they had before.
fn changed<T: Serialize>(before: &T, after: &T) -> Result<Map<String, Value>> {
    let members = |object: &T| match serde_json::to_value(object).map_err(broken)? {
        Value::Object(members) => Ok(members),
        _ => Err(Error::internal("news about something that is not an object")),
    };
    let after = members(after)?;
    // These change with every change and would say nothing.
    let plain = |name: &String| !matches!(name.as_str(), "updated_at" | "version");
    Ok(members(before)?
        .into_iter()
        .filter(|(name, value)| plain(name) && after.get(name) != Some(value))
        .collect())
}

fn broken(error: serde_json::Error) -> Error {
    Error::internal(format!("news could not be written as JSON: {error}"))
}

record! {
    /// A notification of the account's log.
    #[derive(Debug, Clone)]
    pub struct Notification in notification {
        pub account_id: AccountId,
        pub sequence: i64,
        pub id: NotificationId,
        pub kind: String,
        pub body: String,
        pub created_at: Timestamp,
    }
}

record! {
    /// Who did what, when, to what, because of which request.
    #[derive(Debug, Clone)]
    pub struct AuditEntry in audit_entry {
        pub account_id: AccountId,
        pub position: i64,
        pub at: Timestamp,
        pub actor: String,
        pub action: String,
        pub subject: String,
        pub request: Option<String>,
        pub details: Option<String>,
        pub details_hash: [u8; 32],
        pub hash: [u8; 32],
    }
}

impl AuditEntry {
    /// The hash that ties this entry to the one before.
    fn chained(&self, before: &[u8; 32]) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(before);
        hasher.update(self.position.to_be_bytes());
        hasher.update(self.at.micros().to_be_bytes());
        let request = self.request.as_deref().unwrap_or_default();
        for text in [&self.actor, &self.action, &self.subject, request] {
            // With its length, so that text cannot move from one member to the next.
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(self.details_hash);
        hasher.finalize().into()
    }

    /// Whether it stands at this position, is unaltered and follows the entry with this hash. Details may
    /// have been erased.
    fn fits(&self, position: i64, before: &[u8; 32]) -> bool {
        let told = self.details.as_deref();
        let whole = told.is_none_or(|told| sha256(told.as_bytes()) == self.details_hash);
        self.position == position && self.hash == self.chained(before) && whole
    }
}

row! {
    /// Where the two logs of the account end.
    #[derive(Clone)]
    struct Journal {
        sequence: i64,
        entries: i64,
        chain: [u8; 32],
    }
}

impl Journal {
    const SELECT: &'static str =
        "select sequence, entries, chain from journal where account_id = :account";

    fn open(tx: &Tx<'_>) -> Result<Self> {
        Ok(tx.one(Self::SELECT, bind! {})?)
    }

    /// The next entry of the audit log.
    fn enter(&mut self, tx: &Tx<'_>, action: &str, subject: &str, details: &str) -> AuditEntry {
        let mut entry = AuditEntry {
            account_id: tx.account(),
            position: self.entries + 1,
            at: tx.now(),
            actor: tx.actor_via(),
            action: action.to_owned(),
            subject: subject.to_owned(),
            request: tx.request().map(str::to_owned),
            details: Some(details.to_owned()),
            details_hash: sha256(details.as_bytes()),
            hash: [0; 32],
        };
        entry.hash = entry.chained(&self.chain);
        (self.entries, self.chain) = (entry.position, entry.hash);
        entry
    }

    fn close(self, tx: &Tx<'_>) -> Result<()> {
        tx.ring();
        let Self { sequence, entries, chain } = self;
        tx.later(
            "update journal set sequence = :sequence, entries = :entries, chain = :chain
             where account_id = :account",
            bind! { sequence, entries, chain },
        )?;
        Ok(())
    }
}

/// For a job that will tell something once it has asked for other things, as nearly all do that change something: the
/// journal comes with them.
pub fn journal_ahead(tx: &Tx<'_>) -> Result<()> {
    Ok(tx.ahead(Journal::SELECT, bind! {})?)
}

/// Opens the two logs of a new account.
pub fn open_journal(tx: &Tx<'_>) -> Result<()> {
    tx.run(
        "insert into journal (account_id, sequence, entries, chain) values (:account, 0, 0, :chain)",
        bind! { chain: [0u8; 32] },
    )?;
    Ok(())
}

/// The number of the newest notification.
pub fn sequence(db: &Reader<'_>) -> Result<i64> {
    let (sequence,) = db.one(LAST, bind! {})?;
    Ok(sequence)
}

/// For a job that will want it once it has asked for other things.
pub fn sequence_ahead(db: &Reader<'_>) -> Result<()> {
    Ok(db.ahead(LAST, bind! {})?)
}

const LAST: &str = "select sequence from journal where account_id = :account";

const AFTER: &str = sql!(
    Notification::SELECT,
    " where account_id = :account and sequence > :after order by sequence limit :limit"
);

/// The notifications after a sequence number, oldest first.
pub fn notifications(db: &Reader<'_>, after: i64, limit: i64) -> Result<Vec<Notification>> {
    Ok(db.all(AFTER, bind! { after, limit })?)
}

/// For a job that will want them once it has asked for other things.
pub fn notifications_ahead(db: &Reader<'_>, after: i64, limit: i64) -> Result<()> {
    Ok(db.ahead(AFTER, bind! { after, limit })?)
}

/// Walks both logs of the account and says what does not fit, if anything.
pub fn verify(db: &Reader<'_>) -> Result<Option<String>> {
    let journal: Journal = db.one(Journal::SELECT, bind! {})?;
    let (mut position, mut chain, mut fault) = (0, [0; 32], None);
    db.each(
        sql!(AuditEntry::SELECT, " where account_id = :account order by position"),
        bind! {},
        |row| {
            let entry = <AuditEntry as store::Record>::read(row)?;
            position += 1;
            if fault.is_none() && !entry.fits(position, &chain) {
                fault = Some(format!("audit entry {position} does not fit the one before"));
            }
            chain = entry.hash;
            Ok(())
        },
    )?;
    if fault.is_none() && (position != journal.entries || chain != journal.chain) {
        fault = Some(format!("the audit log ends at {position}, not at {}", journal.entries));
    }
    // Its beginning may have been forgotten, but never the newest.
    let (count, first, last): (i64, Option<i64>, Option<i64>) = db.one(
        "select count(*), min(sequence), max(sequence) from notification where account_id = :account",
        bind! {},
    )?;
    let (first, last) = (first.unwrap_or(1), last.unwrap_or(0));
    let whole = count == last - first + 1 && last == journal.sequence;
    Ok(fault.or_else(|| (!whole).then(|| "the notification log has a gap".to_owned())))
}

/// How many notifications are forgotten in one step.
const FORGOTTEN: i64 = 500;

/// Forgets the beginning of the account's log, a few at a time, and says how many: what was told before the
/// first moment and is not among what is still needed, and what was told before the second in any case. The
/// newest stays, so that the log still proves that nothing is missing.
pub fn forget(tx: &Tx<'_>, before: Timestamp, needed: i64, in_any_case: Timestamp) -> Result<u64> {
    let oldest: Vec<(i64, Timestamp)> = tx.all(
        "select n.sequence, n.created_at from notification n
         join journal j on j.account_id = n.account_id and n.sequence < j.sequence
         where n.account_id = :account order by n.sequence limit :limit",
        bind! { limit: FORGOTTEN },
    )?;
    let old = |(sequence, at): &&(i64, Timestamp)| {
        *at < in_any_case || (*at < before && *sequence < needed)
    };
    let Some((until, _)) = oldest.iter().take_while(old).last() else { return Ok(0) };
    Ok(tx.run(
        "delete from notification where account_id = :account and sequence <= :until",
        bind! { until: *until },
    )?)
}

/// How many entries the account's audit log has.
pub fn entries(db: &Reader<'_>) -> Result<i64> {
    let (entries,) = db.one("select entries from journal where account_id = :account", bind! {})?;
    Ok(entries)
}

/// Whether the latest entries of the audit log fit together and end where the journal says: a look that
/// costs the same however long the log is.
pub fn holds_lately(db: &Reader<'_>, count: i64) -> Result<bool> {
    let journal: Journal = db.one(Journal::SELECT, bind! {})?;
    let before = (journal.entries - count).max(0);
    let latest: Vec<AuditEntry> = db.all(
        sql!(
            AuditEntry::SELECT,
            " where account_id = :account and position >= :before order by position"
        ),
        bind! { before },
    )?;
    let (mut position, mut chain) = (before, [0; 32]);
    let mut latest = latest.into_iter();
    if before > 0 {
        // The entry before those that are looked at, for the first of them to follow.
        match latest.next() {
            Some(entry) if entry.position == before => chain = entry.hash,
            _ => return Ok(false),
        }
    }
    for entry in latest {
        position += 1;
        if !entry.fits(position, &chain) {
            return Ok(false);
        }
        chain = entry.hash;
    }
    Ok(position == journal.entries && chain == journal.chain)
}
