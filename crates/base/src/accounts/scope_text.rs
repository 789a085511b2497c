//! Descriptions of scopes for users, on the consent page and in the list of connected apps.

use crate::rights::{ScopeName, Scopes};

/// The description of a scope: what an app can do with it, and some detail.
#[derive(Debug, Clone, Copy)]
pub struct ScopeText {
    pub label: &'static str,
    pub description: &'static str,
}

/// The description of a scope.
pub fn describe(scope: ScopeName) -> ScopeText {
    let (label, description) = match scope {
        ScopeName::TeamsRead => ("See your teams", "Names, sports and seasons."),
        ScopeName::TeamsWrite => ("Change your teams", "Names and settings."),
        ScopeName::EventsRead => ("See the schedule", "Events, locations and RSVPs."),
        ScopeName::EventsWrite => {
            ("Change the schedule", "Create and cancel events, and reply to events for you.")
        }
        ScopeName::RosterRead => ("See team rosters", "Names and contact details."),
        ScopeName::RosterWrite => ("Change team rosters", "Add, update and remove members."),
        ScopeName::MessagesRead => ("Read messages", "Announcements and conversations."),
        ScopeName::MessagesWrite => ("Send messages", "Messages are sent in your name."),
        ScopeName::OrdersRead => ("See orders and dues", "Items ordered and amounts due."),
        ScopeName::OrdersWrite => ("Manage orders and payments", "Place, pay and refund orders."),
        ScopeName::StatsRead => ("See results", "Scores, standings and statistics."),
        ScopeName::WebhooksWrite => {
            ("Manage webhooks", "Send notifications about changes to another service.")
        }
    };
    ScopeText { label, description }
}

/// The descriptions of several scopes, in the order of [`ScopeName`].
pub fn describe_all(scopes: Scopes) -> Vec<ScopeText> {
    scopes.names().map(describe).collect()
}

/// The labels of all other scopes, joined by commas, for the middle of a sentence.
pub fn list_missing(scopes: Scopes) -> String {
    let others = Scopes::all_named().names().filter(|name| !scopes.contains(*name));
    let labels: Vec<_> = others.map(|name| lowercase_first(describe(name).label)).collect();
    labels.join(", ")
}

fn lowercase_first(label: &str) -> String {
    let mut chars = label.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
