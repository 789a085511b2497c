//! API keys. The value is shown once and only its hash is stored; revoking takes effect immediately.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use kit::secret::{ApiKey, constant_time_eq};
use kit::{string_enum, text};

use crate::hook::Hook;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::rights::SpaceSeparated;
use crate::tier::Tier;

type FilterTeams = fn(&Reader<'_>, &[TeamId]) -> Result<Vec<TeamId>>;

/// Returns those of these teams that exist in the account.
pub static FILTER_EXISTING_TEAMS: Hook<FilterTeams> = Hook::new("api_key::FILTER_EXISTING_TEAMS");

record! {
    /// An API key, without its secret value, which is not stored.
    #[derive(Debug, Clone, Serialize)]
    #[serde(tag = "object", rename = "api_key")]
    pub struct Key in api_key {
        pub id: KeyId,
        pub account_id: AccountId,
        /// The part of the value that is not secret.
        pub public_id: String,
        #[serde(skip)]
        pub hash: [u8; 32],
        pub name: String,
        pub scopes: Scopes,
        pub team_ids: Option<SpaceSeparated<TeamId>>,
        pub cidrs: Option<SpaceSeparated<IpNet>>,
        pub expires_at: Option<Timestamp>,
        pub last_used_at: Option<Timestamp>,
        pub revoked_at: Option<Timestamp>,
        pub created_by: String,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

impl_resource!(Key by KeyId: Paged);

/// Age at which a key should be rotated.
const ROTATE_AFTER: Duration = Duration::from_secs(90 * 86_400);
/// A key that expires within this time counts as expiring soon.
const EXPIRES_SOON: Duration = Duration::from_secs(14 * 86_400);

impl Key {
    /// Whether the key is neither revoked nor expired.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether the key is active and older than 90 days.
    pub fn needs_rotation(&self, now: Timestamp) -> bool {
        self.is_active(now) && self.created_at.plus(ROTATE_AFTER) <= now
    }
}

/// Input for [`create`].
#[derive(Debug, Clone)]
pub struct NewKey {
    pub name: String,
    pub scopes: Scopes,
    pub team_ids: Option<Vec<TeamId>>,
    pub cidrs: Option<Vec<IpNet>>,
    pub expires_at: Option<Timestamp>,
}

/// Creates a key. Returns it with its value, which cannot be read again.
pub fn create(tx: &Tx<'_>, new: NewKey) -> Result<(Key, ApiKey)> {
    let value = ApiKey::generate(tx.rng());
    let key = Key {
        id: tx.new_id(),
        account_id: tx.account(),
        public_id: value.public_id().to_owned(),
        hash: value.hash(),
        name: validate_name(&new.name)?,
        scopes: new.scopes,
        team_ids: validate_team_ids(tx, new.team_ids)?.map(SpaceSeparated),
        cidrs: new.cidrs.map(SpaceSeparated),
        expires_at: validate_expiry(tx, new.expires_at)?,
        last_used_at: None,
        revoked_at: None,
        created_by: tx.actor().to_owned(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute(Key::INSERT, &key.bind())?;
    let details = serde_json::json!({ "name": key.name, "scopes": key.scopes });
    tx.audit("api_key.created", &key.id.to_string(), &details)?;
    Ok((key, value))
}

/// One key of the account.
pub fn find(db: &Reader<'_>, id: KeyId) -> Result<Key> {
    Ok(db.one(sql!(Key::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The account's keys, oldest first, including revoked ones.
pub fn list(db: &Reader<'_>) -> Result<Vec<Key>> {
    Ok(db.all(sql!(Key::SELECT, " where account_id = :account order by id"), bind! {})?)
}

string_enum! {
    /// Filter for lists of keys.
    pub enum State as KeyState {
        /// Neither revoked nor expired.
        Active = "live",
        /// Revoked or expired.
        Inactive = "over",
        /// Active, and old enough to be rotated.
        NeedsRotation = "old",
        /// Active, and expiring soon.
        Expiring = "expiring",
    }
}

/// A page of the account's keys, in order of creation. `None` includes keys in any state.
pub fn page(db: &Reader<'_>, state: Option<State>, page: &Page<KeyId>) -> Result<Vec<Key>> {
    let (after, limit) = page.bounds();
    let (live, created_until, ends_before) = state_filter(state, db.now());
    let text = page_sql!(page, Key::SELECT, IN_STATE);
    Ok(db.all(text, bind! { after, limit, live, created_until, ends_before })?)
}

/// The number of the account's keys in a state.
pub fn count(db: &Reader<'_>, state: State) -> Result<i64> {
    let (live, created_until, ends_before) = state_filter(Some(state), db.now());
    let (count,) = db.one(
        sql!("select count(*) from api_key", IN_STATE),
        bind! { live, created_until, ends_before },
    )?;
    Ok(count)
}

/// The parameters of [`IN_STATE`]: whether keys are active, the latest creation time, and the time before
/// which they expire.
fn state_filter(
    state: Option<State>,
    now: Timestamp,
) -> (Option<bool>, Option<Timestamp>, Option<Timestamp>) {
    let live = state.map(|state| state != State::Inactive);
    let created_until = (state == Some(State::NeedsRotation)).then(|| now.minus(ROTATE_AFTER));
    let ends_before = (state == Some(State::Expiring)).then(|| now.plus(EXPIRES_SOON));
    (live, created_until, ends_before)
}

const IN_STATE: &str = "
    where account_id = :account
      and (cast(:live as boolean) is null
           or :live = (revoked_at is null and (expires_at is null or expires_at > :now)))
      and (cast(:created_until as bigint) is null or created_at <= :created_until)
      and (cast(:ends_before as bigint) is null or expires_at < :ends_before)";

/// Renames a key. Its scopes and restrictions cannot be changed.
pub fn rename(tx: &Tx<'_>, id: KeyId, name: &str) -> Result<Key> {
    let before = find(tx, id)?;
    let name = validate_name(name)?;
    if name == before.name {
        return Ok(before);
    }
    tx.execute(
        "update api_key set name = :name, updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id, name: &name },
    )?;
    let details = serde_json::json!({ "name": name, "previous": { "name": before.name } });
    tx.audit("api_key.renamed", &id.to_string(), &details)?;
    find(tx, id)
}

/// Revokes a key: the next request with it is refused on every node. Idempotent.
pub fn revoke(tx: &Tx<'_>, id: KeyId) -> Result<Key> {
    let key = find(tx, id)?;
    if key.revoked_at.is_some() {
        return Ok(key);
    }
    tx.execute(
        "update api_key set revoked_at = :now, updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id },
    )?;
    tx.audit("api_key.revoked", &id.to_string(), &serde_json::json!({ "name": key.name }))?;
    find(tx, id)
}

const SELECT_ACTIVE: &str = "
    select id from api_key
    where account_id = :account and id = :id and revoked_at is null
      and (expires_at is null or expires_at > :now)";

/// Prefetches the query of [`is_active`].
pub fn prefetch_is_active(db: &Reader<'_>, id: KeyId) -> Result<()> {
    Ok(db.prefetch(SELECT_ACTIVE, bind! { id })?)
}

/// Whether a key is neither revoked nor expired.
pub fn is_active(db: &Reader<'_>, id: KeyId) -> Result<bool> {
    Ok(db.optional::<(KeyId,)>(SELECT_ACTIVE, bind! { id })?.is_some())
}

/// Records that the key was used now, unless a use since `before` is already recorded.
pub fn record_use(tx: &Tx<'_>, id: KeyId, before: Timestamp) -> Result<()> {
    tx.execute(
        "update api_key set last_used_at = :now
         where account_id = :account and id = :id and (last_used_at is null or last_used_at < :before)",
        bind! { id, before },
    )?;
    Ok(())
}

/// The account that a key belongs to, for the command line, which knows only the key.
pub fn account_of(db: &Reader<'_>, id: KeyId) -> Result<AccountId> {
    let (account,) =
        db.one("select account_id from api_key where id = :id /* any account */", bind! { id })?;
    Ok(account)
}

row! {
    /// What a request needs to know about its key, read in one query.
    #[derive(Debug, Clone)]
    pub struct AuthenticatedKey {
        pub id: KeyId,
        pub account_id: AccountId,
        hash: [u8; 32],
        pub scopes: Scopes,
        pub team_ids: Option<SpaceSeparated<TeamId>>,
        cidrs: Option<SpaceSeparated<IpNet>>,
        expires_at: Option<Timestamp>,
        pub last_used_at: Option<Timestamp>,
        revoked_at: Option<Timestamp>,
        pub tier: Tier,
        /// The account's journal sequence, which increases with every visible change.
        pub sequence: i64,
    }
}

/// Looks up the key with this value. `None` if it is unknown, wrong, expired or revoked.
pub fn authenticate(db: &Reader<'_>, value: &ApiKey) -> Result<Option<AuthenticatedKey>> {
    let key: Option<AuthenticatedKey> = db.optional(
        "select k.id, k.account_id, k.hash, k.scopes, k.team_ids, k.cidrs, k.expires_at,
                k.last_used_at, k.revoked_at, a.tier, j.sequence
         from api_key k
         join account a on a.id = k.account_id
         join journal j on j.account_id = k.account_id
         where k.public_id = :public_id /* any account */",
        bind! { public_id: value.public_id() },
    )?;
    // Compare even if the key is unknown, so that timing does not reveal which keys exist.
    let stored_hash = key.as_ref().map_or([0; 32], |key| key.hash);
    let matches = constant_time_eq(&stored_hash, &value.hash());
    Ok(key.filter(|key| matches && key.is_active(db.now())))
}

impl AuthenticatedKey {
    fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether the key may be used from this IP address.
    pub fn allows_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.cidrs
            .as_ref()
            .is_none_or(|SpaceSeparated(nets)| nets.iter().any(|net| net.contains(&address)))
    }
}

/// Checks the name of a key or an account.
pub(super) fn validate_name(name: &str) -> Result<String> {
    text::normalize_line(name, 120).map_err(|_| {
        let detail = "The name must have 1 to 120 characters and no control characters.";
        Error::new(Code::ValidationFailed, detail).at("/name")
    })
}

fn validate_expiry(tx: &Tx<'_>, end: Option<Timestamp>) -> Result<Option<Timestamp>> {
    if end.is_none_or(|end| end > tx.now()) {
        return Ok(end);
    }
    let detail = "`expires_at` must be in the future.";
    Err(Error::new(Code::ValidationFailed, detail).at("/expires_at"))
}

/// Checks the teams that a key or webhook is restricted to: they must exist in the account.
pub fn validate_team_ids(tx: &Tx<'_>, teams: Option<Vec<TeamId>>) -> Result<Option<Vec<TeamId>>> {
    let Some(ids) = teams else { return Ok(None) };
    let existing = FILTER_EXISTING_TEAMS.get()?(tx, &ids)?;
    let unknown = ids.iter().enumerate().filter(|(_, id)| !existing.contains(id));
    let mut faults: Vec<_> = unknown
        .map(|(index, id)| {
            let detail = message!("There is no team with the ID {id}.", id);
            Fault::new(format!("/team_ids/{index}"), "not_found", detail)
        })
        .collect();
    if ids.is_empty() {
        faults.push(Fault::new("/team_ids", "empty", "List at least one team, or omit the field."));
    }
    if faults.is_empty() {
        return Ok(Some(ids));
    }
    let error = Error::new(Code::ValidationFailed, "`team_ids` must list existing teams.");
    Err(Error { faults, ..error })
}
