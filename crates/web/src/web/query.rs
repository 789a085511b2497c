//! Query parameters: each at most once, none unknown, all faults reported.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use http::request::Parts;
use kit::text::{self, TextFault};
use kit::{Id, Kind};
use utoipa::__dev::ComposeSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

use super::fields::MAX_FAULTS;
use crate::prelude::*;

/// Maximum number of IDs in a parameter that takes several.
pub const MAX_IDS: usize = 50;

/// A type that is read from query parameters.
pub trait FromQuery: Sized {
    /// The sort order of the list if the caller does not send `order`.
    const ORDER: Order = Order::Asc;
    /// What the list has on its pages, for the description of `limit`.
    const ITEMS: &'static str = "objects";

    /// Takes the parameters it knows. Faults are added to `params`; if there are any, the returned value is not used.
    fn read(params: &mut Params) -> Self;
}

/// The schema of a parameter that is a value of an enum, or `all`.
pub struct OrAll<W>(PhantomData<W>);

impl<W: StringEnum> ComposeSchema for OrAll<W> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let words = W::ALL.iter().map(|(_, word)| *word).chain(["all"]);
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
    }
}

impl<W: StringEnum> ToSchema for OrAll<W> {}

/// The query of an operation without parameters.
pub struct NoQuery;

impl FromQuery for NoQuery {
    fn read(_: &mut Params) -> Self {
        Self
    }
}

/// The parameters that were not read yet, and the faults so far.
#[derive(Debug, Default)]
pub struct Params {
    pairs: BTreeMap<String, String>,
    faults: Vec<Fault>,
}

impl Params {
    /// Parses a query.
    pub fn new(query: &str) -> Self {
        let mut params = Self::default();
        // A malformed cursor is reported as an invalid cursor when it is decoded.
        let malformed = |pair: &&str| !pair.starts_with("cursor=") && !is_well_encoded(pair);
        for pair in query.split('&').filter(malformed) {
            let name = pair.split('=').next().unwrap_or_default();
            params.fault(name, "invalid_encoding", "This must be percent-encoded UTF-8.");
        }
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if params.pairs.insert(name.to_string(), value.into_owned()).is_some() {
                params.fault(&name, "repeated", "This parameter was sent more than once.");
            }
        }
        params
    }

    /// Reads a whole query. The error lists all unknown parameters and all faults.
    pub fn read<T: FromQuery>(query: &str) -> Result<T> {
        let mut params = Self::new(query);
        let read = T::read(&mut params);
        params.finish().map(|()| read)
    }

    fn finish(mut self) -> Result<()> {
        for name in std::mem::take(&mut self.pairs).into_keys() {
            let detail = "This parameter is unknown. Remove it or check its spelling.";
            self.fault(&name, "unknown_parameter", detail);
        }
        let Some(first) = self.faults.first() else { return Ok(()) };
        let name = first.parameter.as_deref().unwrap_or_default();
        let error = Error::new(Code::InvalidParameter, first.located_detail(name));
        self.faults.truncate(MAX_FAULTS);
        Err(Error { faults: self.faults, ..error })
    }

    /// Reports a fault of a parameter.
    pub fn fault(&mut self, name: &str, code: &'static str, detail: impl Into<String>) {
        self.faults.push(Fault::of_parameter(name, code, detail.into()));
    }

    /// Whether a parameter was sent and not read yet.
    pub fn has(&self, name: &str) -> bool {
        self.pairs.contains_key(name)
    }

    /// The value of a parameter.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.pairs.remove(name)
    }

    /// A single line of text.
    pub fn line(&mut self, name: &str, max: usize) -> Option<String> {
        match text::normalize_line(&self.take(name)?, max) {
            Ok(text) => return Some(text),
            Err(TextFault::Empty) => self.fault(name, "empty", "This must not be empty."),
            Err(TextFault::TooLong { max }) => {
                self.fault(name, "too_long", format!("Use at most {max} characters."));
            }
            Err(TextFault::Control) => {
                self.fault(name, "control_character", "This must not contain control characters.");
            }
        }
        None
    }

    /// A value of an enum.
    pub fn enum_value<W: StringEnum>(&mut self, name: &str) -> Option<W> {
        let detail = format!("Use one of: {}.", W::choices());
        self.parse_as(name, "unknown_value", &detail, W::parse)
    }

    /// Values of an enum, separated by commas. Empty if the parameter is absent.
    pub fn enum_values<W: StringEnum + PartialEq>(&mut self, name: &str) -> Vec<W> {
        let detail = format!("Use one or more of: {}. Separate them with commas.", W::choices());
        self.list_of(name, W::ALL.len(), ("unknown_value", &detail), W::parse)
    }

    /// A value of an enum, or `None` for `all`. If the parameter is absent, it is `default`.
    pub fn enum_or_all<W: StringEnum>(&mut self, name: &str, default: W) -> Option<W> {
        match self.pairs.get(name).map(String::as_str) {
            None => Some(default),
            Some("all") => {
                self.take(name);
                None
            }
            Some(_) => {
                let detail = format!("Use one of: {}, all.", W::choices());
                self.parse_as(name, "unknown_value", &detail, W::parse)
            }
        }
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Option<bool> {
        let read = |text: &str| text.parse().ok();
        self.parse_as(name, "wrong_type", "This must be true or false.", read)
    }

    /// A timestamp with its UTC offset. A date means the start of that day in UTC.
    pub fn timestamp(&mut self, name: &str) -> Option<Timestamp> {
        let detail = "Use a time with its UTC offset, such as 2026-09-05T18:30:00Z, or a date.";
        let day = |text: &str| text.parse::<Day>().ok().map(Day::start);
        self.parse_as(name, "invalid_time", detail, |text| text.parse().ok().or_else(|| day(text)))
    }

    /// The id of an object.
    pub fn id<K: Kind>(&mut self, name: &str) -> Option<Id<K>> {
        let detail = format!("Use a single ID that begins with {}_.", K::PREFIX);
        self.parse_as(name, "invalid_id", &detail, |text| text.parse().ok())
    }

    /// IDs of objects, separated by commas. Empty if the parameter is absent.
    pub fn ids<K: Kind>(&mut self, name: &str, max: usize) -> Vec<Id<K>> {
        let detail = format!("Use IDs that begin with {}_, separated by commas.", K::PREFIX);
        self.list_of(name, max, ("invalid_id", &detail), |text| text.parse().ok())
    }

    /// A required id.
    pub fn required_id<K: Kind>(&mut self, name: &str) -> Id<K> {
        if !self.has(name) {
            self.fault(name, "required", "This parameter is required.");
        }
        self.id(name).unwrap_or(Id::MIN)
    }

    /// Values that are separated by commas, each of them once.
    pub fn list_of<T: PartialEq>(
        &mut self,
        name: &str,
        max: usize,
        (code, detail): (&'static str, &str),
        read: impl Fn(&str) -> Option<T>,
    ) -> Vec<T> {
        let Some(text) = self.take(name) else { return Vec::new() };
        if text.split(',').count() > max {
            self.fault(name, "too_many", format!("Send at most {max} values."));
            return Vec::new();
        }
        let mut values = Vec::new();
        for item in text.split(',') {
            let Some(value) = read(item) else {
                self.fault(name, code, detail);
                return Vec::new();
            };
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    fn parse_as<T>(
        &mut self,
        name: &str,
        code: &'static str,
        detail: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = read(&self.take(name)?);
        if value.is_none() {
            self.fault(name, code, detail);
        }
        value
    }

    /// A whole number within bounds, in plain digits without sign or leading zeros.
    pub fn number(&mut self, name: &str, min: i64, max: i64) -> Option<i64> {
        let detail = format!("This must be an integer between {min} and {max}.");
        self.parse_as(name, "out_of_range", &detail, |text| {
            let zeros = text.starts_with('0') && text != "0";
            let plain = text.bytes().all(|b| b.is_ascii_digit()) && !zeros;
            text.parse().ok().filter(|n| plain && (min..=max).contains(n))
        })
    }
}

/// Splits the values of a filter: a single value, or else all values. A single value can be looked up in an index.
pub fn one_or_several<T: Copy>(values: Vec<T>) -> (Option<T>, Vec<T>) {
    match values.as_slice() {
        [value] => (Some(*value), Vec::new()),
        _ => (None, values),
    }
}

/// Whether every `%` is followed by two hexadecimal digits and the decoded text is UTF-8.
fn is_well_encoded(query: &str) -> bool {
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

/// Extracts the query of a request.
pub struct Query<T>(pub T);

impl<S: Sync, T: FromQuery> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        Params::read(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use macros::query;
    use utoipa::IntoParams;

    use super::*;
    use crate::ids::TeamId;
    use crate::web::cursor::Paging;

    #[query(items = "teams", order = Desc, check = check)]
    struct Sample {
        /// Only these teams,
        /// separated by commas.
        #[param(several(team_ids))]
        team_id: Option<TeamId>,
        #[param(skip)]
        team_ids: Vec<TeamId>,
        #[param(or_all(Order::Asc))]
        sort: Option<Order>,
        #[param(name = "q", line(5))]
        text: Option<String>,
        active: bool,
        updated_since: Option<Timestamp>,
    }

    fn check(read: &mut Sample, params: &mut Params) {
        if read.active && read.text.is_some() {
            params.fault("q", "not_allowed", "");
        }
    }

    #[test]
    fn a_declared_query_is_read() {
        let (one, two) = (TeamId::from_bits(1), TeamId::from_bits(2));
        let read: Sample = Params::read(&format!("team_id={one},{two}&q=hawks&sort=all")).unwrap();
        assert_eq!((read.team_id, read.team_ids), (None, vec![one, two]));
        assert_eq!((read.sort, read.text.as_deref()), (None, Some("hawks")));
        assert_eq!((read.active, read.updated_since), (false, None));
        let read: Sample = Params::read(&format!("team_id={one}&active=true")).unwrap();
        assert_eq!(
            (read.team_id, read.team_ids.len(), read.sort),
            (Some(one), 0, Some(Order::Asc))
        );
        let error = Params::read::<Sample>("active=true&q=hawks&text=x").unwrap_err();
        let faults: Vec<_> = error.faults.iter().map(|fault| fault.code.as_ref()).collect();
        assert_eq!(faults, ["not_allowed", "unknown_parameter"]);
    }

    #[test]
    fn a_list_has_the_parameters_of_its_pages_and_its_filter() {
        let params = Paging::<Sample>::into_params(|| None);
        let described: Vec<_> = params
            .iter()
            .map(|param| (param.name.as_str(), param.description.as_deref().unwrap_or_default()))
            .collect();
        let expected = [
            ("limit", "Number of teams per page. Default: 50."),
            ("cursor", "`next_cursor` of the previous page."),
            ("order", "Sort order. Default: `desc`."),
            ("team_id", "Only these teams, separated by commas."),
            ("sort", ""),
            ("q", ""),
            ("active", ""),
            ("updated_since", "Only objects that changed at or after this time."),
        ];
        assert_eq!(described, expected);
    }
}
