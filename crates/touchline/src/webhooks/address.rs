//! The address of a receiver: an ordinary public one, said in a way that cannot be misunderstood. Which
//! machine it is, is checked again whenever it is connected to.

use std::net::IpAddr;

use url::{Host, Url};

use super::guard::Guard;
use crate::config::BaseUrl;
use crate::error::{Error, Fault, Result};

/// The longest address.
const LONGEST: usize = 2048;
/// What somebody is told whose receiver is in a network that the operator has not allowed.
pub const NOT_PUBLIC: &str = "This address is not public. To allow it, the operator of this server adds its network to the \
    setting TOUCHLINE_WEBHOOK_ALLOW_CIDRS (webhook_allow_cidrs), for example 192.168.1.0/24.";
/// The ports of public receivers.
const PORTS: [u16; 2] = [443, 8443];

/// The address in its one spelling, if it is one that notifications can be sent to.
pub fn checked(text: &str, guard: &Guard, home: &BaseUrl) -> Result<String> {
    let refused = |why: &str| Error::invalid(vec![Fault::new("/url", "invalid_url", why)]);
    let plain = text.chars().all(|c| !c.is_control() && !c.is_whitespace() && c != '\\');
    if text.len() > LONGEST || !plain {
        return Err(refused(
            "An address has at most 2048 characters and no spaces, control characters or backslashes.",
        ));
    }
    let no_address =
        || refused("This is not an address such as https://hooks.example.org/touchline.");
    let url = Url::parse(text).map_err(|_| no_address())?;
    // Written otherwise, it is mended by whoever reads it, and not by everybody alike.
    let whole = text.get(url.scheme().len()..).is_some_and(|rest| rest.starts_with("://"));
    let gap = |name: &str| name.trim_end_matches('.').split('.').any(str::is_empty);
    if !whole || url.domain().is_some_and(gap) {
        return Err(no_address());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(
            "An address carries no user or password; check the signature instead.",
        ));
    }
    if url.fragment().is_some() {
        return Err(refused("An address has no part after #: it would never be sent."));
    }
    let near = match url.host() {
        Some(Host::Ipv4(ip)) => Some(guard.allows(IpAddr::V4(ip))),
        Some(Host::Ipv6(ip)) => Some(guard.allows(IpAddr::V6(ip))),
        Some(Host::Domain(name)) if is_near(name) => Some(guard.allows_any()),
        Some(Host::Domain(_)) => None,
        None => return Err(refused("An address names a machine.")),
    };
    match near {
        Some(false) => return Err(refused(NOT_PUBLIC)),
        // Where the operator allows a network, its machines are reached as they are.
        Some(true) if matches!(url.scheme(), "https" | "http") => {}
        _ if url.scheme() != "https" => return Err(refused("An address begins with https://.")),
        _ if !PORTS.contains(&url.port().unwrap_or(443)) => {
            return Err(refused("Receivers are reached at port 443 or 8443."));
        }
        _ => {}
    }
    if origin(&url) == home.origin() {
        return Err(refused("This is our own address: what happens here would be told to here."));
    }
    Ok(url.into())
}

/// Where it leads; a dot at the end of a name leads to the same machine.
fn origin(url: &Url) -> String {
    let mut plain = url.clone();
    if let Some(name) = url.domain().and_then(|name| name.strip_suffix('.')) {
        // What was a name with a dot is one without.
        let _ = plain.set_host(Some(name));
    }
    plain.origin().ascii_serialization()
}

/// Whether a name can only mean a machine nearby.
fn is_near(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let ends = [".localhost", ".local", ".internal", ".home.arpa", ".lan"];
    !name.contains('.') || ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_public_and_plain() {
        let (guard, home) = (Guard::default(), BaseUrl::local("localhost", 8080));
        for right in [
            "https://hooks.example.org/a?b=c",
            "https://hooks.example.org:8443",
            "https://münchen.example/",
        ] {
            assert!(checked(right, &guard, &home).is_ok(), "{right}");
        }
        for wrong in [
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
            assert!(checked(wrong, &guard, &home).is_err(), "{wrong}");
        }
        let long = format!("https://hooks.example.org/{}", "a".repeat(2048));
        assert!(checked(&long, &guard, &home).is_err());
    }

    #[test]
    fn the_operator_may_allow_more_but_not_our_own_address() {
        let guard = Guard::new(vec!["127.0.0.0/8".parse().unwrap()]);
        let home = BaseUrl::local("127.0.0.1", 8080);
        for right in
            ["http://127.0.0.1:9000/hook", "http://localhost:9000", "https://127.0.0.1:9443"]
        {
            assert!(checked(right, &guard, &home).is_ok(), "{right}");
        }
        for wrong in [
            "http://127.0.0.1:8080/api",
            "http://10.0.0.1",
            "http://hooks.example.org",
            "ftp://127.0.0.1",
        ] {
            assert!(checked(wrong, &guard, &home).is_err(), "{wrong}");
        }
        let home: BaseUrl = "https://club.example.org".parse().unwrap();
        for own in [
            "https://club.example.org/x",
            "https://CLUB.example.org.",
            "https://club.example.org.:443/",
        ] {
            assert!(checked(own, &guard, &home).is_err(), "{own}");
        }
        assert!(checked("https://club.example.org:8443", &guard, &home).is_ok());
    }
}
