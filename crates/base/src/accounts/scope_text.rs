//! Descriptions of scopes for users, on the consent page and in the list of connected apps.

use crate::i18n::{Locale, format};
use crate::rights::{ScopeName, Scopes};

/// The description of a scope: what an app can do with it, and some detail.
#[derive(Debug, Clone, Copy)]
pub struct ScopeText {
    pub label: &'static str,
    pub description: &'static str,
}

/// The description of a scope, in English.
pub fn describe(scope: ScopeName) -> ScopeText {
    let (label, description) = match scope {
        ScopeName::TeamsRead => (mark!("See your teams"), mark!("Names, sports and seasons.")),
        ScopeName::TeamsWrite => (mark!("Change your teams"), mark!("Names and settings.")),
        ScopeName::EventsRead => (mark!("See the schedule"), mark!("Events, locations and RSVPs.")),
        ScopeName::EventsWrite => (
            mark!("Change the schedule"),
            mark!("Create and cancel events, and reply to events for you."),
        ),
        ScopeName::RosterRead => (mark!("See team rosters"), mark!("Names and contact details.")),
        ScopeName::RosterWrite => {
            (mark!("Change team rosters"), mark!("Add, update and remove members."))
        }
        ScopeName::MessagesRead => {
            (mark!("Read messages"), mark!("Announcements and conversations."))
        }
        ScopeName::MessagesWrite => {
            (mark!("Send messages"), mark!("Messages are sent in your name."))
        }
        ScopeName::OrdersRead => {
            (mark!("See orders and dues"), mark!("Items ordered and amounts due."))
        }
        ScopeName::OrdersWrite => {
            (mark!("Manage orders and payments"), mark!("Place, pay and refund orders."))
        }
        ScopeName::StatsRead => (mark!("See results"), mark!("Scores, standings and statistics.")),
        ScopeName::WebhooksWrite => (
            mark!("Manage webhooks"),
            mark!("Send notifications about changes to another service."),
        ),
    };
    ScopeText { label, description }
}

/// The description of a scope, in the language of the reader.
fn describe_translated(scope: ScopeName) -> ScopeText {
    let ScopeText { label, description } = describe(scope);
    ScopeText { label: t!(label), description: t!(description) }
}

/// The descriptions of several scopes in the language of the reader, in the order of [`ScopeName`].
pub fn describe_all(scopes: Scopes) -> Vec<ScopeText> {
    scopes.names().map(describe_translated).collect()
}

/// What an app with these scopes cannot see, as a list in the language of the reader, for the middle of a sentence.
pub fn list_missing(scopes: Scopes) -> String {
    let others = Scopes::all_named().names().filter(|name| !scopes.contains(*name));
    let label = |name| lowercase_first(describe_translated(name).label);
    let all = std::iter::once(t!("your password").to_owned()).chain(others.map(label));
    format::list(Locale::current_or_english(), all)
}

fn lowercase_first(label: &str) -> String {
    let mut chars = label.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
