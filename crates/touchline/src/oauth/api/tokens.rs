//! Tokens are given, renewed, given back and looked at.

use axum::response::Response;
use http::StatusCode;
use kit::secret::{Token, TokenKind};
use serde::Serialize;

use super::client::{self, Known};
use super::metadata::audience;
use super::{Failure, Sent, json};
use crate::app::App;
use crate::oauth::ask;
use crate::oauth::code::{self, Exchange};
use crate::oauth::refresh::{self, Renewal};
use crate::oauth::refusal::{Refusal, Told, Word};
use crate::oauth::token::{self, Kept, Lives, Pair};

/// What an app gets.
#[derive(Serialize)]
struct Given<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: i64,
    refresh_token: &'a str,
    scope: String,
}

/// How long tokens live here.
fn lives(app: &App) -> Lives {
    let config = &app.config;
    Lives {
        access: config.oauth_access_ttl,
        refresh: config.oauth_refresh_ttl,
        grace: config.oauth_refresh_grace,
    }
}

/// `POST /oauth/token`.
pub(super) async fn give(sent: Sent) -> Result<Response, Failure> {
    let known = client::known(&sent).await?;
    let parameters = &sent.parameters;
    let kind = parameters.text("grant_type")?;
    let kind = kind.ok_or(Refusal::invalid_request("grant_type is missing."))?.to_owned();
    ask::for_us(parameters, &audience(&sent.app))?;
    let pair = match kind.as_str() {
        "authorization_code" => exchange(&sent, known).await?,
        "refresh_token" => renew(&sent, known).await?,
        _ => {
            let description = "grant_type is authorization_code or refresh_token.";
            return Err(Refusal::new(Word::UnsupportedGrantType, description).into());
        }
    };
    let given = Given {
        access_token: pair.access.reveal(),
        token_type: "Bearer",
        expires_in: pair.expires_in,
        refresh_token: pair.refresh.reveal(),
        scope: pair.scopes.to_string(),
    };
    Ok(json(StatusCode::OK, &given))
}

async fn exchange(sent: &Sent, known: Known) -> Result<Pair, Failure> {
    let owned = |name| sent.parameters.text(name).map(|text| text.map(str::to_owned));
    let text = owned("code")?.ok_or(Refusal::invalid_request("code is missing."))?;
    let code = Token::parse(TokenKind::Code, &text);
    let code = code.ok_or(Refusal::invalid_grant("The code is not valid."))?;
    let exchange =
        Exchange { code, redirect_uri: owned("redirect_uri")?, verifier: owned("code_verifier")? };
    let (scope, lives) = (known.scope(sent), lives(&sent.app));
    let told: Told<Pair> = sent
        .app
        .db
        .write(scope, move |tx| match known.confirm(tx)? {
            Ok(()) => code::exchange(tx, &known.client, &exchange, lives),
            Err(refusal) => Ok(Err(refusal)),
        })
        .await?;
    Ok(told?)
}

async fn renew(sent: &Sent, known: Known) -> Result<Pair, Failure> {
    let owned = |name| sent.parameters.text(name).map(|text| text.map(str::to_owned));
    let text = owned("refresh_token")?;
    let text = text.ok_or(Refusal::invalid_request("refresh_token is missing."))?;
    let token = Token::parse(TokenKind::Refresh, &text);
    let token = token.ok_or(Refusal::invalid_grant("The refresh token is not valid."))?;
    let renewal = Renewal { token, scope: owned("scope")? };
    let (scope, lives) = (known.scope(sent), lives(&sent.app));
    let key = sent.app.secrets.key("oauth refresh");
    let told: Told<Pair> = sent
        .app
        .db
        .write(scope, move |tx| match known.confirm(tx)? {
            Ok(()) => refresh::renew(tx, &known.client, &renewal, &key, lives),
            Err(refusal) => Ok(Err(refusal)),
        })
        .await?;
    Ok(told?)
}

fn shown(sent: &Sent) -> Told<String> {
    let text = sent.parameters.text("token")?;
    text.map(str::to_owned).ok_or(Refusal::invalid_request("token is missing."))
}

/// `POST /oauth/revoke`. What is unknown or another app's is answered alike.
pub(super) async fn take_back(sent: Sent) -> Result<Response, Failure> {
    let known = client::known(&sent).await?;
    let text = shown(&sent)?;
    let scope = known.scope(&sent);
    let give_back = move |tx: &store::Tx<'_>| match known.confirm(tx)? {
        Ok(()) => token::give_back(tx, known.client.id, &text).map(Ok),
        Err(refusal) => Ok(Err(refusal)),
    };
    let told: Told<()> = sent.app.db.write(scope, give_back).await?;
    told?;
    // An empty object, as many clients expect JSON of every answer.
    Ok(json(StatusCode::OK, &serde_json::json!({})))
}

/// What an app learns of a token of its own.
#[derive(Serialize)]
struct Inspected {
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
struct Inactive {
    active: bool,
}

/// `POST /oauth/introspect`. Only an app that can prove who it is may ask.
pub(super) async fn inspect(sent: Sent) -> Result<Response, Failure> {
    let known = client::known(&sent).await?;
    if !known.client.kind.is_confidential() {
        let description = "Only an app with a secret may look at tokens.";
        return Err(Refusal::new(Word::InvalidClient, description).into());
    }
    let (text, id) = (shown(&sent)?, known.client.id);
    let found = sent.app.db.read(known.scope(&sent), move |db| token::inspect(db, id, &text));
    let Some(kept) = found.await? else {
        return Ok(json(StatusCode::OK, &Inactive { active: false }));
    };
    Ok(json(StatusCode::OK, &inspected(&sent.app, &kept)))
}

fn inspected(app: &App, kept: &Kept) -> Inspected {
    Inspected {
        active: true,
        scope: kept.scopes.to_string(),
        client_id: kept.app_id.to_string(),
        sub: kept.user_id.to_string(),
        token_type: "Bearer",
        exp: kept.expires_at.seconds(),
        iat: kept.created_at.seconds(),
        iss: app.home.as_str().to_owned(),
        aud: audience(app),
    }
}
