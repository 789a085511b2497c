//! Validates the URL of a receiver: it must be public and unambiguous. The IP address behind the host name is checked
//! again on every connection.

use std::net::IpAddr;

use url::{Host, Url};

use crate::address_policy::AddressPolicy;
use crate::config::BaseUrl;
use crate::prelude::*;

/// The maximum length of a URL, in bytes.
const MAX_LENGTH: usize = 2048;
/// The error for a receiver in a network that the operator has not allowed.
pub const NOT_PUBLIC: &str = mark!(
    "This URL is not public. To allow it, the operator of this server can add its network to the \
    setting TOUCHLINE_WEBHOOK_ALLOW_CIDRS (webhook_allow_cidrs), for example 192.168.1.0/24."
);
/// The error for a URL without encryption.
const NOT_HTTPS: &str = mark!("The URL must start with https://.");
/// The ports that public receivers may use.
const PORTS: [u16; 2] = [443, 8443];

fn invalid(detail: &'static str) -> Error {
    Error::invalid(vec![Fault::new("/url", "invalid_url", detail)])
}

/// Parses a URL that is complete and unambiguous. Whether it is public is checked by [`validate`].
pub fn parse(text: &str) -> Result<Url> {
    let is_clean = text.chars().all(|c| !c.is_control() && !c.is_whitespace() && c != '\\');
    if text.len() > MAX_LENGTH || !is_clean {
        return Err(invalid(
            "The URL must have at most 2048 characters, and no spaces, control characters or backslashes.",
        ));
    }
    let malformed =
        || invalid("Enter a complete URL, for example https://hooks.example.org/touchline.");
    let url = Url::parse(text).map_err(|_| malformed())?;
    // URL parsers repair a missing `//` or an empty label in different ways, so such URLs are rejected.
    let has_slashes = text.get(url.scheme().len()..).is_some_and(|rest| rest.starts_with("://"));
    let has_empty_label = |name: &str| name.trim_end_matches('.').split('.').any(str::is_empty);
    if !has_slashes || url.domain().is_some_and(has_empty_label) {
        return Err(malformed());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(
            "The URL must not contain a user name or password. Receivers verify the signature instead.",
        ));
    }
    if url.fragment().is_some() {
        return Err(invalid("The URL must not contain a fragment (the part after #)."));
    }
    if !matches!(url.scheme(), "https" | "http") {
        return Err(invalid(NOT_HTTPS));
    }
    Ok(url)
}

/// Validates a URL and returns it in normalized form.
pub fn validate(text: &str, guard: &AddressPolicy, home: &BaseUrl) -> Result<String> {
    let url = parse(text)?;
    // For a local address: whether the operator allows it. `None` for a public one.
    let local_allowed = match url.host() {
        Some(Host::Ipv4(ip)) => Some(guard.is_allowed_network(IpAddr::V4(ip))),
        Some(Host::Ipv6(ip)) => Some(guard.is_allowed_network(IpAddr::V6(ip))),
        Some(Host::Domain(name)) if is_local_name(name) => Some(guard.has_allowed_networks()),
        Some(Host::Domain(_)) => None,
        None => return Err(invalid("The URL must contain a host name.")),
    };
    match local_allowed {
        Some(false) => return Err(invalid(NOT_PUBLIC)),
        // In networks that the operator allows, plain HTTP and any port are accepted.
        Some(true) if matches!(url.scheme(), "https" | "http") => {}
        _ if url.scheme() != "https" => return Err(invalid(NOT_HTTPS)),
        _ if !PORTS.contains(&url.port().unwrap_or(443)) => {
            return Err(invalid("The port must be 443 or 8443."));
        }
        _ => {}
    }
    if origin(&url) == home.origin() {
        return Err(invalid("The URL must not be on this server. Use the URL of your receiver."));
    }
    Ok(url.into())
}

/// The origin of a URL, without a trailing dot in the host name, which leads to the same host.
fn origin(url: &Url) -> String {
    let mut normalized = url.clone();
    if let Some(name) = url.domain().and_then(|name| name.strip_suffix('.')) {
        // Cannot fail: the name stays valid without the dot.
        let _ = normalized.set_host(Some(name));
    }
    normalized.origin().ascii_serialization()
}

/// Whether a host name can only belong to the local network.
fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let suffixes = [".localhost", ".local", ".internal", ".home.arpa", ".lan"];
    !name.contains('.') || suffixes.iter().any(|suffix| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_must_be_public_and_unambiguous() {
        let (guard, home) = (AddressPolicy::default(), BaseUrl::local("localhost", 8080));
        for valid in [
            "https://hooks.example.org/a?b=c",
            "https://hooks.example.org:8443",
            "https://münchen.example/",
        ] {
            assert!(validate(valid, &guard, &home).is_ok(), "{valid}");
        }
        for invalid in [
            "",
            "hooks.example.org",
            "http://hooks.example.org",
            "ftp://hooks.example.org",
            "file:///etc/passwd",
            "https://user:pass@hooks.example.org",
            "https://user@hooks.example.org",
            "https://hooks.example.org:22",
            "https://hooks.example.org:6379",
            "https://hooks.example.org/#a",
            "https://hooks.exa\tmple.org",
            "https://hooks.example.org\n",
            "https://example.com\\@127.0.0.1",
            "https://127.0.0.1",
            "https://2130706433",
            "https://0x7f.1",
            "https://0177.0.0.1",
            "https://127.1",
            "https://①②⑦.⓪.⓪.①",
            "https://0",
            "https://[::]",
            "https://[::1]",
            "https://[::ffff:127.0.0.1]",
            "https://[::127.0.0.1]",
            "https://[64:ff9b::7f00:1]",
            "https://[2002:7f00:1::]",
            "https://[2001:0:7f00:1::]",
            "https://[fec0::1]",
            "https://[fd00:ec2::254]",
            "https://localhost",
            "https://localhost.",
            "https://app.localhost",
            "https://intranet",
            "https://1.1.1.1",
            "https://metadata.google.internal",
            "javascript:alert(1)",
            "https:///nothing",
            "https:hooks.example.org",
            "https:/hooks.example.org",
            "https://hooks..example.org",
            "https://.hooks.example.org",
        ] {
            assert!(validate(invalid, &guard, &home).is_err(), "{invalid}");
        }
        let long = format!("https://hooks.example.org/{}", "a".repeat(2048));
        assert!(validate(&long, &guard, &home).is_err());
    }

    #[test]
    fn the_operator_can_allow_local_networks_but_not_this_server() {
        let guard = AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]);
        let home = BaseUrl::local("127.0.0.1", 8080);
        for valid in
            ["http://127.0.0.1:9000/hook", "http://localhost:9000", "https://127.0.0.1:9443"]
        {
            assert!(validate(valid, &guard, &home).is_ok(), "{valid}");
        }
        for invalid in [
            "http://127.0.0.1:8080/api",
            "http://10.0.0.1",
            "http://hooks.example.org",
            "ftp://127.0.0.1",
        ] {
            assert!(validate(invalid, &guard, &home).is_err(), "{invalid}");
        }
        let home: BaseUrl = "https://club.example.org".parse().unwrap();
        for own_url in [
            "https://club.example.org/x",
            "https://CLUB.example.org.",
            "https://club.example.org.:443/",
        ] {
            assert!(validate(own_url, &guard, &home).is_err(), "{own_url}");
        }
        assert!(validate("https://club.example.org:8443", &guard, &home).is_ok());
    }
}
