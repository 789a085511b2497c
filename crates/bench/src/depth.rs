//! Depth: the last page of a very long list against the first, one request at a time.
//!
//! A change before each pair makes the service forget what it answered before, so that both pages are
//! really read.

use std::time::{Duration, Instant};

use crate::Result;
use crate::club::{Club, fill, page, page_path};
use crate::figures::median;
use crate::http::{Connection, TEAMS, get, send};
use crate::load::Numbers;
use crate::options::Measure;
use crate::site::Site;
use crate::table::{Row, Verdict, millis, thousands};

const TEAMS_THERE: usize = 1_000_000;
const LIMIT: usize = 50;
const PAIRS: usize = 2000;

pub(crate) async fn measure(site: &Site, measure: &Measure) -> Result<Vec<Row>> {
    let database = site.database("club").await?;
    let club = Club::found(&database)?;
    let teams = measure.teams(TEAMS_THERE);
    fill(&database, &club, teams, &Numbers::default()).await?;
    let service = database.serve(&[]).await?;
    let mut connection = Connection::open(service.address).await?;
    let (cursor, team) = walk(&mut connection, &club, teams).await?;
    let first = get(&page_path(LIMIT, None), &club.key);
    let last = get(&page_path(LIMIT, Some(&cursor)), &club.key);
    let (mut firsts, mut lasts) = (Vec::new(), Vec::new());
    for number in 0..measure.teams(PAIRS) {
        let colour = format!(r##"{{"color":"#{number:06x}"}}"##);
        let change = send("PATCH", &format!("{TEAMS}/{team}"), &club.key, "", &colour);
        connection.ask(&change).await?.expect(200)?;
        // Whichever comes first finds colder caches, so they take turns.
        if number % 2 == 0 {
            firsts.push(timed(&mut connection, &first).await?);
            lasts.push(timed(&mut connection, &last).await?);
        } else {
            lasts.push(timed(&mut connection, &last).await?);
            firsts.push(timed(&mut connection, &first).await?);
        }
    }
    Ok(vec![row(teams, median(lasts), median(firsts))])
}

/// Walks to the end of the list and finds the cursor of its last page, and a team on the way.
async fn walk(connection: &mut Connection, club: &Club, teams: usize) -> Result<(String, String)> {
    let wide = 2 * LIMIT;
    let (mut cursor, mut team, mut seen) = (None, None, 0);
    loop {
        let found = page(connection, club, wide, cursor.as_deref()).await?;
        seen += found.data.len();
        if seen >= teams / 2 {
            team = team.or_else(|| found.data.into_iter().next().map(|team| team.id));
        }
        match found.next_cursor {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    if seen != teams {
        return Err(format!("the list shows {seen} of {teams} teams"));
    }
    let before = page(connection, club, LIMIT, cursor.as_deref()).await?;
    let last = before.next_cursor.zip(team);
    last.ok_or_else(|| "the list has no last page of its own".to_owned())
}

async fn timed(connection: &mut Connection, request: &[u8]) -> Result<f64> {
    let began = Instant::now();
    connection.ask(request).await?.expect(200)?;
    Ok(began.elapsed().as_secs_f64())
}

fn row(teams: usize, last: f64, first: f64) -> Row {
    let ratio = last / first;
    let shown = |seconds| millis(Duration::from_secs_f64(seconds));
    Row {
        name: "the last page of a long list against the first".to_owned(),
        ask: "≤ 1.5",
        us: format!("{} of {} teams", shown(last), thousands(teams as f64)),
        against: shown(first),
        ratio: format!("{ratio:.2}"),
        verdict: Verdict::Asked(ratio <= 1.5),
    }
}
