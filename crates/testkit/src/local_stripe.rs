//! localstripe as a process of its own: a provider of cards that nobody here wrote. It knows cards that are declined
//! and refunds, but neither Checkout nor idempotency keys, and gives back more than was paid if it is asked to.

use std::net::SocketAddr;
use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::programs::converse;
use crate::stripe::KEY;

const PATIENCE: Duration = Duration::from_secs(60);

/// The provider, which ends when it is dropped.
pub struct LocalStripe {
    pub url: String,
    client: Client,
    child: Child,
}

impl LocalStripe {
    /// Starts one. `None` where there is no Python with its packages and nobody insists.
    pub fn start() -> Option<Self> {
        let (child, told) = converse("cards/server.py", &[])?;
        let hello = told.recv_timeout(PATIENCE).expect("localstripe starts");
        let port = hello["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let client = Client::new(address, Some(KEY));
        Some(Self { url: format!("http://{address}"), client, child })
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let body = body.map(|body| body.to_string());
        let answer = self.client.page(method, path, body.as_deref()).await;
        (answer.status, answer.body)
    }

    /// Somebody is about to pay so much with this card.
    pub async fn intend(&self, amount: i64, card: &str) -> String {
        let intent = json!({ "amount": amount, "currency": "eur", "payment_method": card });
        let (status, made) = self.ask("POST", "/v1/payment_intents", Some(intent)).await;
        assert_eq!(status, 200, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    /// They pay; says what comes of it.
    pub async fn confirm(&self, intent: &str) -> (u16, Value) {
        let path = format!("/v1/payment_intents/{intent}/confirm");
        self.ask("POST", &path, Some(json!({}))).await
    }

    /// What was given back of a payment.
    pub async fn refunds(&self, intent: &str) -> Vec<Value> {
        let path = format!("/v1/refunds?payment_intent={intent}");
        let (status, listed) = self.ask("GET", &path, None).await;
        assert_eq!(status, 200, "{listed}");
        listed["data"].as_array().unwrap().clone()
    }
}

impl Drop for LocalStripe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
