//! Issuing, refreshing, revoking and introspecting tokens.

use kit::secret::{Token, TokenKind};
use serde::Serialize;

use super::client::{self, AuthenticatedClient};
use super::metadata::audience;
use super::{ClientRequest, ErrorResponse, json_response};
use crate::oauth::authorization_request;
use crate::oauth::code::{self, CodeExchange};
use crate::oauth::error::{ErrorCode, OAuthError, OAuthResult};
use crate::oauth::refresh::{self, RefreshRequest};
use crate::oauth::token::{self, StoredToken, TokenLifetimes, TokenPair};
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
    TokenLifetimes {
        access: config.oauth_access_ttl,
        refresh: config.oauth_refresh_ttl,
        grace: config.oauth_refresh_grace,
    }
}

/// `POST /oauth/token`.
pub(super) async fn issue(request: ClientRequest) -> Result<Response, ErrorResponse> {
    let client = client::authenticate(&request).await?;
    let parameters = &request.parameters;
    let grant_type = parameters.text("grant_type")?;
    let grant_type =
        grant_type.ok_or(OAuthError::invalid_request("grant_type is missing."))?.to_owned();
    authorization_request::check_resource(parameters, &audience(&request.app))?;
    let pair = match grant_type.as_str() {
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
    let parameter = |name| request.parameters.text(name).map(|text| text.map(str::to_owned));
    let text = parameter("code")?.ok_or(OAuthError::invalid_request("code is missing."))?;
    let code = Token::parse(TokenKind::Code, &text);
    let code = code.ok_or(OAuthError::invalid_grant("The authorization code is invalid."))?;
    let exchange = CodeExchange {
        code,
        redirect_uri: parameter("redirect_uri")?,
        verifier: parameter("code_verifier")?,
    };
    let (scope, lifetimes) = (client.scope(request), lifetimes(&request.app));
    let result: OAuthResult<TokenPair> = request
        .app
        .db
        .write(scope, move |tx| match client.recheck(tx)? {
            Ok(()) => code::exchange(tx, &client.client, &exchange, lifetimes),
            Err(error) => Ok(Err(error)),
        })
        .await?;
    Ok(result?)
}

async fn refresh_tokens(
    request: &ClientRequest,
    client: AuthenticatedClient,
) -> Result<TokenPair, ErrorResponse> {
    let parameter = |name| request.parameters.text(name).map(|text| text.map(str::to_owned));
    let text = parameter("refresh_token")?;
    let text = text.ok_or(OAuthError::invalid_request("refresh_token is missing."))?;
    let token = Token::parse(TokenKind::Refresh, &text);
    let token = token.ok_or(OAuthError::invalid_grant("The refresh token is invalid."))?;
    let renewal = RefreshRequest { token, scope: parameter("scope")? };
    let (scope, lifetimes) = (client.scope(request), lifetimes(&request.app));
    let key = request.app.secrets.key("oauth refresh");
    let result: OAuthResult<TokenPair> = request
        .app
        .db
        .write(scope, move |tx| match client.recheck(tx)? {
            Ok(()) => refresh::refresh(tx, &client.client, &renewal, &key, lifetimes),
            Err(error) => Ok(Err(error)),
        })
        .await?;
    Ok(result?)
}

fn token_parameter(request: &ClientRequest) -> OAuthResult<String> {
    let text = request.parameters.text("token")?;
    text.map(str::to_owned).ok_or(OAuthError::invalid_request("token is missing."))
}

/// `POST /oauth/revoke`. The response is the same for a token that is unknown or belongs to another client.
pub(super) async fn revoke(request: ClientRequest) -> Result<Response, ErrorResponse> {
    let client = client::authenticate(&request).await?;
    let text = token_parameter(&request)?;
    let scope = client.scope(&request);
    let revoke = move |tx: &store::Tx<'_>| match client.recheck(tx)? {
        Ok(()) => token::revoke(tx, client.client.id, &text).map(Ok),
        Err(error) => Ok(Err(error)),
    };
    let result: OAuthResult<()> = request.app.db.write(scope, revoke).await?;
    result?;
    // An empty object, because many clients expect JSON in every response.
    Ok(json_response(StatusCode::OK, &serde_json::json!({})))
}

/// An introspection response for an active token (RFC 7662).
#[derive(Serialize)]
struct IntrospectionResponse {
    active: bool,
    scope: String,
    client_id: String,
    sub: String,
    token_type: &'static str,
    exp: i64,
    iat: i64,
    iss: String,
    aud: String,
}

#[derive(Serialize)]
struct InactiveToken {
    active: bool,
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
        return Ok(json_response(StatusCode::OK, &InactiveToken { active: false }));
    };
    Ok(json_response(StatusCode::OK, &introspection_response(&request.app, &token)))
}

fn introspection_response(app: &App, token: &StoredToken) -> IntrospectionResponse {
    IntrospectionResponse {
        active: true,
        scope: token.scopes.to_string(),
        client_id: token.app_id.to_string(),
        sub: token.user_id.to_string(),
        token_type: "Bearer",
        exp: token.expires_at.seconds(),
        iat: token.created_at.seconds(),
        iss: app.base_url.as_str().to_owned(),
        aud: audience(app),
    }
}
