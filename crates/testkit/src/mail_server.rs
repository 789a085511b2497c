//! A real mail server as a process of its own, well or badly behaved, for stories about letters.

use std::process::Child;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::programs::converse;

/// How long a letter may take from the server's hands to ours.
const PATIENCE: Duration = Duration::from_secs(60);

/// A mail server; dropped, it ends.
pub struct MailServer {
    pub port: u64,
    child: Child,
    told: Mutex<Receiver<Value>>,
}

impl MailServer {
    /// Starts a server that behaves as `tests/mail/server.py` says of these words. `None` where there is
    /// no Python with its packages and nobody insists.
    pub fn start(words: &[&str]) -> Option<Self> {
        let (child, told) = converse("mail/server.py", words)?;
        let hello: Value = told.recv_timeout(PATIENCE).expect("the mail server starts");
        Some(Self { port: hello["port"].as_u64().unwrap(), child, told: Mutex::new(told) })
    }

    /// Its address, as the service takes it.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// So many letters, in the order in which the server took them; fewer are a failure.
    pub fn letters(&self, count: usize) -> Vec<Value> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        (0..count).map(|_| told.recv_timeout(PATIENCE).expect("a letter arrives")).collect()
    }

    /// Whether everything the server took was looked at.
    pub fn is_empty(&self) -> bool {
        // What it told a moment ago may still be on its way to us.
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.recv_timeout(Duration::from_millis(300)).is_err()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
