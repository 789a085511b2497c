//! The error type of the service, with one code for each way in which a caller can react.
//!
//! Codes are part of the API contract. [`Code`] defines them all, with status, title and whether a retry may help.
//! Internal causes are logged with the request id and never sent to the caller.

use std::borrow::Cow;
use std::fmt;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use i18n::Message;
use kit::string_enum::StringEnum;
use kit::{string_enum, string_schema};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::ids::{PersonId, TeamId};

/// A result with the service's error type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($code:ident = $word:literal, $status:ident, $title:literal;)+) => {
        string_enum! {
            /// A stable, machine-readable error code.
            pub enum Code as ErrorCode { $($code = $word),+ }
        }

        impl Code {
            /// The HTTP status of the code.
            pub fn status(self) -> StatusCode {
                match self {
                    $(Self::$code => StatusCode::$status,)+
                }
            }

            /// A short description of the code, the same for every occurrence.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$code => $title,)+
                }
            }
        }
    };
}

codes! {
    InvalidJson = "invalid_json", BAD_REQUEST, "The request body is not valid JSON.";
    InvalidParameter = "invalid_parameter", BAD_REQUEST,
        "A parameter or field is unknown, or a parameter has an invalid value.";
    InvalidCursor = "invalid_cursor", BAD_REQUEST, "The cursor is not valid for this list.";
    InvalidRequest = "invalid_request", BAD_REQUEST, "The request is malformed.";
    MissingCredentials = "missing_credentials", UNAUTHORIZED, "The request has no credentials.";
    InvalidCredentials = "invalid_credentials", UNAUTHORIZED, "The credentials are not valid.";
    InsufficientScope = "insufficient_scope", FORBIDDEN, "The credentials lack a required scope.";
    Forbidden = "forbidden", FORBIDDEN, "You don't have permission to do this.";
    NotFound = "not_found", NOT_FOUND, "The resource was not found.";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED,
        "This URL does not support the HTTP method.";
    RequestTimeout = "request_timeout", REQUEST_TIMEOUT, "The request body did not arrive in time.";
    Conflict = "conflict", CONFLICT, "The request conflicts with existing data.";
    Taken = "taken", CONFLICT, "The value is already in use.";
    InvalidState = "invalid_state", CONFLICT, "The object's status does not allow this.";
    IdempotencyKeyInUse = "idempotency_key_in_use", CONFLICT,
        "A request with this idempotency key is still in progress.";
    Gone = "gone", GONE, "This is no longer available.";
    PreconditionFailed = "precondition_failed", PRECONDITION_FAILED,
        "The object does not have the expected version.";
    PayloadTooLarge = "payload_too_large", PAYLOAD_TOO_LARGE, "The request body is too large.";
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE,
        "The content type is not supported.";
    ValidationFailed = "validation_failed", UNPROCESSABLE_ENTITY,
        "Some fields of the request body are not valid.";
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY,
        "The idempotency key was already used for a different request.";
    RateLimited = "rate_limited", TOO_MANY_REQUESTS, "Too many requests.";
    TooManyConcurrent = "too_many_concurrent", TOO_MANY_REQUESTS, "Too many concurrent requests.";
    InternalError = "internal_error", INTERNAL_SERVER_ERROR, "An internal error occurred.";
    Overloaded = "overloaded", SERVICE_UNAVAILABLE, "The service is temporarily unavailable.";
}

impl Code {
    /// Whether the same request may succeed if it is sent again later.
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

string_schema! {
    /// Code of a problem with a field. These are the most common ones.
    FieldErrorCode: COMMON_FAULT_CODES.iter().copied()
}

/// The most common codes of [`Fault`].
const COMMON_FAULT_CODES: &[&str] = &[
    "too_long",
    "required",
    "empty",
    "too_many",
    "out_of_range",
    "wrong_type",
    "invalid",
    "invalid_id",
    "unknown_field",
    "unknown_parameter",
    "unknown_value",
    "repeated",
    "not_found",
    "not_allowed",
    "mutually_exclusive",
    "taken",
];

/// A problem with one field of the request body or one query parameter.
#[derive(Debug, Clone, PartialEq, Eq, ToSchema)]
#[schema(as = FieldError)]
pub struct Fault {
    /// JSON pointer to the field of the body; `null` for a query parameter.
    #[schema(value_type = Option<String>, examples("/name"))]
    pub pointer: String,
    /// Name of the query parameter; `null` for a field of the body.
    #[schema(examples(json!(null)))]
    pub parameter: Option<String>,
    /// Machine-readable code of the problem. More values may be added.
    #[schema(value_type = FieldErrorCode)]
    pub code: Cow<'static, str>,
    /// Human-readable description of the problem. It may change; do not parse it.
    #[schema(value_type = String)]
    pub detail: Message,
    /// With the code `duplicate`: existing people who may be the same person. Sent in [`Problem::candidates`].
    #[schema(ignore)]
    pub candidates: Vec<Candidate>,
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut error = serializer.serialize_struct("FieldError", 4)?;
        error.serialize_field("pointer", &self.parameter.is_none().then_some(&self.pointer))?;
        error.serialize_field("parameter", &self.parameter)?;
        error.serialize_field("code", &self.code)?;
        error.serialize_field("detail", &self.detail)?;
        error.end()
    }
}

impl Fault {
    /// Creates a fault of the field that `pointer` names.
    pub fn new(pointer: impl Into<String>, code: &'static str, detail: impl Into<Message>) -> Self {
        let (pointer, detail) = (pointer.into(), detail.into());
        let code = Cow::Borrowed(code);
        Self { pointer, parameter: None, code, detail, candidates: Vec::new() }
    }

    /// Creates a fault of a query parameter.
    pub fn of_parameter(name: &str, code: &'static str, detail: impl Into<Message>) -> Self {
        Self { parameter: Some(name.to_owned()), ..Self::new("", code, detail) }
    }

    /// The detail after the place that it is about: `` `/name`: This field is required. ``
    pub fn located_detail(&self, place: &str) -> Message {
        Message::from("`{place}`: {detail}").with("place", place).with("detail", &self.detail)
    }
}

string_enum! {
    /// What the new person and the existing one have in common.
    pub enum MatchedOn as DuplicateMatch {
        Email = "email",
        NameAndBirthDate = "name_and_birth_date",
        /// The same name on the same team, and the birth date of one of them is not known. Only pages ask about it.
        NameAndTeam = "name_and_team",
    }
}

/// An existing person who may be the person you are adding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = DuplicateCandidate)]
pub struct Candidate {
    /// JSON pointer of the error that this candidate belongs to.
    #[schema(examples("/person_id"))]
    pub pointer: String,
    /// ID of the existing person. Send it as `person_id` if it is the same person.
    pub person_id: PersonId,
    /// First name of the existing person.
    pub first_name: String,
    /// Last name of the existing person.
    pub last_name: Option<String>,
    /// IDs of the teams that the existing person is on.
    pub team_ids: Vec<TeamId>,
    /// What the two people have in common.
    pub matched_on: MatchedOn,
}

/// An error of the service: a rejected request or an internal failure.
#[derive(Debug, Clone)]
pub struct Error {
    /// The code.
    pub code: Code,
    /// A description of this occurrence, for the caller.
    pub detail: Message,
    /// The problems of single fields and parameters.
    pub faults: Vec<Fault>,
    /// The number of seconds after which a retry makes sense.
    pub retry_after: Option<u32>,
    /// The scope that the credentials lack.
    pub required_scope: Option<&'static str>,
    /// The current version of the object, if it isn't the expected one.
    pub version: Option<i64>,
    /// The internal cause, for the log only.
    pub cause: Option<Cause>,
}

/// The internal cause of an error.
#[derive(Debug, Clone)]
pub enum Cause {
    Text(Box<str>),
    /// The unique constraint of the database with this name was violated.
    UniqueViolation(Box<str>),
}

impl From<String> for Cause {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::UniqueViolation(name) => write!(f, "the unique constraint {name} was violated"),
        }
    }
}

impl Error {
    /// Creates an error with a code and a description for the caller.
    pub fn new(code: Code, detail: impl Into<Message>) -> Self {
        Self {
            code,
            detail: detail.into(),
            faults: Vec::new(),
            retry_after: None,
            required_scope: None,
            version: None,
            cause: None,
        }
    }

    /// The object doesn't exist, or the caller must not know that it exists.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "No such object, or you don't have access to it.")
    }

    /// The caller can see the object, but lacks the permission for this operation.
    pub fn forbidden() -> Self {
        Self::new(Code::Forbidden, "Your role in the club does not allow this.")
    }

    /// The object's status doesn't allow this operation.
    pub fn invalid_state(detail: impl Into<Message>) -> Self {
        Self::new(Code::InvalidState, detail)
    }

    /// Fields of the request body are not valid.
    pub fn invalid(faults: Vec<Fault>) -> Self {
        let detail = match faults.first() {
            Some(first) if first.pointer.is_empty() => first.detail.clone(),
            Some(first) => first.located_detail(&first.pointer),
            None => "Some fields of the request body are not valid.".into(),
        };
        Self { faults, ..Self::new(Code::ValidationFailed, detail) }
    }

    /// An internal failure; `cause` is logged and not sent to the caller.
    pub fn internal(cause: impl Into<String>) -> Self {
        let detail = "The request could not be completed. If you report this problem, include the request ID.";
        Self { cause: Some(Cause::from(cause.into())), ..Self::new(Code::InternalError, detail) }
    }

    /// Fails with this error if the condition is met.
    pub fn fail_if(self, condition: bool) -> Result<()> {
        if condition { Err(self) } else { Ok(()) }
    }

    /// Adds the field that the error is about.
    #[must_use]
    pub fn at(self, pointer: &str) -> Self {
        let fault = Fault::new(pointer, self.code.as_str(), self.detail.clone());
        Self { faults: vec![fault], ..self }
    }

    /// Adds the query parameter that the error is about.
    #[must_use]
    pub fn at_parameter(self, name: &str) -> Self {
        let fault = Fault::of_parameter(name, self.code.as_str(), self.detail.clone());
        Self { faults: vec![fault], ..self }
    }

    /// Reports the faults as those of query parameters, for an operation that reads these fields from its query.
    #[must_use]
    pub fn with_parameters(mut self) -> Self {
        for fault in &mut self.faults {
            fault.parameter = Some(fault.pointer.trim_start_matches('/').to_owned());
        }
        self
    }

    /// Adds the number of seconds after which a retry makes sense.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(u32::try_from(seconds).unwrap_or(u32::MAX)), ..self }
    }

    fn unavailable(cause: String, seconds: u64) -> Self {
        let detail = "The database is busy or cannot be reached. Try again later.";
        let error = Self::new(Code::Overloaded, detail);
        Self { cause: Some(cause.into()), ..error }.retry_after(seconds)
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::RowNotFound => Self::not_found(),
            store::Error::UniqueViolation(constraint) => Self {
                cause: Some(Cause::UniqueViolation(constraint.into())),
                ..Self::new(Code::Taken, "Another object already has this value.")
            },
            store::Error::ForeignKeyViolation => {
                Self::new(Code::Conflict, "The request refers to an object that does not exist.")
            }
            store::Error::Busy | store::Error::Overloaded => {
                Self::unavailable(error.to_string(), 1)
            }
            store::Error::Unavailable(reason) => Self::unavailable(reason, 5),
            other => Self::internal(other.to_string()),
        }
    }
}

/// A lookup whose object may be missing.
pub trait OrNone<T> {
    /// `None` if the object was not found. Other errors stay errors.
    fn or_none(self) -> Result<Option<T>>;
}

impl<T> OrNone<T> for Result<T> {
    fn or_none(self) -> Result<Option<T>> {
        match self {
            Err(error) if error.code == Code::NotFound => Ok(None),
            result => result.map(Some),
        }
    }
}

/// Converts the violation of a unique constraint into an error for the caller.
pub trait UniqueViolationExt<T> {
    /// If this constraint was violated, returns [`Code::Taken`] for the field that `pointer` names.
    fn on_unique_violation(
        self,
        constraint: &str,
        pointer: &str,
        detail: impl Into<Message>,
    ) -> Result<T>;
}

impl<T, E: Into<Error>> UniqueViolationExt<T> for std::result::Result<T, E> {
    fn on_unique_violation(
        self,
        constraint: &str,
        pointer: &str,
        detail: impl Into<Message>,
    ) -> Result<T> {
        self.map_err(|error| match error.into() {
            Error { cause: Some(Cause::UniqueViolation(violated)), .. }
                if *violated == *constraint =>
            {
                Error::new(Code::Taken, detail).at(pointer)
            }
            error => error,
        })
    }
}

impl IntoResponse for Error {
    /// Sets only the status. `web::edge` writes the body, because it knows the request id.
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// An error response (RFC 9457 problem details).
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem<'a> {
    /// URL of the documentation of the error code.
    #[serde(rename = "type")]
    #[schema(examples("/docs/errors#not_found"))]
    pub kind: String,
    /// Short description of the error code, the same for every occurrence.
    pub title: &'a str,
    /// HTTP status code of the response.
    #[schema(examples(404))]
    pub status: u16,
    /// Description of this occurrence of the error.
    pub detail: String,
    /// Stable, machine-readable error code.
    #[schema(value_type = Code)]
    pub code: &'a str,
    /// ID of the request. Include it when you report a problem.
    #[schema(examples("req_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub request_id: &'a str,
    /// Whether the same request may succeed if you send it again later.
    pub retryable: bool,
    /// Problems with single fields and parameters, at most 50.
    pub errors: &'a [Fault],
    /// Existing people who may be the same person. Only present if an error has the code `duplicate`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Candidate>, required = false)]
    pub candidates: Vec<&'a Candidate>,
}

impl Error {
    /// Builds the response body.
    pub fn problem<'a>(&'a self, request_id: &'a str) -> Problem<'a> {
        Problem {
            kind: format!("/docs/errors#{}", self.code),
            title: self.code.title(),
            status: self.code.status().as_u16(),
            detail: self.detail.english(),
            code: self.code.as_str(),
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
        let mut codes: Vec<_> = Code::ALL.iter().map(|(_, code)| code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|(code, _)| code.title().ends_with('.')));
    }

    #[test]
    fn a_unique_violation_names_the_field() {
        let violation: Result<(), _> = Err(store::Error::UniqueViolation("a_b_key".to_owned()));
        let error =
            violation.on_unique_violation("a_b_key", "/b", "Another one has this.").unwrap_err();
        assert_eq!((error.code, error.faults[0].pointer.as_str()), (Code::Taken, "/b"));
        let other: Result<(), _> =
            Err(Error::from(store::Error::UniqueViolation("x_key".to_owned())));
        assert!(other.on_unique_violation("a_b_key", "/b", "").unwrap_err().faults.is_empty());
    }
}
