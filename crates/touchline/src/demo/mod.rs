//! The demo club: six teams with people, past and future events, messages, a store, dues and a webhook. Each module
//! creates its part. The club can be removed in one step.

pub mod pages;
mod sign_ins;

use std::io::Write;
use std::path::Path;

use kit::secret::ApiKey;
use store::Db;

pub use self::sign_ins::{SIGN_INS, ensure_users};
use crate::MODULES;
use crate::accounts::account::{self, Account, NewAccount};
use crate::accounts::api_key::{self, Key, NewKey};
use crate::backup::private_file;
use crate::demo_club::DemoClub;
use crate::prelude::*;
use crate::tier::Tier;
use crate::web::app::App;
use crate::web::module::Module;
use crate::webhooks::edit::EditContext;

/// The id of the demo club. It is fixed, so loading the club twice changes nothing.
pub const ACCOUNT: AccountId = AccountId::from_bits(0x019a_0000_0000_7000_8000_0000_0000_0001);
const ACTOR: &str = "demo";

/// This module.
pub const MODULE: Module = Module { pages: pages::router, ..Module::EMPTY };

/// Creates the demo club, unless it exists. Returns whether it was created now.
pub async fn load(app: &App) -> Result<(Account, bool)> {
    let mut club = DemoClub::default();
    club.insert(EditContext::new(app, None, TeamAccess::AllTeams));
    let scope = Scope::account(ACCOUNT, ACTOR).long_running();
    let load = move |tx: &Tx<'_>| match account::find(tx) {
        Ok(existing) => Ok((existing, false)),
        Err(_) => Ok((build(tx, &mut club)?, true)),
    };
    app.db.write(scope, load).await
}

fn build(tx: &Tx<'_>, club: &mut DemoClub) -> Result<Account> {
    let missing = |_| Error::internal("The time zone Europe/Lisbon is missing.");
    let new = NewAccount {
        id: ACCOUNT,
        name: "Harbour Athletic (demo)".to_owned(),
        tier: Tier::Club,
        timezone: "Europe/Lisbon".parse().map_err(missing)?,
        sport: Some("football".to_owned()),
        demo: true,
    };
    let account = account::create(tx, &new)?;
    for create in MODULES.iter().filter_map(|module| module.demo) {
        create(tx, club)?;
    }
    Ok(account)
}

/// The demo API key. Its value is read from `demo.key` in the data directory; if that file is missing or no
/// longer valid, a new key is created and written there. It has every scope by name, not `*`.
pub async fn key(db: &Db, data: &Path) -> Result<(Key, ApiKey)> {
    let file = data.join("demo.key");
    let saved =
        std::fs::read_to_string(&file).ok().and_then(|text| ApiKey::parse(text.trim()).ok());
    if let Some(value) = saved
        && let Some(key) = find_key(db, &value).await?
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
    write_private(&file, value.reveal())?;
    Ok((key, value))
}

async fn find_key(db: &Db, value: &ApiKey) -> Result<Option<Key>> {
    let value = value.clone();
    let find = move |db: &Reader<'_>| {
        let key = api_key::authenticate(db, &value)?.filter(|key| key.account_id == ACCOUNT);
        key.map(|key| api_key::find(db, key.id)).transpose()
    };
    db.read(Scope::account(ACCOUNT, ACTOR), find).await
}

/// Writes a file that only its owner can read.
fn write_private(path: &Path, text: &str) -> Result<()> {
    let written = private_file(path).and_then(|mut file| writeln!(file, "{text}"));
    written.map_err(|error| Error::internal(format!("{}: {error}", path.display())))
}

/// Removes the demo club and everything in it.
pub async fn remove(db: &Db, data: &Path) -> Result<()> {
    db.write(Scope::account(ACCOUNT, ACTOR), account::delete).await?;
    // The key no longer works, so it is fine if its file cannot be removed.
    let _ = std::fs::remove_file(data.join("demo.key"));
    sign_ins::remove_users(db, data).await
}
