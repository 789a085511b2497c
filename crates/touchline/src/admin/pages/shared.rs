//! What the pages of the admin area have in common: their lists, and forms that are taken once.

use std::time::Duration;

use axum::response::Response;
use http::StatusCode;
use kit::secret::{hex, sha256};
use store::{Reader, Tx};

use crate::accounts::permits::{AdminArea, Needs};
use crate::accounts::user::Role;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::paging::{Order, Page, Paged};
use crate::web::cursor::{self, List, Place};
use crate::web::form::Form;
use crate::web::idempotency::{self, IdempotencyKey, Remembered};
use crate::web::page::{Flash, Frame};
use crate::web::visitor::{Outcome, Visitor};

/// How many rows a page shows unless its address says otherwise.
const SHOWN: i64 = 50;
const MOST_SHOWN: i64 = 100;
/// How long the name of a form is, in hexadecimal digits.
const NONCE: usize = 32;

/// Somebody who looks after the club.
pub(super) type Admin = Visitor<AdminArea>;

/// A frame with a line on top, if the address says what was done: one of a few known words.
pub(super) fn after(frame: Frame, asked: &Asked, lines: &[(&'static str, &'static str)]) -> Frame {
    let done = asked.form.text("done");
    let line = lines.iter().find(|(word, _)| *word == done);
    frame.flash(line.map(|(_, text)| Flash::good(*text)))
}

/// Whether the visitor owns the club.
pub(super) fn is_owner(visitor: &Admin) -> bool {
    visitor.visit.role == Some(Role::Owner)
}

/// The query of a page. Fields that were left empty count as not there, since that is how browsers send a
/// row of filters.
pub(super) struct Asked {
    path: String,
    pub(super) form: Form,
    filters: String,
}

impl Asked {
    pub(super) fn of<N>(visitor: &Visitor<N>) -> Result<Self> {
        let asked = &visitor.guest.asked;
        let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
        let form = Form::parse(query.as_bytes())?;
        let pairs = form_urlencoded::parse(query.as_bytes());
        let told = pairs.filter(|(name, value)| name != "done" && !value.trim().is_empty());
        let told = form_urlencoded::Serializer::new(String::new()).extend_pairs(told).finish();
        Ok(Self { path: path.to_owned(), form, filters: cursor::filters(&told) })
    }

    /// The filters as they stand in an address.
    pub(super) fn filters(&self) -> &str {
        &self.filters
    }

    fn limit(&self) -> i64 {
        let told = self.form.maybe("limit").and_then(|text| text.parse().ok());
        told.filter(|limit| (1..=MOST_SHOWN).contains(limit)).unwrap_or(SHOWN)
    }

    fn list<N>(&self, visitor: &Visitor<N>) -> Result<List<'_>>
    where
        N: Needs,
    {
        let account = visitor.club()?;
        Ok(List { account, route: &self.path, filters: &self.filters, order: Order::Desc })
    }

    /// The page that is asked for, newest first.
    pub(super) fn page<N: Needs, P: Place>(&self, visitor: &Visitor<N>) -> Result<Page<P>> {
        let (key, own) = (&visitor.app().cursors, self.list(visitor)?);
        let cursor = self.form.maybe("cursor");
        let last = cursor.map(|cursor| key.place(&own, cursor)).transpose()?;
        Ok(Page { limit: self.limit(), order: Order::Desc, last })
    }

    /// The address of the page after a place.
    pub(super) fn next<N: Needs, P: Place>(
        &self,
        visitor: &Visitor<N>,
        place: &P,
    ) -> Result<String> {
        let cursor = visitor.app().cursors.cursor(&self.list(visitor)?, place);
        let and = if self.filters.is_empty() { "" } else { "&" };
        let limit = self.limit();
        Ok(format!("{}?{}{and}limit={limit}&cursor={cursor}", self.path, self.filters))
    }
}

/// Rows of a list, and the address of the next ones; empty if there are none.
pub(super) struct Shown<T> {
    pub(super) rows: Vec<T>,
    pub(super) next: String,
}

/// Reads a page of a list, newest first.
pub(super) async fn rows<N: Needs, T>(
    visitor: &Visitor<N>,
    asked: &Asked,
    work: impl FnOnce(&Reader<'_>, &Page<T::Place>) -> Result<Vec<T>> + Send + 'static,
) -> Result<Shown<T>>
where
    T: Paged + Send + 'static,
    T::Place: Place + Copy + Send + 'static,
{
    let page: Page<T::Place> = asked.page(visitor)?;
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let mut rows = visitor.read(move |db| work(db, &page)).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| more);
    let next = last.map(|last| asked.next(visitor, &last.place())).transpose()?;
    Ok(Shown { rows, next: next.unwrap_or_default() })
}

/// A name for a form that has just been shown: what is made with it is made once, however often it is sent.
pub(super) fn new_nonce(app: &App) -> String {
    hex(&app.dice.bytes::<{ NONCE / 2 }>())
}

/// The name of the form that was sent.
pub(super) fn nonce(form: &Form) -> Result<String> {
    let told = form.text("nonce");
    if told.len() == NONCE && told.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(told.to_owned());
    }
    let detail = "This form is not complete. Go back, reload the page and try again.";
    Err(Error::new(Code::InvalidRequest, detail))
}

/// What came of a form.
pub(super) enum Once<T> {
    /// It was carried out now.
    Now(T),
    /// It was carried out before; this is the id of what was made then.
    Before(String),
}

/// Carries out what a form asks for, unless that was done before. `work` also says the id of what it made.
pub(super) fn once<T>(
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

/// Sends a page.
pub(super) fn show<T: askama::Template>(status: StatusCode, page: &T) -> Outcome<Response> {
    Ok(crate::web::page::html(status, page)?)
}
