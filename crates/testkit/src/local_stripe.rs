//! localstripe, a third-party fake of Stripe, in a separate process. It implements declined cards and refunds, but
//! neither Checkout nor idempotency keys, and it refunds more than was paid if asked to.

use std::net::SocketAddr;
use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Client;
use crate::programs::spawn_script;
use crate::stripe::KEY;

const PATIENCE: Duration = Duration::from_secs(60);

/// The fake server. Dropping it stops it.
pub struct LocalStripe {
    pub url: String,
    client: Client,
    child: Child,
}

impl LocalStripe {
    /// Starts a server. `None` if Python is missing and not required.
    pub fn start() -> Option<Self> {
        let (child, receiver) = spawn_script("cards/server.py", &[])?;
        let hello = receiver.recv_timeout(PATIENCE).expect("localstripe starts");
        let port = hello["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let client = Client::new(address, Some(KEY));
        Some(Self { url: format!("http://{address}"), client, child })
    }

    async fn request(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let body = body.map(|body| body.to_string());
        let answer = self.client.page(method, path, body.as_deref()).await;
        (answer.status, answer.body)
    }

    /// Creates a payment intent for an amount with this card.
    pub async fn create_intent(&self, amount: i64, card: &str) -> String {
        let intent = json!({ "amount": amount, "currency": "eur", "payment_method": card });
        let (status, created) = self.request("POST", "/v1/payment_intents", Some(intent)).await;
        assert_eq!(status, 200, "{created}");
        created["id"].as_str().unwrap().to_owned()
    }

    /// Confirms a payment intent. Returns the status and body of the response.
    pub async fn confirm(&self, intent: &str) -> (u16, Value) {
        let path = format!("/v1/payment_intents/{intent}/confirm");
        self.request("POST", &path, Some(json!({}))).await
    }

    /// The refunds of a payment.
    pub async fn refunds(&self, intent: &str) -> Vec<Value> {
        let path = format!("/v1/refunds?payment_intent={intent}");
        let (status, list) = self.request("GET", &path, None).await;
        assert_eq!(status, 200, "{list}");
        list["data"].as_array().unwrap().clone()
    }
}

impl Drop for LocalStripe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
