//! What the operator can watch, in Prometheus' text format.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};

use crate::app::App;

/// Upper bounds of the duration histogram, in milliseconds.
const BOUNDS: [u64; 10] = [1, 2, 5, 10, 25, 50, 100, 250, 1000, 5000];
const METHODS: [&str; 6] = ["GET", "POST", "PATCH", "PUT", "DELETE", "other"];

/// The counters of a node.
#[derive(Debug, Default)]
pub struct Metrics {
    /// By method and by status, 100 to 599.
    requests: [Statuses; METHODS.len()],
    /// One more than the bounds: the last one counts what took longer.
    durations: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
    pub connections: AtomicU64,
    pub connections_refused: AtomicU64,
    pub panics: AtomicU64,
    /// Attempts to deliver to webhooks: those that failed and those that went well.
    pub deliveries: [AtomicU64; 2],
}

#[derive(Debug)]
struct Statuses([AtomicU64; 500]);

impl Default for Statuses {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Metrics {
    /// Counts an answered request.
    pub fn count(&self, method: &Method, status: StatusCode, took: Duration) {
        let row = METHODS.iter().position(|name| *name == method.as_str());
        let row = row.unwrap_or(METHODS.len() - 1);
        let column = usize::from(status.as_u16()).clamp(100, 599) - 100;
        self.requests[row].0[column].fetch_add(1, Ordering::Relaxed);
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| millis < *bound).unwrap_or(BOUNDS.len());
        self.durations[bucket].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(0), Ordering::Relaxed);
    }

    /// Counts an attempt to deliver to a webhook.
    pub fn delivered(&self, well: bool) {
        self.deliveries[usize::from(well)].fetch_add(1, Ordering::Relaxed);
    }

    /// Everything, as it stands.
    pub fn text(app: &App) -> String {
        let mut out = String::new();
        let metrics = &app.metrics;
        metrics.requests_text(&mut out);
        metrics.durations_text(&mut out);
        let stats = app.db.stats();
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let seconds = stats.commit_micros as f64 / 1e6;
        for (name, kind, help, value) in [
            ("connections", "gauge", "Open connections.", get(&metrics.connections) as f64),
            (
                "connections_refused_total",
                "counter",
                "Connections turned away.",
                get(&metrics.connections_refused) as f64,
            ),
            ("streams", "gauge", "Open streams of the log.", app.streams.open() as f64),
            ("panics_total", "counter", "Requests that panicked.", get(&metrics.panics) as f64),
            ("database_reads_total", "counter", "Jobs that only looked.", stats.reads as f64),
            ("database_writes_total", "counter", "Jobs that were committed.", stats.jobs as f64),
            (
                "database_commits_total",
                "counter",
                "Commits, each for one job or many.",
                stats.batches as f64,
            ),
            ("database_commit_seconds_total", "counter", "Time spent in commits.", seconds),
            (
                "database_refused_total",
                "counter",
                "Jobs turned away because too many waited.",
                stats.refused as f64,
            ),
            ("database_waiting_reads", "gauge", "Reads that wait.", stats.waiting_reads as f64),
            ("database_waiting_writes", "gauge", "Writes that wait.", stats.waiting_writes as f64),
            ("resident_bytes", "gauge", "Memory in use.", resident_bytes() as f64),
        ] {
            line(&mut out, name, kind, help);
            let _ = writeln!(out, "touchline_{name} {value}");
        }
        metrics.deliveries_text(&mut out);
        out
    }

    fn deliveries_text(&self, out: &mut String) {
        let name = "webhook_attempts_total";
        line(out, name, "counter", "Attempts to deliver to webhooks.");
        for (outcome, count) in ["failed", "succeeded"].iter().zip(&self.deliveries) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(out, "touchline_{name}{{outcome=\"{outcome}\"}} {count}");
        }
    }

    fn requests_text(&self, out: &mut String) {
        line(out, "http_requests_total", "counter", "Requests answered.");
        for (method, statuses) in METHODS.iter().zip(&self.requests) {
            for (offset, count) in statuses.0.iter().enumerate() {
                let (status, count) = (offset + 100, count.load(Ordering::Relaxed));
                if count > 0 {
                    let labels = format!("method=\"{method}\",status=\"{status}\"");
                    let _ = writeln!(out, "touchline_http_requests_total{{{labels}}} {count}");
                }
            }
        }
    }

    fn durations_text(&self, out: &mut String) {
        let name = "http_request_duration_seconds";
        line(out, name, "histogram", "Time from the first byte in to the first byte out.");
        let mut sum = 0;
        for (place, count) in self.durations.iter().enumerate() {
            sum += count.load(Ordering::Relaxed);
            let bound =
                BOUNDS.get(place).map_or("+Inf".to_owned(), |b| (*b as f64 / 1e3).to_string());
            let _ = writeln!(out, "touchline_{name}_bucket{{le=\"{bound}\"}} {sum}");
        }
        let seconds = self.micros.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(out, "touchline_{name}_sum {seconds}\ntouchline_{name}_count {sum}");
    }
}

fn line(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP touchline_{name} {help}\n# TYPE touchline_{name} {kind}");
}

/// The resident size of this process; zero where the system does not tell.
pub fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|statm| statm.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
