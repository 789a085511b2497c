//! The client of the payment provider that processes card payments.

pub mod provider;
pub mod stripe;
pub mod stripe_amount;

use std::sync::Arc;

use self::provider::Provider;
use self::stripe::Stripe;
use crate::config::{Config, Secret};

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
