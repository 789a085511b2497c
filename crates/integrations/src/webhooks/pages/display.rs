//! Texts, badges and charts for webhooks and deliveries on the pages.

use super::LIST;
use crate::notification_kinds::{self, Kind, any_pattern_matches};
use crate::prelude::*;
use crate::rights::SpaceSeparated;
use crate::webhooks::delivery::{Attempt, Delivery, Status as DeliveryStatus};
use crate::webhooks::summary::{HOURS, Hour, Last24Hours};
use crate::webhooks::webhook::{Reason, Status, Webhook};

/// How many kinds are named before the rest is counted.
const MAX_NAMED_KINDS: usize = 3;
/// The maximum length of a URL in a heading or a table, in characters.
const MAX_URL_CHARS: usize = 80;

/// A URL without its scheme, truncated if it is very long.
fn short_url(url: &str) -> String {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    let bare = bare.trim_end_matches('/');
    if bare.chars().count() <= MAX_URL_CHARS {
        return bare.to_owned();
    }
    bare.chars().take(MAX_URL_CHARS).chain(['…']).collect()
}

impl Webhook {
    /// The path of its page.
    pub(super) fn path(&self) -> String {
        format!("{LIST}/{}", self.id)
    }

    pub(super) fn short_url(&self) -> String {
        short_url(&self.url)
    }

    pub(super) fn is_on(&self) -> bool {
        self.status == Status::Enabled
    }

    /// The kind and label of its badge.
    pub(super) fn badge(&self) -> (&'static str, &'static str) {
        match (self.status, self.disabled_reason) {
            (Status::Enabled, _) if self.failing_since.is_some() => ("warn", mark!("Failing")),
            (Status::Enabled, _) => ("good", mark!("On")),
            (Status::Disabled, Some(Reason::Manual) | None) => ("", mark!("Off")),
            (Status::Disabled, Some(_)) => ("bad", mark!("Turned off")),
        }
    }

    /// Why it is off, in a sentence; empty if it is on.
    pub(super) fn disabled_text(&self) -> &'static str {
        match self.disabled_reason {
            _ if self.is_on() => "",
            Some(Reason::Manual) | None => mark!("It was turned off manually."),
            Some(Reason::Gone) => mark!(
                "Its receiver answered with status 410, which means that it is permanently gone."
            ),
            Some(Reason::Failing) => mark!("Every delivery failed for several days."),
            Some(Reason::CreatorRemoved) => mark!(
                "The person or API key that it belongs to can no longer manage webhooks. If you turn it on, it belongs to you."
            ),
        }
    }

    /// A short summary of what it subscribes to.
    pub(super) fn events_summary(&self) -> String {
        let kinds = kinds_summary(&self.events.0);
        match self.team_ids.as_ref().map(|SpaceSeparated(teams)| teams.len()) {
            None => kinds,
            Some(teams) => tn!("{kinds}, one team", "{kinds}, {count} teams", teams, kinds),
        }
    }

    /// How many kinds it subscribes to.
    pub(super) fn count_kinds(&self) -> usize {
        let is_match = |kind: &&Kind| any_pattern_matches(&self.events.0, kind.name);
        notification_kinds::all_kinds().filter(is_match).count()
    }
}

fn kinds_summary(patterns: &[String]) -> String {
    if patterns.iter().any(|pattern| pattern == "*") {
        return t!("Everything").to_owned();
    }
    let first = patterns[..patterns.len().min(MAX_NAMED_KINDS)].join(", ");
    match patterns.len().saturating_sub(MAX_NAMED_KINDS) {
        0 => first,
        more => tn!("{first} and {count} more", "{first} and {count} more", more, first),
    }
}

/// The width of a column of the chart, in SVG units.
const COLUMN_WIDTH: i64 = 8;
/// The height of a column.
const COLUMN_HEIGHT: i64 = 28;

/// One hour in the chart: successful attempts are filled, failed ones are hollow and on top.
pub(super) struct Column {
    pub(super) x: i64,
    /// Top and height of the filled part.
    pub(super) filled: Option<(i64, i64)>,
    /// Top and height of the hollow part.
    pub(super) hollow: Option<(i64, i64)>,
    pub(super) label: String,
}

/// A chart of the last 24 hours of a webhook, with a description.
pub(super) struct DayChart {
    pub(super) columns: Vec<Column>,
    pub(super) label: String,
    /// The share of successful attempts, such as `98.6%`; empty if nothing was sent.
    pub(super) success_rate: String,
}

impl DayChart {
    pub(super) const VIEW_BOX: &'static str = "0 0 192 30";

    pub(super) fn new(day: &Last24Hours) -> Self {
        let columns = day.0.iter().zip(0..).map(|(hour, index)| column(hour, index)).collect();
        let (succeeded, failed) = (day.succeeded(), day.failed());
        Self { columns, label: day_summary(day), success_rate: success_rate(succeeded, failed) }
    }
}

fn column(hour: &Hour, index: i64) -> Column {
    let Hour { succeeded, failed, .. } = *hour;
    let total = succeeded + failed;
    // Both parts have a minimum height, so that they are visible.
    let hollow = match failed {
        0 => 0,
        _ if succeeded == 0 => COLUMN_HEIGHT,
        failed => (COLUMN_HEIGHT * failed / total).clamp(6, COLUMN_HEIGHT - 6),
    };
    let hours_ago = i64::from(HOURS) - 1 - index;
    let when = match hours_ago {
        0 => message!("This hour"),
        _ => message!("{hours} h ago", hours = hours_ago),
    };
    let result = match (succeeded, failed) {
        (0, 0) => message!("nothing sent"),
        (_, 0) => message_n!("{count} delivered", "{count} delivered", succeeded),
        _ => message!("{succeeded} delivered, {failed} failed", succeeded, failed),
    };
    Column {
        x: index * COLUMN_WIDTH + 1,
        filled: (succeeded > 0).then_some((1 + hollow, COLUMN_HEIGHT - hollow)),
        hollow: (failed > 0).then_some((1, hollow)),
        // Translators: when something was sent, and with which result
        label: t!("{when}: {result}", when, result),
    }
}

/// The last 24 hours as a sentence.
fn day_summary(day: &Last24Hours) -> String {
    let (succeeded, failed) = (day.succeeded(), day.failed());
    let total = succeeded + failed;
    let hours = day.0.iter().filter(|hour| hour.failed > 0).count();
    match (total, failed, hours) {
        (0, ..) => t!("Nothing was sent in the last 24 hours.").to_owned(),
        (_, 0, _) => tn!(
            "{count} attempt in the last 24 hours, none failed.",
            "{count} attempts in the last 24 hours, none failed.",
            total
        ),
        (_, _, 1) => tn!(
            "{count} attempt in the last 24 hours, {failed} failed, all in the same hour.",
            "{count} attempts in the last 24 hours, {failed} failed, all in the same hour.",
            total,
            failed
        ),
        _ => tn!(
            "{count} attempt in the last 24 hours, {failed} failed, in {hours} different hours.",
            "{count} attempts in the last 24 hours, {failed} failed, in {hours} different hours.",
            total,
            failed,
            hours
        ),
    }
}

/// The share of successful attempts. It is rounded so that 100% and 0% are only shown if they are exact.
fn success_rate(succeeded: i64, failed: i64) -> String {
    let total = succeeded + failed;
    if total == 0 {
        return String::new();
    }
    let per_mille = (succeeded * 1000 / total).clamp(i64::from(succeeded > 0), 1000);
    match (per_mille / 10, per_mille % 10) {
        (percent, 0) => format!("{percent}%"),
        (percent, tenth) => format!("{percent}.{tenth}%"),
    }
}

impl Delivery {
    /// The kind and label of its badge.
    pub(super) fn badge(&self) -> (&'static str, &'static str) {
        match self.status {
            DeliveryStatus::Succeeded => ("good", mark!("Delivered")),
            DeliveryStatus::Failed => ("bad", mark!("Failed")),
            DeliveryStatus::Pending if self.tries == 0 => ("info", mark!("Sending")),
            DeliveryStatus::Pending => ("warn", mark!("Waiting for retry")),
        }
    }

    /// The result of the last attempt in a few words; empty if there was none.
    pub(super) fn last_result(&self) -> String {
        let Some(last) = self.attempts.0.last() else { return String::new() };
        match last.status_code {
            // Translators: the status code of a response, and how long it took
            Some(code) => t!("{code} in {duration}", code, duration = last.duration()),
            None => last.error_text(),
        }
    }

    /// Whether the next attempt is due in less than a minute.
    pub(super) fn is_due_soon(&self, now: Timestamp) -> bool {
        self.next_attempt_at.is_some_and(|next| next.seconds() - now.seconds() < 60)
    }
}

/// Formats a duration.
fn format_duration(millis: i64) -> String {
    match millis {
        ..1000 => format!("{millis} ms"),
        _ => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
    }
}

impl Attempt {
    pub(super) fn duration(&self) -> String {
        format_duration(self.duration_ms)
    }

    /// Why an attempt failed, in words; empty if it succeeded.
    pub(super) fn error_text(&self) -> String {
        let code = self.status_code.map_or(t!("none").to_owned(), |code| code.to_string());
        let text = match self.error.as_deref() {
            None => return String::new(),
            Some("timeout") => t!("The receiver did not respond in time"),
            Some("dns_failed") => t!("The host name could not be resolved"),
            Some("address_blocked") => t!(
                "The host name leads to an address that is not public. The operator of this server can allow its network with \
                 TOUCHLINE_WEBHOOK_ALLOW_CIDRS"
            ),
            Some("connection_failed") => t!("Could not connect to the receiver"),
            Some("tls_failed") => t!(
                "The receiver’s certificate is not trusted. The operator of this server can add its certificate authority with \
                 TOUCHLINE_WEBHOOK_AUTHORITY"
            ),
            Some("connection_lost") => t!("The receiver closed the connection"),
            Some("not_http") => t!("The response is not valid HTTP"),
            Some("redirected") => return t!("Status {code}; redirects are not followed", code),
            Some("unsuccessful_status") => return t!("Status {code}", code),
            Some("notification_expired") => {
                t!("The notification is no longer stored, so it cannot be sent")
            }
            Some("not_allowed") => t!(
                "The person or API key that the webhook belongs to can no longer read this notification"
            ),
            Some(other) => other,
        };
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(hours: &[(i64, i64)]) -> Last24Hours {
        let at = Timestamp::from_micros(0);
        let hour = |&(succeeded, failed): &(i64, i64)| Hour { hour: at, succeeded, failed };
        Last24Hours(hours.iter().map(hour).collect())
    }

    #[test]
    fn the_chart_can_be_read_without_colors() {
        let chart = DayChart::new(&day(&[(0, 0), (5, 0), (1, 999), (0, 2), (999, 1)]));
        let shapes: Vec<_> = chart.columns.iter().map(|one| (one.filled, one.hollow)).collect();
        assert_eq!(shapes[0], (None, None));
        assert_eq!(shapes[1], (Some((1, COLUMN_HEIGHT)), None));
        assert_eq!(shapes[2], (Some((COLUMN_HEIGHT - 5, 6)), Some((1, COLUMN_HEIGHT - 6))));
        assert_eq!(shapes[3], (None, Some((1, COLUMN_HEIGHT))));
        assert_eq!(shapes[4], (Some((7, COLUMN_HEIGHT - 6)), Some((1, 6))));
        assert_eq!(
            chart.label,
            "2007 attempts in the last 24 hours, 1002 failed, in 3 different hours."
        );
        assert_eq!(chart.columns[1].label, "22 h ago: 5 delivered");
    }

    #[test]
    fn success_rates_are_not_rounded_to_all_or_nothing() {
        let pairs = [((0, 0), ""), ((1, 0), "100%"), ((9999, 1), "99.9%"), ((1, 9999), "0.1%")];
        for ((succeeded, failed), expected) in pairs {
            assert_eq!(success_rate(succeeded, failed), expected);
        }
        assert_eq!(
            (success_rate(0, 5), format_duration(999), format_duration(15_042)),
            ("0%".into(), "999 ms".into(), "15.0 s".into())
        );
    }

    #[test]
    fn long_urls_are_truncated() {
        assert_eq!(short_url("https://a.example/"), "a.example");
        let long = short_url(&format!("https://a.example/{}", "é".repeat(2000)));
        assert_eq!(long.chars().count(), MAX_URL_CHARS + 1);
    }
}
