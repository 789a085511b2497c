//! A real SMTP server in a separate process, with configurable faults, for tests of email.

use std::process::Child;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::programs::spawn_script;

/// How long to wait for the server to report an email.
const PATIENCE: Duration = Duration::from_secs(60);

/// A mail server. Dropping it stops it.
pub struct MailServer {
    pub port: u64,
    child: Child,
    emails: Mutex<Receiver<Value>>,
}

impl MailServer {
    /// Starts `tests/mail/server.py`, which documents the arguments. `None` if Python is missing and not
    /// required.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        let (child, receiver) = spawn_script("mail/server.py", arguments)?;
        let hello: Value = receiver.recv_timeout(PATIENCE).expect("the mail server starts");
        Some(Self { port: hello["port"].as_u64().unwrap(), child, emails: Mutex::new(receiver) })
    }

    /// Its URL, as the setting `smtp_url` takes it.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// Waits for the next `count` emails and returns them in the order of their acceptance.
    pub fn emails(&self, count: usize) -> Vec<Value> {
        let emails = self.emails.lock().unwrap_or_else(PoisonError::into_inner);
        (0..count).map(|_| emails.recv_timeout(PATIENCE).expect("an email arrives")).collect()
    }

    /// Whether the server has accepted no further emails. Consumes one if there is any.
    pub fn is_empty(&self) -> bool {
        // The server's report of the last email may take a moment to arrive.
        let emails = self.emails.lock().unwrap_or_else(PoisonError::into_inner);
        emails.recv_timeout(Duration::from_millis(300)).is_err()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
