//! Redirect URIs: which can be registered, and whether a requested one is registered.
//!
//! URIs are compared byte by byte. Normalizing them first (lower case, default ports, dots in paths) can make different
//! URIs equal.

use url::Url;

use super::app::Kind;

/// Maximum number of redirect URIs per app.
pub const MAX_URIS: usize = 20;
/// Maximum length of a redirect URI, in bytes.
pub const MAX_LENGTH: usize = 2048;

/// Hosts that refer to the user's own computer.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];
/// Parameters of the authorization response. A redirect URI must not contain them.
const RESPONSE_PARAMETERS: [&str; 5] = ["code", "state", "iss", "error", "error_description"];

/// Why a redirect URI cannot be registered for an app of this kind; `None` if it can.
pub fn find_problem(uri: &str, kind: Kind) -> Option<&'static str> {
    if uri.len() > MAX_LENGTH {
        return Some(mark!("A redirect URI must have at most 2048 characters."));
    }
    if !uri.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b)) {
        return Some(mark!(
            "A redirect URI must be ASCII, without spaces and without \" < > \\ ^ ` { | }."
        ));
    }
    if uri.contains('#') || uri.contains('*') {
        return Some(mark!("A redirect URI must not contain a fragment (#) or a wildcard (*)."));
    }
    let Some((scheme, rest)) = uri.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return Some(mark!("Enter an absolute URI, such as https://app.example.org/callback."));
    };
    if has_response_parameter(uri) {
        return Some(mark!(
            "The query must not contain code, state, iss, error or error_description."
        ));
    }
    match scheme {
        "https" | "http" => find_web_problem(uri, scheme, rest),
        _ if kind != Kind::Native => Some(mark!("Only native apps can use a custom URI scheme.")),
        _ if !scheme.contains('.') => Some(mark!(
            "A custom scheme must be a domain name in reverse, such as org.example.app:/."
        )),
        _ => (!rest.starts_with('/'))
            .then_some(mark!("A custom scheme must be followed by a slash.")),
    }
}

fn is_scheme(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b);
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(allowed)
}

fn has_response_parameter(uri: &str) -> bool {
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes())
        .any(|(name, _)| RESPONSE_PARAMETERS.contains(&name.as_ref()))
}

fn find_web_problem(uri: &str, scheme: &str, rest: &str) -> Option<&'static str> {
    let Some(rest) = rest.strip_prefix("//") else {
        return Some(mark!("Enter an absolute URI, such as https://app.example.org/callback."));
    };
    let (host, port, _) = split_authority(rest);
    if host.contains('@') {
        return Some(mark!("A redirect URI must not contain a user name or password."));
    }
    // The host that users see must be the one that browsers open.
    let parsed = Url::parse(uri).ok().and_then(|url| url.host_str().map(str::to_owned));
    if parsed.as_deref() != Some(host) || port.is_some_and(|port| !is_port(port)) {
        return Some(mark!(
            "Enter the host in lower case and in its normalized form, with a valid port."
        ));
    }
    let is_loopback = LOOPBACK.contains(&host);
    (scheme == "http" && !is_loopback)
        .then_some(mark!("Use https. Only loopback addresses such as 127.0.0.1 can use http."))
}

/// Splits what follows `//` into host, port and the rest.
fn split_authority(rest: &str) -> (&str, Option<&str>, &str) {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // The colons of an IPv6 address are inside brackets.
    match authority.rfind(':').filter(|colon| *colon > authority.rfind(']').unwrap_or(0)) {
        Some(colon) => (&authority[..colon], Some(&authority[colon + 1..]), path),
        None => (authority, None, path),
    }
}

fn is_port(text: &str) -> bool {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    digits && text.parse::<u16>().is_ok()
}

/// Whether the requested redirect URI is one of the registered ones, byte by byte. For native apps the port of a
/// loopback URI may differ, because they choose it at run time (RFC 8252 section 7.3).
pub fn is_registered(registered: &[String], kind: Kind, requested: &str) -> bool {
    let same_but_port =
        |uri: &String| kind == Kind::Native && matches_ignoring_port(uri, requested);
    registered.iter().any(|uri| uri == requested || same_but_port(uri))
}

fn matches_ignoring_port(registered: &str, requested: &str) -> bool {
    let both = registered.strip_prefix("http://").zip(requested.strip_prefix("http://"));
    both.is_some_and(|(registered, requested)| {
        let (registered_host, _, registered_path) = split_authority(registered);
        let (host, port, path) = split_authority(requested);
        LOOPBACK.contains(&host)
            && (registered_host, registered_path) == (host, path)
            && port.is_none_or(is_port)
    })
}

/// Appends parameters to the query of a URI. The values must already be percent-encoded.
pub fn append_parameters(uri: &str, parameters: &[(&str, String)]) -> String {
    let mut text = uri.to_owned();
    for (name, value) in parameters {
        let separator = match text.find('?') {
            None => "?",
            Some(_) if text.ends_with(['?', '&']) => "",
            Some(_) => "&",
        };
        text += &format!("{separator}{name}={value}");
    }
    text
}

/// Percent-encodes bytes for a query.
pub fn percent_encode(bytes: &[u8]) -> String {
    let is_unreserved = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let encode = |byte: &u8| match byte {
        _ if is_unreserved(byte) => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    bytes.iter().map(encode).collect()
}

/// The host that is shown to users; for a custom scheme, the scheme.
pub fn host(uri: &str) -> &str {
    match uri.split_once("://") {
        Some(("https" | "http", rest)) => split_authority(rest).0,
        _ => uri.split(':').next().unwrap_or_default(),
    }
}

/// Whether the URI leads to a program on the user's own computer.
pub fn is_loopback(uri: &str) -> bool {
    uri.starts_with("http://") && LOOPBACK.contains(&host(uri))
}

/// The source expression for the Content-Security-Policy directive `form-action`, so that the form may redirect there.
pub fn csp_source(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once(':') else { return String::new() };
    let (host, port, _) = split_authority(rest.trim_start_matches('/'));
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    match scheme {
        // A Content-Security-Policy cannot contain an IPv6 address.
        "https" | "http" if !host.starts_with('[') => format!("{scheme}://{host}{port}"),
        _ => format!("{scheme}:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSAFE: [&str; 41] = [
        "",
        "callback",
        "/callback",
        "//app.example.org/cb",
        "https:app.example.org",
        "https:/app.example.org",
        "http://app.example.org/cb",
        "https://app.example.org/cb#top",
        "https://*.example.org/cb",
        "https://app.example.org/*",
        "https://a:b@app.example.org/",
        "https://app.example.org@evil.example/",
        "https://App.example.org/",
        "HTTPS://app.example.org/",
        "https://127.1/",
        "https://0x7f.1/",
        "http://2130706433/",
        "http://0.0.0.0/cb",
        "http://[::ffff:127.0.0.1]/cb",
        "http://localhost.evil.example/cb",
        "http://127.0.0.1.nip.io/",
        "https://app.example.org/a b",
        "https://app.example.org/\tcb",
        "https://app.example.org/\u{0}",
        "https://app.example.org\\@evil.example/",
        "https://bücher.example/",
        "https://a.example:99999/",
        "https://a.example:/cb",
        "https://a.example:08/",
        "javascript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "app:/callback",
        "cursor://anysphere.cursor-mcp/callback",
        "org.example.app:callback",
        "https://a.example/?code=1",
        "https://a.example/?x=1&st%61te=2",
        "https://",
        "https:///cb",
        "https://a.example/{id}",
    ];

    #[test]
    fn only_safe_redirect_uris_are_accepted() {
        let valid = [
            "https://app.example.org/callback",
            "https://app.example.org",
            "https://app.example.org:8443/cb?from=touchline",
            "https://claude.ai/api/mcp/auth_callback",
            "http://localhost:8787/callback",
            "http://127.0.0.1/callback",
            "http://[::1]:7777/oauth/callback",
            "https://xn--bcher-kva.example/cb",
        ];
        for uri in valid {
            for kind in [Kind::Native, Kind::Spa, Kind::Server] {
                assert_eq!(find_problem(uri, kind), None, "{uri}");
            }
        }
        assert_eq!(find_problem("org.example.app:/callback", Kind::Native), None);
        assert_eq!(find_problem("org.example.app://done/callback", Kind::Native), None);
        assert!(find_problem("org.example.app:/callback", Kind::Spa).is_some());
        let long = format!("https://a.example/{}", "x".repeat(2048));
        for uri in UNSAFE.into_iter().chain([long.as_str()]) {
            assert!(find_problem(uri, Kind::Native).is_some(), "{uri}");
        }
    }

    #[test]
    fn parameters_are_appended_to_the_query() {
        let append = |uri| append_parameters(uri, &[("code", "a".into()), ("iss", "b".into())]);
        assert_eq!(append("https://a.example/cb"), "https://a.example/cb?code=a&iss=b");
        assert_eq!(append("https://a.example/cb?x=1"), "https://a.example/cb?x=1&code=a&iss=b");
        assert_eq!(append("https://a.example/cb?"), "https://a.example/cb?code=a&iss=b");
        assert_eq!(append("org.example.app:/cb"), "org.example.app:/cb?code=a&iss=b");
        assert_eq!(percent_encode(b"a b+\xff\0/~\r\n"), "a%20b%2B%FF%00%2F~%0D%0A");
    }

    #[test]
    fn a_uri_has_a_host_for_users_and_a_source_for_policies() {
        let both = |uri| (host(uri).to_owned(), csp_source(uri));
        let pair = |host: &str, source: &str| (host.to_owned(), source.to_owned());
        assert_eq!(both("https://a.example:8443/cb"), pair("a.example", "https://a.example:8443"));
        assert_eq!(both("http://127.0.0.1:5/cb"), pair("127.0.0.1", "http://127.0.0.1:5"));
        assert_eq!(both("http://[::1]:5/cb"), pair("[::1]", "http:"));
        assert_eq!(both("org.example.app:/cb"), pair("org.example.app", "org.example.app:"));
        assert!(is_loopback("http://localhost:1/") && !is_loopback("https://localhost/"));
    }
}
