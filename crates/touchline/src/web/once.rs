//! Forms that are taken once: what one makes is made once, however often it is sent.

use std::time::Duration;

use http::StatusCode;
use kit::secret::{hex, sha256};
use store::Tx;

use super::form::{CSRF, Form};
use super::idempotency::{self, IdempotencyKey, Remembered};
use crate::app::App;
use crate::error::{Code, Error, Result};

/// How long the name of a form is, in hexadecimal digits.
const NONCE: usize = 32;

/// What somebody is told who changed a form that was carried out.
const SENT_BEFORE: &str = "This form was sent before with something else in it, and that was carried out. Open the \
    page anew to see what came of it.";

/// A name for a form that has just been shown.
pub fn new_nonce(app: &App) -> String {
    hex(&app.dice.bytes::<{ NONCE / 2 }>())
}

/// A form that was sent: its name, and what was in it.
#[derive(Debug, Clone)]
pub struct Nonce {
    pub name: String,
    content: [u8; 32],
}

/// Which form was sent.
pub fn nonce(form: &Form) -> Result<Nonce> {
    let told = form.text("nonce");
    if told.len() == NONCE && told.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Nonce { name: told.to_owned(), content: content(form) });
    }
    let detail = "This form is not complete. Go back, reload the page and try again.";
    Err(Error::new(Code::InvalidRequest, detail))
}

fn content(form: &Form) -> [u8; 32] {
    let mut text = form_urlencoded::Serializer::new(String::new());
    // Whoever signs in anew between two sendings has another token, and means the same.
    for (name, value) in form.beginning("").filter(|(name, _)| *name != CSRF) {
        text.append_pair(name, value);
    }
    sha256(text.finish().as_bytes())
}

/// What came of a form.
#[derive(Debug)]
pub enum Once<T> {
    /// It was carried out now.
    Now(T),
    /// It was carried out before; this is the id of what was made then.
    Before(String),
}

/// Carries out what a form asks for, unless that was done before. `work` also says the id of what it made. The same
/// form with something else in it is not what was done before, so that nobody takes it for done.
pub fn once<T>(
    tx: &Tx<'_>,
    nonce: &Nonce,
    kept: Duration,
    work: impl FnOnce(&Tx<'_>) -> Result<(String, T)>,
) -> Result<Once<T>> {
    // No caller of the API can use a key with a space in it.
    let key = IdempotencyKey { key: format!("form {}", nonce.name), request_hash: nonce.content };
    match idempotency::recall(tx, &key, kept) {
        Ok(None) => {}
        Ok(Some(before)) => return Ok(Once::Before(before.data)),
        Err(error) if error.code == Code::IdempotencyKeyReused => {
            return Err(Error::new(Code::Conflict, SENT_BEFORE));
        }
        Err(error) => return Err(error),
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
