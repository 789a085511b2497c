//! The page of one delivery: its attempts, the request, and a `curl` command that sends it.

use super::{PostedForm, WebhookAdmin};
use crate::accounts::account;
use crate::notification_kinds;
use crate::prelude::*;
use crate::signals;
use crate::web::prelude::*;
use crate::webhooks::access::Manager;
use crate::webhooks::actions;
use crate::webhooks::delivery::{self, Attempt, Delivery};
use crate::webhooks::webhook::{self, Webhook};

/// The messages after an action.
const DONE: [(&str, &str); 2] = [
    ("test", mark!("The test notification is being sent. The result will be shown here.")),
    ("again", mark!("The notification is being sent again, with the same ID.")),
];

/// The request as it was sent, or would be sent now.
struct RequestPreview {
    /// When it was last sent, in Unix seconds.
    timestamp: Option<i64>,
    pretty: String,
    raw: String,
    /// A `curl` command that sends it, with a current signature.
    curl: String,
}

#[derive(Template)]
#[template(path = "webhooks/delivery.html")]
struct DeliveryPage {
    frame: Frame,
    webhook: Webhook,
    delivery: Delivery,
    /// The description of its kind.
    description: &'static str,
    /// The maximum number of attempts.
    max_attempts: usize,
    /// `None` if the notification is no longer stored.
    request: Option<RequestPreview>,
    /// The URL of this page.
    page_href: String,
    webhook_href: String,
    now: Timestamp,
    zone: Zone,
}

impl DeliveryPage {
    /// The attempts with their numbers, newest first.
    fn attempts(&self) -> impl Iterator<Item = (usize, &Attempt)> {
        (1..).zip(&self.delivery.attempts.0).collect::<Vec<_>>().into_iter().rev()
    }

    fn is_due_soon(&self) -> bool {
        self.delivery.is_due_soon(self.now)
    }

    /// The day of an attempt, and its time with seconds, because attempts can follow each other quickly.
    fn local_time(&self, attempt: &Attempt) -> (Day, String) {
        let local = self.zone.local(attempt.at);
        let (hour, minute, second) = (local.hour(), local.minute(), local.second());
        (local.day(), format!("{hour:02}:{minute:02}:{second:02}"))
    }
}

/// Loads a delivery of this webhook and its body.
fn load(
    db: &Reader<'_>,
    id: WebhookId,
    delivery: DeliveryId,
) -> Result<(Webhook, Delivery, Option<String>, Zone)> {
    let (webhook, delivery) = find_both(db, id, delivery)?;
    let body_in_log = |sequence: i64| -> Result<Option<String>> {
        let rows = signals::notifications(db, sequence - 1, 1)?;
        Ok(rows.into_iter().find(|row| row.sequence == sequence).map(|row| row.body))
    };
    let body = match (&delivery.body, delivery.sequence) {
        (Some(body), _) => Some(body.clone()),
        (None, Some(sequence)) => body_in_log(sequence)?,
        (None, None) => None,
    };
    Ok((webhook, delivery, body, account::find(db)?.timezone))
}

fn find_both(db: &Reader<'_>, id: WebhookId, delivery: DeliveryId) -> Result<(Webhook, Delivery)> {
    Ok((webhook::find(db, id)?, delivery::find_for_webhook(db, id, delivery)?))
}

pub(super) async fn one(
    visitor: WebhookAdmin,
    PathParams((id, delivery)): PathParams<(WebhookId, DeliveryId)>,
) -> PageResult<Response> {
    let (webhook, delivery, body, zone) = visitor.read(move |db| load(db, id, delivery)).await?;
    let (app, now) = (visitor.app(), visitor.app().clock.now());
    let request = body.map(|raw| RequestPreview {
        timestamp: delivery.attempts.0.last().map(|attempt| attempt.at.seconds()),
        pretty: pretty_print(&raw),
        curl: curl(app, &webhook, &delivery, &raw),
        raw,
    });
    let webhook_href = webhook.path();
    let frame = visitor.frame(delivery.kind.clone(), Section::Webhooks);
    let page = DeliveryPage {
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        description: match delivery.kind.as_str() {
            notification_kinds::PING => mark!("A test of this webhook."),
            kind => notification_kinds::find(kind).map_or("", |kind| kind.description),
        },
        max_attempts: app.config.webhook_schedule.retries().len() + 1,
        request,
        page_href: format!("{webhook_href}/deliveries/{}", delivery.id),
        delivery,
        webhook,
        webhook_href,
        now,
        zone,
    };
    render(StatusCode::OK, &page)
}

/// Pretty-prints JSON without changing anything else: no sorting, no rounding, no other escapes.
fn pretty_print(raw: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    let mut previous = ' ';
    for c in raw.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            text.push(c);
            continue;
        }
        let closes = matches!(c, '}' | ']');
        depth = depth.saturating_sub(usize::from(closes));
        let after_open = matches!(previous, '{' | '[');
        let new_line = if closes { !after_open } else { after_open || previous == ',' };
        if new_line {
            text.push('\n');
            text.extend(std::iter::repeat_n("  ", depth));
        }
        text.push(c);
        if c == ':' {
            text.push(' ');
        }
        depth += usize::from(matches!(c, '{' | '['));
        in_string = c == '"';
        previous = c;
    }
    text
}

/// A `curl` command that sends the same request again, with a current signature. It allows no more than the "Deliver again"
/// button does: the signature is only valid for these bytes and a few minutes, and does not reveal the secret.
fn curl(app: &App, webhook: &Webhook, delivery: &Delivery, body: &str) -> String {
    let (id, now) = (delivery.notification_id.to_string(), app.clock.now());
    let secrets = webhook.secrets(&app.secrets.key("webhook"), now);
    let signatures: Vec<_> =
        secrets.iter().map(|secret| secret.sign(&id, now, body.as_bytes())).collect();
    let lines = [
        format!("curl -X POST {}", shell_quote(&webhook.url)),
        "-H 'content-type: application/json'".to_owned(),
        format!("-H 'webhook-id: {id}'"),
        format!("-H 'webhook-timestamp: {}'", now.seconds()),
        format!("-H 'webhook-signature: {}'", signatures.join(" ")),
        format!("--data-raw {}", shell_quote(body)),
    ];
    lines.join(" \\\n  ")
}

/// Quotes text as one argument for a shell.
fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

pub(super) async fn redeliver(
    PathParams((id, delivery)): PathParams<(WebhookId, DeliveryId)>,
    PostedForm { visitor, .. }: PostedForm,
) -> PageResult<Response> {
    let redeliver = move |tx: &Tx<'_>| {
        find_both(tx, id, delivery)?;
        actions::redeliver(tx, &Manager::unrestricted(), delivery)
    };
    visitor.write(redeliver).await?;
    Ok(see_other(&format!("/admin/webhooks/{id}/deliveries/{delivery}?done=again")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_printing_changes_only_whitespace() {
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
        assert_eq!(pretty_print(raw), lines.join("\n"));
    }

    #[test]
    fn text_is_quoted_as_one_shell_argument() {
        assert_eq!(shell_quote(r#"{"a":"it's $HOME `x`"}"#), r#"'{"a":"it'\''s $HOME `x`"}'"#);
    }
}
