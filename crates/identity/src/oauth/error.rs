//! OAuth error responses (RFC 6749 sections 4.1.2.1 and 5.2).

use kit::string_enum;

string_enum! {
    /// The `error` code of an OAuth error response.
    pub enum ErrorCode as OauthError {
        InvalidRequest = "invalid_request",
        InvalidClient = "invalid_client",
        InvalidGrant = "invalid_grant",
        InvalidScope = "invalid_scope",
        InvalidTarget = "invalid_target",
        UnsupportedGrantType = "unsupported_grant_type",
        UnsupportedResponseType = "unsupported_response_type",
        AccessDenied = "access_denied",
        LoginRequired = "login_required",
        ConsentRequired = "consent_required",
        RequestNotSupported = "request_not_supported",
        RequestUriNotSupported = "request_uri_not_supported",
        SlowDown = "slow_down",
        ServerError = "server_error",
        TemporarilyUnavailable = "temporarily_unavailable",
    }
}

/// An OAuth error with a description for the developer of the app. RFC 6749 does not allow double quotes or
/// backslashes in `error_description`; it is always a constant, so that it never repeats input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OAuthError {
    pub error: ErrorCode,
    pub description: &'static str,
}

impl OAuthError {
    /// An error with its description.
    pub const fn new(error: ErrorCode, description: &'static str) -> Self {
        Self { error, description }
    }

    /// A request with a missing, invalid or repeated parameter.
    pub const fn invalid_request(description: &'static str) -> Self {
        Self::new(ErrorCode::InvalidRequest, description)
    }

    /// An authorization code or refresh token that is invalid, expired, revoked or not the client's own.
    pub const fn invalid_grant(description: &'static str) -> Self {
        Self::new(ErrorCode::InvalidGrant, description)
    }
}

/// The result of an OAuth request. Unlike a [`crate::error::Error`], an OAuth error does not roll back the transaction,
/// so that, for example, revoking a replayed grant is committed.
pub type OAuthResult<T> = std::result::Result<T, OAuthError>;
