//! API keys: shown once, kept as a hash, revoked at once.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use kit::secret::{ApiKey, same};
use kit::{Timestamp, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, row, sql};

use super::account::Tier;
use super::rights::{Listed, Scopes};
use crate::error::{Code, Error, Fault, Result};
use crate::ids::{AccountId, KeyId, TeamId};
use crate::paging::{Order, Page};
use crate::signals::Tell;
use crate::thing::thing;

record! {
    /// A key. Its value is not here: only whoever made it has it.
    #[derive(Debug, Clone, Serialize)]
    #[serde(tag = "object", rename = "api_key")]
    pub struct Key in api_key {
        pub id: KeyId,
        pub account_id: AccountId,
        /// The part of the value that is no secret.
        pub public_id: String,
        #[serde(skip)]
        pub hash: [u8; 32],
        pub name: String,
        pub scopes: Scopes,
        pub team_ids: Option<Listed<TeamId>>,
        pub cidrs: Option<Listed<IpNet>>,
        pub expires_at: Option<Timestamp>,
        pub last_used_at: Option<Timestamp>,
        pub revoked_at: Option<Timestamp>,
        pub created_by: String,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

thing!(Key by KeyId: Paged);

/// After this long a key is better replaced.
const ROTATE_AFTER: Duration = Duration::from_secs(90 * 86_400);
/// A key that expires within this time needs attention.
const EXPIRES_SOON: Duration = Duration::from_secs(14 * 86_400);

impl Key {
    /// Whether it still opens something.
    pub fn lives(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether it is older than 90 days and still in service.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.lives(now) && self.created_at.plus(ROTATE_AFTER) <= now
    }
}

/// What is needed to make a key.
#[derive(Debug, Clone)]
pub struct NewKey {
    pub name: String,
    pub scopes: Scopes,
    pub team_ids: Option<Vec<TeamId>>,
    pub cidrs: Option<Vec<IpNet>>,
    pub expires_at: Option<Timestamp>,
}

/// Makes a key and hands out its value, this once.
pub fn create(tx: &Tx<'_>, new: NewKey) -> Result<(Key, ApiKey)> {
    let value = ApiKey::make(tx.dice());
    let key = Key {
        id: tx.new_id(),
        account_id: tx.account(),
        public_id: value.public_id().to_owned(),
        hash: value.hash(),
        name: valid_name(&new.name)?,
        scopes: new.scopes,
        team_ids: own_teams(tx, new.team_ids)?.map(Listed),
        cidrs: new.cidrs.map(Listed),
        expires_at: future(tx, new.expires_at)?,
        last_used_at: None,
        revoked_at: None,
        created_by: tx.actor().to_owned(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.run(Key::INSERT, &key.bind())?;
    let details = serde_json::json!({ "name": key.name, "scopes": key.scopes });
    tx.audit("api_key.created", &key.id.to_string(), &details)?;
    Ok((key, value))
}

/// One key of the account.
pub fn find(db: &Reader<'_>, id: KeyId) -> Result<Key> {
    Ok(db.one(sql!(Key::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

/// The account's keys, oldest first, revoked ones included.
pub fn list(db: &Reader<'_>) -> Result<Vec<Key>> {
    Ok(db.all(sql!(Key::SELECT, " where account_id = :account order by id"), bind! {})?)
}

words! {
    /// Whether keys still open anything.
    pub enum State as KeyState {
        /// They do.
        Live = "live",
        /// They were revoked or have expired.
        Over = "over",
        /// They work, and are old enough to be replaced.
        Old = "old",
        /// They work, and expire soon.
        Expiring = "expiring",
    }
}

/// A page of the account's keys, in order of creation; `None` for whatever their state.
pub fn page(db: &Reader<'_>, state: Option<State>, page: &Page<KeyId>) -> Result<Vec<Key>> {
    let after = page.after(KeyId::LEAST, KeyId::GREATEST);
    let limit = page.fetch();
    let (live, made_by, ends_before) = bounds(state, db.now());
    let text = match page.order {
        Order::Asc => sql!(Key::SELECT, IN_STATE, " and id > :after order by id limit :limit"),
        Order::Desc => {
            sql!(Key::SELECT, IN_STATE, " and id < :after order by id desc limit :limit")
        }
    };
    Ok(db.all(text, bind! { after, limit, live, made_by, ends_before })?)
}

/// How many keys of the account are in a state.
pub fn count(db: &Reader<'_>, state: State) -> Result<i64> {
    let (live, made_by, ends_before) = bounds(Some(state), db.now());
    let (count,) = db.one(
        sql!("select count(*) from api_key", IN_STATE),
        bind! { live, made_by, ends_before },
    )?;
    Ok(count)
}

/// What a state means: whether keys work, when they were made at the latest, and before when they expire.
fn bounds(
    state: Option<State>,
    now: Timestamp,
) -> (Option<bool>, Option<Timestamp>, Option<Timestamp>) {
    let live = state.map(|state| state != State::Over);
    let made_by = (state == Some(State::Old)).then(|| now.minus(ROTATE_AFTER));
    let ends_before = (state == Some(State::Expiring)).then(|| now.plus(EXPIRES_SOON));
    (live, made_by, ends_before)
}

const IN_STATE: &str = "
    where account_id = :account
      and (cast(:live as boolean) is null
           or :live = (revoked_at is null and (expires_at is null or expires_at > :now)))
      and (cast(:made_by as bigint) is null or created_at <= :made_by)
      and (cast(:ends_before as bigint) is null or expires_at < :ends_before)";

/// Gives a key another name. What it opens cannot be changed.
pub fn rename(tx: &Tx<'_>, id: KeyId, name: &str) -> Result<Key> {
    let before = find(tx, id)?;
    let name = valid_name(name)?;
    if name == before.name {
        return Ok(before);
    }
    tx.run(
        "update api_key set name = :name, updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id, name: &name },
    )?;
    let details = serde_json::json!({ "name": name, "previous": { "name": before.name } });
    tx.audit("api_key.renamed", &id.to_string(), &details)?;
    find(tx, id)
}

/// Revokes a key: the next request with it is refused, on every node. Revoking twice is harmless.
pub fn revoke(tx: &Tx<'_>, id: KeyId) -> Result<Key> {
    let key = find(tx, id)?;
    if key.revoked_at.is_some() {
        return Ok(key);
    }
    tx.run(
        "update api_key set revoked_at = :now, updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id },
    )?;
    tx.audit("api_key.revoked", &id.to_string(), &serde_json::json!({ "name": key.name }))?;
    find(tx, id)
}

const LIVE: &str = "
    select id from api_key
    where account_id = :account and id = :id and revoked_at is null
      and (expires_at is null or expires_at > :now)";

/// For a job that asks later whether a key is live.
pub fn is_live_ahead(db: &Reader<'_>, id: KeyId) -> Result<()> {
    Ok(db.ahead(LIVE, bind! { id })?)
}

/// Whether a key is neither revoked nor expired.
pub fn is_live(db: &Reader<'_>, id: KeyId) -> Result<bool> {
    Ok(db.maybe::<(KeyId,)>(LIVE, bind! { id })?.is_some())
}

/// Notes that the key was used, if nobody has in the last minute.
pub fn touch(tx: &Tx<'_>, id: KeyId, before: Timestamp) -> Result<()> {
    tx.run(
        "update api_key set last_used_at = :now
         where account_id = :account and id = :id and (last_used_at is null or last_used_at < :before)",
        bind! { id, before },
    )?;
    Ok(())
}

/// The account that a key belongs to; the command line knows only the key.
pub fn account_of(db: &Reader<'_>, id: KeyId) -> Result<AccountId> {
    let (account,) =
        db.one("select account_id from api_key where id = :id /* any account */", bind! { id })?;
    Ok(account)
}

row! {
    /// All that a request needs to know of the key it came with, in one look.
    #[derive(Debug, Clone)]
    pub struct Found {
        pub id: KeyId,
        pub account_id: AccountId,
        hash: [u8; 32],
        pub scopes: Scopes,
        pub team_ids: Option<Listed<TeamId>>,
        cidrs: Option<Listed<IpNet>>,
        expires_at: Option<Timestamp>,
        pub last_used_at: Option<Timestamp>,
        revoked_at: Option<Timestamp>,
        pub tier: Tier,
        /// The version of everything the account shows.
        pub sequence: i64,
    }
}

/// The credential of a key, if it is good now. Unknown, wrong, expired and revoked keys are one.
pub fn authenticate(db: &Reader<'_>, value: &ApiKey) -> Result<Option<Found>> {
    let found: Option<Found> = db.maybe(
        "select k.id, k.account_id, k.hash, k.scopes, k.team_ids, k.cidrs, k.expires_at,
                k.last_used_at, k.revoked_at, a.tier, j.sequence
         from api_key k
         join account a on a.id = k.account_id
         join journal j on j.account_id = k.account_id
         where k.public_id = :public_id /* any account */",
        bind! { public_id: value.public_id() },
    )?;
    // An unknown key is compared too, so that it takes as long as a wrong one.
    let kept = found.as_ref().map_or([0; 32], |credential| credential.hash);
    let right = same(&kept, &value.hash());
    Ok(found.filter(|credential| right && credential.lives(db.now())))
}

impl Found {
    fn lives(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether the key may be used from this address.
    pub fn welcomes(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.cidrs.as_ref().is_none_or(|Listed(nets)| nets.iter().any(|net| net.contains(&address)))
    }
}

fn valid_name(name: &str) -> Result<String> {
    text::line(name, 120).map_err(|_| {
        Error::new(
            Code::ValidationFailed,
            "A name has 1 to 120 characters and no control characters.",
        )
        .at("/name")
    })
}

fn future(tx: &Tx<'_>, end: Option<Timestamp>) -> Result<Option<Timestamp>> {
    match end {
        Some(end) if end <= tx.now() => {
            Err(Error::new(Code::ValidationFailed, "The expiry lies in the past.")
                .at("/expires_at"))
        }
        end => Ok(end),
    }
}

/// A key or a webhook can only be narrowed to teams that the account has.
pub fn own_teams(tx: &Tx<'_>, teams: Option<Vec<TeamId>>) -> Result<Option<Vec<TeamId>>> {
    let Some(ids) = teams else { return Ok(None) };
    let known: Vec<(TeamId,)> =
        tx.all("select id from team where account_id = :account and id in (:ids)", bind! { ids })?;
    let unknown = ids.iter().filter(|id| !known.contains(&(**id,)));
    let mut faults: Vec<_> = unknown
        .map(|id| Fault::new("/team_ids", "not_found", format!("There is no team {id}.")))
        .collect();
    if ids.is_empty() {
        faults.push(Fault::new("/team_ids", "required", "Name a team, or leave the list out."));
    }
    if faults.is_empty() {
        return Ok(Some(ids));
    }
    let error = Error::new(Code::ValidationFailed, "A list of teams names existing teams.");
    Err(Error { faults, ..error })
}
