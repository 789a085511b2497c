//! The labels of actions and fields in the audit log. Most are made of their names: `team.created` is "Team created".

use crate::i18n::Message;

/// The label of an action.
pub fn action_label(action: &str) -> String {
    let known = match action {
        "event.reminded" => t!("Event reminder sent"),
        "file.uploaded" => t!("File uploaded"),
        "oauth_client.throttled" => t!("App throttled"),
        "oauth_code.replayed" => t!("App code replayed"),
        "oauth_consent.given" => t!("App consent given"),
        "oauth_consent.refused" => t!("App consent refused"),
        "oauth_grant.created" => t!("App access created"),
        "oauth_grant.reissued" => t!("App access reissued"),
        "oauth_grant.revoked" => t!("App access revoked"),
        "oauth_token.reused" => t!("App token reused"),
        "oauth_token.revoked" => t!("App token revoked"),
        "person.merged" => t!("Person merged"),
        "person.photo_removed" => t!("Photo of a person removed"),
        "roster.medical_read" => t!("Medical notes read"),
        "webhook.created" => t!("Webhook added"),
        "webhook.disabled" => t!("Webhook turned off"),
        "webhook.enabled" => t!("Webhook turned on"),
        "webhook.redelivered" => t!("Delivery resent"),
        "webhook.replayed" => t!("Webhook events replayed"),
        "webhook.secret_rotated" => t!("Webhook secret replaced"),
        "webhook.updated" => t!("Webhook changed"),
        _ => return label(&action.replacen('.', " ", 1)),
    };
    known.to_owned()
}

/// The label of a field: `age_group` is "Age group", and `team_id` "Team".
pub(super) fn field_label(name: &str) -> String {
    let name = name.strip_suffix("_id").unwrap_or(name);
    let known = match name {
        // These words have other meanings on other pages.
        "allowed" => t!("Allowed", "field"),
        "answer" => t!("Answer", "field"),
        "asked" => t!("Asked", "field"),
        "because" => t!("Because", "field"),
        "change" => t!("Change", "field"),
        "charge" => t!("Charge", "field"),
        "from" => t!("From", "field"),
        "maybe" => t!("Maybe", "field"),
        "no" => t!("No", "field"),
        "read" => t!("Read", "field"),
        "to" => t!("To", "field"),
        "yes" => t!("Yes", "field"),
        _ => return label(name),
    };
    known.to_owned()
}

/// A name with spaces and a capital letter, in the reader's language.
fn label(name: &str) -> String {
    let words = name.replace('_', " ").replace("api key", "API key");
    let words = words.replace("oauth", "OAuth").replace("rsvp ", "RSVP ");
    let mut chars = words.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    Message::from(first.chain(chars).collect::<String>()).to_string()
}

// The labels of actions that are not notifications, whose labels are extracted too.
marks! {
    "Account created", "Account tier changed", "API key created", "API key renamed", "API key revoked",
    "Audit log exported", "Checkout opened", "Claim approved", "Claim made", "Claim refused", "Dues reminded",
    "Invitation accepted", "Invitation created", "Invitation revoked", "Message withheld", "OAuth app created",
    "OAuth app disabled", "OAuth app enabled", "OAuth app secret added", "OAuth app secret revoked",
    "OAuth app updated", "Passkey added", "Passkey removed", "Passkey renamed", "Passkey used",
    "Person adult confirmation withdrawn", "Person adult confirmed", "Person email confirmation sent",
    "Person email confirmed", "Person erased", "Person exported", "Person guardian confirmed", "Person linked",
    "Person marked minor", "Person notification settings changed", "Person protection changed", "Person unlinked", "Request replayed",
    "User email changed", "User email verified", "User password changed",
    "User password reset", "User recovery codes renewed", "User renamed", "User reset started",
    "User session ended", "User sessions ended", "User sign in failed", "User signed in", "User signed out",
    "User signed up", "User two step off", "User two step on", "Webhook deleted", "Webhook tested",
}

// The labels of fields that only audit entries have. Those of notifications are extracted from `openapi.json`.
marks! {
    "Action", "Actor", "Address matches", "Announcements", "App", "Conversations", "Dues reminders", "Emails",
    "Event changes", "File", "From sequence", "Grant", "Grants revoked", "Guardian", "Hint", "Into", "Invitation",
    "Only missed", "Passkey", "Photo file", "Purpose", "Quiet from", "Quiet until", "Redirect uris", "Relation",
    "Replay missed", "RSVP reminders", "Scopes", "Secret", "Sequence", "Session", "Sessions", "Summary at",
    "To sequence", "User agent", "Value",
}
