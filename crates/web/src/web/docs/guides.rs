//! The guides of the `docs` folder, served as pages below `/docs`.

/// A guide and its page.
pub struct Guide {
    /// The last segment of its path, and the name of its file without `.md`.
    pub name: &'static str,
    /// Its title in the menu and in the browser.
    pub title: &'static str,
    /// What it is about, for the start page and for search engines.
    pub summary: &'static str,
    /// The Markdown text.
    pub text: &'static str,
}

/// Guides with a common heading in the menu.
pub struct Group {
    pub title: &'static str,
    pub guides: &'static [Guide],
}

macro_rules! guides {
    ($($group:literal { $($name:literal: $title:literal, $summary:literal;)+ })+) => {
        /// Every guide, in the order of the menu.
        pub static GROUPS: &[Group] = &[$(Group {
            title: $group,
            guides: &[$(Guide {
                name: $name,
                title: $title,
                summary: $summary,
                text: include_str!(concat!("../../../../../docs/", $name, ".md")),
            }),+],
        }),+];
    };
}

guides! {
    "Start" {
        "quickstart": "Quickstart", "Create a key and send your first requests.";
        "authentication": "Authentication", "API keys, access tokens, scopes and permissions.";
        "testing": "Testing", "Test an integration with the demo club, test webhooks and expected errors.";
    }
    "Basics" {
        "api": "Using the API", "Conventions of all requests and responses, and the rules of each resource.";
        "pagination": "Pagination", "Read long lists page by page, and only what has changed.";
        "idempotency": "Idempotency", "Repeat requests safely, and avoid overwriting the changes of others.";
        "errors": "Errors", "How errors look, what to do about them, and all error codes.";
        "rate-limits": "Rate limits", "How many requests you can send, and what to do when there are too many.";
    }
    "Features" {
        "webhooks": "Webhooks", "Receive signed notifications about changes.";
        "notifications": "Notifications stream", "Read the log of all changes, as a list or as a stream.";
        "oauth": "OAuth for apps", "Let people connect your app to their club.";
        "store": "The store", "Prices, discounts, orders and their statuses.";
        "dues": "Dues", "Installments, late fees, payments and statements.";
        "cards": "Card payments", "Set up and test payments by card.";
        "safeguarding": "Safeguarding", "How the service protects minors.";
    }
    "For clubs" {
        "pages": "Pages of the team app", "What each page of the team app is for.";
        "admin": "Managing a club", "Roles, invitations, keys, apps and the audit log.";
        "operations": "Running the service", "Install, configure, back up and update the service.";
    }
}

/// Every guide, in the order of the menu.
pub fn all() -> impl Iterator<Item = &'static Guide> {
    GROUPS.iter().flat_map(|group| group.guides)
}

impl Guide {
    /// The path of its page.
    pub fn path(&self) -> String {
        format!("/docs/{}", self.name)
    }
}
