//! CSV exports: rows per second, and that memory does not grow with the number of rows.

use std::time::Instant;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::Result;
use crate::event_lists;
use crate::http::{EXPORTS, get_request};
use crate::load::RequestCycle;
use crate::process::Process;
use crate::schedule_fixture::Fixture;
use crate::season::{BUSY_EVENTS, EVENTS};
use crate::stats::median;
use crate::table::{Row, TargetResult, thousands};

/// The target for the growth of memory, in bytes.
const MAX_GROWTH_BYTES: u64 = 10_000_000;
/// The number of downloads of each file.
const DOWNLOADS: usize = 3;

pub(crate) async fn measure(fixture: &Fixture) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let events = fixture.season.teams.len() * EVENTS + BUSY_EVENTS;
    for (file, lines) in [("rsvps.csv", fixture.season.rsvps), ("events.csv", events)] {
        eprintln!("  {file}");
        // A new process whose response cache and database pages are filled first, so that they do not count as
        // growth.
        let service = fixture.database.serve(&[]).await?;
        fixture
            .read(service.address, &RequestCycle::new(event_lists::next_event_requests(fixture)))
            .await?;
        service.reset_peak_memory();
        let (before, _) = service.memory()?;
        let request = get_request(&format!("{EXPORTS}/{file}"), &fixture.club.key);
        let mut rates = Vec::new();
        for _ in 0..if fixture.quick { 1 } else { DOWNLOADS } {
            rates.push(lines as f64 / download(&service, &request, lines).await?);
        }
        rows.extend(rows_for_file(file, lines, median(rates), (before, service.memory()?.1)));
    }
    Ok(rows)
}

fn rows_for_file(file: &str, lines: usize, rate: f64, (before, peak): (u64, u64)) -> [Row; 2] {
    let name = format!("`/exports/{file}`");
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let growth = peak.saturating_sub(before);
    let rate = Row {
        name: format!("{name}, 1 client"),
        target: "",
        result: format!("{} rows/s of {}", thousands(rate), thousands(lines as f64)),
        baseline: String::new(),
        ratio: String::new(),
        verdict: TargetResult::NoTarget,
    };
    let memory = Row {
        name: format!("{name}: peak resident memory"),
        target: "≤ 10 MB more",
        result: megabytes(peak),
        baseline: format!("{} before", megabytes(before)),
        ratio: format!("{} more", megabytes(growth)),
        verdict: TargetResult::Target(growth <= MAX_GROWTH_BYTES),
    };
    [rate, memory]
}

/// Downloads a file, discards it, and returns the seconds it took.
async fn download(service: &Process, request: &[u8], lines: usize) -> Result<f64> {
    let failed = |error: std::io::Error| format!("a download failed: {error}");
    let started = Instant::now();
    let mut stream = TcpStream::connect(service.address).await.map_err(failed)?;
    stream.write_all(request).await.map_err(failed)?;
    let count = count_lines(&mut BufReader::with_capacity(64 * 1024, stream)).await?;
    // One more for the header line.
    if count != lines + 1 {
        return Err(format!("a download has {count} lines, expected {}", lines + 1));
    }
    Ok(started.elapsed().as_secs_f64())
}

/// Reads a chunked response to its end and counts the lines.
async fn count_lines(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<usize> {
    let mut head = read_line(stream).await?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(format!("a download failed: {head}"));
    }
    while !head.trim_end().is_empty() {
        head = read_line(stream).await?;
    }
    let mut lines = 0;
    loop {
        let size = read_line(stream).await?;
        let size = u64::from_str_radix(size.trim_end(), 16);
        let size = size.map_err(|_| "a download is not chunked".to_owned())?;
        let mut chunk = (&mut *stream).take(size);
        while let bytes = chunk.fill_buf().await.map_err(|error| error.to_string())?
            && !bytes.is_empty()
        {
            lines += bytes.split(|byte| *byte == b'\n').count() - 1;
            let read = bytes.len();
            chunk.consume(read);
        }
        if chunk.limit() > 0 {
            return Err("a download is incomplete".to_owned());
        }
        read_line(stream).await?;
        if size == 0 {
            return Ok(lines);
        }
    }
}

async fn read_line(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<String> {
    let mut line = String::new();
    let read =
        stream.read_line(&mut line).await.map_err(|error| format!("a download failed: {error}"))?;
    if read == 0 { Err("a download is incomplete".to_owned()) } else { Ok(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_counted_across_chunks() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            6\r\na,b\r\n1\r\n4\r\n,2\r\n\r\n0\r\n\r\n";
        assert_eq!(count_lines(&mut text.as_bytes()).await, Ok(2));
    }

    #[tokio::test]
    async fn incomplete_file_is_an_error() {
        let complete = "HTTP/1.1 200 OK\r\n\r\n4\r\na,b\n\r\n0\r\n\r\n";
        assert_eq!(count_lines(&mut complete.as_bytes()).await, Ok(1));
        for end in [20, 24, 27, 31] {
            assert!(count_lines(&mut &complete.as_bytes()[..end]).await.is_err(), "{end}");
        }
        assert!(count_lines(&mut &b"HTTP/1.1 403 Forbidden\r\n\r\n"[..]).await.is_err());
    }
}
