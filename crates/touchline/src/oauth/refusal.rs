//! Why an app does not get what it asked for, in the words of the standard.

use kit::words;

words! {
    /// What went wrong, as programs are told.
    pub enum Word as OauthError {
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

/// A refusal: the word, and a sentence for whoever builds the app. The sentence is ours alone, so it has
/// no quotes and no backslashes, and nothing of what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    pub error: Word,
    pub description: &'static str,
}

impl Refusal {
    /// A refusal with its sentence.
    pub const fn new(error: Word, description: &'static str) -> Self {
        Self { error, description }
    }

    /// What was sent cannot be read.
    pub const fn invalid_request(description: &'static str) -> Self {
        Self::new(Word::InvalidRequest, description)
    }

    /// A code or a token that gives nothing. Why not, is nobody's business but that of its owner.
    pub const fn invalid_grant(description: &'static str) -> Self {
        Self::new(Word::InvalidGrant, description)
    }
}

/// What an app gets, or why not. Unlike an error, a refusal keeps what was noted on the way to it.
pub type Told<T> = std::result::Result<T, Refusal>;
