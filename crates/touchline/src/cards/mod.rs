//! Card payments: families pay orders and dues on a page hosted by the payment provider, and refunds go back to the
//! card.
//!
//! Disabled unless configured. Every operation is recorded first, then requested from the provider, then completed with
//! the provider's response. Reconciliation repairs whatever fails in between. See `docs/cards.md`.

pub mod api;
pub mod checkout;
pub mod disputes;
pub mod stripe_webhook;
mod emails;
pub mod stripe_amount;
pub mod checkout_session;
pub mod pages;
pub mod provider;
pub mod reconcile;
pub mod refunds;
pub mod refund_results;
pub mod settlement;
pub mod signature;
pub mod stripe;
pub mod subject;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use self::provider::Provider;
use self::stripe::Stripe;
use crate::app::App;
use crate::config::{Config, Secret};
use crate::web::server::stop_requested;

/// How often pending refunds are sent to the provider.
const SEND_EVERY: Duration = Duration::from_secs(2);
/// Pause after the provider could not be reached.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(30);
/// How often open checkouts and refunds are reconciled with the provider.
const RECONCILE_EVERY: Duration = Duration::from_secs(600);
/// The actor of changes that come from the provider.
pub(crate) const ACTOR: &str = "cards";

/// The configuration of card payments.
#[derive(Clone)]
pub struct Cards {
    pub provider: Arc<dyn Provider>,
    /// Secret to verify the provider's webhook requests.
    pub webhook_secret: Option<Secret>,
}

impl Cards {
    /// Card payments as configured; `None` if they are disabled.
    pub fn new(config: &Config) -> Result<Option<Self>, String> {
        let Some(key) = &config.stripe_secret_key else { return Ok(None) };
        let provider = Arc::new(Stripe::new(&config.stripe_url, key)?);
        Ok(Some(Self { provider, webhook_secret: config.stripe_webhook_secret.clone() }))
    }
}

/// Sends refunds and reconciles with the provider until the service stops.
pub async fn run(app: App, mut stop: watch::Receiver<bool>) {
    let Some(cards) = app.cards.clone() else { return };
    let mut last_reconciled: Option<Instant> = None;
    loop {
        let reconcile_due = last_reconciled.is_none_or(|at| at.elapsed() >= RECONCILE_EVERY);
        let reached = if reconcile_due {
            let reached = reconcile::reconcile_all(&app, &cards).await;
            // After a failure, the next round reconciles again.
            last_reconciled = reached.then(Instant::now);
            reached
        } else {
            refunds::send_pending(&app, &cards).await
        };
        let wait = if reached { SEND_EVERY } else { UNREACHABLE_PAUSE };
        if tokio::time::timeout(wait, stop_requested(&mut stop)).await.is_ok() {
            return;
        }
    }
}
