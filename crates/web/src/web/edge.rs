//! The outermost layer: every request and every response passes through here.
//!
//! It gives each request an id and a client address, rejects malformed requests, enforces the timeout and
//! catches panics. It adds common headers to responses, turns errors into problem documents (RFC 9457) or error
//! pages, counts the request and logs it.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use futures_util::FutureExt;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, StatusCode, Version};
use ipnet::IpNet;
use tower::Service;

use super::admission;
use super::body_progress::BodyProgress;
use super::compression::{self, Accepted};
use super::context::Context;
use super::limits::Allowance;
use super::page;
use super::public_url::RequestHost;
use super::request_head::HeadFault;
use super::server::MAX_HEADER_BYTES;
use super::throttle::ceil_seconds;
use crate::accounts::request_log::LoggedRequest;
use crate::i18n::Locale;
use crate::prelude::*;
use crate::web::app::App;

/// The maximum duration of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// A request that takes longer than this is logged as slow.
const SLOW_REQUEST: Duration = Duration::from_secs(1);
/// The path prefix of the API.
pub const API: &str = "/api/public/v1";

/// Handles any request.
pub async fn handle(app: &App, router: &Router, request: Request<Body>, peer: IpAddr) -> Response {
    let started = Instant::now();
    let address = client_address(request.headers(), peer, &app.config.trusted_proxies);
    let host = match app.config.base_url {
        Some(_) => None,
        None => RequestHost::read(request.headers(), peer, &app.config.trusted_proxies),
    };
    let context = Context::new(app.new_request_id(), address, host);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let authorization = api_authorization(&path, request.headers());
    let chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let must_close = chunked || request.extensions().get::<HeadFault>().is_some();
    let html = wants_html(&path, request.headers());
    let cross_origin = allows_cross_origin(&path) && request.headers().contains_key(header::ORIGIN);
    let accepted = Accepted::read(request.headers());
    let locale = page_locale(&path, request.headers());
    let (request, body_progress) = BodyProgress::track(request);
    let respond = async {
        let mut response = match check_head(&request) {
            Err(error) => error.into_response(),
            Ok(()) if cross_origin && is_preflight(&request) => preflight_response(),
            Ok(()) => call_router(app, router, request, &context, body_progress.as_ref()).await,
        };
        let failure = response.extensions_mut().remove::<Error>();
        if let Some(error) = &failure {
            response = problem_response(error, response, &context);
            if html {
                response = error_page_response(error, response, &context);
            }
        }
        (response, failure)
    };
    let (mut response, failure) = match locale {
        Some(locale) => locale.scope(respond).await,
        None => respond.await,
    };
    add_common_headers(app, &mut response, &context, cross_origin, failure.is_some());
    if must_close || body_progress.is_some_and(|body| body.has_unread_data()) {
        // Close the connection after a request whose length a proxy may understand differently, and after one whose
        // body was not read to its end.
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if failure.as_ref().is_some_and(is_rejected_early) && context.account().is_none() {
        admission::identify_rejected(app, &context, authorization.as_ref()).await;
    }
    let response = compression::compress(accepted, response).await;
    let duration = started.elapsed();
    app.metrics.count_request(&method, response.status(), duration);
    let line = format_args!("{method} {} {}", redacted_path(&path), response.status().as_u16());
    log_request(line, response.status(), failure.as_ref(), &context, duration);
    let code = failure.map(|error| error.code.as_str());
    log_for_key(app, &context, (&method, &path), (response.status(), code), duration);
    response
}

/// Adds a request to the log of its API key.
fn log_for_key(
    app: &App,
    context: &Context,
    (method, path): (&Method, &str),
    (status, code): (StatusCode, Option<&str>),
    duration: Duration,
) {
    let Some((account, key)) = context.account_and_key() else { return };
    let request = LoggedRequest {
        id: context.id().to_owned(),
        at: app.clock.now(),
        method: method.to_string(),
        path: redacted_path(path).to_owned(),
        status: status.as_u16().into(),
        code: code.map(str::to_owned),
        duration: i64::try_from(duration.as_micros()).unwrap_or(i64::MAX),
    };
    app.request_log.add(account, key, request);
}

/// Whether a request may have been rejected before its API key was looked up. An invalid key was looked up already, and
/// after a server error the database may not respond.
fn is_rejected_early(error: &Error) -> bool {
    error.code.status().is_client_error() && error.code != Code::InvalidCredentials
}

/// The header `Authorization` of a request to the API.
fn api_authorization(path: &str, headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(header::AUTHORIZATION).filter(|_| path.starts_with(API)).cloned()
}

/// The locale of a page, until it is known which user opens it. The API is always in English.
fn page_locale(path: &str, headers: &HeaderMap) -> Option<Locale> {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let locale = Locale::negotiate(None, accepted.unwrap_or_default());
    (!path.starts_with("/api/")).then_some(locale)
}

/// The path as it is logged. Paths that contain secrets are truncated.
fn redacted_path(path: &str) -> &str {
    const SECRET: [&str; 7] = [
        "/calendar/",
        "/unsubscribe/",
        "/set-up/",
        "/reset/",
        "/join/",
        "/oauth/consent/",
        "/account/email/",
    ];
    SECRET.into_iter().find(|start| path.starts_with(start)).unwrap_or(path)
}

/// Calls the router with a timeout and catches panics.
async fn call_router(
    app: &App,
    router: &Router,
    mut request: Request<Body>,
    context: &Context,
    body_progress: Option<&BodyProgress>,
) -> Response {
    request.extensions_mut().insert(context.clone());
    let mut router = router.clone();
    let handled = AssertUnwindSafe(router.call(request)).catch_unwind();
    match tokio::time::timeout(REQUEST_TIMEOUT, handled).await {
        Ok(Ok(Ok(response))) => response,
        Ok(Err(_)) => {
            app.metrics.panics.inc();
            Error::internal("a handler panicked").into_response()
        }
        Err(_) if body_progress.is_some_and(BodyProgress::is_waiting_for_client) => {
            let detail = "The body did not arrive within 30 seconds. Send the request again.";
            Error::new(Code::RequestTimeout, detail).into_response()
        }
        Err(_) => {
            let detail = "The request took longer than 30 seconds and may still take effect. \
                Retry it with the same Idempotency-Key.";
            Error::new(Code::Overloaded, detail).retry_after(5).into_response()
        }
    }
}

/// Rejects requests that a proxy and this server might understand differently, and heads that are too large.
fn check_head(request: &Request<Body>) -> Result<()> {
    let reject = |detail: &'static str| Err(Error::new(Code::InvalidRequest, detail));
    let headers = request.headers();
    let count = |name: &HeaderName| headers.get_all(name).iter().count();
    if let Some(fault) = request.extensions().get::<HeadFault>() {
        return reject(fault.detail());
    }
    // Only HTTP/1.0, which some health checks still use, may omit the Host header.
    let hosts = count(&header::HOST);
    if hosts > 1 || (hosts == 0 && request.version() != Version::HTTP_10) {
        return reject("The request must have exactly one Host header.");
    }
    let lines = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    let url = request.uri().path().len() + request.uri().query().map_or(0, str::len);
    if lines.sum::<usize>() + url > MAX_HEADER_BYTES {
        return reject("The URL and the headers together must not exceed 32 KiB.");
    }
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        if count(&name) > 1 {
            return reject("The header Content-Type or Content-Length was sent more than once.");
        }
    }
    Ok(())
}

/// The client's address: the peer or, behind trusted proxies, the last address in `X-Forwarded-For` that is not
/// a trusted proxy. Earlier entries can be forged by the client.
fn client_address(headers: &HeaderMap, peer: IpAddr, trusted: &[IpNet]) -> IpAddr {
    let peer = peer.to_canonical();
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    if !is_trusted(&peer) {
        return peer;
    }
    let lines = headers.get_all("x-forwarded-for");
    let text: Vec<_> = lines.iter().filter_map(|line| line.to_str().ok()).collect();
    let mut nearest = peer;
    for hop in text.iter().flat_map(|line| line.split(',')).rev() {
        let Some(address) = hop_address(hop.trim()) else {
            return nearest;
        };
        if !is_trusted(&address) {
            return address;
        }
        nearest = address;
    }
    nearest
}

/// The IP address of a hop. Some proxies append the port.
fn hop_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

/// Whether scripts of other origins may call this path (CORS): the API, and the OAuth endpoints that an app in
/// a browser needs. Never a page.
fn allows_cross_origin(path: &str) -> bool {
    let for_apps = [
        "/oauth/token",
        "/oauth/revoke",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ];
    path.starts_with(API) || for_apps.contains(&path)
}

/// Whether this is a CORS preflight request. All origins are allowed, because the API needs a bearer token, which a
/// browser never sends on its own.
fn is_preflight(request: &Request<Body>) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight_response() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, PUT, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The response headers that scripts of other origins may read.
const EXPOSED_HEADERS: &str = "etag, idempotent-replayed, link, location, ratelimit, ratelimit-policy, request-id, \
    retry-after, www-authenticate, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset";

/// Turns an error into a problem document. Headers such as `Allow` are kept.
fn problem_response(error: &Error, response: Response, context: &Context) -> Response {
    let body = serde_json::to_vec(&error.problem(context.id())).unwrap_or_default();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            parts.headers.insert(name, value);
        }
    };
    set(header::CONTENT_TYPE, "application/problem+json");
    set(header::CACHE_CONTROL, "no-store");
    if let Some(seconds) = error.retry_after {
        set(header::RETRY_AFTER, &seconds.to_string());
    }
    if let Some(version) = error.version {
        set(header::ETAG, &format!("\"{version}\""));
    }
    match (error.code, error.required_scope) {
        (Code::MissingCredentials, _) => set(header::WWW_AUTHENTICATE, "Bearer"),
        (Code::InvalidCredentials, _) => {
            set(header::WWW_AUTHENTICATE, "Bearer error=\"invalid_token\"");
        }
        (Code::InsufficientScope, Some(scope)) => {
            let value = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            set(header::WWW_AUTHENTICATE, &value);
        }
        (Code::PayloadTooLarge | Code::RequestTimeout, _) => set(header::CONNECTION, "close"),
        _ => {}
    }
    Response::from_parts(parts, Body::from(body))
}

/// Whether errors are sent as HTML pages, because a browser made the request. The paths below always give problem
/// documents, whatever the `Accept` header says.
fn wants_html(path: &str, headers: &HeaderMap) -> bool {
    let for_programs = ["/api/", "/oauth/token", "/oauth/revoke", "/oauth/introspect"];
    let accepted = headers.get_all(header::ACCEPT).iter();
    !for_programs.iter().any(|start| path.starts_with(start))
        && accepted.filter_map(|line| line.to_str().ok()).any(|line| line.contains("text/html"))
}

/// Turns a problem document into an error page. Headers such as `Allow` and `Retry-After` are kept.
fn error_page_response(error: &Error, problem: Response, context: &Context) -> Response {
    let (mut page, body) = page::error_page(error, context.id(), context.entered()).into_parts();
    for (name, value) in problem.headers() {
        if !page.headers.contains_key(name) {
            page.headers.append(name, value.clone());
        }
    }
    Response::from_parts(page, body)
}

/// Adds the headers that every response has.
fn add_common_headers(
    app: &App,
    response: &mut Response,
    context: &Context,
    cross_origin: bool,
    failed: bool,
) {
    let headers = response.headers_mut();
    headers.reserve(12);
    if let Ok(id) = HeaderValue::from_str(context.id()) {
        headers.insert("request-id", id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    // A response that a browser might render may load nothing, unless it has a policy of its own.
    let is_renderable = failed || !kind.ends_with(b"json");
    if is_renderable && !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    // Browsers that used HTTPS once must keep using it.
    if app.base_url.as_str().starts_with("https://") {
        let max_age = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, max_age);
    }
    if let Some(allowance) = context.allowance() {
        add_rate_limit_headers(headers, allowance, app.clock.now().seconds());
    }
    if cross_origin {
        let (any_origin, exposed) =
            (HeaderValue::from_static("*"), HeaderValue::from_static(EXPOSED_HEADERS));
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any_origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

/// Adds the rate limit headers. All five values share one allocation.
fn add_rate_limit_headers(headers: &mut HeaderMap, allowance: &Allowance, now: i64) {
    let Allowance { quota, remaining, next_in, full_in } = *allowance;
    let reset = now + i64::try_from(ceil_seconds(full_in)).unwrap_or(0);
    let mut text = BytesMut::with_capacity(128);
    let mut set = |name: &'static str, value: std::fmt::Arguments<'_>| {
        // Digits and quotes are always a valid header.
        if text.write_fmt(value).is_ok()
            && let Ok(value) = HeaderValue::from_maybe_shared(text.split().freeze())
        {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("ratelimit-policy", format_args!("\"default\";q={quota};w=60"));
    set("ratelimit", format_args!("\"default\";r={remaining};t={}", ceil_seconds(next_in)));
    set("x-ratelimit-limit", format_args!("{quota}"));
    set("x-ratelimit-remaining", format_args!("{remaining}"));
    set("x-ratelimit-reset", format_args!("{reset}"));
}

/// Logs the request: server errors and slow requests always, all others at debug level.
fn log_request(
    line: std::fmt::Arguments<'_>,
    status: StatusCode,
    failure: Option<&Error>,
    context: &Context,
    duration: Duration,
) {
    let (request, millis) = (context.id(), duration.as_millis() as u64);
    let account = || context.account().map(|account| account.to_string());
    let cause = failure.and_then(|error| error.cause.as_ref()).map(ToString::to_string);
    if status.is_server_error() {
        tracing::error!(request, millis, account = account(), cause, "{line}");
    } else if duration > SLOW_REQUEST && status != StatusCode::REQUEST_TIMEOUT {
        tracing::warn!(request, millis, account = account(), cause, "slow request: {line}");
    } else {
        tracing::debug!(request, millis, account = account(), cause, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_addresses_count_only_from_trusted_proxies() {
        let trusted: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let seen = |peer: &str, forwarded: &[&str]| {
            let line =
                |value: &&str| (HeaderName::from_static("x-forwarded-for"), value.parse().unwrap());
            let mut headers = HeaderMap::new();
            for (name, value) in forwarded.iter().map(line) {
                headers.append(name, value);
            }
            client_address(&headers, peer.parse().unwrap(), &trusted).to_string()
        };
        assert_eq!(seen("192.0.2.1", &["203.0.113.9"]), "192.0.2.1");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1, 203.0.113.9, 10.0.0.2"]), "203.0.113.9");
        assert_eq!(seen("10.0.0.1", &["1.1.1.1", "203.0.113.9"]), "203.0.113.9");
        assert_eq!(seen("::ffff:10.0.0.1", &["2001:db8::1"]), "2001:db8::1");
        assert_eq!(seen("10.0.0.1", &["unknown, 10.0.0.9"]), "10.0.0.9");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9:4711"]), "203.0.113.9");
        assert_eq!(seen("10.0.0.1", &["[2001:db8::1]:4711"]), "2001:db8::1");
        assert_eq!(seen("10.0.0.1", &[]), "10.0.0.1");
    }
}
