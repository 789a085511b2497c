//! The kinds of notifications, each with its description, the scope that is needed to receive it, and the schema of its
//! object. Each module declares its own.

use std::sync::OnceLock;

use kit::string_schema;

use crate::rights::ScopeName;

/// A kind of notification.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name, such as `team.created`.
    pub name: &'static str,
    /// The label of all kinds whose names begin with the same word, in English.
    pub group: &'static str,
    /// What has happened, as a sentence.
    pub description: &'static str,
    /// The scope that is needed to receive it; `None` if every subscriber can.
    pub scope: Option<ScopeName>,
    /// The name of the schema of `data.object` in the OpenAPI description.
    pub object: &'static str,
}

/// The notification kinds of a module, by the label of their group, scope and object.
#[macro_export]
macro_rules! notification_kinds {
    ($($group:expr, $scope:expr, $object:literal { $($name:literal: $description:literal;)+ })+) => {
        &[$($($crate::notification_kinds::Kind {
            name: $name,
            group: $group,
            description: $description,
            scope: $scope,
            object: $object,
        },)+)+]
    };
}

string_schema! {
    /// Type of a notification.
    pub NotificationType: all_kinds().map(|kind| kind.name)
}

static KINDS: OnceLock<Vec<&'static Kind>> = OnceLock::new();

/// Registers the kinds of all modules when the process starts. Later calls change nothing.
pub fn register(kinds: impl Iterator<Item = &'static Kind>) {
    KINDS.get_or_init(|| kinds.collect());
}

/// All kinds in the log.
pub fn logged_kinds() -> &'static [&'static Kind] {
    KINDS.get().map_or(&[], Vec::as_slice)
}

/// The kind of a test notification, which is not in the log.
pub const PING: &str = "ping";
const PING_KIND: Kind = Kind {
    name: PING,
    group: mark!("Webhooks"),
    description: mark!(
        "A test of the webhook. It is sent whether or not the webhook subscribes to it."
    ),
    scope: None,
    object: "WebhookPing",
};

/// Every kind that a receiver can get: all kinds in the log, and the ping.
pub fn all_kinds() -> impl Iterator<Item = &'static Kind> {
    logged_kinds().iter().copied().chain([&PING_KIND])
}

/// The kind with this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    all_kinds().find(|kind| kind.name == name)
}

/// Whether a pattern, such as `team.created`, `team.*` or `*`, matches this kind.
pub fn pattern_matches(pattern: &str, kind: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        Some(prefix) => prefix.ends_with('.') && kind.starts_with(prefix),
        None => pattern == kind,
    }
}

/// Whether one of these patterns matches this kind.
pub fn any_pattern_matches(patterns: &[String], kind: &str) -> bool {
    patterns.iter().any(|pattern| pattern_matches(pattern, kind))
}

/// Whether a pattern matches any kind at all.
pub fn is_known_pattern(pattern: &str) -> bool {
    all_kinds().any(|kind| pattern_matches(pattern, kind.name))
}

/// The error text for a pattern that matches no kind.
pub fn unknown_pattern_error(pattern: &str) -> String {
    format!("{pattern:?} is not a notification type. GET /event_types lists all types.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_kinds() {
        assert!(pattern_matches("*", "team.created") && pattern_matches("team.*", "team.created"));
        assert!(pattern_matches("team.created", "team.created"));
        assert!(is_known_pattern(PING));
        for pattern in ["tea*", "te.*", "team.*x", "*.created", "team.", "team", "", "**", ".*"] {
            assert!(!pattern_matches(pattern, "team.created"), "{pattern}");
            assert!(!is_known_pattern(pattern), "{pattern}");
        }
    }
}
