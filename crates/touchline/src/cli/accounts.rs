//! `touchline account` and `touchline key`.

use clap::Subcommand;
use kit::{IdGenerator, Rng};
use store::Db;

use super::{CommandContext, CommandResult, lines, parse_enum, with_secret};
use crate::accounts::account::{self, NewAccount};
use crate::accounts::api_key::{self, Key, NewKey};
use crate::config::read_net;
use crate::prelude::*;
use crate::tier::Tier;

/// The actor in the audit log for changes by commands.
pub(super) const ACTOR: &str = "command-line";

fn parse_zone(text: &str) -> Result<Zone, String> {
    text.parse().map_err(|_| "use an IANA time zone such as Europe/Lisbon".to_owned())
}

pub(super) fn parse_account_id(text: &str) -> Result<AccountId, String> {
    text.parse().map_err(|_| "use the id of an account (acc_…)".to_owned())
}

fn parse_key_id(text: &str) -> Result<KeyId, String> {
    text.parse()
        .map_err(|_| "not a key id: use the id of the key (key_…), not the key itself".to_owned())
}

#[derive(Debug, Subcommand)]
pub(super) enum AccountCommand {
    /// Create an account for a club or league
    Create {
        /// The name of the club
        #[arg(long)]
        name: String,
        /// The tier: free, club or league
        #[arg(long, default_value = "free", value_parser = parse_enum::<Tier>)]
        tier: Tier,
        /// The default time zone of new teams
        #[arg(long, default_value = "UTC", value_parser = parse_zone)]
        timezone: Zone,
    },
    /// List all accounts
    List,
    /// Change the tier of an account
    SetTier {
        #[arg(value_parser = parse_account_id)]
        account: AccountId,
        #[arg(value_parser = parse_enum::<Tier>)]
        tier: Tier,
    },
    /// Permanently delete an account and all its data
    Delete {
        #[arg(value_parser = parse_account_id)]
        account: AccountId,
        /// Confirm the deletion
        #[arg(long)]
        yes: bool,
    },
}

impl AccountCommand {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        let db = ctx.open_migrated().await?;
        match self {
            Self::Create { name, tier, timezone } => {
                let now = ctx.options().clock.now();
                let id: AccountId = IdGenerator::default().generate(now, &Rng::system());
                let new = NewAccount { id, name, tier, timezone, sport: None, demo: false };
                let scope = Scope::account(id, ACTOR);
                let account = db.write(scope, move |tx| account::create(tx, &new)).await?;
                ctx.print(&json!({ "account": account }), || {
                    format!("Created the account {} for {}.\nNext: touchline key create --account {} --name \"First key\" --scopes teams:read,teams:write", account.id, account.name, account.id)
                })
            }
            Self::List => {
                let accounts = db.read(Scope::system("list"), account::list).await?;
                ctx.print(&json!({ "accounts": accounts }), || {
                    if accounts.is_empty() {
                        return "There are no accounts yet.".to_owned();
                    }
                    lines(&accounts, |account| {
                        format!("{}  {:6}  {}", account.id, account.tier.as_str(), account.name)
                    })
                })
            }
            Self::SetTier { account, tier } => {
                let scope = Scope::account(account, ACTOR);
                let changed = db.write(scope, move |tx| account::set_tier(tx, tier)).await?;
                ctx.print(&json!({ "account": changed }), || {
                    format!("{} now has the tier {tier}.", changed.name)
                })
            }
            Self::Delete { account, yes } => delete(ctx, &db, account, yes).await,
        }
    }
}

async fn delete(ctx: &CommandContext, db: &Db, account: AccountId, yes: bool) -> CommandResult {
    if !yes {
        let line = "this permanently deletes the account and all its data; add --yes to confirm";
        return Err(line.into());
    }
    db.write(Scope::account(account, ACTOR), account::delete).await?;
    ctx.print(&json!({ "deleted": account }), || format!("Deleted {account} and all its data."))
}

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Create an API key. Its value is shown only once
    Create {
        #[arg(long, value_parser = parse_account_id)]
        account: AccountId,
        /// A name that says what the key is for
        #[arg(long)]
        name: String,
        /// Scopes separated by commas, such as teams:read,teams:write
        #[arg(long, value_parser = |text: &str| Scopes::parse(text))]
        scopes: Scopes,
        /// Restrict the key to these team ids, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = |text: &str| text.parse::<TeamId>().map_err(|_| "use the id of a team (team_…)"))]
        teams: Option<Vec<TeamId>>,
        /// Restrict the key to these networks, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = read_net)]
        cidrs: Option<Vec<ipnet::IpNet>>,
        /// The date from which the key no longer works (UTC)
        #[arg(long, value_name = "DATE", value_parser = |text: &str| text.parse::<Day>().map_err(|_| "use a date such as 2027-03-31"))]
        expires: Option<Day>,
    },
    /// List the API keys of an account
    List {
        #[arg(long, value_parser = parse_account_id)]
        account: AccountId,
    },
    /// Revoke an API key immediately
    Revoke {
        /// The id of the key (key_…)
        key: String,
    },
}

impl KeyCommand {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        let db = ctx.open_migrated().await?;
        match self {
            Self::Create { account, name, scopes, teams, cidrs, expires } => {
                let expires_at = expires.map(Day::start);
                let new = NewKey { name, scopes, team_ids: teams, cidrs, expires_at };
                create(ctx, &db, account, new).await
            }
            Self::List { account } => {
                let scope = Scope::account(account, ACTOR);
                let list = |db: &Reader<'_>| account::find(db).and_then(|_| api_key::list(db));
                let keys = db.read(scope, list).await?;
                ctx.print(&json!({ "keys": keys }), || format_keys(&keys))
            }
            Self::Revoke { key } => {
                // The error does not repeat the argument, which may be the key itself.
                let key = parse_key_id(&key)?;
                let account = db
                    .read(Scope::system("revoke"), move |db| api_key::account_of(db, key))
                    .await?;
                let scope = Scope::account(account, ACTOR);
                let revoked = db.write(scope, move |tx| api_key::revoke(tx, key)).await?;
                ctx.print(&json!({ "key": revoked }), || {
                    format!("Revoked {} ({}).", revoked.id, revoked.name)
                })
            }
        }
    }
}

async fn create(ctx: &CommandContext, db: &Db, account: AccountId, new: NewKey) -> CommandResult {
    let create = move |tx: &Tx<'_>| account::find(tx).and_then(|_| api_key::create(tx, new));
    let (key, value) = db.write(Scope::account(account, ACTOR), create).await?;
    let key_json = with_secret(&key, "value", value.reveal())?;
    ctx.print(&json!({ "key": key_json }), || {
        let warning = if key.scopes.is_wildcard() { "\nIt has all scopes. Use it only for your own tools, and never give it to a vendor." } else { "" };
        format!("Created {} with the scopes {}.{warning}\n\n  {}\n\nCopy it now: it is shown only once. Replace it every three months.", key.id, key.scopes, value.reveal())
    })
}

fn format_keys(keys: &[Key]) -> String {
    if keys.is_empty() {
        return "There are no API keys yet.".to_owned();
    }
    lines(keys, |key| {
        let state = if key.revoked_at.is_some() { "revoked" } else { "active" };
        let used = key.last_used_at.map_or("never used".to_owned(), |at| format!("used {at}"));
        format!(
            "{}  {state:7}  tl_live_{}_…  {}  ({})  {used}",
            key.id, key.public_id, key.name, key.scopes
        )
    })
}
