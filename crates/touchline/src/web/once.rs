//! Forms that are taken once: what one makes is made once, however often it is sent.

use std::time::Duration;

use http::StatusCode;
use kit::secret::{hex, sha256};
use store::Tx;

use super::form::Form;
use super::idempotency::{self, IdempotencyKey, Remembered};
use crate::app::App;
use crate::error::{Code, Error, Result};

/// How long the name of a form is, in hexadecimal digits.
const NONCE: usize = 32;

/// A name for a form that has just been shown.
pub fn new_nonce(app: &App) -> String {
    hex(&app.dice.bytes::<{ NONCE / 2 }>())
}

/// The name of the form that was sent.
pub fn nonce(form: &Form) -> Result<String> {
    let told = form.text("nonce");
    if told.len() == NONCE && told.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(told.to_owned());
    }
    let detail = "This form is not complete. Go back, reload the page and try again.";
    Err(Error::new(Code::InvalidRequest, detail))
}

/// What came of a form.
#[derive(Debug)]
pub enum Once<T> {
    /// It was carried out now.
    Now(T),
    /// It was carried out before; this is the id of what was made then.
    Before(String),
}

/// Carries out what a form asks for, unless that was done before. `work` also says the id of what it made.
pub fn once<T>(
    tx: &Tx<'_>,
    nonce: &str,
    kept: Duration,
    work: impl FnOnce(&Tx<'_>) -> Result<(String, T)>,
) -> Result<Once<T>> {
    // No caller of the API can use a key with a space in it.
    let key = IdempotencyKey { key: format!("form {nonce}"), request_hash: sha256(b"form") };
    if let Some(before) = idempotency::recall(tx, &key, kept)? {
        return Ok(Once::Before(before.data));
    }
    let (data, made) = work(tx)?;
    let remembered = Remembered {
        account_id: tx.account(),
        key: key.key,
        request_hash: key.request_hash,
        status: StatusCode::OK.as_u16().into(),
        etag: None,
        data,
        created_at: tx.now(),
    };
    idempotency::remember(tx, &remembered)?;
    Ok(Once::Now(made))
}
