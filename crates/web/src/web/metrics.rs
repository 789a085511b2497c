//! Metrics of a node as text that Prometheus reads (the format of `OpenMetrics`).

use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::web::app::App;

/// The media type of the metrics.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Upper bounds of the duration histogram, in seconds.
const BOUNDS: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
/// All other methods are counted together.
const METHODS: [&str; 5] = ["GET", "POST", "PATCH", "PUT", "DELETE"];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    status: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeliveryLabels {
    outcome: &'static str,
}

/// What a node counts.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Histogram,
    pub connections: Gauge,
    pub connections_refused: Counter,
    pub panics: Counter,
    deliveries: Family<DeliveryLabels, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("touchline"),
            requests: Family::default(),
            durations: Histogram::new(BOUNDS),
            connections: Gauge::default(),
            connections_refused: Counter::default(),
            panics: Counter::default(),
            deliveries: Family::default(),
        };
        metrics.registered()
    }
}

impl Metrics {
    /// Registers what is counted. Counters get the suffix `_total`.
    fn registered(mut self) -> Self {
        for outcome in ["failed", "succeeded"] {
            drop(self.deliveries.get_or_create(&DeliveryLabels { outcome }));
        }
        let registry = &mut self.registry;
        registry.register("http_requests", "Completed HTTP requests", self.requests.clone());
        registry.register(
            "http_request_duration_seconds",
            "Time from the first byte in to the first byte out",
            self.durations.clone(),
        );
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register(
            "connections_refused",
            "Connections refused because of a limit",
            self.connections_refused.clone(),
        );
        registry.register("panics", "Requests that panicked", self.panics.clone());
        registry.register("webhook_attempts", "Webhook delivery attempts", self.deliveries.clone());
        self
    }

    /// Counts a completed request.
    pub fn count_request(&self, method: &Method, status: StatusCode, duration: Duration) {
        let method = METHODS.into_iter().find(|name| *name == method.as_str()).unwrap_or("other");
        let labels = RequestLabels { method, status: u32::from(status.as_u16()) };
        self.requests.get_or_create(&labels).inc();
        self.durations.observe(duration.as_secs_f64());
    }

    /// Counts a webhook delivery attempt.
    pub fn count_delivery(&self, succeeded: bool) {
        let outcome = if succeeded { "succeeded" } else { "failed" };
        self.deliveries.get_or_create(&DeliveryLabels { outcome }).inc();
    }

    /// All metrics as text.
    pub fn render(app: &App) -> String {
        let mut text = String::new();
        let registries = [&app.metrics.registry, &state_of(app)];
        let written = registries
            .into_iter()
            .try_for_each(|registry| text::encode_registry(&mut text, registry))
            .and_then(|()| text::encode_eof(&mut text));
        written.expect("a String accepts all text");
        text
    }
}

/// What other parts of the service count, as it is now.
fn state_of(app: &App) -> Registry {
    let stats = app.db.stats();
    let mut registry = Registry::with_prefix("touchline");
    for (name, help, value) in [
        ("database_reads", "Read jobs completed", stats.reads),
        ("database_writes", "Write jobs committed", stats.jobs),
        ("database_commits", "Commits. One commit may cover several write jobs", stats.batches),
        ("database_refused", "Jobs rejected because the queue was full", stats.rejected),
    ] {
        registry.register(name, help, ConstCounter::new(value));
    }
    let seconds = ConstCounter::new(stats.commit_micros as f64 / 1e6);
    registry.register("database_commit_seconds", "Time spent in commits", seconds);
    for (name, help, value) in [
        ("database_waiting_reads", "Read jobs in the queue", stats.waiting_reads as f64),
        ("database_waiting_writes", "Write jobs in the queue", stats.waiting_writes as f64),
        ("streams", "Open event streams", app.streams.open_count() as f64),
        ("resident_bytes", "Resident memory of the process", resident_bytes() as f64),
    ] {
        registry.register(name, help, ConstGauge::new(value));
    }
    registry
}

/// The resident memory of this process in bytes. Zero if it is unknown.
pub fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|statm| statm.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
