//! The demo club's webhook: off, so that nothing is ever sent, but with two days of deliveries behind it.

use std::time::Duration;

use kit::Timestamp;
use store::Tx;

use crate::error::Result;
use crate::expected::Expected;
use crate::signals::{self, Notification};
use crate::webhooks::delivery::{Attempt, Attempts, Delivery, Status, id_of};
use crate::webhooks::edit::{self, Means, NewWebhook};
use crate::webhooks::webhook::Webhook;
use crate::webhooks::{asking, outcome};

/// So many notifications of the log are looked through for something to have been delivered.
const LOOKED: i64 = 600;
/// So many deliveries lie behind, one every so often.
const DELIVERIES: usize = 64;
const EVERY: Duration = Duration::from_secs(44 * 60);

/// Makes the webhook and what is known of its deliveries.
pub(super) fn tell(tx: &Tx<'_>, means: &Means) -> Result<()> {
    let new = NewWebhook {
        url: "https://scores.example.org/hooks/touchline".to_owned(),
        events: ["event.*", "rsvp.answered", "message.posted"].map(str::to_owned).to_vec(),
        description: Some("Schedule and answers on the club’s website".to_owned()),
        team_ids: None,
        ordering: None,
    };
    let (webhook, _) = edit::create(tx, means, new)?;
    let log = signals::notifications(tx, webhook.position - LOOKED, LOOKED)?;
    if let Some(ears) = webhook.ears(tx)? {
        let wanted: Vec<_> = log.iter().filter(|news| webhook.wants(&ears, news)).collect();
        let skipped = wanted.len().saturating_sub(DELIVERIES);
        for (place, news) in wanted.into_iter().skip(skipped).enumerate() {
            deliver(tx, &webhook, news, place)?;
        }
    }
    asking::disable(tx, &means.into(), webhook.id, &Expected::Anything)?;
    Ok(())
}

/// One delivery of the past: most arrive at once, some after a while, a few never.
fn deliver(tx: &Tx<'_>, webhook: &Webhook, news: &Notification, place: usize) -> Result<()> {
    let back = u32::try_from(DELIVERIES.saturating_sub(place)).unwrap_or(1);
    let at = tx.now().minus(EVERY * back);
    let later = |seconds| at.plus(Duration::from_secs(seconds));
    let millis = 80 + i64::try_from(place * 37 % 190).unwrap_or(0);
    let attempts = match place % 16 {
        6 => vec![
            attempt(at, 15_000, None, Some("timeout"), None),
            attempt(later(21), millis, Some(503), Some("refused"), Some("Back in a minute.")),
            attempt(later(340), millis, Some(200), None, Some("ok")),
        ],
        11 => {
            let said = r#"{"error":"This team is not shown on the website."}"#;
            vec![attempt(at, millis, Some(422), Some("refused"), Some(said))]
        }
        _ => vec![attempt(at, millis, Some(200), None, Some("ok"))],
    };
    let failed = attempts.iter().filter(|attempt| attempt.error.is_some()).count();
    let arrived = failed < attempts.len();
    let counted = (i64::from(arrived), i64::try_from(failed).unwrap_or(0));
    outcome::count(tx, at, &[(webhook.id, counted)])?;
    let finished_at = attempts
        .last()
        .map(|last| last.at.plus(Duration::from_millis(last.duration_ms.unsigned_abs())));
    let delivery = Delivery {
        id: id_of(webhook.id, news.id, news.sequence),
        account_id: tx.account(),
        webhook_id: webhook.id,
        sequence: Some(news.sequence),
        notification_id: news.id,
        kind: news.kind.clone(),
        body: None,
        status: if arrived { Status::Succeeded } else { Status::Failed },
        tries: i64::try_from(attempts.len()).unwrap_or(1),
        finished_at,
        updated_at: finished_at.unwrap_or(at),
        version: i64::try_from(attempts.len()).unwrap_or(1),
        attempts: Attempts(attempts),
        next_attempt_at: None,
        created_at: at,
    };
    tx.run(Delivery::INSERT, &delivery.bind())?;
    Ok(())
}

fn attempt(
    at: Timestamp,
    duration_ms: i64,
    status_code: Option<u16>,
    error: Option<&str>,
    said: Option<&str>,
) -> Attempt {
    let text = |text: Option<&str>| text.map(str::to_owned);
    Attempt { at, duration_ms, status_code, error: text(error), response_excerpt: text(said) }
}
