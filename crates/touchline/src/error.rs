//! One error for the whole service, cut by what the caller can do about it.
//!
//! The code is the contract: [`Code`] is the table of all of them with status, title and whether
//! trying again may help. What went wrong inside is logged with the request id and never sent.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kit::word::Word;
use kit::words;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ids::{PersonId, TeamId};

/// The outcome of anything that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

words! {
    /// What went wrong, as a word that never changes its meaning.
    pub enum Code {
        InvalidJson = "invalid_json",
        InvalidParameter = "invalid_parameter",
        InvalidCursor = "invalid_cursor",
        InvalidRequest = "invalid_request",
        MissingCredentials = "missing_credentials",
        InvalidCredentials = "invalid_credentials",
        InsufficientScope = "insufficient_scope",
        Forbidden = "forbidden",
        NotFound = "not_found",
        MethodNotAllowed = "method_not_allowed",
        RequestTimeout = "request_timeout",
        Conflict = "conflict",
        Taken = "taken",
        InvalidState = "invalid_state",
        IdempotencyKeyInUse = "idempotency_key_in_use",
        Gone = "gone",
        PreconditionFailed = "precondition_failed",
        PayloadTooLarge = "payload_too_large",
        UnsupportedMediaType = "unsupported_media_type",
        ValidationFailed = "validation_failed",
        IdempotencyKeyReused = "idempotency_key_reused",
        RateLimited = "rate_limited",
        TooManyConcurrent = "too_many_concurrent",
        InternalError = "internal_error",
        Overloaded = "overloaded",
    }
}

impl Code {
    /// The HTTP status that goes with the code.
    pub fn status(self) -> StatusCode {
        match self {
            Self::InvalidJson
            | Self::InvalidParameter
            | Self::InvalidCursor
            | Self::InvalidRequest => StatusCode::BAD_REQUEST,
            Self::MissingCredentials | Self::InvalidCredentials => StatusCode::UNAUTHORIZED,
            Self::InsufficientScope | Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict | Self::Taken | Self::InvalidState | Self::IdempotencyKeyInUse => {
                StatusCode::CONFLICT
            }
            Self::Gone => StatusCode::GONE,
            Self::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::ValidationFailed | Self::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited | Self::TooManyConcurrent => StatusCode::TOO_MANY_REQUESTS,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A short sentence that is the same for every occurrence.
    pub fn title(self) -> &'static str {
        match self {
            Self::InvalidJson => "The body is not valid JSON.",
            Self::InvalidParameter => "A parameter is unknown or wrong.",
            Self::InvalidCursor => "The cursor does not fit this list.",
            Self::InvalidRequest => "The request is malformed.",
            Self::MissingCredentials => "The request carries no credentials.",
            Self::InvalidCredentials => "The credentials are not valid.",
            Self::InsufficientScope => "The credentials lack a scope.",
            Self::Forbidden => "This is not allowed.",
            Self::NotFound => "There is nothing here.",
            Self::MethodNotAllowed => "This address does not take that method.",
            Self::RequestTimeout => "The request did not arrive in time.",
            Self::Conflict => "The change conflicts with what is stored.",
            Self::Taken => "The value is already taken.",
            Self::InvalidState => "The state does not allow this.",
            Self::IdempotencyKeyInUse => "A request with this key is still running.",
            Self::Gone => "This is no longer available.",
            Self::PreconditionFailed => "The object has changed since it was read.",
            Self::PayloadTooLarge => "The body is too large.",
            Self::UnsupportedMediaType => "The body's type is not supported.",
            Self::ValidationFailed => "Some members of the body are not valid.",
            Self::IdempotencyKeyReused => "The key was used for another request.",
            Self::RateLimited => "Too many requests.",
            Self::TooManyConcurrent => "Too many requests at once.",
            Self::InternalError => "Something went wrong on our side.",
            Self::Overloaded => "The service cannot take this right now.",
        }
    }

    /// Whether the same request may succeed later.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::RequestTimeout
                | Self::IdempotencyKeyInUse
                | Self::RateLimited
                | Self::TooManyConcurrent
                | Self::InternalError
                | Self::Overloaded
        )
    }
}

/// One fault of a body or a query, with where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Fault {
    /// A JSON pointer into the body, or `?name` for a query parameter.
    #[schema(examples("/name"))]
    pub pointer: String,
    /// What is wrong, as a word.
    #[schema(examples("too_long"))]
    pub code: Cow<'static, str>,
    /// What is wrong, as a sentence.
    pub detail: String,
    /// Who is already there, where somebody may be added twice; told beside the faults.
    #[serde(skip)]
    pub candidates: Vec<Candidate>,
}

impl Fault {
    /// A fault at a place.
    pub fn new(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        let (pointer, detail) = (pointer.into(), detail.into());
        Self { pointer, code: Cow::Borrowed(code), detail, candidates: Vec::new() }
    }
}

words! {
    /// By what somebody looks like a person who is already there.
    pub enum MatchedOn {
        Email = "email",
        NameAndBirthDate = "name_and_birth_date",
    }
}

/// Somebody who is already there and may be the one who was to be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Candidate {
    /// The fault this belongs to.
    #[schema(examples("/person_id"))]
    pub pointer: String,
    /// Send this as `person_id` if it is the same person.
    pub person_id: PersonId,
    pub first_name: String,
    pub last_name: Option<String>,
    /// The teams they are on.
    pub teams: Vec<TeamId>,
    pub matched_on: MatchedOn,
}

/// A refusal or a failure.
#[derive(Debug, Clone)]
pub struct Error {
    /// What went wrong.
    pub code: Code,
    /// What went wrong this time, for the caller.
    pub detail: Cow<'static, str>,
    /// Where, if it has places.
    pub faults: Vec<Fault>,
    /// After how many seconds to try again.
    pub retry_after: Option<u32>,
    /// The scope that was missing.
    pub needs: Option<&'static str>,
    /// The version that the object has now, where another one was expected.
    pub version: Option<i64>,
    /// What went wrong inside, for the log only.
    pub cause: Option<String>,
}

impl Error {
    /// An error with its code and a sentence for the caller.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            detail: detail.into(),
            faults: Vec::new(),
            retry_after: None,
            needs: None,
            version: None,
            cause: None,
        }
    }

    /// Nothing here, or nothing the caller may know of.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "No such object, or it is not yours to see.")
    }

    /// Something that is there, but not for this caller to do.
    pub fn forbidden() -> Self {
        Self::new(Code::Forbidden, "Your role in the club does not allow this.")
    }

    /// A transition that the state does not allow.
    pub fn invalid_state(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidState, detail)
    }

    /// Members of the body that are not valid.
    pub fn invalid(faults: Vec<Fault>) -> Self {
        let detail = "Some members of the body are not valid.";
        Self { faults, ..Self::new(Code::ValidationFailed, detail) }
    }

    /// A failure of ours; `cause` is logged, not sent.
    pub fn internal(cause: impl Into<String>) -> Self {
        let detail = "The request could not be completed. Quote the request id when you report it.";
        Self { cause: Some(cause.into()), ..Self::new(Code::InternalError, detail) }
    }

    /// The same error with a place.
    #[must_use]
    pub fn at(self, pointer: &str) -> Self {
        let fault = Fault::new(pointer, self.code.word(), self.detail.clone());
        Self { faults: vec![fault], ..self }
    }

    /// The same error with the advice to come back after so many seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(u32::try_from(seconds).unwrap_or(u32::MAX)), ..self }
    }

    fn unavailable(cause: String, seconds: u64) -> Self {
        let error = Self::new(Code::Overloaded, "The database is busy or out of reach; try again.");
        Self { cause: Some(cause), ..error }.retry_after(seconds)
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Missing => Self::not_found(),
            store::Error::Taken(rule) => Self {
                cause: Some(format!("the rule {rule} was broken")),
                ..Self::new(Code::Taken, "Another object already has this value.")
            },
            store::Error::Dangling => {
                Self::new(Code::Conflict, "An object that this one points to does not exist.")
            }
            store::Error::Busy | store::Error::Overloaded => {
                Self::unavailable(error.to_string(), 1)
            }
            store::Error::Unavailable(why) => Self::unavailable(why, 5),
            other => Self::internal(other.to_string()),
        }
    }
}

/// Says what a broken unique rule means to the caller.
pub trait TakenExt<T> {
    /// If this rule was broken, the value at `pointer` is taken.
    fn taken(self, rule: &str, pointer: &str, detail: &'static str) -> Result<T>;
}

impl<T, E: Into<Error> + AsTaken> TakenExt<T> for std::result::Result<T, E> {
    fn taken(self, rule: &str, pointer: &str, detail: &'static str) -> Result<T> {
        self.map_err(|error| match error.rule() {
            Some(broken) if broken == rule => Error::new(Code::Taken, detail).at(pointer),
            _ => error.into(),
        })
    }
}

/// An error that may know which unique rule was broken.
pub trait AsTaken {
    /// The rule's name.
    fn rule(&self) -> Option<&str>;
}

impl AsTaken for store::Error {
    fn rule(&self) -> Option<&str> {
        match self {
            Self::Taken(rule) => Some(rule),
            _ => None,
        }
    }
}

impl AsTaken for Error {
    fn rule(&self) -> Option<&str> {
        let cause = self.cause.as_deref().filter(|_| self.code == Code::Taken)?;
        cause.strip_prefix("the rule ")?.strip_suffix(" was broken")
    }
}

impl IntoResponse for Error {
    /// Only the status; the edge of the service writes the problem, since it knows the request id.
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// What a caller gets instead of data (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem<'a> {
    /// An address that names the kind of problem.
    #[serde(rename = "type")]
    #[schema(examples("/docs/errors#not_found"))]
    pub kind: String,
    /// A short sentence, the same for every occurrence.
    pub title: &'a str,
    /// The HTTP status.
    #[schema(examples(404))]
    pub status: u16,
    /// What went wrong this time.
    pub detail: &'a str,
    /// What went wrong, as a word that never changes its meaning.
    #[schema(value_type = Code)]
    pub code: &'a str,
    /// Quote this when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: &'a str,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Every fault that was found, at most 50.
    pub errors: &'a [Fault],
    /// With a fault `duplicate`: who is already there and may be the same person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Candidate>, required = false)]
    pub candidates: Vec<&'a Candidate>,
}

impl Error {
    /// The problem as it is sent.
    pub fn problem<'a>(&'a self, request_id: &'a str) -> Problem<'a> {
        Problem {
            kind: format!("/docs/errors#{}", self.code),
            title: self.code.title(),
            status: self.code.status().as_u16(),
            detail: &self.detail,
            code: self.code.word(),
            request_id,
            retryable: self.code.retryable(),
            errors: &self.faults,
            candidates: self.faults.iter().flat_map(|fault| &fault.candidates).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_unique_and_has_a_title() {
        let mut words: Vec<_> = Code::ALL.iter().map(|(_, word)| word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|(code, _)| code.title().ends_with('.')));
    }

    #[test]
    fn a_broken_rule_names_the_member() {
        let broken: Result<(), _> = Err(store::Error::Taken("a_b_key".to_owned()));
        let told = broken.taken("a_b_key", "/b", "Another one has this.").unwrap_err();
        assert_eq!((told.code, told.faults[0].pointer.as_str()), (Code::Taken, "/b"));
        let other: Result<(), _> = Err(Error::from(store::Error::Taken("x_key".to_owned())));
        assert!(other.taken("a_b_key", "/b", "").unwrap_err().faults.is_empty());
    }
}
