//! Where an app is sent back to: which addresses can be registered, and which one was asked for.
//!
//! Addresses are compared as the bytes they are written in. A reader that tidies them up first (lower
//! case, default ports, dots in paths) takes two for one sooner or later.

use kit::secret::hex;
use url::Url;

use super::app::Kind;

/// An app has at most so many addresses, each at most so long.
pub const MOST: usize = 20;
pub const LONGEST: usize = 2048;

/// The names by which this computer itself is reached.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];
/// What we add to an address; it cannot have them already.
const OURS: [&str; 5] = ["code", "state", "iss", "error", "error_description"];

/// Why an address cannot be registered for an app of this kind, if it cannot.
pub fn fault(uri: &str, kind: Kind) -> Option<&'static str> {
    if uri.len() > LONGEST {
        return Some("An address has at most 2048 characters.");
    }
    if !uri.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b)) {
        return Some("An address has no spaces, quotes, backslashes or special letters.");
    }
    if uri.contains('#') || uri.contains('*') {
        return Some("An address has no fragment (#) and no wildcard (*).");
    }
    let Some((scheme, rest)) = uri.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return Some("Write the whole address, such as https://app.example.org/callback.");
    };
    if has_ours(uri) {
        return Some("The address cannot have code, state, iss or error in its query.");
    }
    match scheme {
        "https" | "http" => web_fault(uri, scheme, rest),
        _ if kind != Kind::Native => Some("Only an app on a phone or computer has its own scheme."),
        _ if !scheme.contains('.') => {
            Some("An own scheme is a domain of yours written backwards, such as org.example.app:/.")
        }
        _ => (!rest.starts_with('/')).then_some("After an own scheme comes a slash."),
    }
}

fn is_scheme(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b);
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(plain)
}

fn has_ours(uri: &str) -> bool {
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes()).any(|(name, _)| OURS.contains(&name.as_ref()))
}

fn web_fault(uri: &str, scheme: &str, rest: &str) -> Option<&'static str> {
    let Some(rest) = rest.strip_prefix("//") else {
        return Some("Write the whole address, such as https://app.example.org/callback.");
    };
    let (host, port, _) = taken_apart(rest);
    if host.contains('@') {
        return Some("An address has no name or password in it.");
    }
    // What is shown to people and what a browser makes of it must be the same host.
    let read = Url::parse(uri).ok().and_then(|url| url.host_str().map(str::to_owned));
    if read.as_deref() != Some(host) || port.is_some_and(|port| !is_port(port)) {
        return Some("Write the host in lower case and as browsers do.");
    }
    let near = LOOPBACK.contains(&host);
    (scheme == "http" && !near).then_some("Use https; http is only for this computer (127.0.0.1).")
}

/// Host, port and the rest of what follows `//`.
fn taken_apart(rest: &str) -> (&str, Option<&str>, &str) {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(end);
    // The colons of an IPv6 address stand inside of brackets.
    match place.rfind(':').filter(|colon| *colon > place.rfind(']').unwrap_or(0)) {
        Some(colon) => (&place[..colon], Some(&place[colon + 1..]), path),
        None => (place, None, path),
    }
}

fn is_port(text: &str) -> bool {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    digits && text.parse::<u16>().is_ok()
}

/// Whether an app may be sent to this address: one of those registered, to the byte. An app on a phone
/// or computer that listens there itself cannot know its port beforehand.
pub fn is_registered(known: &[String], kind: Kind, asked: &str) -> bool {
    let loose = |uri: &String| kind == Kind::Native && is_same_but_port(uri, asked);
    known.iter().any(|uri| uri == asked || loose(uri))
}

fn is_same_but_port(known: &str, asked: &str) -> bool {
    let apart = |uri: &'_ str| -> Option<(String, bool, String)> {
        let (host, port, path) = taken_apart(uri.strip_prefix("http://")?);
        Some((host.to_owned(), port.is_none_or(is_port), path.to_owned()))
    };
    match (apart(known), apart(asked)) {
        (Some((known_host, _, known_path)), Some((host, right_port, path))) => {
            LOOPBACK.contains(&host.as_str())
                && known_host == host
                && right_port
                && known_path == path
        }
        _ => false,
    }
}

/// The address with these parameters behind its own. The values are written as they are.
pub fn with(uri: &str, parameters: &[(&str, &str)]) -> String {
    let mut text = uri.to_owned();
    for (name, value) in parameters {
        let glue = match text.find('?') {
            None => "?",
            Some(_) if text.ends_with(['?', '&']) => "",
            Some(_) => "&",
        };
        text.push_str(glue);
        text.push_str(name);
        text.push('=');
        text.push_str(value);
    }
    text
}

/// Bytes as they stand in a query, so that every reader gets the same bytes back.
pub fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            text.push(char::from(*byte));
        } else {
            text.push('%');
            text.push_str(&hex(&[*byte]).to_ascii_uppercase());
        }
    }
    text
}

/// The host that people are shown; for an app with its own scheme, that scheme.
pub fn host(uri: &str) -> &str {
    match uri.split_once("://") {
        Some(("https" | "http", rest)) => taken_apart(rest).0,
        _ => uri.split(':').next().unwrap_or_default(),
    }
}

/// Whether it leads to a program on the user's own computer.
pub fn is_near(uri: &str) -> bool {
    uri.starts_with("http://") && LOOPBACK.contains(&host(uri))
}

/// What a page's policy calls the place, so that its form may lead there.
pub fn source(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once(':') else { return String::new() };
    let (host, port, _) = taken_apart(rest.trim_start_matches('/'));
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    match scheme {
        // A policy has no way to write an IPv6 address.
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
    fn only_safe_addresses_are_registered() {
        let good = [
            "https://app.example.org/callback",
            "https://app.example.org",
            "https://app.example.org:8443/cb?from=touchline",
            "https://claude.ai/api/mcp/auth_callback",
            "http://localhost:8787/callback",
            "http://127.0.0.1/callback",
            "http://[::1]:7777/oauth/callback",
            "https://xn--bcher-kva.example/cb",
        ];
        for uri in good {
            for kind in [Kind::Native, Kind::Spa, Kind::Server] {
                assert_eq!(fault(uri, kind), None, "{uri}");
            }
        }
        assert_eq!(fault("org.example.app:/callback", Kind::Native), None);
        assert_eq!(fault("org.example.app://done/callback", Kind::Native), None);
        assert!(fault("org.example.app:/callback", Kind::Spa).is_some());
        let long = format!("https://a.example/{}", "x".repeat(2048));
        for uri in UNSAFE.into_iter().chain([long.as_str()]) {
            assert!(fault(uri, Kind::Native).is_some(), "{uri}");
        }
    }

    #[test]
    fn parameters_come_behind_those_that_are_there() {
        let with = |uri| with(uri, &[("code", "a"), ("iss", "b")]);
        assert_eq!(with("https://a.example/cb"), "https://a.example/cb?code=a&iss=b");
        assert_eq!(with("https://a.example/cb?x=1"), "https://a.example/cb?x=1&code=a&iss=b");
        assert_eq!(with("https://a.example/cb?"), "https://a.example/cb?code=a&iss=b");
        assert_eq!(with("org.example.app:/cb"), "org.example.app:/cb?code=a&iss=b");
        assert_eq!(encoded(b"a b+\xff\0/~\r\n"), "a%20b%2B%FF%00%2F~%0D%0A");
    }

    #[test]
    fn a_place_has_a_name_for_people_and_one_for_policies() {
        let both = |uri| (host(uri).to_owned(), source(uri));
        let pair = |host: &str, source: &str| (host.to_owned(), source.to_owned());
        assert_eq!(both("https://a.example:8443/cb"), pair("a.example", "https://a.example:8443"));
        assert_eq!(both("http://127.0.0.1:5/cb"), pair("127.0.0.1", "http://127.0.0.1:5"));
        assert_eq!(both("http://[::1]:5/cb"), pair("[::1]", "http:"));
        assert_eq!(both("org.example.app:/cb"), pair("org.example.app", "org.example.app:"));
        assert!(is_near("http://localhost:1/") && !is_near("https://localhost/"));
    }
}
