//! Downloads: how fast rows come, and that the service does not hold more of them the more there are.

use std::time::Instant;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::Result;
use crate::agenda;
use crate::figures::median;
use crate::http::{EXPORTS, get};
use crate::load::Circle;
use crate::process::Process;
use crate::schedule::Stage;
use crate::season::{BUSY_EVENTS, EVENTS};
use crate::table::{Row, Verdict, thousands};

/// By how much memory may grow, however many rows there are.
const MOST: u64 = 10_000_000;
/// How often a file is downloaded.
const TIMES: usize = 3;

pub(crate) async fn measure(stage: &Stage) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let events = stage.season.teams.len() * EVENTS + BUSY_EVENTS;
    for (file, lines) in [("rsvps.csv", stage.season.answers), ("events.csv", events)] {
        eprintln!("  {file}");
        // A process of its own, in which the memories of answers and of the database's pages are full: what
        // they hold is not the download's.
        let service = stage.database.serve(&[]).await?;
        stage.read(service.address, &Circle::new(agenda::questions(stage))).await?;
        service.forget_peak();
        let (before, _) = service.memory()?;
        let request = get(&format!("{EXPORTS}/{file}"), &stage.club.key);
        let mut rates = Vec::new();
        for _ in 0..if stage.quick { 1 } else { TIMES } {
            rates.push(lines as f64 / download(&service, &request, lines).await?);
        }
        rows.extend(of(file, lines, median(rates), (before, service.memory()?.1)));
    }
    Ok(rows)
}

fn of(file: &str, lines: usize, rate: f64, (before, peak): (u64, u64)) -> [Row; 2] {
    let name = format!("`/exports/{file}`");
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let grown = peak.saturating_sub(before);
    let rate = Row {
        name: format!("{name}, one client"),
        ask: "",
        us: format!("{} rows/s of {}", thousands(rate), thousands(lines as f64)),
        against: String::new(),
        ratio: String::new(),
        verdict: Verdict::Nothing,
    };
    let memory = Row {
        name: format!("{name}: resident meanwhile, at most"),
        ask: "≤ 10 MB more",
        us: megabytes(peak),
        against: format!("{} before", megabytes(before)),
        ratio: format!("{} more", megabytes(grown)),
        verdict: Verdict::Asked(grown <= MOST),
    };
    [rate, memory]
}

/// Downloads a file, throws it away, and answers with the seconds it took.
async fn download(service: &Process, request: &[u8], lines: usize) -> Result<f64> {
    let told = |error: std::io::Error| format!("a download broke: {error}");
    let began = Instant::now();
    let mut stream = TcpStream::connect(service.address).await.map_err(told)?;
    stream.write_all(request).await.map_err(told)?;
    let found = lines_in(&mut BufReader::with_capacity(64 * 1024, stream)).await?;
    // The names of the columns are a line too.
    if found != lines + 1 {
        return Err(format!("a download has {found} lines and not {}", lines + 1));
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Reads an answer that comes in chunks to its end and counts the lines.
async fn lines_in(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<usize> {
    let mut head = line(stream).await?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(format!("a download was answered with {head}"));
    }
    while !head.trim_end().is_empty() {
        head = line(stream).await?;
    }
    let mut lines = 0;
    loop {
        let size = line(stream).await?;
        let size = u64::from_str_radix(size.trim_end(), 16);
        let size = size.map_err(|_| "a download does not come in chunks".to_owned())?;
        let mut chunk = (&mut *stream).take(size);
        while let bytes = chunk.fill_buf().await.map_err(|error| error.to_string())?
            && !bytes.is_empty()
        {
            lines += bytes.split(|byte| *byte == b'\n').count() - 1;
            let read = bytes.len();
            chunk.consume(read);
        }
        if chunk.limit() > 0 {
            return Err("a download was broken off".to_owned());
        }
        line(stream).await?;
        if size == 0 {
            return Ok(lines);
        }
    }
}

async fn line(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<String> {
    let mut line = String::new();
    let read = stream.read_line(&mut line).await.map_err(|error| format!("a download: {error}"))?;
    if read == 0 { Err("a download was broken off".to_owned()) } else { Ok(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_counted_across_chunks() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            6\r\na,b\r\n1\r\n4\r\n,2\r\n\r\n0\r\n\r\n";
        assert_eq!(lines_in(&mut text.as_bytes()).await, Ok(2));
    }

    #[tokio::test]
    async fn half_a_file_is_none() {
        let whole = "HTTP/1.1 200 OK\r\n\r\n4\r\na,b\n\r\n0\r\n\r\n";
        assert_eq!(lines_in(&mut whole.as_bytes()).await, Ok(1));
        for end in [20, 24, 27, 31] {
            assert!(lines_in(&mut &whole.as_bytes()[..end]).await.is_err(), "{end}");
        }
        assert!(lines_in(&mut &b"HTTP/1.1 403 Forbidden\r\n\r\n"[..]).await.is_err());
    }
}
