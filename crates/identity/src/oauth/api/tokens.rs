//! Issuing, refreshing, revoking and introspecting tokens.

use kit::secret::{Token, TokenKind};

use super::client::{self, AuthenticatedClient};
use super::metadata::audience;
use super::{ClientRequest, ErrorResponse, json_response};
use crate::oauth::authorization_request;
use crate::oauth::code::{self, CodeExchange};
use crate::oauth::error::{ErrorCode, OAuthError, OAuthResult};
use crate::oauth::refresh::{self, RefreshRequest};
use crate::oauth::token::{self, TokenLifetimes, TokenPair};
use crate::prelude::*;
use crate::web::prelude::*;

/// A token response (RFC 6749 section 5.1).
#[derive(Serialize)]
struct TokenResponse<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: i64,
    refresh_token: &'a str,
    scope: String,
}

/// The configured lifetimes of tokens.
fn lifetimes(app: &App) -> TokenLifetimes {
    let config = &app.config;
    let (access, refresh) = (config.oauth_access_ttl, config.oauth_refresh_ttl);
    TokenLifetimes { access, refresh, grace: config.oauth_refresh_grace }
}

/// `POST /oauth/token`.
pub(super) async fn issue(request: ClientRequest) -> Result<Response, ErrorResponse> {
    let client = client::authenticate(&request).await?;
    let parameters = &request.parameters;
    let grant_type = parameters.text("grant_type")?;
    let grant_type = grant_type.ok_or(OAuthError::invalid_request("grant_type is missing."))?;
    authorization_request::check_resource(parameters, &audience(&request.app))?;
    let pair = match grant_type {
        "authorization_code" => exchange(&request, client).await?,
        "refresh_token" => refresh_tokens(&request, client).await?,
        _ => {
            let description = "grant_type must be authorization_code or refresh_token.";
            return Err(OAuthError::new(ErrorCode::UnsupportedGrantType, description).into());
        }
    };
    let response = TokenResponse {
        access_token: pair.access.reveal(),
        token_type: "Bearer",
        expires_in: pair.expires_in,
        refresh_token: pair.refresh.reveal(),
        scope: pair.scopes.to_string(),
    };
    Ok(json_response(StatusCode::OK, &response))
}

async fn exchange(
    request: &ClientRequest,
    client: AuthenticatedClient,
) -> Result<TokenPair, ErrorResponse> {
    let text = parameter(request, "code")?;
    let text = text.ok_or(OAuthError::invalid_request("code is missing."))?;
    let code = Token::parse(TokenKind::Code, &text);
    let code = code.ok_or(OAuthError::invalid_grant("The authorization code is invalid."))?;
    let redirect_uri = parameter(request, "redirect_uri")?;
    let verifier = parameter(request, "code_verifier")?;
    let exchange = CodeExchange { code, redirect_uri, verifier };
    let lifetimes = lifetimes(&request.app);
    client.write(request, move |tx, app| code::exchange(tx, app, &exchange, lifetimes)).await
}

async fn refresh_tokens(
    request: &ClientRequest,
    client: AuthenticatedClient,
) -> Result<TokenPair, ErrorResponse> {
    let text = parameter(request, "refresh_token")?;
    let text = text.ok_or(OAuthError::invalid_request("refresh_token is missing."))?;
    let token = Token::parse(TokenKind::Refresh, &text);
    let token = token.ok_or(OAuthError::invalid_grant("The refresh token is invalid."))?;
    let renewal = RefreshRequest { token, scope: parameter(request, "scope")? };
    let (key, lifetimes) = (request.app.secrets.key("oauth refresh"), lifetimes(&request.app));
    client.write(request, move |tx, app| refresh::refresh(tx, app, &renewal, &key, lifetimes)).await
}

fn parameter(request: &ClientRequest, name: &str) -> OAuthResult<Option<String>> {
    Ok(request.parameters.text(name)?.map(str::to_owned))
}

fn token_parameter(request: &ClientRequest) -> OAuthResult<String> {
    parameter(request, "token")?.ok_or(OAuthError::invalid_request("token is missing."))
}

/// `POST /oauth/revoke`. The response is the same for a token that is unknown or belongs to another client.
pub(super) async fn revoke(request: ClientRequest) -> Result<Response, ErrorResponse> {
    let client = client::authenticate(&request).await?;
    let text = token_parameter(&request)?;
    client.write(&request, move |tx, app| token::revoke(tx, app.id, &text).map(Ok)).await?;
    // An empty object, because many clients expect JSON in every response.
    Ok(json_response(StatusCode::OK, &serde_json::json!({})))
}

/// An introspection response for an active token (RFC 7662).
#[derive(Serialize)]
struct IntrospectionResponse<'a> {
    active: bool,
    scope: String,
    client_id: AppId,
    sub: UserId,
    token_type: &'static str,
    exp: i64,
    iat: i64,
    iss: &'a str,
    aud: String,
}

/// `POST /oauth/introspect`. Only confidential clients may use it.
pub(super) async fn introspect(request: ClientRequest) -> Result<Response, ErrorResponse> {
    let client = client::authenticate(&request).await?;
    if !client.client.kind.is_confidential() {
        let description = "Only apps with a client secret can introspect tokens.";
        return Err(OAuthError::new(ErrorCode::InvalidClient, description).into());
    }
    let (text, id) = (token_parameter(&request)?, client.client.id);
    let token =
        request.app.db.read(client.scope(&request), move |db| token::introspect(db, id, &text));
    let Some(token) = token.await? else {
        return Ok(json_response(StatusCode::OK, &serde_json::json!({ "active": false })));
    };
    let response = IntrospectionResponse {
        active: true,
        scope: token.scopes.to_string(),
        client_id: token.app_id,
        sub: token.user_id,
        token_type: "Bearer",
        exp: token.expires_at.seconds(),
        iat: token.created_at.seconds(),
        iss: request.app.base_url.as_str(),
        aud: audience(&request.app),
    };
    Ok(json_response(StatusCode::OK, &response))
}
