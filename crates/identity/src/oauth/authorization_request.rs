//! The authorization request (RFC 6749 section 4.1.1, with PKCE of RFC 7636).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::app::App;
use super::error::{ErrorCode, OAuthError, OAuthResult};
use super::parameters::Parameters;
use super::redirect;
use crate::rights::{ScopeName, Scopes};
use kit::string_enum::StringEnum as _;

/// Maximum length of `state`, in bytes.
const MAX_STATE_LENGTH: usize = 2048;
/// Maximum length of `scope`, in bytes.
const MAX_SCOPE_LENGTH: usize = 1024;
/// The scope of a request that names none.
pub const DEFAULT_SCOPE: ScopeName = ScopeName::TeamsRead;

/// Where the authorization response is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectTarget {
    pub redirect_uri: String,
    /// The `state` parameter, percent-encoded so that the app gets back exactly the same bytes.
    pub state: Option<String>,
}

impl RedirectTarget {
    /// The URL of an authorization response with these parameters, `state`, and `iss` (RFC 9207).
    pub fn response_url(&self, issuer: &str, response: &[(&str, &str)]) -> String {
        let encoded = |(name, value): (_, &str)| (name, redirect::percent_encode(value.as_bytes()));
        let mut parameters: Vec<_> = response.iter().copied().map(encoded).collect();
        parameters.extend(self.state.clone().map(|state| ("state", state)));
        parameters.push(encoded(("iss", issuer)));
        redirect::append_parameters(&self.redirect_uri, &parameters)
    }

    /// The URL of an error response.
    pub fn error_url(&self, issuer: &str, error: OAuthError) -> String {
        let response = [("error", error.error.as_str()), ("error_description", error.description)];
        self.response_url(issuer, &response)
    }
}

/// The `prompt` parameter (`OpenID` Connect Core section 3.1.2.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Show no page to the user.
    pub none: bool,
    /// Ask the user to authenticate again.
    pub login: bool,
    /// Ask the user for consent, even if they gave it before.
    pub consent: bool,
}

impl Prompt {
    /// Parses the parameter, a list separated by spaces.
    pub fn parse(text: &str) -> OAuthResult<Self> {
        let mut prompt = Self::default();
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            match word {
                "none" => prompt.none = true,
                "login" => prompt.login = true,
                "consent" => prompt.consent = true,
                _ => {
                    let description = "prompt must be none, login or consent.";
                    return Err(OAuthError::invalid_request(description));
                }
            }
        }
        if prompt.none && (prompt.login || prompt.consent) {
            let description = "prompt must not combine none with other values.";
            return Err(OAuthError::invalid_request(description));
        }
        Ok(prompt)
    }

    /// The value of the parameter; `None` if it is empty.
    pub fn to_parameter(self) -> Option<String> {
        let values = [(self.none, "none"), (self.login, "login"), (self.consent, "consent")];
        let values: Vec<_> = values.iter().filter(|(set, _)| *set).map(|(_, v)| *v).collect();
        (!values.is_empty()).then(|| values.join(" "))
    }
}

/// A valid authorization request.
#[derive(Debug, Clone)]
pub struct AuthorizationRequest {
    pub scopes: Scopes,
    pub challenge: Option<[u8; 32]>,
    pub prompt: Prompt,
}

/// Determines where the response is sent. If the redirect URI is missing or not registered, nothing is redirected
/// (RFC 6749 section 4.1.2.1); the error is a sentence for a page.
pub fn redirect_target(parameters: &Parameters, app: &App) -> Result<RedirectTarget, &'static str> {
    let requested = parameters
        .text("redirect_uri")
        .map_err(|_| mark!("The app sent an invalid redirect_uri, or more than one."))?;
    let registered = &app.redirect_uris.0;
    let redirect_uri = match (requested, registered.as_slice()) {
        (Some(uri), _) if app.allows_redirect_uri(uri) => uri,
        (Some(_), _) => {
            return Err(mark!("The app sent a redirect_uri that is not registered for it."));
        }
        (None, [only]) => only,
        (None, _) => {
            return Err(mark!(
                "The app has more than one redirect URI and did not send redirect_uri."
            ));
        }
    };
    // A `state` that was sent more than once or is too long is omitted from the response.
    let state =
        parameters.bytes("state").ok().flatten().filter(|state| state.len() <= MAX_STATE_LENGTH);
    let state = state.map(redirect::percent_encode);
    Ok(RedirectTarget { redirect_uri: redirect_uri.to_owned(), state })
}

/// Parses an authorization request. `audience` is the URL of the API.
pub fn parse(
    parameters: &Parameters,
    app: &App,
    audience: &str,
) -> OAuthResult<AuthorizationRequest> {
    let text = |name| parameters.text(name);
    if parameters.bytes("state")?.is_some_and(|state| state.len() > MAX_STATE_LENGTH) {
        return Err(OAuthError::invalid_request("state must have at most 2048 bytes."));
    }
    if text("request")?.is_some() {
        let description = "request is not supported. Send the parameters in the query.";
        return Err(OAuthError::new(ErrorCode::RequestNotSupported, description));
    }
    if text("request_uri")?.is_some() {
        let description = "request_uri is not supported. Send the parameters in the query.";
        return Err(OAuthError::new(ErrorCode::RequestUriNotSupported, description));
    }
    match text("response_type")? {
        Some("code") => {}
        None => return Err(OAuthError::invalid_request("response_type is missing.")),
        Some(_) => {
            let description = "response_type must be code.";
            return Err(OAuthError::new(ErrorCode::UnsupportedResponseType, description));
        }
    }
    if text("response_mode")?.is_some_and(|mode| mode != "query") {
        return Err(OAuthError::invalid_request("response_mode must be query."));
    }
    let challenge = parse_challenge(text("code_challenge")?, text("code_challenge_method")?)?;
    if challenge.is_none() && !app.kind.is_confidential() {
        return Err(OAuthError::invalid_request("This app must use PKCE. Send a code_challenge."));
    }
    check_resource(parameters, audience)?;
    let prompt = Prompt::parse(text("prompt")?.unwrap_or_default())?;
    Ok(AuthorizationRequest { scopes: requested_scopes(text("scope")?, app)?, challenge, prompt })
}

/// Checks that every `resource` parameter (RFC 8707) names this API.
pub fn check_resource(parameters: &Parameters, audience: &str) -> OAuthResult<()> {
    if parameters.all("resource").all(|resource| resource == audience.as_bytes()) {
        return Ok(());
    }
    let description = "resource must be the URL of this API.";
    Err(OAuthError::new(ErrorCode::InvalidTarget, description))
}

fn parse_challenge(text: Option<&str>, method: Option<&str>) -> OAuthResult<Option<[u8; 32]>> {
    let invalid = OAuthError::invalid_request("code_challenge must be 43 characters of base64url.");
    match (text, method) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(OAuthError::invalid_request("code_challenge is missing.")),
        (Some(text), Some("S256")) => {
            let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid)?;
            bytes.try_into().map(Some).map_err(|_| invalid)
        }
        (Some(_), _) => Err(OAuthError::invalid_request("code_challenge_method must be S256.")),
    }
}

/// The requested scopes. Fails if the app is not registered for all of them.
fn requested_scopes(text: Option<&str>, app: &App) -> OAuthResult<Scopes> {
    let requested = match text {
        Some(text) => parse_scopes(text)?,
        None => Scopes::of([DEFAULT_SCOPE]),
    };
    if app.scopes.contains_all(requested) {
        return Ok(requested);
    }
    let description = "scope contains a scope that the app is not registered for.";
    Err(OAuthError::new(ErrorCode::InvalidScope, description))
}

/// Parses a `scope` parameter, a list separated by spaces.
pub fn parse_scopes(text: &str) -> OAuthResult<Scopes> {
    let invalid = OAuthError::new(ErrorCode::InvalidScope, "scope contains an unknown scope.");
    if text.len() > MAX_SCOPE_LENGTH || text.contains([',', '*']) {
        return Err(invalid);
    }
    Scopes::parse(text).map_err(|_| invalid)
}
