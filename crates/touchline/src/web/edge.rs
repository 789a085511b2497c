//! The edge: every request passes here on its way in and every answer on its way out.
//!
//! In: an id, the client's address, refusal of what is malformed, a limit in time, a net for panics.
//! Out: the id and the quota in headers, errors written as problems for programs and as pages for people, a
//! count and a line in the log.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
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

use super::context::Context;
use super::limits::Allowance;
use super::pace::ceiling;
use super::page;
use super::public_url::RequestHost;
use super::request_head::HeadFault;
use super::server::MAX_HEADER_BYTES;
use super::unread::Unread;
use crate::app::App;
use crate::error::{Code, Error, Result};

/// The longest a request may take.
const TOTAL: Duration = Duration::from_secs(30);
/// A request that takes longer than this is worth a line in the log.
const SLOW: Duration = Duration::from_secs(1);
/// Below this address lives the API.
pub const API: &str = "/api/public/v1";

/// Answers a request, whatever it is.
pub async fn answer(app: &App, router: &Router, request: Request<Body>, peer: IpAddr) -> Response {
    let began = Instant::now();
    let address = client_address(request.headers(), peer, &app.config.trusted_proxies);
    let host = match app.config.base_url {
        Some(_) => None,
        None => RequestHost::read(request.headers(), peer, &app.config.trusted_proxies),
    };
    let context = Context::new(app.new_request_id(), address, host);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
    let last = chunked || request.extensions().get::<HeadFault>().is_some();
    let person = is_person(&path, request.headers());
    let cross_origin = is_shared(&path) && request.headers().contains_key(header::ORIGIN);
    let (request, unread) = Unread::of(request);
    let mut response = match check(&request) {
        Err(error) => error.into_response(),
        Ok(()) if cross_origin && is_preflight(&request) => preflight(),
        Ok(()) => guarded(app, router, request, &context, unread.as_ref()).await,
    };
    let failure = response.extensions_mut().remove::<Error>();
    if let Some(error) = &failure {
        response = problem(error, response, &context);
        if person {
            response = shown(error, response, &context);
        }
    }
    dress(app, &mut response, &context, cross_origin, failure.is_some());
    if last || unread.is_some_and(|body| body.is_left()) {
        // A request whose length two readers may see differently must be the connection's last, and so must one
        // of which something is left to be read.
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let took = began.elapsed();
    app.metrics.count(&method, response.status(), took);
    let line = format_args!("{method} {} {}", loggable(&path), response.status().as_u16());
    log(line, response.status(), failure.as_ref(), &context, took);
    response
}

/// A path as it may stand in a log: addresses that are secrets are cut off.
fn loggable(path: &str) -> &str {
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

/// Runs the request within its time and catches what panics.
async fn guarded(
    app: &App,
    router: &Router,
    mut request: Request<Body>,
    context: &Context,
    body: Option<&Unread>,
) -> Response {
    request.extensions_mut().insert(context.clone());
    let mut router = router.clone();
    let handled = AssertUnwindSafe(router.call(request)).catch_unwind();
    match tokio::time::timeout(TOTAL, handled).await {
        Ok(Ok(Ok(response))) => response,
        Ok(Err(_)) => {
            app.metrics.panics.fetch_add(1, Ordering::Relaxed);
            Error::internal("a handler panicked").into_response()
        }
        Err(_) if body.is_some_and(Unread::is_awaited) => {
            let detail = "The body did not arrive within 30 seconds.";
            Error::new(Code::RequestTimeout, detail).into_response()
        }
        Err(_) => {
            let detail = "The request took longer than 30 seconds. It may have been carried out: \
                try again with the same Idempotency-Key.";
            Error::new(Code::Overloaded, detail).retry_after(5).into_response()
        }
    }
}

/// Refuses what two readers might understand differently.
fn check(request: &Request<Body>) -> Result<()> {
    let refuse = |detail: &'static str| Err(Error::new(Code::InvalidRequest, detail));
    let headers = request.headers();
    let count = |name: &HeaderName| headers.get_all(name).iter().count();
    if let Some(fault) = request.extensions().get::<HeadFault>() {
        return refuse(fault.detail());
    }
    // Only HTTP/1.0, which some health checks still speak, may leave the Host out.
    let hosts = count(&header::HOST);
    if hosts > 1 || (hosts == 0 && request.version() != Version::HTTP_10) {
        return refuse("A request has exactly one Host header.");
    }
    let lines = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    let address = request.uri().path().len() + request.uri().query().map_or(0, str::len);
    if lines.sum::<usize>() + address > MAX_HEADER_BYTES {
        return refuse("The address and the headers are larger than 32 KiB.");
    }
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        if count(&name) > 1 {
            return refuse("The header Content-Type or Content-Length was sent more than once.");
        }
    }
    Ok(())
}

/// Where the request really came from: the peer or, behind trusted proxies, the last address in
/// `X-Forwarded-For` that is not one of them. What stands before it, anybody could have written.
fn client_address(headers: &HeaderMap, peer: IpAddr, trusted: &[IpNet]) -> IpAddr {
    let peer = peer.to_canonical();
    let known = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    if !known(&peer) {
        return peer;
    }
    let lines = headers.get_all("x-forwarded-for");
    let text: Vec<_> = lines.iter().filter_map(|line| line.to_str().ok()).collect();
    let mut nearest = peer;
    for hop in text.iter().flat_map(|line| line.split(',')).rev() {
        let Some(address) = hop_address(hop.trim()) else {
            return nearest;
        };
        if !known(&address) {
            return address;
        }
        nearest = address;
    }
    nearest
}

/// The address of a hop; some proxies write the port behind it.
fn hop_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

/// What pages of other origins may call: the API, and what an app that runs in a browser needs to get its
/// tokens. Nothing that a person is asked on.
fn is_shared(path: &str) -> bool {
    let for_apps = [
        "/oauth/token",
        "/oauth/revoke",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ];
    path.starts_with(API) || for_apps.contains(&path)
}

/// A browser asks whether a page of another origin may call the API. It may: only a bearer token opens
/// the API, and a browser never sends one by itself.
fn is_preflight(request: &Request<Body>) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> Response {
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

/// The headers of an answer that a page of another origin may read.
const EXPOSED: &str = "etag, idempotent-replayed, link, location, ratelimit, ratelimit-policy, request-id, \
    retry-after, www-authenticate, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset";

/// Writes an error as a problem, keeping headers such as `Allow`.
fn problem(error: &Error, response: Response, context: &Context) -> Response {
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
    match (error.code, error.needs) {
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

/// Whether a person with a browser waits for the answer, and not a program. Programs that ask for pages
/// nevertheless get problems where the contract says so.
fn is_person(path: &str, headers: &HeaderMap) -> bool {
    let for_programs = ["/api/", "/oauth/token", "/oauth/revoke", "/oauth/introspect"];
    let accepted = headers.get_all(header::ACCEPT).iter();
    !for_programs.iter().any(|start| path.starts_with(start))
        && accepted.filter_map(|line| line.to_str().ok()).any(|line| line.contains("text/html"))
}

/// The same error as a page; headers such as `Allow` and `Retry-After` stay.
fn shown(error: &Error, problem: Response, context: &Context) -> Response {
    let (mut page, body) =
        page::error_page(error, context.id(), context.account().is_some()).into_parts();
    for (name, value) in problem.headers() {
        if !page.headers.contains_key(name) {
            page.headers.append(name, value.clone());
        }
    }
    Response::from_parts(page, body)
}

/// The headers that every answer carries.
fn dress(app: &App, response: &mut Response, context: &Context, cross_origin: bool, failed: bool) {
    let headers = response.headers_mut();
    headers.reserve(12);
    if let Ok(id) = HeaderValue::from_str(context.id()) {
        headers.insert("request-id", id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    // What a browser might show as a page may load nothing, unless the page itself says what.
    let page = failed || !kind.ends_with(b"json");
    if page && !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
        headers.insert(header::CONTENT_SECURITY_POLICY, nothing);
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    // Whoever reached us by https once comes by https from then on.
    if app.home.as_str().starts_with("https://") {
        let always = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, always);
    }
    if let Some(allowance) = context.allowance() {
        quota(headers, allowance, app.clock.now().seconds());
    }
    if cross_origin {
        let anybody = HeaderValue::from_static("*");
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, anybody);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
}

/// What is left of the account's quota. All five values are written into one piece of memory.
fn quota(headers: &mut HeaderMap, allowance: &Allowance, now: i64) {
    let Allowance { quota, remaining, next_in, full_in } = *allowance;
    let reset = now + i64::try_from(ceiling(full_in)).unwrap_or(0);
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
    set("ratelimit", format_args!("\"default\";r={remaining};t={}", ceiling(next_in)));
    set("x-ratelimit-limit", format_args!("{quota}"));
    set("x-ratelimit-remaining", format_args!("{remaining}"));
    set("x-ratelimit-reset", format_args!("{reset}"));
}

/// One line for what an operator should see; everything else only when asked for.
fn log(
    line: std::fmt::Arguments<'_>,
    status: StatusCode,
    failure: Option<&Error>,
    context: &Context,
    took: Duration,
) {
    let (request, millis) = (context.id(), took.as_millis() as u64);
    let account = || context.account().map(|account| account.to_string());
    let cause = failure.and_then(|error| error.cause.as_deref());
    if status.is_server_error() {
        tracing::error!(request, millis, account = account(), cause, "{line}");
    } else if took > SLOW && status != StatusCode::REQUEST_TIMEOUT {
        tracing::warn!(request, millis, account = account(), cause, "slow: {line}");
    } else {
        tracing::debug!(request, millis, account = account(), cause, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
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
