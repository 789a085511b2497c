//! A club: an account with an API key and many teams.

use std::time::Instant;

use serde::Deserialize;
use store::{Db, Scope};
use touchline::error::Error;
use touchline::ids::AccountId;
use touchline::teams::team::{self, NewTeam};

use crate::Result;
use crate::environment::{Database, run_sql};
use crate::http::{Connection, TEAMS, get_request};
use crate::load::Counter;
use crate::table::thousands;

/// The number of teams that are created in one transaction.
const BATCH_SIZE: usize = 500;

/// An account and the value of its key.
pub(crate) struct Club {
    pub(crate) account: AccountId,
    pub(crate) key: String,
}

impl Club {
    /// Creates a club with the command line of the service.
    pub(crate) fn create(database: &Database) -> Result<Self> {
        let args = ["account", "create", "--name", "Bench", "--tier", "league", "--json"];
        let account = string_at(&database.run(&args)?, "/account/id")?;
        let scopes = "teams:read,teams:write,events:read,events:write,orders:read,orders:write";
        let key = database.run(&[
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
        let key = string_at(&key, "/key/value")?;
        let account = account.parse().map_err(|_| format!("{account} is not an account id"))?;
        Ok(Self { account, key })
    }
}

fn string_at(output: &str, pointer: &str) -> Result<String> {
    let json: serde_json::Value = serde_json::from_str(output)
        .map_err(|error| format!("the output is not JSON: {error}: {output}"))?;
    let value = json.pointer(pointer).and_then(serde_json::Value::as_str);
    value.map(str::to_owned).ok_or_else(|| format!("{json} has no {pointer}"))
}

/// The team that every client of the benchmark creates.
pub(crate) fn new_team(number: u64) -> NewTeam {
    NewTeam {
        name: format!("Harbour Hawks {number:012}"),
        sport: Some("soccer".to_owned()),
        season: Some("2026/27".to_owned()),
        ..NewTeam::default()
    }
}

/// Creates this number of teams in the club.
pub(crate) async fn create_teams(
    database: &Database,
    club: &Club,
    count: usize,
    numbers: &Counter,
) -> Result<()> {
    let started = Instant::now();
    let db = database.open()?;
    match &database.url {
        None => create_batches(&db, club, count, numbers).await?,
        // PostgreSQL creates only one or two thousand teams per second in one account.
        Some(url) => {
            create_batches(&db, club, 1, numbers).await?;
            numbers.take(count as u64 - 1);
            copy_team(url, count).await?;
        }
    }
    db.close();
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("  {} teams in {seconds:.0} s", thousands(count as f64));
    Ok(())
}

async fn create_batches(db: &Db, club: &Club, count: usize, numbers: &Counter) -> Result<()> {
    for done in (0..count).step_by(BATCH_SIZE) {
        let numbers = numbers.clone();
        let scope = Scope::account(club.account, "bench");
        db.write(scope, move |tx| {
            for _ in done..count.min(done + BATCH_SIZE) {
                team::create(tx, new_team(numbers.next()))?;
            }
            Ok::<_, Error>(())
        })
        .await
        .map_err(|error| format!("cannot create teams: {error:?}"))?;
    }
    Ok(())
}

/// Copies the only team, with a unique id and name for each copy. The copies are not in the audit log and the
/// notification log, which lists do not read.
async fn copy_team(url: &str, count: usize) -> Result<()> {
    let insert = format!(
        "insert into team
         select copy.*
         from team as original, generate_series(1, {count} - 1) as number,
              jsonb_populate_record(original, jsonb_build_object(
                  'id', concat('\\x', substring(encode(original.id, 'hex') for 20),
                               lpad(to_hex(number), 12, '0')),
                  'name', concat('Harbour Hawks ', lpad(number::text, 12, '0')),
                  'name_folded', concat('harbour hawks ', lpad(number::text, 12, '0'))
              )) as copy"
    );
    // Now, so that autovacuum does not run during a round.
    run_sql(url, &[insert, "vacuum analyze".to_owned()]).await.map(drop)
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) data: Vec<TeamRef>,
    pub(crate) next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TeamRef {
    pub(crate) id: String,
}

/// The path of the page after a cursor.
pub(crate) fn page_path(limit: usize, cursor: Option<&str>) -> String {
    let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    format!("{TEAMS}?limit={limit}{cursor}")
}

/// Reads a page.
pub(crate) async fn page(
    connection: &mut Connection,
    club: &Club,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Page> {
    let request = get_request(&page_path(limit, cursor), &club.key);
    let body = connection.request(&request).await?.expect(200)?;
    serde_json::from_slice(body).map_err(|error| format!("the response is not a page: {error}"))
}
