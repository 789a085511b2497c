//! The first page of the admin area: how often it is shown, and how much a browser loads to show it.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::Result;
use crate::bare;
use crate::figures::Rounds;
use crate::http::Connection;
use crate::load::{self, Circle, Pace, readers};
use crate::site::Database;
use crate::table::{Row, Verdict};

const OVERVIEW: &str = "/admin";
const CLIENTS: usize = 32;
/// 60 kB and 150 kB.
const MOST_HTML: usize = 60_000;
const MOST_LOADED: usize = 150_000;

pub(crate) async fn measure(
    database: &Database,
    ours: SocketAddr,
    cookie: &str,
    pace: Pace,
) -> Result<Vec<Row>> {
    let request = opened(OVERVIEW, cookie);
    let mut connection = Connection::open(ours).await?;
    let html = connection.ask(&request).await?.expect(200)?.to_vec();
    let text = String::from_utf8_lossy(&html).into_owned();
    let assets = linked(&text);
    let mut loaded = html.len();
    for asset in &assets {
        loaded += connection.ask(&opened(asset, cookie)).await?.expect(200)?.len();
    }
    let sizes = (html.len(), loaded, assets.len());
    let bare = bare::start(database, &[(OVERVIEW.to_owned(), html)]).await?;
    let circle = Circle::new(vec![request]);
    let (mut seen, mut plain) = (Rounds::default(), Rounds::default());
    for round in 0..pace.rounds {
        eprintln!("  overview, round {}", round + 1);
        plain.add(load::measure(readers(bare.address, &circle, CLIENTS).await?, pace).await?);
        seen.add(load::measure(readers(ours, &circle, CLIENTS).await?, pace).await?);
    }
    Ok(rows(&seen, &plain, sizes))
}

/// What a browser asks for that takes packed answers, as all of them do.
fn opened(path: &str, cookie: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*\r\n\
         Accept-Encoding: gzip, deflate, br\r\nCookie: __Host-touchline={cookie}\r\n\r\n"
    )
    .into()
}

/// The files that a page names, each once; a part of a file is the file.
fn linked(html: &str) -> BTreeSet<&str> {
    let named = html.split('"').filter(|text| text.starts_with("/assets/"));
    named.map(|text| text.split_once('#').map_or(text, |(file, _)| file)).collect()
}

fn rows(seen: &Rounds, plain: &Rounds, (html, loaded, assets): (usize, usize, usize)) -> Vec<Row> {
    let size = |name: String, ask, bytes: usize, most| Row {
        name,
        ask,
        us: format!("{:.1} kB", bytes as f64 / 1e3),
        against: String::new(),
        ratio: String::new(),
        verdict: Verdict::Asked(bytes < most),
    };
    let page = format!("`{OVERVIEW}` of the demo club");
    let whole = format!("{page}: first load with {assets} files, as sent");
    vec![
        Row::of_rates(page.clone(), seen, plain),
        size(format!("{page}: HTML"), "< 60 kB", html, MOST_HTML),
        size(whole, "< 150 kB", loaded, MOST_LOADED),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_once() {
        let html = r#"<script src="/assets/a.js?v=1" defer></script><a href="/admin">
            <use href="/assets/i.svg?v=2#one"/><use href="/assets/i.svg?v=2#two"/>"#;
        let found: Vec<_> = linked(html).into_iter().collect();
        assert_eq!(found, ["/assets/a.js?v=1", "/assets/i.svg?v=2"]);
    }
}
