//! Deduplicates form submissions: a form that is sent several times takes effect once.

use std::time::Duration;

use http::StatusCode;
use kit::secret::{hex, sha256};

use super::form::{CSRF, Form};
use super::idempotency::{self, IdempotencyKey, StoredResponse};
use super::multipart::SentFile;
use crate::accounts::permissions::Permission;
use crate::prelude::*;
use crate::web::app::App;
use crate::web::visitor::Visitor;

/// The length of a nonce, in hexadecimal digits.
const NONCE_LENGTH: usize = 32;

/// The error for a form that was already submitted with other content.
const CONTENT_CHANGED: &str = mark!(
    "You already submitted this form with different content, and that submission was saved. \
     Reload the page to see the result."
);

/// Generates a nonce for a form that is about to be shown.
pub fn new_nonce(app: &App) -> String {
    hex(&app.rng.bytes::<{ NONCE_LENGTH / 2 }>())
}

/// A submitted form: its nonce and the hash of its content.
#[derive(Debug, Clone)]
pub struct Nonce {
    pub value: String,
    content_hash: [u8; 32],
}

impl Nonce {
    /// Adds the files of the form to its content.
    #[must_use]
    pub fn with_files(self, files: &[SentFile]) -> Self {
        if files.is_empty() {
            return self;
        }
        let files = files.iter().flat_map(|file| sha256(&file.bytes));
        let all: Vec<u8> = self.content_hash.into_iter().chain(files).collect();
        Self { content_hash: sha256(&all), ..self }
    }
}

/// Reads the nonce of a submitted form.
pub fn parse_nonce(form: &Form) -> Result<Nonce> {
    let nonce = form.text("nonce");
    if nonce.len() == NONCE_LENGTH && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Nonce { value: nonce.to_owned(), content_hash: hash_content(form) });
    }
    let detail = "This form is incomplete. Go back, reload the page and try again.";
    Err(Error::new(Code::InvalidRequest, detail))
}

fn hash_content(form: &Form) -> [u8; 32] {
    let mut text = form_urlencoded::Serializer::new(String::new());
    // The CSRF token changes when the user signs in again between two submissions; the content is the same.
    for (name, value) in form.with_prefix("").filter(|(name, _)| *name != CSRF) {
        text.append_pair(name, value);
    }
    sha256(text.finish().as_bytes())
}

/// The result of submitting a form.
#[derive(Debug)]
pub enum Submission<T> {
    /// The form took effect now.
    Accepted(T),
    /// The form was submitted before. This is the id of the object that was created then.
    Duplicate(String),
}

impl<N: Permission> Visitor<N> {
    /// Runs the action of a form in the current club, once, even if the form is sent several times. `work` returns the
    /// id of what it created or changed.
    pub async fn write_once<T: ToString + Send + 'static>(
        &self,
        nonce: Nonce,
        work: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Submission<T>> {
        let ttl = self.app().config.idempotency_ttl;
        let work = move |tx: &Tx<'_>| work(tx).map(|id| (id.to_string(), id));
        self.write(move |tx| submit_once(tx, &nonce, ttl, work)).await
    }

    /// The id of what a form created or changed when it was submitted before. Otherwise fails with `error`, the reason why
    /// the form cannot be submitted now.
    pub async fn find_earlier_result(&self, nonce: Nonce, error: Error) -> Result<String> {
        match self.write_once(nonce, |_| Err::<String, _>(error)).await? {
            Submission::Accepted(id) | Submission::Duplicate(id) => Ok(id),
        }
    }
}

/// Runs `work` unless the same form was submitted before. `work` returns the id of what it created and its result. A
/// form with the same nonce but other content is rejected, so that nobody believes the changed content was saved.
pub fn submit_once<T>(
    tx: &Tx<'_>,
    nonce: &Nonce,
    ttl: Duration,
    work: impl FnOnce(&Tx<'_>) -> Result<(String, T)>,
) -> Result<Submission<T>> {
    // The space keeps it apart from keys of API callers, which cannot contain one.
    let key =
        IdempotencyKey { key: format!("form {}", nonce.value), request_hash: nonce.content_hash };
    match idempotency::find_stored(tx, &key, ttl) {
        Ok(None) => {}
        Ok(Some(before)) => return Ok(Submission::Duplicate(before.data)),
        Err(error) if error.code == Code::IdempotencyKeyReused => {
            return Err(Error::new(Code::Conflict, CONTENT_CHANGED));
        }
        Err(error) => return Err(error),
    }
    let (data, created) = work(tx)?;
    let remembered = StoredResponse {
        account_id: tx.account(),
        key: key.key,
        request_hash: key.request_hash,
        status: StatusCode::OK.as_u16().into(),
        etag: None,
        data,
        created_at: tx.now(),
    };
    idempotency::save(tx, &remembered)?;
    Ok(Submission::Accepted(created))
}
