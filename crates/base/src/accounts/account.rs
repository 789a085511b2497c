//! The account: a club or league, with its tier.

use kit::text;

use super::api_key;
use crate::hook::Hook;
use crate::prelude::*;
use crate::signals::{self, Subject};
use crate::tier::Tier;

/// Runs when the account is deleted, for tables without a foreign key.
pub static ON_DELETED: Hook<fn(&Tx<'_>) -> Result<()>> = Hook::new("account::ON_DELETED");

record! {
    /// A club or league.
    #[macros::object("account")]
    #[derive(Debug, Clone, Serialize, ToSchema)]
    pub struct Account in account {
        /// Unique ID of the account.
        pub id: AccountId,
        /// Name of the club or league.
        #[schema(examples("Harbour Athletic"))]
        pub name: String,
        /// Pricing tier of the account: `free`, `club` or `league`. It determines the rate limit.
        pub tier: Tier,
        /// Default time zone of new teams, as an IANA name.
        pub timezone: Zone,
        /// Main sport of the club.
        #[schema(examples("soccer"))]
        pub sport: Option<String>,
        /// Whether this is the demo club, which can be deleted in one step.
        pub demo: bool,
        /// When the account was created.
        pub created_at: Timestamp,
        /// When the account last changed.
        pub updated_at: Timestamp,
        /// Version of the account; increases with every change.
        pub version: i64,
    }
}

impl_resource!(Account by AccountId: Subject);

/// Input for [`create`].
#[derive(Debug, Clone)]
pub struct NewAccount {
    pub id: AccountId,
    pub name: String,
    pub tier: Tier,
    pub timezone: Zone,
    pub sport: Option<String>,
    pub demo: bool,
}

/// Creates an account. The transaction must already run in the scope of the new account's id.
pub fn create(tx: &Tx<'_>, new: &NewAccount) -> Result<Account> {
    let account = Account {
        id: new.id,
        name: api_key::validate_name(&new.name)?,
        tier: new.tier,
        timezone: new.timezone.clone(),
        sport: new.sport.clone(),
        demo: new.demo,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute(sql!(Account::INSERT, " /* any account */"), &account.bind())?;
    signals::create_journal(tx)?;
    tx.audit("account.created", &account.subject(), &serde_json::json!({ "name": account.name }))?;
    Ok(account)
}

/// The account this transaction is scoped to.
pub fn find(db: &Reader<'_>) -> Result<Account> {
    Ok(db.one(sql!(Account::SELECT, " where id = :account"), bind! {})?)
}

/// All accounts of the installation, oldest first.
pub fn list(db: &Reader<'_>) -> Result<Vec<Account>> {
    Ok(db.all(sql!(Account::SELECT, " order by id /* any account */"), bind! {})?)
}

/// The fields of an account that its admins can change.
#[derive(Debug, Clone)]
pub struct AccountChange {
    pub name: String,
    pub timezone: String,
    pub sport: Option<String>,
}

/// Updates the account. If nothing changes, no notification is published.
pub fn change(tx: &Tx<'_>, change: &AccountChange) -> Result<Account> {
    let mut faults = Vec::new();
    let mut line = |pointer: &str, text: &str, max| {
        text::normalize_line(text, max).unwrap_or_else(|_| {
            let detail = message!("Enter 1 to {max} characters on a single line.", max);
            faults.push(Fault::new(pointer, "invalid", detail));
            String::new()
        })
    };
    let name = line("/name", &change.name, 120);
    let sport = change.sport.as_deref().map(|sport| line("/sport", sport, 60));
    let timezone: Option<Zone> = change.timezone.parse().ok();
    if timezone.is_none() {
        let detail = "This time zone does not exist. Enter a name such as Europe/Lisbon.";
        faults.push(Fault::new("/timezone", "invalid", detail));
    }
    let Some(timezone) = timezone.filter(|_| faults.is_empty()) else {
        return Err(Error::invalid(faults));
    };
    let before = find(tx)?;
    if (&before.name, &before.timezone, &before.sport) == (&name, &timezone, &sport) {
        return Ok(before);
    }
    let (updated_at, version) = (tx.now(), before.version + 1);
    let account = Account { name, timezone, sport, updated_at, version, ..before.clone() };
    let Account { name, timezone, sport, .. } = &account;
    tx.execute(
        "update account set name = :name, timezone = :timezone, sport = :sport, updated_at = :now,
             version = :version
         where id = :account",
        bind! { name, timezone, sport, version },
    )?;
    tx.publish_change("account.updated", &before, &account)?;
    Ok(account)
}

/// Moves the account to another tier.
pub fn set_tier(tx: &Tx<'_>, tier: Tier) -> Result<Account> {
    let before = find(tx)?;
    let account =
        Account { tier, updated_at: tx.now(), version: before.version + 1, ..before.clone() };
    tx.execute(
        "update account set tier = :tier, updated_at = :now, version = version + 1 where id = :account",
        bind! { tier },
    )?;
    let details = serde_json::json!({ "tier": tier, "previous": before.tier });
    tx.audit("account.tier_changed", &account.subject(), &details)?;
    Ok(account)
}

/// Deletes the account and everything that belongs to it. Foreign keys cascade from `account` to every tenant table
/// except `delivery`, which has no foreign key and is deleted by the hook.
pub fn delete(tx: &Tx<'_>) -> Result<()> {
    if tx.execute("delete from account where id = :account", bind! {})? == 0 {
        return Err(Error::not_found());
    }
    ON_DELETED.get()?(tx)
}
