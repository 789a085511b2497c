//! Absolute URLs of this service.
//!
//! There are two kinds. A URL that is stored, emailed, compared or sent to another party (reset links, OAuth
//! metadata, return URLs of a checkout) comes from [`App::url`]: the setting `base_url`, or the address the
//! server listens on, never the request. A URL that is shown only to the sender of a request (the address of a new
//! calendar feed, an invitation link to copy) comes from [`for_request`]: without `base_url` it uses the host
//! that the sender used, if that host can be trusted. Such a URL must not be stored or cached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::HeaderMap;
use http::header::{HOST, HeaderValue};
use ipnet::IpNet;

use super::context::Context;
use crate::web::app::App;

/// The maximum length of a DNS name.
const MAX_NAME: usize = 253;
/// The maximum length of a label of a DNS name.
const MAX_LABEL: usize = 63;
/// Suffixes that cannot be registered in public DNS.
const LOCAL_SUFFIXES: [&str; 5] = [".localhost", ".local", ".internal", ".home.arpa", ".lan"];

/// The host that a request names, not yet validated.
#[derive(Debug, Clone)]
pub struct RequestHost {
    host: HeaderValue,
    /// The request came from a proxy in `trusted_proxies`.
    proxied: bool,
    /// The trusted proxy was called over HTTPS.
    https: bool,
}

impl RequestHost {
    /// Reads the headers of a request. `X-Forwarded-Proto` counts only from a trusted proxy.
    pub fn read(headers: &HeaderMap, peer: IpAddr, trusted: &[IpNet]) -> Option<Self> {
        let host = headers.get(HOST)?.clone();
        let peer = peer.to_canonical();
        let proxied = trusted.iter().any(|net| net.contains(&peer));
        let scheme = headers.get_all("x-forwarded-proto").iter().next_back();
        let scheme = scheme.and_then(|value| value.to_str().ok());
        let scheme = scheme.and_then(|value| value.rsplit(',').next()).map(str::trim);
        let https = proxied && scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"));
        Some(Self { host, proxied, https })
    }

    /// Scheme, host and port, if the host is valid and can be trusted. A public name is trusted only from a
    /// trusted proxy, because anyone can point a name of their own at this server.
    fn origin(&self) -> Option<String> {
        let (host, port) = parse_host(self.host.to_str().ok()?)?;
        if !self.proxied && !host.is_local {
            return None;
        }
        let scheme = if self.https { "https" } else { "http" };
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{scheme}://{}{port}", host.text))
    }
}

/// The URL of a path for the sender of this request. It must be shown only to them.
pub fn for_request(app: &App, context: &Context, path: &str) -> String {
    match context.host().and_then(RequestHost::origin) {
        Some(origin) if app.config.base_url.is_none() => format!("{origin}{path}"),
        _ => app.url(path),
    }
}

/// A path for headers such as `Location` and `Link`: absolute if `base_url` is set, otherwise relative, which works
/// behind every proxy.
pub fn reference(app: &App, path: &str) -> String {
    if app.config.base_url.is_some() { app.url(path) } else { path.to_owned() }
}

/// A valid host.
struct Host {
    text: String,
    /// Whether this is an IP address or a name of the local network.
    is_local: bool,
}

/// Parses the value of a `Host` header strictly.
fn parse_host(text: &str) -> Option<(Host, Option<u16>)> {
    let (host, rest) = if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        (Host { text: format!("[{address}]"), is_local: true }, rest)
    } else {
        let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        (parse_name(name)?, rest)
    };
    let port = match rest {
        "" => None,
        rest => Some(parse_port(rest.strip_prefix(':')?)?),
    };
    Some((host, port))
}

fn parse_name(name: &str) -> Option<Host> {
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Some(Host { text: address.to_string(), is_local: true });
    }
    let label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // Browsers read a name that ends in a number as an IPv4 address.
    let numeric = name.rsplit('.').next()?.bytes().all(|byte| byte.is_ascii_digit());
    let valid = name.len() <= MAX_NAME && !numeric && name.split('.').all(label);
    let text = name.to_ascii_lowercase();
    let is_local = !text.contains('.') || LOCAL_SUFFIXES.iter().any(|end| text.ends_with(end));
    valid.then_some(Host { text, is_local })
}

fn parse_port(text: &str) -> Option<u16> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(host: &str, peer: &str, forwarded: &[&str]) -> Option<String> {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        for scheme in forwarded {
            headers.append("x-forwarded-proto", scheme.parse().unwrap());
        }
        RequestHost::read(&headers, peer.parse().unwrap(), &trusted)?.origin()
    }

    #[test]
    fn a_direct_request_may_name_an_address_or_a_local_name() {
        for host in [
            "127.0.0.1:8080",
            "192.168.1.5",
            "[::1]:8080",
            "localhost:8080",
            "club",
            "club.local",
            "club.home.arpa:81",
        ] {
            assert_eq!(origin(host, "192.0.2.1", &["https"]), Some(format!("http://{host}")));
        }
        for host in ["club.example.org", "evil.example", "localhost.evil.example"] {
            assert_eq!(origin(host, "192.0.2.1", &[]), None, "{host}");
        }
    }

    #[test]
    fn a_trusted_proxy_may_name_a_public_host_and_the_scheme() {
        let proxy = "10.0.0.1";
        assert_eq!(
            origin("Club.Example.org", proxy, &["https"]).as_deref(),
            Some("https://club.example.org")
        );
        assert_eq!(
            origin("club.example.org:8443", proxy, &["http, https"]).as_deref(),
            Some("https://club.example.org:8443")
        );
        assert_eq!(
            origin("club.example.org", proxy, &["https", "gopher"]).as_deref(),
            Some("http://club.example.org")
        );
    }

    #[test]
    fn a_malformed_host_is_never_used() {
        for host in [
            "club.example.org/path",
            "club.example.org:0",
            "club.example.org:99999",
            "club.example.org:8080:1",
            "user@club.example.org",
            "club..example.org",
            "-club.example.org",
            "club.example.org.",
            "club.example.org?x",
            "club_1.example.org",
            "1.2.3",
            "127.1",
            "[::1",
            "::1",
            "[::1%25eth0]",
            "a\tb",
            "",
        ] {
            assert_eq!(origin(host, "10.0.0.1", &[]), None, "{host:?}");
        }
    }
}
