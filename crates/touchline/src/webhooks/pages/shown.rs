//! How webhooks, their days and their deliveries are written on pages.

use kit::Timestamp;

use crate::accounts::rights::Listed;
use crate::webhooks::delivery::{Attempt, Delivery, Status as DeliveryStatus};
use crate::webhooks::kinds;
use crate::webhooks::summary::{Day, HOURS, Hour};
use crate::webhooks::webhook::{Reason, Status, Webhook};

/// So many kinds are written out before the rest is counted.
const NAMED: usize = 3;
/// The longest address that stands in a heading or a table.
const LONGEST: usize = 80;

/// A webhook's state as a kind of badge and a word.
pub(super) fn state(webhook: &Webhook) -> (&'static str, &'static str) {
    match (webhook.status, webhook.disabled_reason) {
        (Status::Enabled, _) if webhook.failing_since.is_some() => ("warn", "Failing"),
        (Status::Enabled, _) => ("good", "On"),
        (Status::Disabled, Some(Reason::ByHand) | None) => ("", "Off"),
        (Status::Disabled, Some(_)) => ("bad", "Turned off"),
    }
}

/// Why a webhook is off, in a sentence; empty if it is on.
pub(super) fn why(webhook: &Webhook) -> &'static str {
    match webhook.disabled_reason {
        _ if webhook.status == Status::Enabled => "",
        Some(Reason::ByHand) | None => "Somebody turned it off.",
        Some(Reason::Gone) => "Its receiver answered 410, which means that it is gone for good.",
        Some(Reason::Failing) => "There was nothing but failures for days.",
        Some(Reason::CreatorGone) => {
            "Whoever answers for it may have no webhooks any more. If you turn it on, you answer for it."
        }
    }
}

/// An address that fits into a heading: without its scheme, and cut if it is very long.
pub(super) fn short_url(url: &str) -> String {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    let bare = bare.trim_end_matches('/');
    if bare.chars().count() <= LONGEST {
        return bare.to_owned();
    }
    bare.chars().take(LONGEST).chain(['…']).collect()
}

/// What a webhook is told of, cut short.
pub(super) fn events_in_short(webhook: &Webhook) -> String {
    let kinds = kinds_in_short(webhook);
    match webhook.team_ids.as_ref().map(|Listed(teams)| teams.len()) {
        None => kinds,
        Some(1) => format!("{kinds}, of one team"),
        Some(teams) => format!("{kinds}, of {teams} teams"),
    }
}

fn kinds_in_short(webhook: &Webhook) -> String {
    let Listed(wishes) = &webhook.events;
    if wishes.iter().any(|wish| wish == "*") {
        return "Everything".to_owned();
    }
    let first = wishes.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match wishes.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// How many kinds a webhook is told of.
pub(super) fn kinds_of(webhook: &Webhook) -> usize {
    let Listed(wishes) = &webhook.events;
    let meant = |kind: &&kinds::Kind| wishes.iter().any(|wish| kinds::means(wish, kind.name));
    kinds::sent().filter(meant).count()
}

/// The size of the drawing of a day.
const COLUMN: i64 = 8;
const TALL: i64 = 28;

/// One hour in the drawing of a day: what arrived is filled, what failed is hollow and stands on top.
pub(super) struct Column {
    pub(super) x: i64,
    /// Top and height of the filled part.
    pub(super) full: Option<(i64, i64)>,
    /// Top and height of the hollow part.
    pub(super) hollow: Option<(i64, i64)>,
    pub(super) told: String,
}

/// The last day of a webhook as it is drawn and said.
pub(super) struct Bar {
    pub(super) columns: Vec<Column>,
    pub(super) told: String,
    /// The share that arrived, such as `98.6 %`; empty if nothing was sent.
    pub(super) share: String,
}

impl Bar {
    pub(super) const VIEW: &'static str = "0 0 192 30";

    pub(super) fn new(day: &Day) -> Self {
        let columns = day.0.iter().zip(0..).map(|(hour, place)| column(hour, place)).collect();
        let (succeeded, failed) = (day.succeeded(), day.failed());
        Self { columns, told: told(day), share: share(succeeded, failed) }
    }
}

fn column(hour: &Hour, place: i64) -> Column {
    let Hour { succeeded, failed, .. } = *hour;
    let all = succeeded + failed;
    // Whatever is there can be seen.
    let hollow = match failed {
        0 => 0,
        _ if succeeded == 0 => TALL,
        failed => (TALL * failed / all).clamp(6, TALL - 6),
    };
    let back = i64::from(HOURS) - 1 - place;
    let when = if back == 0 { "This hour".to_owned() } else { format!("{back} h ago") };
    let news = match (succeeded, failed) {
        (0, 0) => "nothing sent".to_owned(),
        (_, 0) => format!("{succeeded} arrived"),
        _ => format!("{succeeded} arrived, {failed} failed"),
    };
    Column {
        x: place * COLUMN + 1,
        full: (succeeded > 0).then_some((1 + hollow, TALL - hollow)),
        hollow: (failed > 0).then_some((1, hollow)),
        told: format!("{when}: {news}"),
    }
}

/// The last day in a sentence.
fn told(day: &Day) -> String {
    let (succeeded, failed) = (day.succeeded(), day.failed());
    if succeeded + failed == 0 {
        return "Nothing was sent in the last 24 hours.".to_owned();
    }
    let hours = day.0.iter().filter(|hour| hour.failed > 0).count();
    let failures = match (failed, hours) {
        (0, _) => "none failed".to_owned(),
        (failed, 1) => format!("{failed} failed, within one hour"),
        (failed, hours) => format!("{failed} failed, in {hours} of the hours"),
    };
    let attempts = if succeeded + failed == 1 { "attempt" } else { "attempts" };
    format!("{} {attempts} in the last 24 hours, {failures}.", succeeded + failed)
}

/// A share that is only said to be all or nothing if it is.
fn share(succeeded: i64, failed: i64) -> String {
    let all = succeeded + failed;
    if all == 0 {
        return String::new();
    }
    let per_mille = (succeeded * 1000 / all).clamp(i64::from(succeeded > 0), 1000);
    match (per_mille / 10, per_mille % 10) {
        (whole, 0) => format!("{whole} %"),
        (whole, tenth) => format!("{whole}.{tenth} %"),
    }
}

/// A delivery's state as a kind of badge and words.
pub(super) fn outcome(delivery: &Delivery) -> (&'static str, &'static str) {
    match delivery.status {
        DeliveryStatus::Succeeded => ("good", "Delivered"),
        DeliveryStatus::Failed => ("bad", "Failed"),
        DeliveryStatus::Pending if delivery.tries == 0 => ("info", "On its way"),
        DeliveryStatus::Pending => ("warn", "Will be tried again"),
    }
}

/// What the last attempt came to, in a few words; empty if there was none.
pub(super) fn answer(delivery: &Delivery) -> String {
    let Some(last) = delivery.attempts.0.last() else { return String::new() };
    match last.status_code {
        Some(code) => format!("{code} in {}", took(last.duration_ms)),
        None => fault(last),
    }
}

/// How long something took.
pub(super) fn took(millis: i64) -> String {
    match millis {
        ..1000 => format!("{millis} ms"),
        _ => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
    }
}

/// Why an attempt failed, in words; empty if it did not.
pub(super) fn fault(attempt: &Attempt) -> String {
    let code = attempt.status_code.map_or("nothing".to_owned(), |code| code.to_string());
    let words = match attempt.error.as_deref() {
        None => return String::new(),
        Some("timeout") => "It did not answer in time",
        Some("dns_failed") => "Its name could not be looked up",
        Some("address_blocked") => {
            "Its name leads to a machine that is not public. The operator can allow its network with \
             TOUCHLINE_WEBHOOK_ALLOW_CIDRS"
        }
        Some("connection_failed") => "It could not be reached",
        Some("tls_failed") => {
            "Its certificate is not trusted. The operator can add its authority with TOUCHLINE_WEBHOOK_AUTHORITY"
        }
        Some("connection_lost") => "It broke off the connection",
        Some("not_http") => "What it said is not HTTP",
        Some("redirected") => return format!("It answered {code}; we follow no redirects"),
        Some("refused") => return format!("It answered {code}"),
        Some("not_kept") => "What happened is no longer kept, so it cannot be sent",
        Some("not_allowed") => "Whoever answers for the webhook may no longer read it",
        Some(other) => other,
    };
    words.to_owned()
}

/// Whether something is due in less than a minute.
pub(super) fn soon(next: Timestamp, now: Timestamp) -> bool {
    next.seconds() - now.seconds() < 60
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(hours: &[(i64, i64)]) -> Day {
        let at = Timestamp::from_micros(0);
        let hour = |(succeeded, failed): &(i64, i64)| Hour {
            hour: at,
            succeeded: *succeeded,
            failed: *failed,
        };
        Day(hours.iter().map(hour).collect())
    }

    #[test]
    fn a_day_can_be_read_without_colours() {
        let bar = Bar::new(&day(&[(0, 0), (5, 0), (1, 999), (0, 2), (999, 1)]));
        let shapes: Vec<_> = bar.columns.iter().map(|one| (one.full, one.hollow)).collect();
        assert_eq!(shapes[0], (None, None));
        assert_eq!(shapes[1], (Some((1, TALL)), None));
        assert_eq!(shapes[2], (Some((TALL - 5, 6)), Some((1, TALL - 6))));
        assert_eq!(shapes[3], (None, Some((1, TALL))));
        assert_eq!(shapes[4], (Some((7, TALL - 6)), Some((1, 6))));
        assert_eq!(bar.told, "2007 attempts in the last 24 hours, 1002 failed, in 3 of the hours.");
        assert_eq!(bar.columns[1].told, "22 h ago: 5 arrived");
    }

    #[test]
    fn shares_do_not_flatter() {
        let pairs = [((0, 0), ""), ((1, 0), "100 %"), ((9999, 1), "99.9 %"), ((1, 9999), "0.1 %")];
        for ((succeeded, failed), shown) in pairs {
            assert_eq!(share(succeeded, failed), shown);
        }
        assert_eq!(
            (share(0, 5), took(999), took(15_042)),
            ("0 %".into(), "999 ms".into(), "15.0 s".into())
        );
    }

    #[test]
    fn addresses_fit() {
        assert_eq!(short_url("https://a.example/"), "a.example");
        let long = short_url(&format!("https://a.example/{}", "é".repeat(2000)));
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
