//! The account: a club or league, with its tier.

use kit::{Timestamp, Zone, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use crate::error::{Code, Error, Fault, Result};
use crate::ids::AccountId;
use crate::signals::{self, Subject, Tell};
use crate::thing::thing;

words! {
    /// What an account may use: its rate limit depends on it.
    pub enum Tier {
        Free = "free",
        Club = "club",
        League = "league",
    }
}
word_column!(Tier);

impl Tier {
    /// The tier as pages name it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Free => "Free",
            Self::Club => "Club",
            Self::League => "League",
        }
    }
}

record! {
    /// A club or league.
    #[derive(Debug, Clone, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "account")]
    pub struct Account in account {
        pub id: AccountId,
        /// The club's name.
        #[schema(examples("Harbour Athletic"))]
        pub name: String,
        pub tier: Tier,
        /// The zone that new teams get.
        pub timezone: Zone,
        /// What the club plays mostly.
        #[schema(examples("football"))]
        pub sport: Option<String>,
        /// Whether this is the demo club, which can be removed in one step.
        pub demo: bool,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

thing!(Account by AccountId: Subject);

/// What is needed to make an account.
#[derive(Debug, Clone)]
pub struct NewAccount {
    pub id: AccountId,
    pub name: String,
    pub tier: Tier,
    pub timezone: Zone,
    pub sport: Option<String>,
    pub demo: bool,
}

/// Makes an account. The job runs in the scope of the account that it makes.
pub fn create(tx: &Tx<'_>, new: &NewAccount) -> Result<Account> {
    let name = text::line(&new.name, 120).map_err(|_| {
        Error::new(
            Code::ValidationFailed,
            "A name has 1 to 120 characters and no control characters.",
        )
        .at("/name")
    })?;
    let account = Account {
        id: new.id,
        name,
        tier: new.tier,
        timezone: new.timezone.clone(),
        sport: new.sport.clone(),
        demo: new.demo,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.run(sql!(Account::INSERT, " /* any account */"), &account.bind())?;
    signals::open_journal(tx)?;
    tx.audit("account.created", &account.subject(), &serde_json::json!({ "name": account.name }))?;
    Ok(account)
}

/// The account of this job.
pub fn find(db: &Reader<'_>) -> Result<Account> {
    Ok(db.one(sql!(Account::SELECT, " where id = :account"), bind! {})?)
}

/// Every account there is, oldest first.
pub fn list(db: &Reader<'_>) -> Result<Vec<Account>> {
    Ok(db.all(sql!(Account::SELECT, " order by id /* any account */"), bind! {})?)
}

/// What those who look after a club can say of it.
#[derive(Debug, Clone)]
pub struct AccountChange {
    pub name: String,
    pub timezone: String,
    pub sport: Option<String>,
}

/// Changes what is said of the account. A change that changes nothing tells nobody.
pub fn change(tx: &Tx<'_>, change: &AccountChange) -> Result<Account> {
    let mut faults = Vec::new();
    let mut line = |pointer: &str, text: &str, max| {
        text::line(text, max).unwrap_or_else(|_| {
            let detail = format!("Write 1 to {max} characters on one line.");
            faults.push(Fault::new(pointer, "invalid", detail));
            String::new()
        })
    };
    let name = line("/name", &change.name, 120);
    let sport = change.sport.as_deref().map(|sport| line("/sport", sport, 60));
    let timezone: Option<Zone> = change.timezone.parse().ok();
    if timezone.is_none() {
        let detail = "This is not the name of a time zone, such as Europe/Lisbon.";
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
    tx.run(
        "update account set name = :name, timezone = :timezone, sport = :sport, updated_at = :now,
             version = :version
         where id = :account",
        bind! { name, timezone, sport, version },
    )?;
    tx.tell_change("account.updated", &before, &account)?;
    Ok(account)
}

/// Moves the account to another tier.
pub fn set_tier(tx: &Tx<'_>, tier: Tier) -> Result<Account> {
    let before = find(tx)?;
    let account =
        Account { tier, updated_at: tx.now(), version: before.version + 1, ..before.clone() };
    tx.run(
        "update account set tier = :tier, updated_at = :now, version = version + 1 where id = :account",
        bind! { tier },
    )?;
    let details = serde_json::json!({ "tier": tier, "previous": before.tier });
    tx.audit("account.tier_changed", &account.subject(), &details)?;
    Ok(account)
}

/// Removes the account and everything that belongs to it: every table of a tenant points to its
/// account, or to what belongs to it, and goes with it; but for deliveries, which point nowhere.
pub fn delete(tx: &Tx<'_>) -> Result<()> {
    if tx.run("delete from account where id = :account", bind! {})? == 0 {
        return Err(Error::not_found());
    }
    tx.run("delete from delivery where account_id = :account", bind! {})?;
    Ok(())
}
