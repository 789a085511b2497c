//! `touchline account` and `touchline key`.

use clap::Subcommand;
use kit::word::Word;
use kit::{Day, Dice, IdMaker, Zone};
use serde_json::json;
use store::{Db, Scope};

use super::{Desk, Outcome, Refusal, refused};
use crate::accounts::account::{self, NewAccount, Tier};
use crate::accounts::api_key::{self, Key, NewKey};
use crate::accounts::rights::Scopes;
use crate::config::read_net;
use crate::ids::{AccountId, KeyId, TeamId};

/// Who the audit log says did it.
pub(super) const ACTOR: &str = "command-line";

fn tier(text: &str) -> Result<Tier, String> {
    Tier::parse(text).ok_or_else(|| format!("one of: {}", Tier::choices()))
}

fn zone(text: &str) -> Result<Zone, String> {
    text.parse().map_err(|_| "not a time zone such as Europe/Lisbon".to_owned())
}

pub(super) fn account_id(text: &str) -> Result<AccountId, String> {
    text.parse().map_err(|_| "not the id of an account (acc_…)".to_owned())
}

fn key_id(text: &str) -> Result<KeyId, String> {
    text.parse().map_err(|_| "not the id of a key (key_…)".to_owned())
}

#[derive(Debug, Subcommand)]
pub(super) enum AccountVerb {
    /// Make an account for a club or league
    Create {
        /// The club's name
        #[arg(long)]
        name: String,
        /// free, club or league
        #[arg(long, default_value = "free", value_parser = tier)]
        tier: Tier,
        /// The zone that new teams get
        #[arg(long, default_value = "UTC", value_parser = zone)]
        timezone: Zone,
    },
    /// List every account
    List,
    /// Move an account to another tier
    SetTier {
        #[arg(value_parser = account_id)]
        account: AccountId,
        #[arg(value_parser = tier)]
        tier: Tier,
    },
    /// Remove an account and everything in it, for good
    Delete {
        #[arg(value_parser = account_id)]
        account: AccountId,
        /// Say that this is meant
        #[arg(long)]
        yes: bool,
    },
}

impl AccountVerb {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        let db = desk.open_migrated().await?;
        match self {
            Self::Create { name, tier, timezone } => {
                let options = desk.options();
                let id: AccountId = IdMaker::default().make(options.clock.now(), &Dice::system());
                let new = NewAccount { id, name, tier, timezone, sport: None, demo: false };
                let account = db
                    .write(Scope::account(id, ACTOR), move |tx| account::create(tx, &new))
                    .await
                    .map_err(refused)?;
                desk.say(&json!({ "account": account }), || {
                    format!("Made the account {} for {}.\nNext: touchline key create --account {} --name \"First key\" --scopes teams:read,teams:write", account.id, account.name, account.id)
                })
            }
            Self::List => {
                let accounts =
                    db.read(Scope::system("list"), account::list).await.map_err(refused)?;
                desk.say(&json!({ "accounts": accounts }), || {
                    let line = |account: &account::Account| {
                        format!("{}  {:6}  {}", account.id, account.tier.word(), account.name)
                    };
                    if accounts.is_empty() {
                        "There is no account yet.".to_owned()
                    } else {
                        accounts.iter().map(line).collect::<Vec<_>>().join("\n")
                    }
                })
            }
            Self::SetTier { account, tier } => {
                let changed = db
                    .write(Scope::account(account, ACTOR), move |tx| account::set_tier(tx, tier))
                    .await
                    .map_err(refused)?;
                desk.say(&json!({ "account": changed }), || {
                    format!("{} is now in the tier {tier}.", changed.name)
                })
            }
            Self::Delete { account, yes } => delete(desk, &db, account, yes).await,
        }
    }
}

async fn delete(desk: &Desk, db: &Db, account: AccountId, yes: bool) -> Outcome {
    if !yes {
        return Err(Refusal::from(
            "this removes the account and everything in it, for good; add --yes if you mean it",
        ));
    }
    db.write(Scope::account(account, ACTOR), account::delete).await.map_err(refused)?;
    desk.say(&json!({ "deleted": account }), || format!("Removed {account} and everything in it."))
}

#[derive(Debug, Subcommand)]
pub(super) enum KeyVerb {
    /// Make an API key; its value is shown this once
    Create {
        #[arg(long, value_parser = account_id)]
        account: AccountId,
        /// What the key is for
        #[arg(long)]
        name: String,
        /// Scopes separated by commas, such as teams:read,teams:write
        #[arg(long, value_parser = |text: &str| Scopes::parse(text))]
        scopes: Scopes,
        /// Only these teams, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = |text: &str| text.parse::<TeamId>().map_err(|_| "not the id of a team (team_…)"))]
        teams: Option<Vec<TeamId>>,
        /// Only from these networks, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = read_net)]
        cidrs: Option<Vec<ipnet::IpNet>>,
        /// The day from which the key no longer works
        #[arg(long, value_name = "DATE", value_parser = |text: &str| text.parse::<Day>().map_err(|_| "not a day such as 2027-03-31"))]
        expires: Option<Day>,
    },
    /// List an account's keys
    List {
        #[arg(long, value_parser = account_id)]
        account: AccountId,
    },
    /// Revoke a key at once
    Revoke {
        /// The key's id, key_…
        key: String,
    },
}

impl KeyVerb {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        let db = desk.open_migrated().await?;
        match self {
            Self::Create { account, name, scopes, teams, cidrs, expires } => {
                let expires_at = expires.map(Day::start);
                let new = NewKey { name, scopes, team_ids: teams, cidrs, expires_at };
                create(desk, &db, account, new).await
            }
            Self::List { account } => {
                let scope = Scope::account(account, ACTOR);
                let keys = db
                    .read(scope, |db| account::find(db).and_then(|_| api_key::list(db)))
                    .await
                    .map_err(refused)?;
                desk.say(&json!({ "keys": keys }), || listed(&keys))
            }
            Self::Revoke { key } => {
                // What was typed is not repeated: it may be the key itself.
                let key = key_id(&key)?;
                let account =
                    db.read(Scope::system("revoke"), move |db| api_key::account_of(db, key)).await;
                let scope = Scope::account(account.map_err(refused)?, ACTOR);
                let revoked =
                    db.write(scope, move |tx| api_key::revoke(tx, key)).await.map_err(refused)?;
                desk.say(&json!({ "key": revoked }), || {
                    format!("Revoked {} ({}).", revoked.id, revoked.name)
                })
            }
        }
    }
}

async fn create(desk: &Desk, db: &Db, account: AccountId, new: NewKey) -> Outcome {
    let (key, value) = db
        .write(Scope::account(account, ACTOR), move |tx| {
            account::find(tx)?;
            api_key::create(tx, new)
        })
        .await
        .map_err(refused)?;
    let mut shown = serde_json::to_value(&key)?;
    shown["value"] = value.reveal().into();
    desk.say(&json!({ "key": shown }), || {
        let warning = if key.scopes.everything() { "\nIt passes every scope check: keep it for your own tools, never hand it to a vendor." } else { "" };
        format!("Made {} with {}.{warning}\n\n  {}\n\nThis is the only time it is shown. Advice: make a new one every quarter.", key.id, key.scopes, value.reveal())
    })
}

fn listed(keys: &[Key]) -> String {
    if keys.is_empty() {
        return "There is no key yet.".to_owned();
    }
    let line = |key: &Key| {
        let state = if key.revoked_at.is_some() { "revoked" } else { "live" };
        let used = key.last_used_at.map_or("never used".to_owned(), |at| format!("used {at}"));
        format!(
            "{}  {state:7}  tl_live_{}_…  {}  ({})  {used}",
            key.id, key.public_id, key.name, key.scopes
        )
    };
    keys.iter().map(line).collect::<Vec<_>>().join("\n")
}
