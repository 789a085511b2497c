//! A club: an account with a key, its many teams, and the walk along its list.

use std::time::Instant;

use serde::Deserialize;
use store::{Db, Scope};
use touchline::error::Error;
use touchline::ids::AccountId;
use touchline::metadata::Metadata;
use touchline::teams::team::{self, NewTeam};

use crate::Result;
use crate::http::{Connection, TEAMS, get};
use crate::load::Numbers;
use crate::site::{Database, admin};
use crate::table::thousands;

/// How many teams are made in one job while a club is filled.
const TOGETHER: usize = 500;

/// An account and the value of its key.
pub(crate) struct Club {
    pub(crate) account: AccountId,
    pub(crate) key: String,
}

impl Club {
    /// A new club, made from the command line as an operator would.
    pub(crate) fn found(database: &Database) -> Result<Self> {
        let words = ["account", "create", "--name", "Bench", "--tier", "league", "--json"];
        let account = word_in(&database.said(&words)?, "/account/id")?;
        let scopes = "teams:read,teams:write,events:read,events:write,orders:read,orders:write";
        let key = database.said(&[
            "key",
            "create",
            "--account",
            &account,
            "--name",
            "bench",
            "--scopes",
            scopes,
            "--json",
        ])?;
        let key = word_in(&key, "/key/value")?;
        let account = account.parse().map_err(|_| format!("{account} is not an account's id"))?;
        Ok(Self { account, key })
    }
}

fn word_in(said: &str, pointer: &str) -> Result<String> {
    let said: serde_json::Value =
        serde_json::from_str(said).map_err(|error| format!("not JSON: {error}: {said}"))?;
    let word = said.pointer(pointer).and_then(serde_json::Value::as_str);
    word.map(str::to_owned).ok_or_else(|| format!("{said} has no {pointer}"))
}

/// The team that every client of the benchmark creates.
pub(crate) fn new_team(number: u64) -> NewTeam {
    NewTeam {
        name: format!("Harbour Hawks {number:012}"),
        sport: Some("soccer".to_owned()),
        season: Some("2026/27".to_owned()),
        age_group: None,
        gender: None,
        timezone: None,
        color: None,
        description: None,
        unique_jerseys: false,
        external_id: None,
        metadata: Metadata::default(),
    }
}

/// Gives the club this many teams, numbered from zero.
pub(crate) async fn fill(
    database: &Database,
    club: &Club,
    many: usize,
    numbers: &Numbers,
) -> Result<()> {
    let began = Instant::now();
    let db = database.open()?;
    match &database.url {
        None => create(&db, club, many, numbers).await?,
        // One account writes a thousand teams a second or two there, which would take all day.
        Some(url) => {
            create(&db, club, 1, numbers).await?;
            numbers.some(many as u64 - 1);
            copy(url, many).await?;
        }
    }
    db.close();
    let seconds = began.elapsed().as_secs_f64();
    eprintln!("  {} teams in {seconds:.0} s", thousands(many as f64));
    Ok(())
}

async fn create(db: &Db, club: &Club, many: usize, numbers: &Numbers) -> Result<()> {
    for done in (0..many).step_by(TOGETHER) {
        let numbers = numbers.clone();
        let scope = Scope::account(club.account, "bench");
        db.write(scope, move |tx| {
            for _ in done..many.min(done + TOGETHER) {
                team::create(tx, new_team(numbers.next()))?;
            }
            Ok::<_, Error>(())
        })
        .await
        .map_err(|error| format!("cannot create teams: {error:?}"))?;
    }
    Ok(())
}

/// Copies the only team there is, with an id and a name of its own for each copy. The logs of what
/// happened know nothing of the copies; a list does not look there.
async fn copy(url: &str, many: usize) -> Result<()> {
    let insert = format!(
        "insert into team
         select copy.*
         from team as original, generate_series(1, {many} - 1) as number,
              jsonb_populate_record(original, jsonb_build_object(
                  'id', concat('\\x', substring(encode(original.id, 'hex') for 20),
                               lpad(to_hex(number), 12, '0')),
                  'name', concat('Harbour Hawks ', lpad(number::text, 12, '0')),
                  'name_folded', concat('harbour hawks ', lpad(number::text, 12, '0'))
              )) as copy"
    );
    // What the server would do by itself sooner or later must not fall into a round.
    admin(url, &[insert, "vacuum analyze".to_owned()]).await.map(drop)
}

/// A page as it was answered.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) data: Vec<Listed>,
    pub(crate) next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) id: String,
}

/// The address of the page after a cursor.
pub(crate) fn page_path(limit: usize, cursor: Option<&str>) -> String {
    let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    format!("{TEAMS}?limit={limit}{cursor}")
}

/// Asks for a page.
pub(crate) async fn page(
    connection: &mut Connection,
    club: &Club,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Page> {
    let request = get(&page_path(limit, cursor), &club.key);
    let body = connection.ask(&request).await?.expect(200)?;
    serde_json::from_slice(body).map_err(|error| format!("not a page: {error}"))
}
