//! What scopes allow, in words for whoever is asked.

use crate::accounts::rights::{ScopeName, Scopes};

/// A scope for people: what an app can do with it, and what that means.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    pub label: &'static str,
    pub about: &'static str,
}

/// What a scope allows.
pub fn of(scope: ScopeName) -> Words {
    let (label, about) = match scope {
        ScopeName::TeamsRead => ("See your teams", "Their names, sports and seasons."),
        ScopeName::TeamsWrite => ("Change your teams", "Their names and settings."),
        ScopeName::EventsRead => ("See the schedule", "Events, places, and who comes."),
        ScopeName::EventsWrite => {
            ("Change the schedule", "Plan and cancel events, and answer whether you come.")
        }
        ScopeName::RosterRead => ("See who is on a team", "Names and how to reach people."),
        ScopeName::RosterWrite => ("Change who is on a team", "Add, change and remove members."),
        ScopeName::MessagesRead => ("Read messages", "Announcements and conversations."),
        ScopeName::MessagesWrite => ("Write messages", "In your name."),
        ScopeName::OrdersRead => {
            ("See orders and dues", "What was ordered and what is to be paid.")
        }
        ScopeName::OrdersWrite => ("Order and pay", "Make and refund orders."),
        ScopeName::StatsRead => ("See results", "Scores, tables and statistics."),
        ScopeName::WebhooksWrite => ("Be told of changes", "Send news to another service."),
    };
    Words { label, about }
}

/// What several scopes allow, in the order of the table.
pub fn of_all(scopes: Scopes) -> Vec<Words> {
    scopes.names().map(of).collect()
}

/// What an app cannot do that has only these scopes, as the middle of a sentence.
pub fn beyond(scopes: Scopes) -> String {
    let rest = Scopes::all_named().names().filter(|name| !scopes.allow(*name));
    let rest: Vec<_> = rest.map(|name| lower(of(name).label)).collect();
    rest.join(", ")
}

fn lower(label: &str) -> String {
    let mut letters = label.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
