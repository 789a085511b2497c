//! How modules publish changes: an audit entry and a notification, in the transaction of the change.
//!
//! Every account has two logs. Notifications are sent to subscribers. They are numbered without gaps, in the order of
//! the commits. Audit entries record who did what. Each contains the hash of the entry before, so that a removed or
//! altered entry is detected. The end of both logs is stored in the account's journal row, which every transaction locks
//! last. The journal's sequence is also the version of all data of the account: nothing visible changes without a higher
//! sequence.

use std::sync::OnceLock;

use kit::Timestamp;
use kit::secret::sha256;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};
use sha2::{Digest, Sha256};
use store::{Reader, Tx, bind, record, row, sql};

use crate::error::{Error, Result};
use crate::ids::{AccountId, NotificationId};
use crate::notification_kinds;

/// What another module does, in the same transaction, when notifications of these kinds are published.
#[derive(Debug, Clone, Copy)]
pub struct Reaction {
    pub kinds: &'static [&'static str],
    /// Gets the id of the notification's subject.
    pub run: fn(&Tx<'_>, &str) -> Result<()>,
}

static REACTIONS: OnceLock<Vec<Reaction>> = OnceLock::new();

/// Registers the reactions of all modules when the process starts. Later calls change nothing.
pub fn register_reactions(reactions: impl Iterator<Item = Reaction>) {
    REACTIONS.get_or_init(|| reactions.collect());
}

/// Runs the reactions to a notification. It is an error if none are registered, because their effects would be lost.
fn react(tx: &Tx<'_>, kind: &str, subjects: impl Iterator<Item = String>) -> Result<()> {
    let missing = || Error::internal("the modules are not registered");
    let reactions = REACTIONS.get().ok_or_else(missing)?.iter();
    let reactions: Vec<_> = reactions.filter(|one| one.kinds.contains(&kind)).collect();
    if reactions.is_empty() {
        return Ok(());
    }
    for subject in subjects {
        reactions.iter().try_for_each(|reaction| (reaction.run)(tx, &subject))?;
    }
    Ok(())
}

/// Something that a notification can be about.
pub trait Subject: Serialize {
    /// Its public id.
    fn subject(&self) -> String;
}

/// An audit entry for reading sensitive data, such as a medical note.
#[derive(Debug)]
pub struct SensitiveRead {
    pub action: &'static str,
    pub subject: String,
    pub details: Value,
}

/// Publishes changes. This is the only way to write to the two logs.
pub trait Publish {
    /// Publishes that an object was created, or changed in a way that the kind describes.
    fn publish<T: Subject>(&self, kind: &'static str, object: &T) -> Result<()>;
    /// Publishes that an object changed, with the previous values of the changed fields.
    fn publish_change<T: Subject>(&self, kind: &'static str, before: &T, after: &T) -> Result<()>;
    /// Publishes many notifications of one kind. Each has the object before the change, if previous values are to be
    /// published, and the object after it.
    fn publish_all<T: Subject>(
        &self,
        kind: &'static str,
        objects: &[(Option<&T>, &T)],
    ) -> Result<()>;
    /// Writes an audit entry without a notification.
    fn audit(&self, action: &'static str, subject: &str, details: &Value) -> Result<()>;
}

impl Publish for Tx<'_> {
    fn publish<T: Subject>(&self, kind: &'static str, object: &T) -> Result<()> {
        self.publish_all(kind, &[(None, object)])
    }

    fn publish_change<T: Subject>(&self, kind: &'static str, before: &T, after: &T) -> Result<()> {
        self.publish_all(kind, &[(Some(before), after)])
    }

    fn publish_all<T: Subject>(
        &self,
        kind: &'static str,
        objects: &[(Option<&T>, &T)],
    ) -> Result<()> {
        let mut journal = Journal::open(self)?;
        let mut rows = Vec::with_capacity(objects.len());
        for (before, object) in objects {
            let previous = before.map(|before| changed_fields(before, *object)).transpose()?;
            rows.push(build_rows(self, &mut journal, kind, &Data { object: *object, previous })?);
        }
        let notifications: Vec<_> =
            rows.iter().map(|(notification, _)| notification.bind()).collect();
        self.execute_deferred_all(Notification::INSERT, &notifications)?;
        let entries: Vec<_> = rows.iter().map(|(_, entry)| entry.bind()).collect();
        self.execute_deferred_all(AuditEntry::INSERT, &entries)?;
        journal.close(self)?;
        react(self, kind, objects.iter().map(|(_, object)| object.subject()))
    }

    fn audit(&self, action: &'static str, subject: &str, details: &Value) -> Result<()> {
        let mut journal = Journal::open(self)?;
        let entry = journal.append(self, action, subject, &details.to_string());
        self.execute_deferred(AuditEntry::INSERT, &entry.bind())?;
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

/// The notification about one object, and its audit entry.
fn build_rows<T: Subject>(
    tx: &Tx<'_>,
    journal: &mut Journal,
    kind: &'static str,
    content: &Data<'_, T>,
) -> Result<(Notification, AuditEntry)> {
    debug_assert!(
        notification_kinds::find(kind).is_some(),
        "{kind} is not in the table of notification kinds"
    );
    let data = serde_json::value::to_raw_value(content).map_err(serialization_error)?;
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
        body: serde_json::to_string(&body).map_err(serialization_error)?,
        created_at: body.timestamp,
    };
    let entry = journal.append(tx, kind, &content.object.subject(), data.get());
    Ok((notification, entry))
}

/// The fields that differ, with their previous values.
fn changed_fields<T: Serialize>(before: &T, after: &T) -> Result<Map<String, Value>> {
    let fields = |object: &T| match serde_json::to_value(object).map_err(serialization_error)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(Error::internal("the subject of a notification is not a JSON object")),
    };
    let after = fields(after)?;
    // These differ after every change, so their previous values say nothing.
    let is_relevant = |name: &String| !matches!(name.as_str(), "updated_at" | "version");
    Ok(fields(before)?
        .into_iter()
        .filter(|(name, value)| is_relevant(name) && after.get(name) != Some(value))
        .collect())
}

fn serialization_error(error: serde_json::Error) -> Error {
    Error::internal(format!("a notification could not be serialized as JSON: {error}"))
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
    /// Who did what, when, to which subject, in which request.
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
    /// The hash of this entry, which includes the hash of the one before.
    fn chain_hash(&self, previous_hash: &[u8; 32]) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(previous_hash);
        hasher.update(self.position.to_be_bytes());
        hasher.update(self.at.micros().to_be_bytes());
        let request = self.request.as_deref().unwrap_or_default();
        for text in [&self.actor, &self.action, &self.subject, request] {
            // With its length, so that text cannot move from one field to the next.
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(self.details_hash);
        hasher.finalize().into()
    }

    /// Whether the entry has this position, is unaltered and follows the entry with this hash. Its details may have
    /// been erased.
    fn is_valid_at(&self, position: i64, previous_hash: &[u8; 32]) -> bool {
        let details = self.details.as_deref();
        let is_intact = details.is_none_or(|text| sha256(text.as_bytes()) == self.details_hash);
        self.position == position && self.hash == self.chain_hash(previous_hash) && is_intact
    }
}

row! {
    /// The end of the account's two logs.
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

    /// Adds the next audit entry.
    fn append(&mut self, tx: &Tx<'_>, action: &str, subject: &str, details: &str) -> AuditEntry {
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
        entry.hash = entry.chain_hash(&self.chain);
        (self.entries, self.chain) = (entry.position, entry.hash);
        entry
    }

    fn close(self, tx: &Tx<'_>) -> Result<()> {
        tx.notify_change();
        let Self { sequence, entries, chain } = self;
        tx.execute_deferred(
            "update journal set sequence = :sequence, entries = :entries, chain = :chain
             where account_id = :account",
            bind! { sequence, entries, chain },
        )?;
        Ok(())
    }
}

/// Prefetches the journal row for a transaction that will publish something, as nearly every write does.
pub fn prefetch_journal(tx: &Tx<'_>) -> Result<()> {
    Ok(tx.prefetch(Journal::SELECT, bind! {})?)
}

/// Creates the journal row of a new account, with two empty logs.
pub fn create_journal(tx: &Tx<'_>) -> Result<()> {
    tx.execute(
        "insert into journal (account_id, sequence, entries, chain) values (:account, 0, 0, :chain)",
        bind! { chain: [0u8; 32] },
    )?;
    Ok(())
}

/// The sequence number of the newest notification.
pub fn sequence(db: &Reader<'_>) -> Result<i64> {
    let (sequence,) = db.one(SELECT_SEQUENCE, bind! {})?;
    Ok(sequence)
}

/// Prefetches the row that [`sequence`] reads.
pub fn prefetch_sequence(db: &Reader<'_>) -> Result<()> {
    Ok(db.prefetch(SELECT_SEQUENCE, bind! {})?)
}

const SELECT_SEQUENCE: &str = "select sequence from journal where account_id = :account";

const SELECT_AFTER: &str = sql!(
    Notification::SELECT,
    " where account_id = :account and sequence > :after order by sequence limit :limit"
);

/// The notifications after a sequence number, oldest first.
pub fn notifications(db: &Reader<'_>, after: i64, limit: i64) -> Result<Vec<Notification>> {
    Ok(db.all(SELECT_AFTER, bind! { after, limit })?)
}

/// Prefetches the rows that [`notifications`] reads.
pub fn prefetch_notifications(db: &Reader<'_>, after: i64, limit: i64) -> Result<()> {
    Ok(db.prefetch(SELECT_AFTER, bind! { after, limit })?)
}

/// Verifies both logs of the account. Returns the first problem, if there is one.
pub fn verify(db: &Reader<'_>) -> Result<Option<String>> {
    let journal: Journal = db.one(Journal::SELECT, bind! {})?;
    let (mut position, mut chain, mut fault) = (0, [0; 32], None);
    db.for_each_row(
        sql!(AuditEntry::SELECT, " where account_id = :account order by position"),
        bind! {},
        |row| {
            let entry = <AuditEntry as store::Record>::read(row)?;
            position += 1;
            if fault.is_none() && !entry.is_valid_at(position, &chain) {
                fault = Some(format!("audit entry {position} does not match the hash chain"));
            }
            chain = entry.hash;
            Ok(())
        },
    )?;
    if fault.is_none() && (position != journal.entries || chain != journal.chain) {
        let expected = journal.entries;
        fault = Some(format!("the audit log ends at entry {position} instead of {expected}"));
    }
    // Old notifications may have been deleted, but never the newest.
    let (count, first, last): (i64, Option<i64>, Option<i64>) = db.one(
        "select count(*), min(sequence), max(sequence) from notification where account_id = :account",
        bind! {},
    )?;
    let (first, last) = (first.unwrap_or(1), last.unwrap_or(0));
    let is_complete = count == last - first + 1 && last == journal.sequence;
    Ok(fault.or_else(|| (!is_complete).then(|| "the notification log has a gap".to_owned())))
}

/// How many notifications are deleted in one step.
const PRUNE_BATCH: i64 = 500;

/// Replaces the body of a notification, to remove personal data.
pub fn replace_body(tx: &Tx<'_>, sequence: i64, body: &str) -> Result<()> {
    tx.execute(
        "update notification set body = :body where account_id = :account and sequence = :sequence",
        bind! { sequence, body },
    )?;
    Ok(())
}

/// Erases the details of an audit entry, to remove personal data.
pub fn erase_details(tx: &Tx<'_>, position: i64) -> Result<()> {
    tx.execute(
        "update audit_entry set details = null where account_id = :account and position = :position",
        bind! { position },
    )?;
    Ok(())
}

/// Deletes the oldest notifications of the account, a few at a time, and returns how many. Deletes what is older than
/// `before` and has a sequence number below `needed`, and everything older than `hard_limit`. The newest notification
/// always stays, so that [`verify`] can still prove that none is missing.
pub fn prune_notifications(
    tx: &Tx<'_>,
    before: Timestamp,
    needed: i64,
    hard_limit: Timestamp,
) -> Result<u64> {
    let oldest: Vec<(i64, Timestamp)> = tx.all(
        "select n.sequence, n.created_at from notification n
         join journal j on j.account_id = n.account_id and n.sequence < j.sequence
         where n.account_id = :account order by n.sequence limit :limit",
        bind! { limit: PRUNE_BATCH },
    )?;
    let is_expired = |(sequence, at): &&(i64, Timestamp)| {
        *at < hard_limit || (*at < before && *sequence < needed)
    };
    let Some((until, _)) = oldest.iter().take_while(is_expired).last() else { return Ok(0) };
    Ok(tx.execute(
        "delete from notification where account_id = :account and sequence <= :until",
        bind! { until: *until },
    )?)
}

/// How many entries the account's audit log has.
pub fn audit_entry_count(db: &Reader<'_>) -> Result<i64> {
    let (entries,) = db.one("select entries from journal where account_id = :account", bind! {})?;
    Ok(entries)
}

/// Whether the latest `count` audit entries form a valid chain that ends where the journal says. The cost does not depend
/// on the length of the log.
pub fn verify_latest(db: &Reader<'_>, count: i64) -> Result<bool> {
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
        // The entry before the first one to check.
        match latest.next() {
            Some(entry) if entry.position == before => chain = entry.hash,
            _ => return Ok(false),
        }
    }
    for entry in latest {
        position += 1;
        if !entry.is_valid_at(position, &chain) {
            return Ok(false);
        }
        chain = entry.hash;
    }
    Ok(position == journal.entries && chain == journal.chain)
}
