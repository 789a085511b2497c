//! The demo club's webhook. It is disabled, so nothing is ever sent, but has two days of past deliveries.

use std::time::Duration;

use crate::demo_club::DemoClub;
use crate::prelude::*;
use crate::signals::{self, Notification};
use crate::webhooks::delivery::{Attempt, Attempts, Delivery, Status};
use crate::webhooks::edit::{self, EditContext, NewWebhook};
use crate::webhooks::webhook::Webhook;
use crate::webhooks::{actions, outcome};

/// How many of the newest notifications are searched for ones that the webhook receives.
const SCANNED_NOTIFICATIONS: i64 = 600;
/// The number of past deliveries, and the time between them.
const DELIVERIES: usize = 64;
const DELIVERY_INTERVAL: Duration = Duration::from_secs(44 * 60);

/// Creates the webhook and its past deliveries.
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    let context = club.get::<EditContext>()?;
    let new = NewWebhook {
        url: "https://scores.example.org/hooks/touchline".to_owned(),
        events: ["event.*", "rsvp.answered", "message.posted"].map(str::to_owned).to_vec(),
        description: Some("Schedule and RSVPs on the club’s website".to_owned()),
        team_ids: None,
        ordering: None,
    };
    let (webhook, _) = edit::create(tx, context, new)?;
    let start = webhook.position - SCANNED_NOTIFICATIONS;
    let mut log = signals::notifications(tx, start, SCANNED_NOTIFICATIONS)?;
    if let Some(visibility) = webhook.visibility(tx)? {
        log.retain(|notification| webhook.should_receive(&visibility, notification));
        let skipped = log.len().saturating_sub(DELIVERIES);
        for (index, notification) in log.iter().skip(skipped).enumerate() {
            record_delivery(tx, &webhook, notification, index)?;
        }
    }
    actions::disable(tx, &context.into(), webhook.id, &IfMatch::Absent)?;
    Ok(())
}

/// A past delivery. Most succeed at once, some after retries, a few fail.
fn record_delivery(
    tx: &Tx<'_>,
    webhook: &Webhook,
    notification: &Notification,
    index: usize,
) -> Result<()> {
    let age = u32::try_from(DELIVERIES.saturating_sub(index)).unwrap_or(1);
    let at = tx.now().minus(DELIVERY_INTERVAL * age);
    let later = |seconds| at.plus(Duration::from_secs(seconds));
    let millis = 80 + i64::try_from(index * 37 % 190).unwrap_or(0);
    let failure = Some("unsuccessful_status");
    let attempts = match index % 16 {
        6 => vec![
            attempt(at, 15_000, None, Some("timeout"), None),
            attempt(later(21), millis, Some(503), failure, Some("Back in a minute.")),
            attempt(later(340), millis, Some(200), None, Some("ok")),
        ],
        11 => {
            let response = r#"{"error":"This team is not shown on the website."}"#;
            vec![attempt(at, millis, Some(422), failure, Some(response))]
        }
        _ => vec![attempt(at, millis, Some(200), None, Some("ok"))],
    };
    let failed = attempts.iter().filter(|attempt| attempt.error.is_some()).count();
    let succeeded = failed < attempts.len();
    let counts = (i64::from(succeeded), i64::try_from(failed).unwrap_or(0));
    let tries = i64::try_from(attempts.len()).unwrap_or(1);
    outcome::add_hourly_counts(tx, at, &[(webhook.id, counts)])?;
    let finished_at = attempts.last().map(Attempt::ended_at);
    let delivery = Delivery {
        status: if succeeded { Status::Succeeded } else { Status::Failed },
        tries,
        finished_at,
        updated_at: finished_at.unwrap_or(at),
        version: tries,
        attempts: Attempts(attempts),
        next_attempt_at: None,
        created_at: at,
        ..Delivery::of_notification(tx, webhook.id, notification)
    };
    tx.execute(Delivery::INSERT, &delivery.bind())?;
    Ok(())
}

fn attempt(
    at: Timestamp,
    duration_ms: i64,
    status_code: Option<u16>,
    error: Option<&str>,
    response: Option<&str>,
) -> Attempt {
    let text = |text: Option<&str>| text.map(str::to_owned);
    Attempt { at, duration_ms, status_code, error: text(error), response_excerpt: text(response) }
}
