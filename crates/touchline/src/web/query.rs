//! Query parameters: each at most once, none unknown, every fault told.

use std::collections::BTreeMap;

use axum::extract::FromRequestParts;
use http::request::Parts;
use kit::text::{self, TextFault};
use kit::word::Word;
use kit::{Day, Id, Kind, Timestamp};

use super::fields::FAULTS;
use crate::error::{Code, Error, Fault, Result};
use crate::paging::Order;

/// A type that is read from query parameters.
pub trait FromQuery: Sized {
    /// The direction of the list if the caller does not say.
    const ORDER: Order = Order::Asc;

    /// Takes the parameters it knows. Faults are noted in `params`; what is returned is not used then.
    fn read(params: &mut Params) -> Self;
}

/// No parameters at all.
pub struct Nothing;

impl FromQuery for Nothing {
    fn read(_: &mut Params) -> Self {
        Self
    }
}

/// The parameters that were not read yet, and the faults found so far.
#[derive(Debug, Default)]
pub struct Params {
    pairs: BTreeMap<String, String>,
    faults: Vec<Fault>,
}

impl Params {
    /// Takes a query apart.
    pub fn new(query: &str) -> Self {
        let mut params = Self::default();
        // A spoilt cursor is told as such by whoever opens it.
        let spoilt = |pair: &&str| !pair.starts_with("cursor=") && !well_encoded(pair);
        for pair in query.split('&').filter(spoilt) {
            let name = pair.split('=').next().unwrap_or_default();
            params.fault(name, "invalid_encoding", "This is not percent-encoded UTF-8.");
        }
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if params.pairs.insert(name.to_string(), value.into_owned()).is_some() {
                params.fault(&name, "repeated", "This parameter may stand only once.");
            }
        }
        params
    }

    /// Reads all of a query; the error names every unknown parameter and every fault.
    pub fn read<T: FromQuery>(query: &str) -> Result<T> {
        let mut params = Self::new(query);
        let read = T::read(&mut params);
        params.finish().map(|()| read)
    }

    fn finish(mut self) -> Result<()> {
        for name in std::mem::take(&mut self.pairs).into_keys() {
            self.fault(&name, "unknown_parameter", "This parameter is not known here.");
        }
        if self.faults.is_empty() {
            return Ok(());
        }
        self.faults.truncate(FAULTS);
        let error = Error::new(Code::InvalidParameter, "Some query parameters are not valid.");
        Err(Error { faults: self.faults, ..error })
    }

    /// Notes a fault of a parameter.
    pub fn fault(&mut self, name: &str, code: &'static str, detail: impl Into<String>) {
        self.faults.push(Fault::new(format!("?{name}"), code, detail));
    }

    /// Whether a parameter was sent and not read yet.
    pub fn has(&self, name: &str) -> bool {
        self.pairs.contains_key(name)
    }

    /// A parameter as it was sent.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.pairs.remove(name)
    }

    /// Text on one line.
    pub fn line(&mut self, name: &str, max: usize) -> Option<String> {
        match text::line(&self.take(name)?, max) {
            Ok(text) => return Some(text),
            Err(TextFault::Empty) => self.fault(name, "empty", "This must not be empty."),
            Err(TextFault::TooLong { max }) => {
                self.fault(name, "too_long", format!("This can have at most {max} characters."));
            }
            Err(TextFault::Control) => {
                self.fault(name, "control_character", "This has a control character.");
            }
        }
        None
    }

    /// One of an enum's words.
    pub fn word<W: Word>(&mut self, name: &str) -> Option<W> {
        let text = self.take(name)?;
        let word = W::parse(&text);
        if word.is_none() {
            self.fault(name, "unknown_value", format!("This must be one of: {}.", W::choices()));
        }
        word
    }

    /// One of an enum's words, or `all` for none in particular; left out, it is `default`.
    pub fn word_or_all<W: Word>(&mut self, name: &str, default: W) -> Option<W> {
        match self.pairs.get(name).map(String::as_str) {
            None => Some(default),
            Some("all") => {
                self.take(name);
                None
            }
            Some(_) => self.word(name),
        }
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Option<bool> {
        let read = |text: &str| text.parse().ok();
        self.read_as(name, "wrong_type", "This must be true or false.", read)
    }

    /// A moment, with its offset; a day is the moment at which it begins in UTC.
    pub fn moment(&mut self, name: &str) -> Option<Timestamp> {
        let wrong = "This is not a time with its offset, such as 2026-09-05T18:30:00Z, nor a day.";
        let day = |text: &str| text.parse::<Day>().ok().map(Day::start);
        self.read_as(name, "invalid_time", wrong, |text| text.parse().ok().or_else(|| day(text)))
    }

    /// The id of an object.
    pub fn id<K: Kind>(&mut self, name: &str) -> Option<Id<K>> {
        let wrong = format!("This is not an id that begins with {}_.", K::PREFIX);
        self.read_as(name, "invalid_id", &wrong, |text| text.parse().ok())
    }

    /// The id of an object that must be named.
    pub fn required_id<K: Kind>(&mut self, name: &str) -> Id<K> {
        if !self.has(name) {
            self.fault(name, "required", "This parameter is required.");
        }
        self.id(name).unwrap_or(Id::LEAST)
    }

    fn read_as<T>(
        &mut self,
        name: &str,
        code: &'static str,
        wrong: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = read(&self.take(name)?);
        if value.is_none() {
            self.fault(name, code, wrong);
        }
        value
    }

    /// A whole number within bounds, written in plain digits without sign or leading zero.
    pub fn number(&mut self, name: &str, least: i64, greatest: i64) -> Option<i64> {
        let text = self.take(name)?;
        let zeros = text.starts_with('0') && text != "0";
        let plain = text.bytes().all(|b| b.is_ascii_digit()) && !zeros;
        let number = text.parse().ok().filter(|n| plain && (least..=greatest).contains(n));
        if number.is_none() {
            let detail = format!("This must be a whole number from {least} to {greatest}.");
            self.fault(name, "out_of_range", detail);
        }
        number
    }
}

/// Whether every `%` is followed by two digits and the whole is UTF-8.
fn well_encoded(query: &str) -> bool {
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let hex = digits.filter(|two| two.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let Some(byte) = hex.and_then(|two| u8::from_str_radix(two, 16).ok()) else { return false };
        bytes.push(byte);
        rest = &tail[2..];
    }
    std::str::from_utf8(&bytes).is_ok()
}

/// The query of a request.
pub struct Query<T>(pub T);

impl<S: Sync, T: FromQuery> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        Params::read(parts.uri.query().unwrap_or_default()).map(Self)
    }
}
