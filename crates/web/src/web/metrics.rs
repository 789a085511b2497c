//! Metrics in the Prometheus text format.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};

use crate::web::app::App;

/// Upper bounds of the duration histogram, in milliseconds.
const BOUNDS: [u64; 10] = [1, 2, 5, 10, 25, 50, 100, 250, 1000, 5000];
const METHODS: [&str; 6] = ["GET", "POST", "PATCH", "PUT", "DELETE", "other"];

/// The counters of a node.
#[derive(Debug, Default)]
pub struct Metrics {
    /// By method and by status, 100 to 599.
    requests: [Statuses; METHODS.len()],
    /// One bucket for each bound, and a last one for longer requests.
    durations: [AtomicU64; BOUNDS.len() + 1],
    total_micros: AtomicU64,
    pub connections: AtomicU64,
    pub connections_refused: AtomicU64,
    pub panics: AtomicU64,
    /// Webhook delivery attempts: failed, succeeded.
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
    /// Counts a completed request.
    pub fn count_request(&self, method: &Method, status: StatusCode, duration: Duration) {
        let row = METHODS.iter().position(|name| *name == method.as_str());
        let row = row.unwrap_or(METHODS.len() - 1);
        let column = usize::from(status.as_u16()).clamp(100, 599) - 100;
        self.requests[row].0[column].fetch_add(1, Ordering::Relaxed);
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| millis < *bound).unwrap_or(BOUNDS.len());
        self.durations[bucket].fetch_add(1, Ordering::Relaxed);
        self.total_micros
            .fetch_add(u64::try_from(duration.as_micros()).unwrap_or(0), Ordering::Relaxed);
    }

    /// Counts a webhook delivery attempt.
    pub fn count_delivery(&self, succeeded: bool) {
        self.deliveries[usize::from(succeeded)].fetch_add(1, Ordering::Relaxed);
    }

    /// All metrics in the Prometheus text format.
    pub fn render(app: &App) -> String {
        let mut out = String::new();
        let metrics = &app.metrics;
        metrics.render_requests(&mut out);
        metrics.render_durations(&mut out);
        let stats = app.db.stats();
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let seconds = stats.commit_micros as f64 / 1e6;
        for (name, kind, help, value) in [
            ("connections", "gauge", "Open connections.", get(&metrics.connections) as f64),
            (
                "connections_refused_total",
                "counter",
                "Connections refused because of a limit.",
                get(&metrics.connections_refused) as f64,
            ),
            ("streams", "gauge", "Open event streams.", app.streams.open_count() as f64),
            ("panics_total", "counter", "Requests that panicked.", get(&metrics.panics) as f64),
            ("database_reads_total", "counter", "Read jobs completed.", stats.reads as f64),
            ("database_writes_total", "counter", "Write jobs committed.", stats.jobs as f64),
            (
                "database_commits_total",
                "counter",
                "Commits. One commit may cover several write jobs.",
                stats.batches as f64,
            ),
            ("database_commit_seconds_total", "counter", "Time spent in commits.", seconds),
            (
                "database_refused_total",
                "counter",
                "Jobs rejected because the queue was full.",
                stats.rejected as f64,
            ),
            (
                "database_waiting_reads",
                "gauge",
                "Read jobs in the queue.",
                stats.waiting_reads as f64,
            ),
            (
                "database_waiting_writes",
                "gauge",
                "Write jobs in the queue.",
                stats.waiting_writes as f64,
            ),
            ("resident_bytes", "gauge", "Resident memory of the process.", resident_bytes() as f64),
        ] {
            write_header(&mut out, name, kind, help);
            let _ = writeln!(out, "touchline_{name} {value}");
        }
        metrics.render_deliveries(&mut out);
        out
    }

    fn render_deliveries(&self, out: &mut String) {
        let name = "webhook_attempts_total";
        write_header(out, name, "counter", "Webhook delivery attempts.");
        for (outcome, count) in ["failed", "succeeded"].iter().zip(&self.deliveries) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(out, "touchline_{name}{{outcome=\"{outcome}\"}} {count}");
        }
    }

    fn render_requests(&self, out: &mut String) {
        write_header(out, "http_requests_total", "counter", "Completed HTTP requests.");
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

    fn render_durations(&self, out: &mut String) {
        let name = "http_request_duration_seconds";
        write_header(out, name, "histogram", "Time from the first byte in to the first byte out.");
        let mut sum = 0;
        for (index, count) in self.durations.iter().enumerate() {
            sum += count.load(Ordering::Relaxed);
            let bound =
                BOUNDS.get(index).map_or("+Inf".to_owned(), |b| (*b as f64 / 1e3).to_string());
            let _ = writeln!(out, "touchline_{name}_bucket{{le=\"{bound}\"}} {sum}");
        }
        let seconds = self.total_micros.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(out, "touchline_{name}_sum {seconds}\ntouchline_{name}_count {sum}");
    }
}

fn write_header(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP touchline_{name} {help}\n# TYPE touchline_{name} {kind}");
}

/// The resident memory of this process in bytes. Zero if it is unknown.
pub fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|statm| statm.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
