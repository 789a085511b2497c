//! The demo club: enough to look around, removable in one step.

use std::path::Path;

use kit::secret::ApiKey;
use store::{Db, Scope, Tx};

use crate::accounts::account::{self, Account, NewAccount, Tier};
use crate::accounts::api_key::{self, Key, NewKey};
use crate::accounts::rights::Scopes;
use crate::error::{Error, Result};
use crate::ids::AccountId;
use crate::metadata::Metadata;
use crate::teams::team::{self, NewTeam};

/// The demo club's id is fixed, so that loading it twice changes nothing.
pub const ACCOUNT: AccountId = AccountId::from_bits(0x019a_0000_0000_7000_8000_0000_0000_0001);
const ACTOR: &str = "demo";

/// Name, sport, season, age group, gender, colour, description.
type Sample = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const TEAMS: [Sample; 6] = [
    (
        "Harbour Hawks U12",
        "soccer",
        "2026/27",
        "U12",
        "girls",
        "#0b5cad",
        "Tuesday and Thursday on the lower pitch.",
    ),
    (
        "Harbour Hawks U14",
        "soccer",
        "2026/27",
        "U14",
        "boys",
        "#14532d",
        "Promoted last season; looking for a second keeper.",
    ),
    (
        "Lighthouse Netters",
        "volleyball",
        "2026/27",
        "Adult",
        "mixed",
        "#9a3412",
        "Sports hall B, all levels welcome.",
    ),
    (
        "Breakwater Bears",
        "basketball",
        "2026/27",
        "U16",
        "boys",
        "#7c2d12",
        "Home games on Saturdays at noon.",
    ),
    (
        "Anchor Sluggers",
        "softball",
        "2026",
        "Adult",
        "women",
        "#5b21b6",
        "Season runs from April to September.",
    ),
    (
        "Dockside Rovers",
        "ice_hockey",
        "2026/27",
        "U18",
        "mixed",
        "#155e75",
        "Ice time Sunday mornings; bring your own tape.",
    ),
];

/// Loads the demo club, unless it is there.
pub async fn load(db: &Db) -> Result<Account> {
    db.write(Scope::account(ACCOUNT, ACTOR), |tx| match account::find(tx) {
        Ok(there) => Ok(there),
        Err(_) => build(tx),
    })
    .await
}

fn build(tx: &Tx<'_>) -> Result<Account> {
    let account = account::create(
        tx,
        &NewAccount {
            id: ACCOUNT,
            name: "Harbour Athletic (demo)".to_owned(),
            tier: Tier::Club,
            timezone: "Europe/Lisbon".parse().map_err(|_| Error::internal("a zone is missing"))?,
            demo: true,
        },
    )?;
    for (name, sport, season, age_group, gender, color, description) in TEAMS {
        let some = |text: &str| Some(text.to_owned());
        team::create(
            tx,
            NewTeam {
                name: name.to_owned(),
                sport: some(sport),
                season: some(season),
                age_group: some(age_group),
                gender: some(gender),
                timezone: None,
                color: some(color),
                description: some(description),
                unique_jerseys: sport == "soccer",
                external_id: None,
                metadata: Metadata::default(),
            },
        )?;
    }
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
    Ok(())
}
