//! The letter that says that a webhook was turned off, and how to turn it on.

use store::Tx;
use url::Url;

use crate::accounts::account;
use crate::error::Result;
use crate::mail::letter;
use crate::webhooks::webhook::{Reason, Webhook};

/// Writes to everybody who looks after the club that a webhook was turned off.
pub(super) fn write(tx: &Tx<'_>, webhook: &Webhook, home: &str) -> Result<()> {
    let text = text(webhook, &account::find(tx)?.name, home);
    letter::put_to_those_in_charge(tx, &webhook.id.to_string(), "A webhook was turned off", &text)
}

fn text(webhook: &Webhook, club: &str, home: &str) -> String {
    let Webhook { id, url, description, disabled_reason, .. } = webhook;
    // What comes after the machine's name may be a secret.
    let machine = Url::parse(url).ok();
    let machine = machine.as_ref().and_then(Url::host_str).unwrap_or("its receiver");
    let known_as = description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
    let why = match disabled_reason {
        Some(Reason::Gone) => "The receiver answered that it is gone for good (410).",
        Some(Reason::CreatorGone) => {
            "Whoever made or last changed it may have no webhooks any more: the key was revoked, \
             or the role was taken away."
        }
        _ => "For days, nothing that was sent to it has arrived.",
    };
    format!(
        "The webhook of {club} to {machine}{known_as} was turned off.\n\n{why}\n\nNothing is lost yet: \
         what happens is kept for a while. Once the receiver works again, turn the webhook on \
         here and choose to have everything sent that it has missed:\n\n{home}/admin/webhooks/{id}\n",
    )
}
