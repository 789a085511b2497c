//! All kinds of notifications, each with its description, the scope that is needed to receive it, and the schema of its
//! object.

use crate::rights::ScopeName;

/// A kind of notification.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name, such as `team.created`.
    pub name: &'static str,
    /// What has happened, as a sentence.
    pub description: &'static str,
    /// The scope that is needed to receive it; `None` if every subscriber can.
    pub scope: Option<ScopeName>,
    /// The name of the schema of `data.object` in the OpenAPI description.
    pub object: &'static str,
}

macro_rules! kinds {
    ($($scope:expr, $object:literal { $($name:literal: $description:literal;)+ })+) => {
        /// All kinds in the log.
        pub const KINDS: &[Kind] = &[
            $($(Kind { name: $name, description: $description, scope: $scope, object: $object },)+)+
        ];
    };
}

kinds! {
    Some(ScopeName::TeamsRead), "Team" {
        "team.created": "A team was created.";
        "team.updated": "A team was changed.";
        "team.archived": "A team was archived.";
        "team.restored": "An archived team was restored.";
    }
    Some(ScopeName::RosterRead), "MemberSnapshot" {
        "roster.member_added": "A member was added to a team.";
        "roster.member_updated": "A member's data on a team's roster was changed.";
        "roster.member_removed": "A member was removed from a team.";
    }
    Some(ScopeName::RosterRead), "PersonSnapshot" {
        "roster.person_updated": "A person's data was changed.";
    }
    Some(ScopeName::EventsRead), "TeamEvent" {
        "event.created": "An event was created.";
        "event.updated": "An event was changed.";
        "event.cancelled": "An event was cancelled.";
        "event.deleted": "An event without RSVPs was deleted.";
    }
    Some(ScopeName::EventsRead), "EventLocation" {
        "location.created": "A location was created.";
        "location.updated": "A location was changed.";
        "location.archived": "A location was archived.";
    }
    Some(ScopeName::EventsRead), "RsvpSnapshot" {
        "rsvp.answered": "A member's RSVP to an event changed: they answered, moved up from the waiting list, or left the team.";
    }
    Some(ScopeName::EventsRead), "CalendarFeed" {
        "calendar_feed.created": "A calendar feed was created.";
        "calendar_feed.revoked": "A calendar feed was revoked.";
    }
    Some(ScopeName::MessagesRead), "Message" {
        "message.posted": "A message or announcement was posted.";
        "message.scheduled": "A message was scheduled to be posted later.";
        "message.updated": "A scheduled message was changed, or a published message was pinned, unpinned or given new metadata.";
        "message.retracted": "A message was retracted.";
    }
    Some(ScopeName::MessagesRead), "ReceiptSnapshot" {
        "message.read": "A recipient read a message.";
    }
    Some(ScopeName::OrdersRead), "PaymentSettings" {
        "payment_settings.updated": "The account's payment settings were changed.";
    }
    Some(ScopeName::OrdersRead), "Product" {
        "product.created": "A product was created.";
        "product.updated": "A product was changed. Not sent when an order changes the stock; see the order's notifications.";
        "product.archived": "A product was archived and is no longer for sale.";
    }
    Some(ScopeName::OrdersRead), "Discount" {
        "discount.created": "A discount code was created.";
        "discount.updated": "A discount code was changed.";
        "discount.archived": "A discount code was archived and can no longer be used.";
    }
    Some(ScopeName::OrdersRead), "OrderSnapshot" {
        "order.placed": "An order was placed and its stock was reserved.";
        "order.updated": "The note or metadata of an order changed.";
        "order.paid": "An order was paid, or was free when it was placed.";
        "order.fulfilled": "An order was fulfilled completely or in part; its lines show which items.";
        "order.cancelled": "An order was cancelled or was not paid in time; its stock was released.";
        "order.refunded": "An order was refunded completely or in part.";
        "order.refund_failed": "The payment provider could not refund an order; the amount counts as paid again.";
        "order.buyer_erased": "The buyer and the note of an order were erased.";
    }
    Some(ScopeName::OrdersRead), "Due" {
        "dues.charged": "A due was charged to a member.";
        "dues.updated": "A due was changed, or a late fee was added to it.";
        "dues.payment_recorded": "A payment for a due was recorded.";
        "dues.paid": "A due was fully paid.";
        "dues.waived": "The open balance of a due was waived.";
        "dues.refunded": "A payment for a due was refunded completely or in part.";
        "dues.refund_failed": "The payment provider could not refund a payment for a due; the amount counts as paid again.";
    }
    Some(ScopeName::OrdersRead), "Refund" {
        "refund.completed": "The payment provider completed a refund.";
        "refund.failed": "The payment provider could not complete a refund; refund the amount in another way.";
    }
    Some(ScopeName::OrdersRead), "Payment" {
        "payment.disputed": "A card payment was disputed by the payer's bank, or a dispute was decided.";
    }
    Some(ScopeName::OrdersRead), "Checkout" {
        "payment.unmatched": "A card payment arrived that does not match: too late, or with another amount. A late payment for an order is refunded, and for a due it is kept as credit. A wrong amount is not recorded.";
    }
    // Every credential can read the account.
    None, "Account" {
        "account.updated": "The account was changed.";
    }
    // Users are only visible together with the people of the roster.
    Some(ScopeName::RosterRead), "UserSnapshot" {
        "user.joined": "A user joined the account.";
        "user.role_changed": "A user's role was changed.";
        "user.removed": "A user was removed from the account.";
    }
    Some(ScopeName::WebhooksWrite), "Webhook" {
        "webhook.disabled": "A webhook was disabled: manually, because it failed for too long, because its receiver responded with 410, or because its owner lost access.";
    }
}

/// The kind of a test notification, which is not in the log.
pub const PING: &str = "ping";
const PING_KIND: Kind = Kind {
    name: PING,
    description: "A test of the webhook. It is sent whether or not the webhook subscribes to it.",
    scope: None,
    object: "WebhookPing",
};

/// Every kind that a receiver can get: all kinds in the log, and the ping.
pub fn all_kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain([&PING_KIND])
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
