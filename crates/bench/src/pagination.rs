//! Pagination: the last page of a very long list compared with the first, one request at a time.
//!
//! A change before each pair empties the service's response cache, so that both pages are read from the database.

use std::time::{Duration, Instant};

use crate::Result;
use crate::club::{Club, create_teams, page, page_path};
use crate::environment::Environment;
use crate::http::{Connection, TEAMS, get_request, request_with_body};
use crate::load::Counter;
use crate::options::Measure;
use crate::stats::median;
use crate::table::{Row, TargetResult, millis, thousands};

const TEAM_COUNT: usize = 1_000_000;
const LIMIT: usize = 50;
const PAIRS: usize = 2000;

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let database = environment.database("club").await?;
    let club = Club::create(&database)?;
    let teams = measure.scaled(TEAM_COUNT);
    create_teams(&database, &club, teams, &Counter::default()).await?;
    let service = database.serve(&[]).await?;
    let mut connection = Connection::open(service.address).await?;
    let (cursor, team) = find_last_page(&mut connection, &club, teams).await?;
    let first = get_request(&page_path(LIMIT, None), &club.key);
    let last = get_request(&page_path(LIMIT, Some(&cursor)), &club.key);
    let (mut firsts, mut lasts) = (Vec::new(), Vec::new());
    for number in 0..measure.scaled(PAIRS) {
        let body = format!(r##"{{"color":"#{number:06x}"}}"##);
        let change = request_with_body("PATCH", &format!("{TEAMS}/{team}"), &club.key, "", &body);
        connection.request(&change).await?.expect(200)?;
        // The first request of a pair finds colder caches, so the pages take turns.
        if number % 2 == 0 {
            firsts.push(request_seconds(&mut connection, &first).await?);
            lasts.push(request_seconds(&mut connection, &last).await?);
        } else {
            lasts.push(request_seconds(&mut connection, &last).await?);
            firsts.push(request_seconds(&mut connection, &first).await?);
        }
    }
    Ok(vec![row(teams, median(lasts), median(firsts))])
}

/// Reads the list to its end. Returns the cursor of the last page and the id of a team in the middle.
async fn find_last_page(
    connection: &mut Connection,
    club: &Club,
    teams: usize,
) -> Result<(String, String)> {
    let (mut cursor, mut team, mut count) = (None, None, 0);
    loop {
        let read = page(connection, club, 2 * LIMIT, cursor.as_deref()).await?;
        count += read.data.len();
        if count >= teams / 2 {
            team = team.or_else(|| read.data.into_iter().next().map(|team| team.id));
        }
        match read.next_cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    if count != teams {
        return Err(format!("the list has {count} of {teams} teams"));
    }
    let second_to_last = page(connection, club, LIMIT, cursor.as_deref()).await?;
    let last = second_to_last.next_cursor.zip(team);
    last.ok_or_else(|| "the list has only one page".to_owned())
}

async fn request_seconds(connection: &mut Connection, request: &[u8]) -> Result<f64> {
    let started = Instant::now();
    connection.request(request).await?.expect(200)?;
    Ok(started.elapsed().as_secs_f64())
}

fn row(teams: usize, last: f64, first: f64) -> Row {
    let ratio = last / first;
    let in_millis = |seconds| millis(Duration::from_secs_f64(seconds));
    Row {
        name: "Last page of a long list compared with the first".to_owned(),
        target: "≤ 1.5",
        result: format!("{} of {} teams", in_millis(last), thousands(teams as f64)),
        baseline: in_millis(first),
        ratio: format!("{ratio:.2}"),
        verdict: TargetResult::Target(ratio <= 1.5),
    }
}
