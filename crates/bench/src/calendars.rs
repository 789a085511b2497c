//! The calendar of a team with a thousand events: written anew, remembered, and not sent at all.

use std::net::SocketAddr;

use crate::Result;
use crate::bare;
use crate::figures::Rounds;
use crate::http::Connection;
use crate::load::Circle;
use crate::schedule::{Stage, compared};
use crate::season::BUSY_EVENTS;
use crate::table::Row;

/// What each round adds to.
#[derive(Default)]
struct Seen {
    bare: Rounds,
    nothing: Rounds,
    teams: Rounds,
    anew: Rounds,
    remembered: Rounds,
    known: Rounds,
}

pub(crate) async fn measure(stage: &Stage, ours: SocketAddr) -> Result<Vec<Row>> {
    let calendars: Vec<_> =
        stage.season.calendars.iter().map(|token| calendar(token, "")).collect();
    let (text, tag) = look(ours, &calendars[0]).await?;
    let known = calendar(&stage.season.calendars[0], &format!("If-None-Match: {tag}\r\n"));
    let known = Circle::new(vec![known]).expecting(304);
    let one = Circle::new(vec![calendars[0].clone()]);
    let all = Circle::new(calendars);
    let nothing = Circle::new(vec![b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()]);
    let routes = [("/calendar/{file}".to_owned(), text), ("/nothing".to_owned(), Vec::new())];
    let bare = bare::start(&stage.database, &routes).await?;
    let mut seen = Seen::default();
    for round in 0..stage.pace.rounds {
        eprintln!("  calendars, round {}", round + 1);
        seen.bare.add(stage.read(bare.address, &one).await?);
        seen.teams.add(stage.read(ours, &stage.plain()).await?);
        seen.anew.add(stage.read(ours, &all).await?);
        seen.remembered.add(stage.read(ours, &one).await?);
        seen.nothing.add(stage.read(bare.address, &nothing).await?);
        seen.known.add(stage.read(ours, &known).await?);
    }
    Ok(seen.rows())
}

fn calendar(token: &str, more: &str) -> Vec<u8> {
    format!("GET /calendar/{token}.ics HTTP/1.1\r\nHost: localhost\r\n{more}\r\n").into()
}

/// The text of a calendar and its tag, once every event was found in it.
async fn look(ours: SocketAddr, request: &[u8]) -> Result<(Vec<u8>, String)> {
    let mut connection = Connection::open(ours).await?;
    let answer = connection.ask(request).await?;
    let tag = answer.header("etag").ok_or("a calendar has no tag")?.to_owned();
    let text = answer.expect(200)?.to_vec();
    let events = String::from_utf8_lossy(&text).matches("BEGIN:VEVENT").count();
    if events != BUSY_EVENTS {
        return Err(format!("the calendar shows {events} of {BUSY_EVENTS} events"));
    }
    Ok((text, tag))
}

impl Seen {
    fn rows(&self) -> Vec<Row> {
        let feed = "`/calendar/….ics`, 1,000 events";
        vec![
            compared(format!("{feed}, written anew"), &self.anew, &self.bare, &self.teams),
            compared(format!("{feed}, remembered"), &self.remembered, &self.bare, &self.teams),
            compared(format!("{feed}, 304"), &self.known, &self.nothing, &self.teams),
        ]
    }
}
