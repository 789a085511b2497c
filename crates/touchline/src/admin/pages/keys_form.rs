//! The form for a new API key.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;

use super::shared::parse_scopes;
use crate::accounts::api_key::NewKey;
use crate::prelude::*;
use crate::web::form::{Choice, Field, FilledForm, Form};

pub(super) const NEW: &str = "/admin/keys/new";
const MAX_NETWORKS: usize = 50;

/// The field for the name of a key.
pub(super) const NAME: Field = Field::line("name", "Name", 120);

const FIELDS: &[Field] = &[
    NAME.hint("Where the key is used, such as “Website”.")
        .required("Enter a name, so that you recognize the key."),
    Field::checks("scopes", "Permissions", &[]).hint("Choose only what the program needs."),
    Field::checks("team_ids", "Teams", &[])
        .hint("Choose none to allow all teams, including future ones."),
    Field::block("addresses", "Allowed IP addresses", 0)
        .hint("One IP address or network per line, such as 203.0.113.0/24. Leave empty to allow any address. Your address is {address}."),
    Field::select(
        "expires",
        "Expires",
        &[
            Choice::new("30", "In 30 days"),
            Choice::new("90", "In 90 days"),
            Choice::new("365", "In a year"),
            Choice::new("never", "Never"),
        ],
    )
    .hint("An expiry date protects you from forgotten keys.")
    .default("90")
    .required("Choose when the key expires."),
    // Full access needs `understood` too, the box below the warning.
    Field::check("everything", "Give this key full access", "Replaces the permissions chosen above."),
    Field::check("understood", "I understand the risk", ""),
];

/// The form as submitted.
pub(super) fn submitted(form: &Form) -> FilledForm {
    FilledForm::submitted(FIELDS, form)
}

/// The form as a link fills it in. A link cannot ask for full access.
pub(super) fn from_link(form: &Form) -> FilledForm {
    submitted(form).cleared("everything").cleared("understood")
}

/// The form's address with its values, to return to after the user has signed in again.
pub(super) fn link(form: &FilledForm) -> String {
    form.clone().cleared("everything").cleared("understood").link(NEW)
}

/// The new key; `None` after adding errors to the form.
pub(super) fn to_key(form: &mut FilledForm, now: Timestamp) -> Option<NewKey> {
    let body = form.body();
    let scopes = if form.is_checked("everything") {
        if !form.is_checked("understood") {
            form.faults.add("understood", t!("Confirm that you have read the warning."));
        }
        Some(Scopes::parse("*").unwrap_or(Scopes::all_named()))
    } else {
        parse_scopes(form)
    };
    let team_ids: Result<Vec<TeamId>, _> =
        form.all("team_ids").iter().map(|id| id.parse()).collect();
    if team_ids.is_err() {
        form.faults.add("team_ids", t!("One of these teams does not exist. Choose again."));
    }
    let cidrs = networks(form);
    let days = form.text("expires").parse().ok();
    let expires_at = days.map(|days: u64| now.plus(Duration::from_secs(days * 86_400)));
    let name = body["name"].as_str()?.to_owned();
    let team_ids = team_ids.ok().filter(|teams| !teams.is_empty());
    let new = NewKey { name, scopes: scopes?, team_ids, cidrs, expires_at };
    Some(new).filter(|_| form.faults.is_empty())
}

fn networks(form: &mut FilledForm) -> Option<Vec<IpNet>> {
    let entries = form.text("addresses").split([',', ' ', '\t', '\r', '\n']);
    let entries: Vec<_> = entries.filter(|entry| !entry.is_empty()).collect();
    if entries.len() > MAX_NETWORKS {
        let text =
            tn!("Enter at most {count} network.", "Enter at most {count} networks.", MAX_NETWORKS);
        form.faults.add("addresses", text);
        return None;
    }
    let networks = entries.iter().map(|entry| parse_network(entry).ok_or(*entry));
    match networks.collect::<Result<Vec<_>, _>>() {
        Ok(networks) => Some(networks).filter(|networks| !networks.is_empty()),
        Err(entry) => {
            let entry: String = entry.chars().take(60).collect();
            let text = t!(
                "{entry} is not an IP address or network. Enter it like 203.0.113.7 or 203.0.113.0/24.",
                entry
            );
            form.faults.add("addresses", text);
            None
        }
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

    fn read(query: &str) -> FilledForm {
        submitted(&Form::parse(query.as_bytes()).unwrap())
    }

    fn faults(query: &str) -> Vec<&'static str> {
        let mut form = read(query);
        assert!(to_key(&mut form, Timestamp::from_micros(0)).is_none());
        let fields = ["name", "scopes", "understood", "team_ids", "addresses", "expires"];
        fields.into_iter().filter(|field| !form.faults.at(field).is_empty()).collect()
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        assert_eq!(
            faults("team_ids=nobody&addresses=10.0.0.300&expires=7"),
            ["name", "scopes", "team_ids", "addresses", "expires"]
        );
        assert_eq!(faults("name=a&scopes=teams:fly"), ["scopes"]);
        assert_eq!(faults("name=a&scopes=*"), ["scopes"], "full access has its own field");
        assert_eq!(faults("name=a&everything=yes"), ["understood"]);
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
        let mut form = read(
            "name=+Website+&scopes=teams:read&scopes=events:read&addresses=10.1.2.3/8%0a2001:db8::1",
        );
        let key = to_key(&mut form, now).unwrap();
        assert_eq!((key.name.as_str(), key.team_ids), ("Website", None));
        assert_eq!(key.scopes.to_string(), "teams:read events:read");
        let networks: Vec<_> = key.cidrs.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(networks, ["10.0.0.0/8", "2001:db8::1/128"]);
        assert_eq!(key.expires_at, Some(now.plus(Duration::from_secs(90 * 86_400))));
        let never = to_key(&mut read("name=a&scopes=teams:read&expires=never"), now).unwrap();
        assert!(never.expires_at.is_none());
        let mut all = read("name=a&everything=yes&understood=yes&scopes=teams:read");
        let all = to_key(&mut all, now).unwrap();
        assert!(all.scopes.is_wildcard());
        assert!(!from_link(&Form::parse(b"everything=yes").unwrap()).is_checked("everything"));
    }

    #[test]
    fn link_preserves_the_form() {
        let form = read("name=a+%26b&scopes=teams:read&addresses=10.0.0.1%0a10.0.0.2&expires=30");
        let link = link(&form);
        assert_eq!(crate::web::visitor::safe_redirect_path(&link), link);
        let copy = read(link.split_once('?').unwrap().1);
        assert_eq!((copy.text("name"), copy.text("addresses")), ("a &b", "10.0.0.1\n10.0.0.2"));
        assert!(copy.all("scopes") == ["teams:read"] && copy.text("expires") == "30");
    }
}
