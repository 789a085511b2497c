//! Everything that can happen, as subscribers are told: each kind with its meaning, what one must be allowed
//! to read to be told, and what it is about.

use crate::accounts::rights::ScopeName;

/// A kind of notification.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name, such as `team.created`.
    pub name: &'static str,
    /// What has happened, in words.
    pub says: &'static str,
    /// What one must be allowed to read; `None`: anybody who may be told anything.
    pub scope: Option<ScopeName>,
    /// The schema of `data.object`, as the description of the API names it.
    pub object: &'static str,
}

macro_rules! kinds {
    ($($scope:expr, $object:literal { $($name:literal: $says:literal;)+ })+) => {
        /// Every kind there is.
        pub const KINDS: &[Kind] = &[
            $($(Kind { name: $name, says: $says, scope: $scope, object: $object },)+)+
        ];
    };
}

kinds! {
    Some(ScopeName::TeamsRead), "Team" {
        "team.created": "A team was made.";
        "team.updated": "A team was changed.";
        "team.archived": "A team stopped playing.";
        "team.restored": "An archived team is back.";
    }
    Some(ScopeName::RosterRead), "MemberNews" {
        "roster.member_added": "Somebody joined a team.";
        "roster.member_updated": "Somebody's place on a team was changed.";
        "roster.member_removed": "Somebody left a team.";
    }
    Some(ScopeName::RosterRead), "PersonNews" {
        "roster.person_updated": "What is known of a person was changed.";
    }
    Some(ScopeName::EventsRead), "Event" {
        "event.created": "An event was planned.";
        "event.updated": "An event was changed.";
        "event.cancelled": "An event will not take place.";
        "event.deleted": "An event was planned by mistake and is gone.";
    }
    Some(ScopeName::EventsRead), "Location" {
        "location.created": "A place was added.";
        "location.updated": "A place was changed.";
        "location.archived": "A place is no longer used.";
    }
    Some(ScopeName::EventsRead), "RsvpNews" {
        "rsvp.answered": "Somebody said whether they come to an event, moved up from the waiting list, or left the team.";
    }
    Some(ScopeName::EventsRead), "Feed" {
        "calendar_feed.created": "A calendar can be subscribed to.";
        "calendar_feed.revoked": "A calendar can no longer be subscribed to.";
    }
    Some(ScopeName::MessagesRead), "Message" {
        "message.posted": "A message or announcement was posted.";
        "message.scheduled": "A message will be posted later.";
        "message.updated": "A message that is not posted yet was changed.";
        "message.retracted": "A message was taken back.";
    }
    Some(ScopeName::MessagesRead), "ReceiptNews" {
        "message.read": "Somebody read a message.";
    }
    Some(ScopeName::OrdersRead), "MoneySettings" {
        "money_settings.updated": "How the account handles money was changed.";
    }
    Some(ScopeName::OrdersRead), "Product" {
        "product.created": "A product is sold.";
        "product.updated": "A product was changed. What is taken from its stock is told with the order.";
        "product.archived": "A product is no longer sold.";
    }
    Some(ScopeName::OrdersRead), "Discount" {
        "discount.created": "A code that makes orders cheaper was made.";
        "discount.updated": "A code that makes orders cheaper was changed.";
        "discount.archived": "A code can no longer be used.";
    }
    Some(ScopeName::OrdersRead), "OrderNews" {
        "order.placed": "Somebody ordered something; its stock is taken.";
        "order.paid": "An order was paid, or costs nothing.";
        "order.fulfilled": "An order was handed out, whole or in part; its lines say which.";
        "order.cancelled": "An order was cancelled, or was not paid in time; its stock is given back.";
        "order.refunded": "Some or all of what was paid for an order was given back.";
        "order.refund_failed": "The payment provider could not give money back for an order: it counts as paid again.";
        "order.buyer_erased": "Who bought something, and what was noted with it, was erased.";
    }
    Some(ScopeName::OrdersRead), "Due" {
        "dues.charged": "A member was charged.";
        "dues.updated": "A due was changed, or its late fee was added.";
        "dues.payment_recorded": "Something was paid for a due.";
        "dues.paid": "A due is fully paid.";
        "dues.waived": "What was open of a due need not be paid any more.";
        "dues.refunded": "Something that was paid for a due was given back.";
        "dues.refund_failed": "The payment provider could not give back what was paid for a due: it counts as paid again.";
    }
    Some(ScopeName::OrdersRead), "Refund" {
        "refund.completed": "The payment provider has given money back.";
        "refund.failed": "The payment provider could not give money back: it has to be done in another way.";
    }
    Some(ScopeName::OrdersRead), "Payment" {
        "payment.disputed": "A payer's bank asks to have a payment by card back, or it was decided who keeps it.";
    }
    Some(ScopeName::OrdersRead), "Checkout" {
        "payment.stray": "Somebody paid by card for what could not be paid any more: for an order it is given back, for a due it is kept as credit.";
    }
    // Everybody who has a credential can ask for this.
    None, "Account" {
        "account.updated": "The account was changed.";
    }
    // Who signs in is shown with the people of the roster, and nowhere else.
    Some(ScopeName::RosterRead), "UserNews" {
        "user.joined": "Somebody who signs in belongs to the account now.";
        "user.role_changed": "Somebody who signs in was given another role.";
        "user.removed": "Somebody who signs in no longer belongs to the account.";
    }
    Some(ScopeName::WebhooksWrite), "Webhook" {
        "webhook.disabled": "A webhook was turned off: by hand, because it failed for too long, because its receiver is gone, or because whoever made it may have none any more.";
    }
}

/// What a test sends; it stands in no log.
pub const PING: &str = "ping";
const TEST: Kind = Kind {
    name: PING,
    says: "Somebody tests the webhook. It is sent whether or not it was subscribed to.",
    scope: None,
    object: "Ping",
};

/// Everything a receiver can be sent.
pub fn sent() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain([&TEST])
}

/// The kind with this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    sent().find(|kind| kind.name == name)
}

/// Whether a wish, such as `team.created`, `team.*` or `*`, means this kind.
pub fn means(wish: &str, kind: &str) -> bool {
    match wish.strip_suffix('*') {
        Some("") => true,
        Some(start) => start.ends_with('.') && kind.starts_with(start),
        None => wish == kind,
    }
}

/// Whether a wish means any kind at all.
pub fn is_wish(wish: &str) -> bool {
    sent().any(|kind| means(wish, kind.name))
}

/// What is told of a wish that means none.
pub fn no_wish(wish: &str) -> String {
    format!("{wish:?} is no kind of notification; GET /event_types lists them.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_mean_kinds() {
        assert!(means("*", "team.created") && means("team.*", "team.created"));
        assert!(means("team.created", "team.created"));
        assert!(is_wish(PING));
        for wish in ["tea*", "te.*", "team.*x", "*.created", "team.", "team", "", "**", ".*"] {
            assert!(!means(wish, "team.created"), "{wish}");
            assert!(!is_wish(wish), "{wish}");
        }
    }
}
