//! The letters about money that needs people: it came too late, or could not be given back.

use kit::Money;
use store::{Reader, Scope};

use super::checkout::Checkout;
use crate::accounts::{account, user};
use crate::app::App;
use crate::error::Result;
use crate::ids::AccountId;
use crate::money::payment::{Dispute, Payment, Refund};
use crate::post::courier::Note;

/// What is written to those in charge.
#[derive(Debug, Clone)]
pub struct Letter {
    account: AccountId,
    subject: &'static str,
    text: String,
}

impl Letter {
    /// An order was paid that could not be paid any more.
    pub fn given_back(checkout: &Checkout) -> Self {
        let text = "It was cancelled or paid in another way in the meantime. The money is being given back \
            to the card by itself; there is nothing to do.";
        Self::about(checkout, text)
    }

    /// A due was paid that was paid already.
    pub fn credited(checkout: &Checkout) -> Self {
        let text = "Nothing was open of it any more. The money is kept as credit, which the payer's next \
            due uses. If you would rather give it back, refund the payment.";
        Self::about(checkout, text)
    }

    /// Something else was paid than what was asked for.
    pub fn differs(checkout: &Checkout) -> Self {
        let text = "What was paid is not what was asked for, so nothing was written down. Please look at \
            the payment at the payment provider, and give it back or write it down by hand.";
        Self::about(checkout, text)
    }

    fn about(checkout: &Checkout, more: &str) -> Self {
        let Checkout { account_id, title, subject, currency, amount, .. } = checkout;
        let amount = Money { minor: *amount, currency: *currency };
        let text =
            format!("A payment of {amount} by card came for {title} ({subject}).\n\n{more}\n");
        Self { account: *account_id, subject: "A payment by card came too late", text }
    }

    /// The provider could not give money back.
    pub fn not_given_back(refund: &Refund, why: &str) -> Self {
        let Refund { account_id, subject, currency, amount, .. } = refund;
        let amount = Money { minor: *amount, currency: *currency };
        let text = format!(
            "{amount} for {subject} could not be given back to the card it was paid with.\n\nThe payment \
             provider says: {why}\n\nIt counts as paid again. Please give it back in another way, such as by a bank \
             transfer, and write that down.\n"
        );
        Self { account: *account_id, subject: "A refund to a card failed", text }
    }

    /// The payer's bank asks for a payment back, or it was decided who keeps it.
    pub fn disputed(payment: &Payment, dispute: Dispute) -> Self {
        let Payment { account_id, subject, currency, amount, .. } = payment;
        let amount = Money { minor: *amount, currency: *currency };
        let what = match dispute {
            Dispute::Open => {
                "The payer's bank asks to have it back. Please answer at the payment provider, where you see \
                 until when; nothing changes here by itself."
            }
            Dispute::Won => {
                "The payer's bank had asked to have it back. It was decided that you keep it."
            }
            Dispute::Lost => {
                "The payer's bank has it back. Please write that down here as a refund made in another way."
            }
        };
        let text = format!("A payment of {amount} by card for {subject} is disputed.\n\n{what}\n");
        Self { account: *account_id, subject: "A payment by card is disputed", text }
    }

    /// Sends it to everybody who looks after the club.
    pub async fn send(self, app: &App) {
        match readers(app, self.account).await {
            Ok(to) => {
                for (to_name, to_address) in to {
                    let (subject, text) = (self.subject.to_owned(), self.text.clone());
                    app.courier.send(app, Note { to_name, to_address, subject, text });
                }
            }
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "could not find whom to write about a payment");
            }
        }
    }
}

async fn readers(app: &App, account: AccountId) -> Result<Vec<(String, String)>> {
    let look = |db: &Reader<'_>| {
        // Nobody lives at the addresses of the demo club.
        let in_charge = if account::find(db)?.demo { Vec::new() } else { user::in_charge(db)? };
        Ok(in_charge.into_iter().map(|user| (user.name, user.email)).collect())
    };
    app.db.read(Scope::account(account, super::ACTOR), look).await
}
