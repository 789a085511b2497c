//! One delivery: every attempt, what was sent, and a line to send it oneself.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Day, Timestamp, Zone};
use store::{Reader, Tx};

use super::shown::{fault, outcome, short_url, soon, took};
use super::{Keeper, Sent, place, show};
use crate::accounts::account;
use crate::app::App;
use crate::error::Result;
use crate::ids::{DeliveryId, WebhookId};
use crate::signals;
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};
use crate::webhooks::access::Manager;
use crate::webhooks::asking;
use crate::webhooks::delivery::{self, Attempt, Delivery};
use crate::webhooks::kinds;
use crate::webhooks::webhook::{self, Status, Webhook};

/// What is said after something was done.
const DONE: [(&str, &str); 2] = [
    ("test", "The test was put on its way. What comes of it is shown here."),
    ("again", "It was put on its way once more, under the same id."),
];

/// An attempt as it is shown.
struct Tried {
    number: usize,
    at: Timestamp,
    /// Its day and, since attempts follow each other quickly, its second.
    day: Day,
    second: String,
    took: String,
    code: Option<u16>,
    fault: String,
    excerpt: Option<String>,
}

impl Tried {
    fn new(number: usize, attempt: Attempt, zone: &Zone) -> Self {
        let local = zone.local(attempt.at);
        Self {
            number,
            at: attempt.at,
            day: local.day(),
            second: format!("{:02}:{:02}:{:02}", local.hour(), local.minute(), local.second()),
            took: took(attempt.duration_ms),
            code: attempt.status_code,
            fault: fault(&attempt),
            excerpt: attempt.response_excerpt,
        }
    }
}

/// What was sent, or would be sent now.
struct Request {
    /// When it was last sent.
    timestamp: Option<i64>,
    pretty: String,
    raw: String,
    /// A line that sends it, signed now.
    curl: String,
}

#[derive(Template)]
#[template(path = "webhooks/delivery.html")]
struct DeliveryPage {
    frame: Frame,
    webhook: Webhook,
    url: String,
    delivery: Delivery,
    /// What its kind means.
    says: &'static str,
    state: (&'static str, &'static str),
    /// The newest first.
    attempts: Vec<Tried>,
    /// Attempts of the present round, and how many it has at most.
    most: usize,
    soon: bool,
    /// `None` if it is no longer kept.
    request: Option<Request>,
    /// This page, and whether it keeps itself up to date.
    here: String,
    live: bool,
    place: String,
    now: Timestamp,
    zone: Zone,
}

impl DeliveryPage {
    fn is_on(&self) -> bool {
        self.webhook.status == Status::Enabled
    }
}

/// A delivery of this webhook, and what it says.
fn look(
    db: &Reader<'_>,
    id: WebhookId,
    delivery: DeliveryId,
) -> Result<(Webhook, Delivery, Option<String>, Zone)> {
    let (webhook, found) = of_webhook(db, id, delivery)?;
    let logged = |sequence: i64| -> Result<Option<String>> {
        let news = signals::notifications(db, sequence - 1, 1)?;
        Ok(news.into_iter().find(|news| news.sequence == sequence).map(|news| news.body))
    };
    let body = match (&found.body, found.sequence) {
        (Some(body), _) => Some(body.clone()),
        (None, Some(sequence)) => logged(sequence)?,
        (None, None) => None,
    };
    Ok((webhook, found, body, account::find(db)?.timezone))
}

fn of_webhook(db: &Reader<'_>, id: WebhookId, delivery: DeliveryId) -> Result<(Webhook, Delivery)> {
    Ok((webhook::find(db, id)?, delivery::find_of(db, id, delivery)?))
}

pub(super) async fn one(
    visitor: Keeper,
    At((id, delivery)): At<(WebhookId, DeliveryId)>,
) -> Outcome<Response> {
    let (webhook, delivery, body, zone) = visitor.read(move |db| look(db, id, delivery)).await?;
    let (app, now) = (visitor.app(), visitor.app().clock.now());
    let request = body.map(|body| request(app, &webhook, &delivery, body));
    let place = place(&webhook);
    let here = format!("{place}/deliveries/{}", delivery.id);
    let frame = visitor.frame(delivery.kind.clone(), Section::Webhooks);
    let attempts = delivery.attempts.0.iter().cloned().enumerate();
    let attempts = attempts.map(|(place, attempt)| Tried::new(place + 1, attempt, &zone));
    let page = DeliveryPage {
        frame: frame.flash(visitor.guest.done(&DONE)),
        url: short_url(&webhook.url),
        says: match delivery.kind.as_str() {
            kinds::PING => "A test of this webhook.",
            kind => kinds::find(kind).map_or("", |kind| kind.says),
        },
        state: outcome(&delivery),
        attempts: attempts.rev().collect(),
        most: app.config.webhook_schedule.retries().len() + 1,
        soon: delivery.next_attempt_at.is_some_and(|next| soon(next, now)),
        request,
        live: webhook.status == Status::Enabled,
        delivery,
        webhook,
        here,
        place,
        now,
        zone,
    };
    show(StatusCode::OK, &page)
}

fn request(app: &App, webhook: &Webhook, delivery: &Delivery, raw: String) -> Request {
    Request {
        timestamp: delivery.attempts.0.last().map(|attempt| attempt.at.seconds()),
        pretty: laid_out(&raw),
        curl: curl(app, webhook, delivery, &raw),
        raw,
    }
}

/// JSON on many lines, otherwise as it is: nothing is sorted, rounded or written in another way.
fn laid_out(raw: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    let mut before = ' ';
    for letter in raw.chars() {
        if quoted {
            quoted = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            text.push(letter);
            continue;
        }
        let closes = matches!(letter, '}' | ']');
        depth = depth.saturating_sub(usize::from(closes));
        let opened = matches!(before, '{' | '[');
        let breaks = if closes { !opened } else { opened || before == ',' };
        if breaks {
            text.push('\n');
            text.extend(std::iter::repeat_n("  ", depth));
        }
        text.push(letter);
        if letter == ':' {
            text.push(' ');
        }
        depth += usize::from(matches!(letter, '{' | '['));
        quoted = letter == '"';
        before = letter;
    }
    text
}

/// A line that sends the same once more, signed now. It gives nobody more than the button that delivers
/// again: the signature is good for these bytes and this minute only, and does not tell the secret.
fn curl(app: &App, webhook: &Webhook, delivery: &Delivery, body: &str) -> String {
    let (id, now) = (delivery.notification_id.to_string(), app.clock.now());
    let secrets = webhook.secrets(&app.secrets.key("webhook"), now);
    let signed: Vec<_> =
        secrets.iter().map(|secret| secret.sign(&id, now, body.as_bytes())).collect();
    let lines = [
        format!("curl -X POST {}", quoted(&webhook.url)),
        "-H 'content-type: application/json'".to_owned(),
        format!("-H 'webhook-id: {id}'"),
        format!("-H 'webhook-timestamp: {}'", now.seconds()),
        format!("-H 'webhook-signature: {}'", signed.join(" ")),
        format!("--data-raw {}", quoted(body)),
    ];
    lines.join(" \\\n  ")
}

/// Text as one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

pub(super) async fn again(
    At((id, delivery)): At<(WebhookId, DeliveryId)>,
    Sent { visitor, .. }: Sent,
) -> Outcome<Response> {
    let again = move |tx: &Tx<'_>| {
        of_webhook(tx, id, delivery)?;
        asking::redeliver(tx, &Manager::everywhere(), delivery)
    };
    visitor.write(again).await?;
    Ok(see_other(&format!("/admin/webhooks/{id}/deliveries/{delivery}?done=again")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_laid_out_as_it_is() {
        let raw = r#"{"z":1.50,"a":["x, \"{","b\\"],"n":{},"e":[],"o":{"t":true}}"#;
        let lines = [
            "{",
            r#"  "z": 1.50,"#,
            r#"  "a": ["#,
            r#"    "x, \"{","#,
            r#"    "b\\""#,
            "  ],",
            r#"  "n": {},"#,
            r#"  "e": [],"#,
            r#"  "o": {"#,
            r#"    "t": true"#,
            "  }",
            "}",
        ];
        assert_eq!(laid_out(raw), lines.join("\n"));
    }

    #[test]
    fn a_shell_takes_it_as_one_word() {
        assert_eq!(quoted(r#"{"a":"it's $HOME `x`"}"#), r#"'{"a":"it'\''s $HOME `x`"}'"#);
    }
}
