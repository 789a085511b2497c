//! The first page of the admin area: requests per second, and the bytes of a first load.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::Result;
use crate::baseline_server;
use crate::environment::Database;
use crate::http::Connection;
use crate::load::{self, RequestCycle, Timing, readers};
use crate::stats::Rounds;
use crate::table::{Row, TargetResult};

const OVERVIEW: &str = "/admin";
const CLIENTS: usize = 32;
/// The targets, in bytes.
const MAX_HTML_BYTES: usize = 60_000;
const MAX_FIRST_LOAD_BYTES: usize = 150_000;

pub(crate) async fn measure(
    database: &Database,
    ours: SocketAddr,
    cookie: &str,
    timing: Timing,
) -> Result<Vec<Row>> {
    let request = browser_request(OVERVIEW, cookie);
    let mut connection = Connection::open(ours).await?;
    let html = connection.request(&request).await?.expect(200)?.to_vec();
    let text = String::from_utf8_lossy(&html).into_owned();
    let assets = linked_files(&text);
    let mut loaded = html.len();
    for asset in &assets {
        loaded += connection.request(&browser_request(asset, cookie)).await?.expect(200)?.len();
    }
    let sizes = (html.len(), loaded, assets.len());
    let bare = baseline_server::start(database, &[(OVERVIEW.to_owned(), html)]).await?;
    let requests = RequestCycle::new(vec![request]);
    let (mut ours_rounds, mut baseline) = (Rounds::default(), Rounds::default());
    for round in 0..timing.rounds {
        eprintln!("  overview, round {}", round + 1);
        baseline
            .add(load::measure(readers(bare.address, &requests, CLIENTS).await?, timing).await?);
        ours_rounds.add(load::measure(readers(ours, &requests, CLIENTS).await?, timing).await?);
    }
    Ok(rows(&ours_rounds, &baseline, sizes))
}

/// A browser's request, which accepts compressed responses.
pub(crate) fn browser_request(path: &str, cookie: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html,*/*\r\n\
         Accept-Encoding: gzip, deflate, br\r\nCookie: __Host-touchline={cookie}\r\n\r\n"
    )
    .into()
}

/// The files that a page links to, without duplicates and fragments.
pub(crate) fn linked_files(html: &str) -> BTreeSet<&str> {
    let links = html.split('"').filter(|text| text.starts_with("/assets/"));
    links.map(|text| text.split_once('#').map_or(text, |(file, _)| file)).collect()
}

fn rows(
    ours: &Rounds,
    baseline: &Rounds,
    (html, loaded, assets): (usize, usize, usize),
) -> Vec<Row> {
    let size = |name: String, ask, bytes: usize, max| Row {
        name,
        target: ask,
        result: format!("{:.1} kB", bytes as f64 / 1e3),
        baseline: String::new(),
        ratio: String::new(),
        verdict: TargetResult::Target(bytes < max),
    };
    let page = format!("`{OVERVIEW}` of the demo club");
    let first_load = format!("{page}: first load with {assets} files, as sent");
    vec![
        Row::compare_rates(page.clone(), ours, baseline),
        size(format!("{page}: HTML"), "< 60 kB", html, MAX_HTML_BYTES),
        size(first_load, "< 150 kB", loaded, MAX_FIRST_LOAD_BYTES),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_linked_file_is_listed_once() {
        let html = r#"<script src="/assets/a.js?v=1" defer></script><a href="/admin">
            <use href="/assets/i.svg?v=2#one"/><use href="/assets/i.svg?v=2#two"/>"#;
        let files: Vec<_> = linked_files(html).into_iter().collect();
        assert_eq!(files, ["/assets/a.js?v=1", "/assets/i.svg?v=2"]);
    }
}
