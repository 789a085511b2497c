//! Payments by card: families pay orders and dues on a page of the payment provider, and money goes back the
//! way it came.
//!
//! Off unless it is set up. What is to be done is written down first, then the provider is asked, then what it
//! answered is written down; whatever breaks in between is looked up again. See `docs/cards.md`.

pub mod api;
pub mod checkout;
pub mod disputes;
pub mod incoming;
mod letter;
pub mod minor;
pub mod opening;
pub mod pages;
pub mod provider;
pub mod reconcile;
pub mod refunds;
pub mod returning;
pub mod settling;
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
use crate::web::server::told;

/// How often refunds are looked for that are to be sent.
const SEND_EVERY: Duration = Duration::from_secs(2);
/// How long the provider is left alone when it cannot be reached.
const REST: Duration = Duration::from_secs(30);
/// How often everything that is open is looked up at the provider.
const RECONCILE_EVERY: Duration = Duration::from_secs(600);
/// Who writes down what the provider says.
pub(crate) const ACTOR: &str = "cards";

/// What is needed to take cards.
#[derive(Clone)]
pub struct Cards {
    pub provider: Arc<dyn Provider>,
    /// By which we know that the provider calls.
    pub webhook_secret: Option<Secret>,
}

impl Cards {
    /// As the settings want it; `None` where cards are not taken.
    pub fn new(config: &Config) -> Result<Option<Self>, String> {
        let Some(key) = &config.stripe_secret_key else { return Ok(None) };
        let provider = Arc::new(Stripe::new(&config.stripe_url, key)?);
        Ok(Some(Self { provider, webhook_secret: config.stripe_webhook_secret.clone() }))
    }
}

/// Sends refunds, and heals what broke, until the service stops.
pub async fn run(app: App, mut stop: watch::Receiver<bool>) {
    let Some(cards) = app.cards.clone() else { return };
    let mut reconciled: Option<Instant> = None;
    loop {
        let long_ago = reconciled.is_none_or(|at| at.elapsed() >= RECONCILE_EVERY);
        let reached = if long_ago {
            let reached = reconcile::everything(&app, &cards).await;
            // What could not be looked up is looked up once the provider can be reached.
            reconciled = reached.then(Instant::now);
            reached
        } else {
            refunds::send(&app, &cards).await
        };
        let wait = if reached { SEND_EVERY } else { REST };
        if tokio::time::timeout(wait, told(&mut stop)).await.is_ok() {
            return;
        }
    }
}
