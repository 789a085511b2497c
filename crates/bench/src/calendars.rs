//! The calendar of a team with a thousand events: not cached, cached, and not modified.

use std::net::SocketAddr;

use crate::Result;
use crate::baseline_server;
use crate::http::Connection;
use crate::load::RequestCycle;
use crate::schedule_fixture::{Fixture, compare_read};
use crate::season::BUSY_EVENTS;
use crate::stats::Rounds;
use crate::table::Row;

/// The results of all rounds.
#[derive(Default)]
struct Results {
    baseline: Rounds,
    empty_baseline: Rounds,
    teams: Rounds,
    uncached: Rounds,
    cached: Rounds,
    not_modified: Rounds,
}

pub(crate) async fn measure(fixture: &Fixture, ours: SocketAddr) -> Result<Vec<Row>> {
    let calendars: Vec<_> =
        fixture.season.calendars.iter().map(|token| calendar_request(token, "")).collect();
    let (text, tag) = read_calendar(ours, &calendars[0]).await?;
    let not_modified =
        calendar_request(&fixture.season.calendars[0], &format!("If-None-Match: {tag}\r\n"));
    let not_modified = RequestCycle::new(vec![not_modified]).with_expected_status(304);
    let one = RequestCycle::new(vec![calendars[0].clone()]);
    let all = RequestCycle::new(calendars);
    let empty = RequestCycle::new(vec![b"GET /empty HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()]);
    let routes = [("/calendar/{file}".to_owned(), text), ("/empty".to_owned(), Vec::new())];
    let bare = baseline_server::start(&fixture.database, &routes).await?;
    let mut results = Results::default();
    for round in 0..fixture.timing.rounds {
        eprintln!("  calendars, round {}", round + 1);
        results.baseline.add(fixture.read(bare.address, &one).await?);
        results.teams.add(fixture.read(ours, &fixture.first_team_page()).await?);
        results.uncached.add(fixture.read(ours, &all).await?);
        results.cached.add(fixture.read(ours, &one).await?);
        results.empty_baseline.add(fixture.read(bare.address, &empty).await?);
        results.not_modified.add(fixture.read(ours, &not_modified).await?);
    }
    Ok(results.rows())
}

fn calendar_request(token: &str, headers: &str) -> Vec<u8> {
    format!("GET /calendar/{token}.ics HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").into()
}

/// Reads a calendar and its `ETag`, and checks that it has all events.
async fn read_calendar(ours: SocketAddr, request: &[u8]) -> Result<(Vec<u8>, String)> {
    let mut connection = Connection::open(ours).await?;
    let response = connection.request(request).await?;
    let tag = response.header("etag").ok_or("the calendar has no ETag")?.to_owned();
    let text = response.expect(200)?.to_vec();
    let events = String::from_utf8_lossy(&text).matches("BEGIN:VEVENT").count();
    if events != BUSY_EVENTS {
        return Err(format!("the calendar has {events} of {BUSY_EVENTS} events"));
    }
    Ok((text, tag))
}

impl Results {
    fn rows(&self) -> Vec<Row> {
        let feed = "`/calendar/….ics`, 1,000 events";
        vec![
            compare_read(
                format!("{feed}, not cached"),
                &self.uncached,
                &self.baseline,
                &self.teams,
            ),
            compare_read(format!("{feed}, cached"), &self.cached, &self.baseline, &self.teams),
            compare_read(
                format!("{feed}, 304"),
                &self.not_modified,
                &self.empty_baseline,
                &self.teams,
            ),
        ]
    }
}
