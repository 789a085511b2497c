//! The demo club: six teams, their people, a season behind and ahead, a store, what they owe, a webhook. Removable in
//! one step.

mod club;
mod fees;
mod hook;
mod people;
mod season;
mod shop;
mod sign_ins;
mod talk;

use std::path::Path;

use kit::secret::ApiKey;
use store::{Db, Scope, Tx};

pub use self::sign_ins::{SIGN_INS, sign_ins};
use crate::accounts::account::{self, Account, NewAccount, Tier};
use crate::accounts::api_key::{self, Key, NewKey};
use crate::accounts::rights::{Reach, Scopes};
use crate::app::App;
use crate::error::{Error, Result};
use crate::ids::AccountId;
use crate::webhooks::edit::Means;

/// The demo club's id is fixed, so that loading it twice changes nothing.
pub const ACCOUNT: AccountId = AccountId::from_bits(0x019a_0000_0000_7000_8000_0000_0000_0001);
const ACTOR: &str = "demo";

/// Loads the demo club, unless it is there.
pub async fn load(app: &App) -> Result<Account> {
    let means = Means::of(app, None, Reach::Everywhere);
    let scope = Scope::account(ACCOUNT, ACTOR).at_length();
    let load = move |tx: &Tx<'_>| match account::find(tx) {
        Ok(there) => Ok(there),
        Err(_) => build(tx, &means),
    };
    app.db.write(scope, load).await
}

fn build(tx: &Tx<'_>, means: &Means) -> Result<Account> {
    let account = account::create(
        tx,
        &NewAccount {
            id: ACCOUNT,
            name: "Harbour Athletic (demo)".to_owned(),
            tier: Tier::Club,
            timezone: "Europe/Lisbon".parse().map_err(|_| Error::internal("a zone is missing"))?,
            sport: Some("football".to_owned()),
            demo: true,
        },
    )?;
    let ticket = shop::open(tx)?;
    for sample in club::TEAMS {
        let team = club::found(tx, &sample)?;
        let roster = people::sign_up(tx, &sample, &team)?;
        season::plan(tx, &sample, &team, &roster)?;
        talk::begin(tx, &sample, &team, &roster)?;
        shop::sell(tx, &team, &roster, ticket)?;
        fees::charge(tx, &team)?;
    }
    hook::tell(tx, means)?;
    Ok(account)
}

/// The demo key: the one whose value lies in the data folder, or a new one that is put there. It has
/// every scope by name, not `*`.
pub async fn key(db: &Db, data: &Path) -> Result<(Key, ApiKey)> {
    let file = data.join("demo.key");
    let kept = std::fs::read_to_string(&file).ok().and_then(|text| ApiKey::parse(text.trim()).ok());
    if let Some(value) = kept
        && let Some(key) = known(db, &value).await?
    {
        return Ok((key, value));
    }
    let new = NewKey {
        name: "Demo key".to_owned(),
        scopes: Scopes::all_named(),
        team_ids: None,
        cidrs: None,
        expires_at: None,
    };
    let (key, value) =
        db.write(Scope::account(ACCOUNT, ACTOR), move |tx| api_key::create(tx, new)).await?;
    write_private(&file, value.reveal())
        .map_err(|error| Error::internal(format!("{}: {error}", file.display())))?;
    Ok((key, value))
}

async fn known(db: &Db, value: &ApiKey) -> Result<Option<Key>> {
    let value = value.clone();
    db.read(Scope::account(ACCOUNT, ACTOR), move |db| match api_key::authenticate(db, &value)? {
        Some(credential) if credential.account_id == ACCOUNT => {
            api_key::find(db, credential.id).map(Some)
        }
        _ => Ok(None),
    })
    .await
}

/// Writes a file that only its owner can read.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")
}

/// Removes the demo club and everything in it.
pub async fn remove(db: &Db, data: &Path) -> Result<()> {
    db.write(Scope::account(ACCOUNT, ACTOR), account::delete).await?;
    // The key is worthless now; whether its file could be removed does not matter.
    let _ = std::fs::remove_file(data.join("demo.key"));
    sign_ins::forget(db, data).await
}
