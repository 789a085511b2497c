//! The form for a new key: what was typed, and what is wrong with it.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use kit::Timestamp;
use kit::text::{self, TextFault};
use kit::word::Word;

use crate::accounts::api_key::NewKey;
use crate::accounts::rights::{ScopeName, Scopes};
use crate::ids::TeamId;
use crate::web::form::{Faults, Form};
use crate::web::visitor::encoded;

/// How long a key can live, with the days in the form and the words beside them.
pub(super) const LIVES: [(&str, &str); 4] =
    [("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year"), ("never", "Never")];
const DEFAULT_LIFE: &str = "90";
/// The longest name, and the most networks, that a key can have.
const LONGEST_NAME: usize = 120;
const MOST_NETWORKS: usize = 50;

/// What was typed.
#[derive(Debug)]
pub(super) struct KeyForm {
    pub(super) name: String,
    scopes: Vec<String>,
    teams: Vec<String>,
    pub(super) addresses: String,
    expires: String,
    /// The key is to do everything, and whoever makes it has read the warning.
    pub(super) everything: bool,
    pub(super) understood: bool,
}

impl KeyForm {
    pub(super) fn read(form: &Form) -> Self {
        let all = |name: &str| form.all(name).into_iter().map(str::to_owned).collect();
        Self {
            name: form.text("name").to_owned(),
            scopes: all("scopes"),
            teams: all("team_ids"),
            addresses: form.get("addresses").unwrap_or_default().to_owned(),
            expires: form.maybe("expires").unwrap_or(DEFAULT_LIFE).to_owned(),
            everything: form.ticked("everything"),
            understood: form.ticked("understood"),
        }
    }

    /// What a link says beforehand: everything but the right to do everything.
    pub(super) fn read_link(form: &Form) -> Self {
        Self { everything: false, understood: false, ..Self::read(form) }
    }

    /// The form's address with what was typed, for whoever must prove first who they are.
    pub(super) fn link(&self) -> String {
        let mut link = format!(
            "/admin/keys/new?name={}&addresses={}&expires={}",
            encoded(&self.name),
            encoded(&self.addresses),
            encoded(&self.expires)
        );
        for (name, values) in [("scopes", &self.scopes), ("team_ids", &self.teams)] {
            for value in values {
                link += &format!("&{name}={}", encoded(value));
            }
        }
        link
    }

    pub(super) fn has_scope(&self, word: &str) -> bool {
        self.scopes.iter().any(|scope| scope == word)
    }

    pub(super) fn has_team(&self, id: &TeamId) -> bool {
        let id = id.to_string();
        self.teams.contains(&id)
    }

    pub(super) fn lives(&self, days: &str) -> bool {
        self.expires == days
    }

    /// The key that is to be made, or everything that is wrong.
    pub(super) fn key(&self, now: Timestamp) -> Result<NewKey, Faults> {
        let mut faults = Faults::default();
        let name = self.name(&mut faults);
        let scopes = self.scopes(&mut faults);
        let team_ids = self.teams(&mut faults);
        let cidrs = self.networks(&mut faults);
        let expires_at = self.end(now, &mut faults);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(NewKey { name, scopes, team_ids, cidrs, expires_at })
    }

    fn name(&self, faults: &mut Faults) -> String {
        let wrong = match text::line(&self.name, LONGEST_NAME) {
            Ok(name) => return name,
            Err(TextFault::Empty) => "Give the key a name, so that you know it again.".to_owned(),
            Err(TextFault::TooLong { max }) => format!("A name has at most {max} characters."),
            Err(TextFault::Control) => "The name has a character that cannot be shown.".to_owned(),
        };
        faults.add("name", wrong);
        String::new()
    }

    fn scopes(&self, faults: &mut Faults) -> Scopes {
        let mut wrong = |detail: &str| faults.add("scopes", detail);
        if self.everything {
            if !self.understood {
                let detail = "Confirm that you have read what such a key can do.";
                faults.add("everything", detail);
            }
            return Scopes::parse("*").unwrap_or(Scopes::all_named());
        }
        let named: Option<Vec<_>> = self.scopes.iter().map(|word| ScopeName::parse(word)).collect();
        match named {
            None => wrong("One of these rights does not exist. Choose again."),
            Some(named) if named.is_empty() => wrong("Choose at least one."),
            Some(named) => return Scopes::of(named),
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
        let words = self.addresses.split([',', ' ', '\t', '\r', '\n']);
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        let mut wrong = |detail: String| faults.add("addresses", detail);
        if words.len() > MOST_NETWORKS {
            wrong(format!("A key can have at most {MOST_NETWORKS} networks."));
            return None;
        }
        let mut networks = Vec::new();
        for word in words {
            let Some(network) = network(word) else {
                let word: String = word.chars().take(60).collect();
                let detail = format!("{word} is neither an address nor a network.");
                wrong(format!("{detail} Write it like 203.0.113.7 or 203.0.113.0/24."));
                break;
            };
            networks.push(network);
        }
        Some(networks).filter(|networks| !networks.is_empty())
    }

    fn end(&self, now: Timestamp, faults: &mut Faults) -> Option<Timestamp> {
        if self.expires == "never" {
            return None;
        }
        let known = LIVES.iter().any(|(days, _)| *days == self.expires);
        let days: Option<u64> = self.expires.parse().ok().filter(|_| known);
        if days.is_none() {
            faults.add("expires", "Choose how long the key lives.");
        }
        days.map(|days| now.plus(Duration::from_secs(days * 86_400)))
    }
}

/// An address is a network of one.
fn network(word: &str) -> Option<IpNet> {
    let net: Option<IpNet> = word.parse().ok();
    net.or_else(|| word.parse::<IpAddr>().ok().map(IpNet::from)).map(|net| net.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> KeyForm {
        KeyForm::read(&Form::parse(query.as_bytes()).unwrap())
    }

    fn faults(query: &str) -> Vec<&'static str> {
        let faults = read(query).key(Timestamp::from_micros(0)).err().unwrap_or_default();
        let fields = ["name", "scopes", "everything", "team_ids", "addresses", "expires"];
        fields.into_iter().filter(|field| !faults.at(field).is_empty()).collect()
    }

    #[test]
    fn every_fault_is_told_at_once() {
        assert_eq!(
            faults("team_ids=nobody&addresses=10.0.0.300&expires=7"),
            ["name", "scopes", "team_ids", "addresses", "expires"]
        );
        assert_eq!(faults("name=a&scopes=teams:fly"), ["scopes"]);
        assert_eq!(faults("name=a&scopes=*"), ["scopes"], "there is another way to that");
        assert_eq!(faults("name=a&everything=yes"), ["everything"]);
        assert_eq!(faults("name=%00&scopes=teams:read"), ["name"]);
        let many = "10.0.0.1%20".repeat(MOST_NETWORKS + 1);
        assert_eq!(faults(&format!("name=a&scopes=teams:read&addresses={many}")), ["addresses"]);
    }

    #[test]
    fn a_good_form_becomes_a_key() {
        let now = Timestamp::from_micros(0);
        let form = read(
            "name=+Website+&scopes=teams:read&scopes=events:read&addresses=10.1.2.3/8%0a2001:db8::1",
        );
        let key = form.key(now).unwrap();
        assert_eq!((key.name.as_str(), key.team_ids), ("Website", None));
        assert_eq!(key.scopes.to_string(), "teams:read events:read");
        let networks: Vec<_> = key.cidrs.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(networks, ["10.0.0.0/8", "2001:db8::1/128"]);
        assert_eq!(key.expires_at, Some(now.plus(Duration::from_secs(90 * 86_400))));
        assert!(read("name=a&scopes=x&expires=never").end(now, &mut Faults::default()).is_none());
        let all = read("name=a&everything=yes&understood=yes&scopes=teams:read").key(now).unwrap();
        assert!(all.scopes.everything());
        assert!(!KeyForm::read_link(&Form::parse(b"everything=yes").unwrap()).everything);
    }

    #[test]
    fn what_was_typed_comes_back_through_a_link() {
        let form = read("name=a+%26b&scopes=teams:read&addresses=10.0.0.1%0a10.0.0.2&expires=30");
        let link = form.link();
        assert_eq!(crate::web::visitor::own_path(&link), link);
        let again = read(link.split_once('?').unwrap().1);
        assert_eq!((again.name.as_str(), again.addresses.as_str()), ("a &b", "10.0.0.1\n10.0.0.2"));
        assert!(again.has_scope("teams:read") && again.lives("30"));
    }
}
