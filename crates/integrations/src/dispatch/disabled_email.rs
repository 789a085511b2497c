//! The email that says that a webhook was turned off, and how to turn it on again.

use store::Tx;
use url::Url;

use crate::accounts::account;
use crate::error::Result;
use crate::i18n::Message;
use crate::mail::email;
use crate::webhooks::webhook::{Reason, Webhook};

/// Queues an email to the club's owners and admins that a webhook was turned off.
pub(super) fn enqueue(tx: &Tx<'_>, webhook: &Webhook, home: &str) -> Result<()> {
    let text = text(webhook, &account::find(tx)?.name, home);
    let subject = message!("A webhook was turned off");
    email::enqueue_to_admins(tx, &webhook.id.to_string(), &subject, &text)
}

fn text(webhook: &Webhook, club: &str, home: &str) -> Message {
    let Webhook { id, url, description, disabled_reason, .. } = webhook;
    // The path of the URL may contain a secret, so only the host is shown.
    let parsed = Url::parse(url).ok();
    let host = match parsed.as_ref().and_then(Url::host_str) {
        Some(host) => host.to_owned().into(),
        None => message!("its receiver"),
    };
    let description = description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
    let why = match disabled_reason {
        Some(Reason::Gone) => message!(
            "The receiver answered with status 410, which means that it is permanently gone."
        ),
        Some(Reason::CreatorRemoved) => message!(
            "The person or API key that created or last changed it can no longer manage webhooks: \
             the key was revoked, or the person's role was changed."
        ),
        _ => message!("Every delivery to it has failed for several days."),
    };
    message!(
        "The webhook of {club} to {host}{description} was turned off.\n\n{why}\n\nNo notifications are lost yet: \
         they are stored for a limited time. When the receiver works again, turn the webhook on \
         and choose to replay the missed notifications:\n\n{link}\n",
        club,
        host,
        description,
        why,
        link = format!("{home}/admin/webhooks/{id}"),
    )
}
