//! The letter that says that a webhook was turned off, and how to turn it on.

use store::Reader;
use url::Url;

use crate::accounts::account;
use crate::accounts::user;
use crate::app::App;
use crate::error::Result;
use crate::post::courier::Note;
use crate::webhooks::webhook::{Reason, Webhook};

/// What is written to whom.
pub(super) struct Letter {
    /// Names and addresses.
    to: Vec<(String, String)>,
    club: String,
    webhook: Webhook,
}

/// The letter about a webhook that was turned off, to everybody who looks after the club.
pub(super) fn about(db: &Reader<'_>, webhook: &Webhook) -> Result<Letter> {
    let club = account::find(db)?;
    // Nobody lives at the addresses of the demo club.
    let in_charge = if club.demo { Vec::new() } else { user::in_charge(db)? };
    let to = in_charge.into_iter().map(|user| (user.name, user.email)).collect();
    Ok(Letter { to, club: club.name, webhook: webhook.clone() })
}

impl Letter {
    /// Sends it.
    pub(super) fn send(self, app: &App) {
        let text = self.text(app.home.as_str());
        for (to_name, to_address) in self.to {
            let subject = "A webhook was turned off".to_owned();
            app.courier.send(app, Note { to_name, to_address, subject, text: text.clone() });
        }
    }

    fn text(&self, home: &str) -> String {
        let Webhook { id, url, description, disabled_reason, .. } = &self.webhook;
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
            "The webhook of {} to {machine}{known_as} was turned off.\n\n{why}\n\nNothing is lost yet: \
             what happens is kept for a while. Once the receiver works again, turn the webhook on \
             here and choose to have everything sent that it has missed:\n\n{home}/admin/webhooks/{id}\n",
            self.club
        )
    }
}
