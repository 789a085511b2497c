//! The form for a new API key: parsing and validation.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use kit::Timestamp;
use kit::string_enum::StringEnum;
use kit::text::{self, TextFault};

use crate::accounts::api_key::NewKey;
use crate::ids::TeamId;
use crate::rights::{ScopeName, Scopes};
use crate::web::form::{Faults, Form};
use crate::web::visitor::url_encode;

/// The lifetimes on offer: the value of the form field in days, and its label.
pub(super) const LIFETIMES: [(&str, &str); 4] =
    [("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year"), ("never", "Never")];
const DEFAULT_LIFETIME: &str = "90";
/// Limits of a key: characters in its name, and networks.
const MAX_NAME_CHARS: usize = 120;
const MAX_NETWORKS: usize = 50;

/// The form as submitted.
#[derive(Debug)]
pub(super) struct KeyForm {
    pub(super) name: String,
    scopes: Vec<String>,
    teams: Vec<String>,
    pub(super) addresses: String,
    expires: String,
    /// The key gets full access. This needs `understood` too, the box below the warning.
    pub(super) everything: bool,
    pub(super) understood: bool,
}

impl KeyForm {
    pub(super) fn read(form: &Form) -> Self {
        let all = |name: &str| form.get_all(name).into_iter().map(str::to_owned).collect();
        Self {
            name: form.text("name").to_owned(),
            scopes: all("scopes"),
            teams: all("team_ids"),
            addresses: form.get("addresses").unwrap_or_default().to_owned(),
            expires: form.optional("expires").unwrap_or(DEFAULT_LIFETIME).to_owned(),
            everything: form.is_checked("everything"),
            understood: form.is_checked("understood"),
        }
    }

    /// Reads the values of a link that fills in the form. A link cannot ask for full access.
    pub(super) fn read_link(form: &Form) -> Self {
        Self { everything: false, understood: false, ..Self::read(form) }
    }

    /// The form's address with its values, to return to after the user has signed in again.
    pub(super) fn link(&self) -> String {
        let mut link = format!(
            "/admin/keys/new?name={}&addresses={}&expires={}",
            url_encode(&self.name),
            url_encode(&self.addresses),
            url_encode(&self.expires)
        );
        for (name, values) in [("scopes", &self.scopes), ("team_ids", &self.teams)] {
            for value in values {
                link += &format!("&{name}={}", url_encode(value));
            }
        }
        link
    }

    pub(super) fn has_scope(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope == name)
    }

    pub(super) fn has_team(&self, id: &TeamId) -> bool {
        let id = id.to_string();
        self.teams.contains(&id)
    }

    pub(super) fn has_lifetime(&self, days: &str) -> bool {
        self.expires == days
    }

    /// The new key, or all faults of the form.
    pub(super) fn validate(&self, now: Timestamp) -> Result<NewKey, Faults> {
        let mut faults = Faults::default();
        let name = self.name(&mut faults);
        let scopes = self.scopes(&mut faults);
        let team_ids = self.teams(&mut faults);
        let cidrs = self.networks(&mut faults);
        let expires_at = self.expires_at(now, &mut faults);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(NewKey { name, scopes, team_ids, cidrs, expires_at })
    }

    fn name(&self, faults: &mut Faults) -> String {
        let message = match text::normalize_line(&self.name, MAX_NAME_CHARS) {
            Ok(name) => return name,
            Err(TextFault::Empty) => "Enter a name, so that you recognize the key.".to_owned(),
            Err(TextFault::TooLong { max }) => {
                format!("The name must have at most {max} characters.")
            }
            Err(TextFault::Control) => "Remove characters that cannot be displayed.".to_owned(),
        };
        faults.add("name", message);
        String::new()
    }

    fn scopes(&self, faults: &mut Faults) -> Scopes {
        if self.everything {
            if !self.understood {
                let detail = "Confirm that you have read the warning.";
                faults.add("everything", detail);
            }
            return Scopes::parse("*").unwrap_or(Scopes::all_named());
        }
        let parsed: Option<Vec<_>> =
            self.scopes.iter().map(|name| ScopeName::parse(name)).collect();
        match parsed {
            None => faults.add("scopes", "One of these permissions does not exist. Choose again."),
            Some(scopes) if scopes.is_empty() => {
                faults.add("scopes", "Choose at least one permission.");
            }
            Some(scopes) => return Scopes::of(scopes),
        }
        Scopes::all_named()
    }

    fn teams(&self, faults: &mut Faults) -> Option<Vec<TeamId>> {
        let teams: Result<Vec<TeamId>, _> = self.teams.iter().map(|id| id.parse()).collect();
        if teams.is_err() {
            let detail = "One of these teams does not exist. Choose again.";
            faults.add("team_ids", detail);
        }
        teams.ok().filter(|teams| !teams.is_empty())
    }

    fn networks(&self, faults: &mut Faults) -> Option<Vec<IpNet>> {
        let entries = self.addresses.split([',', ' ', '\t', '\r', '\n']);
        let entries: Vec<_> = entries.filter(|entry| !entry.is_empty()).collect();
        let mut add_fault = |detail: String| faults.add("addresses", detail);
        if entries.len() > MAX_NETWORKS {
            add_fault(format!("Enter at most {MAX_NETWORKS} networks."));
            return None;
        }
        let mut networks = Vec::new();
        for entry in entries {
            let Some(network) = parse_network(entry) else {
                let entry: String = entry.chars().take(60).collect();
                let detail = format!("{entry} is not an IP address or network.");
                add_fault(format!("{detail} Enter it like 203.0.113.7 or 203.0.113.0/24."));
                break;
            };
            networks.push(network);
        }
        Some(networks).filter(|networks| !networks.is_empty())
    }

    fn expires_at(&self, now: Timestamp, faults: &mut Faults) -> Option<Timestamp> {
        if self.expires == "never" {
            return None;
        }
        let known = LIFETIMES.iter().any(|(days, _)| *days == self.expires);
        let days: Option<u64> = self.expires.parse().ok().filter(|_| known);
        if days.is_none() {
            faults.add("expires", "Choose when the key expires.");
        }
        days.map(|days| now.plus(Duration::from_secs(days * 86_400)))
    }
}

/// Parses a network. A single address counts as a network of one.
fn parse_network(text: &str) -> Option<IpNet> {
    let net: Option<IpNet> = text.parse().ok();
    net.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from)).map(|net| net.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> KeyForm {
        KeyForm::read(&Form::parse(query.as_bytes()).unwrap())
    }

    fn faults(query: &str) -> Vec<&'static str> {
        let faults = read(query).validate(Timestamp::from_micros(0)).err().unwrap_or_default();
        let fields = ["name", "scopes", "everything", "team_ids", "addresses", "expires"];
        fields.into_iter().filter(|field| !faults.at(field).is_empty()).collect()
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        assert_eq!(
            faults("team_ids=nobody&addresses=10.0.0.300&expires=7"),
            ["name", "scopes", "team_ids", "addresses", "expires"]
        );
        assert_eq!(faults("name=a&scopes=teams:fly"), ["scopes"]);
        assert_eq!(faults("name=a&scopes=*"), ["scopes"], "full access has its own field");
        assert_eq!(faults("name=a&everything=yes"), ["everything"]);
        assert_eq!(faults("name=%00&scopes=teams:read"), ["name"]);
        let too_many = "10.0.0.1%20".repeat(MAX_NETWORKS + 1);
        assert_eq!(
            faults(&format!("name=a&scopes=teams:read&addresses={too_many}")),
            ["addresses"]
        );
    }

    #[test]
    fn valid_form_becomes_a_key() {
        let now = Timestamp::from_micros(0);
        let form = read(
            "name=+Website+&scopes=teams:read&scopes=events:read&addresses=10.1.2.3/8%0a2001:db8::1",
        );
        let key = form.validate(now).unwrap();
        assert_eq!((key.name.as_str(), key.team_ids), ("Website", None));
        assert_eq!(key.scopes.to_string(), "teams:read events:read");
        let networks: Vec<_> = key.cidrs.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(networks, ["10.0.0.0/8", "2001:db8::1/128"]);
        assert_eq!(key.expires_at, Some(now.plus(Duration::from_secs(90 * 86_400))));
        assert!(
            read("name=a&scopes=x&expires=never").expires_at(now, &mut Faults::default()).is_none()
        );
        let all =
            read("name=a&everything=yes&understood=yes&scopes=teams:read").validate(now).unwrap();
        assert!(all.scopes.is_wildcard());
        assert!(!KeyForm::read_link(&Form::parse(b"everything=yes").unwrap()).everything);
    }

    #[test]
    fn link_preserves_the_form() {
        let form = read("name=a+%26b&scopes=teams:read&addresses=10.0.0.1%0a10.0.0.2&expires=30");
        let link = form.link();
        assert_eq!(crate::web::visitor::safe_redirect_path(&link), link);
        let copy = read(link.split_once('?').unwrap().1);
        assert_eq!((copy.name.as_str(), copy.addresses.as_str()), ("a &b", "10.0.0.1\n10.0.0.2"));
        assert!(copy.has_scope("teams:read") && copy.has_lifetime("30"));
    }
}
