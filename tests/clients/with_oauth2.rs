//! A server app, written with the crate `oauth2`.
//!
//! The first line of standard input is `{"issuer", "api", "client_id", "client_secret", "redirect_uri",
//! "scope"}`. It prints `{"authorize": URL}`, reads the callback URL, exchanges, refreshes and revokes
//! tokens, and prints the status of each call to the API.
#![expect(clippy::print_stdout, reason = "the test reads the output")]

use std::error::Error;
use std::io::{Read, Write, stdin};
use std::net::TcpStream;
use std::time::Duration;

use oauth2::basic::BasicClient;
use oauth2::http::{HeaderValue, Request, Response};
use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, HttpRequest, HttpResponse,
    PkceCodeChallenge, RedirectUrl, RevocationUrl, Scope, StandardRevocableToken, TokenResponse,
    TokenUrl,
};
use serde_json::{Value, json};
use url::Url;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let settings: Value = serde_json::from_str(&line()?)?;
    let text = |name: &str| settings[name].as_str().unwrap_or_default().to_owned();
    let server = get(&format!("{}/.well-known/oauth-authorization-server", text("issuer")), None)?;
    let server: Value = serde_json::from_slice(server.body())?;
    let endpoint = |name: &str| server[name].as_str().unwrap_or_default().to_owned();
    let client = BasicClient::new(ClientId::new(text("client_id")))
        .set_client_secret(ClientSecret::new(text("client_secret")))
        .set_auth_uri(AuthUrl::new(endpoint("authorization_endpoint"))?)
        .set_token_uri(TokenUrl::new(endpoint("token_endpoint"))?)
        // The crate requires https here, even on localhost; `send` does not.
        .set_revocation_url(RevocationUrl::new(
            endpoint("revocation_endpoint").replacen("http:", "https:", 1),
        )?)
        .set_redirect_uri(RedirectUrl::new(text("redirect_uri"))?);

    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let scopes = text("scope");
    let (url, state) = client
        .authorize_url(CsrfToken::new_random)
        .add_scopes(scopes.split(' ').map(|scope| Scope::new(scope.to_owned())))
        .set_pkce_challenge(challenge)
        .url();
    println!("{}", json!({ "authorize": url }));

    let code = code_in(&line()?, &state, &text("issuer"))?;
    let first = client.exchange_code(code).set_pkce_verifier(verifier).request(&send)?;
    let teams = format!("{}/teams", text("api"));
    let call = |token: &str| get(&teams, Some(token)).map(|response| response.status().as_u16());
    let mut calls = vec![call(first.access_token().secret())?];

    let old = first.refresh_token().ok_or("the token response has no refresh token")?;
    let second = client.exchange_refresh_token(old).request(&send)?;
    calls.push(call(second.access_token().secret())?);
    let new = second.refresh_token().ok_or("the refresh response has no refresh token")?;

    client.revoke_token(StandardRevocableToken::RefreshToken(new.clone()))?.request(&send)?;
    calls.push(call(second.access_token().secret())?);
    let scopes: Vec<_> =
        second.scopes().into_iter().flatten().map(|scope| scope.as_str()).collect();
    let rotated = old.secret() != new.secret();
    println!("{}", json!({ "calls": calls, "rotated": rotated, "scope": scopes.join(" ") }));
    Ok(())
}

fn line() -> Outcome<String> {
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// The code in a callback URL, after a check of `state` and `iss`.
fn code_in(callback_url: &str, state: &CsrfToken, issuer: &str) -> Outcome<AuthorizationCode> {
    let url = Url::parse(callback_url)?;
    let find = |name: &str| url.query_pairs().find(|(other, _)| other == name).map(|(_, v)| v);
    if find("state").as_deref() != Some(state.secret().as_str()) {
        return Err("the callback has another state".into());
    }
    if find("iss").as_deref() != Some(issuer) {
        return Err("the callback has another issuer".into());
    }
    let code = find("code").ok_or("the callback has no code")?;
    Ok(AuthorizationCode::new(code.into_owned()))
}

fn get(url: &str, token: Option<&str>) -> Outcome<HttpResponse> {
    let mut request = Request::get(url).body(Vec::new())?;
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"))?;
        request.headers_mut().insert("authorization", value);
    }
    Ok(send(request)?)
}

/// Sends one request over a new, unencrypted connection.
fn send(request: HttpRequest) -> Result<HttpResponse, std::io::Error> {
    let error = |message: &str| std::io::Error::other(message.to_owned());
    let (parts, body) = request.into_parts();
    let authority = parts.uri.authority().ok_or_else(|| error("the URL has no host"))?.as_str();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut head = format!("{} {path} HTTP/1.1\r\nHost: {authority}\r\n", parts.method);
    for (name, value) in &parts.headers {
        head +=
            &format!("{name}: {}\r\n", value.to_str().map_err(|_| error("a header is not ASCII"))?);
    }
    head += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    read(&response).ok_or_else(|| error("the response cannot be parsed"))
}

fn read(bytes: &[u8]) -> Option<HttpResponse> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = head.parse(bytes).ok()? else { return None };
    let mut response = Response::builder().status(head.code?);
    for header in head.headers.iter() {
        response = response.header(header.name, header.value);
    }
    response.body(bytes[length..].to_vec()).ok()
}
