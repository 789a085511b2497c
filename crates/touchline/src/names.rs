//! The names of whoever acts and of what is acted on, looked up together for what one page shows.

use std::collections::HashMap;

use store::{Reader, bind};

use crate::error::Result;
use crate::ids::{AppId, KeyId, TeamId, UserId, WebhookId};

/// No name of a webhook is longer.
const LONGEST: usize = 80;

/// Names by id.
#[derive(Debug, Default)]
pub struct Names(HashMap<String, String>);

impl Names {
    /// Looks up the names that there are. Whoever has left the club has none.
    pub fn of<'a>(db: &Reader<'_>, ids: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let (mut users, mut keys) = (Vec::new(), Vec::new());
        let (mut apps, mut teams, mut webhooks) = (Vec::new(), Vec::new(), Vec::new());
        for id in ids {
            // An id of another kind does not parse; it is at most one of these.
            users.extend(id.parse::<UserId>());
            keys.extend(id.parse::<KeyId>());
            apps.extend(id.parse::<AppId>());
            teams.extend(id.parse::<TeamId>());
            webhooks.extend(id.parse::<WebhookId>());
        }
        let mut names = HashMap::new();
        if !users.is_empty() {
            let found: Vec<(UserId, String)> = db.all(
                "select u.id, u.name from account_user a join app_user u on u.id = a.user_id
                 where a.account_id = :account and a.user_id in (:users)",
                bind! { users },
            )?;
            names.extend(found.into_iter().map(|(id, name)| (id.to_string(), name)));
        }
        if !keys.is_empty() {
            let found: Vec<(KeyId, String)> = db.all(
                "select id, name from api_key where account_id = :account and id in (:keys)",
                bind! { keys },
            )?;
            names.extend(found.into_iter().map(|(id, name)| (id.to_string(), name)));
        }
        if !apps.is_empty() {
            let found: Vec<(AppId, String)> = db.all(
                "select id, name from oauth_app where account_id = :account and id in (:apps)",
                bind! { apps },
            )?;
            names.extend(found.into_iter().map(|(id, name)| (id.to_string(), name)));
        }
        if !teams.is_empty() {
            let found: Vec<(TeamId, String)> = db.all(
                "select id, name from team where account_id = :account and id in (:teams)",
                bind! { teams },
            )?;
            names.extend(found.into_iter().map(|(id, name)| (id.to_string(), name)));
        }
        if !webhooks.is_empty() {
            let found: Vec<(WebhookId, String)> = db.all(
                "select id, url from webhook where account_id = :account and id in (:webhooks)",
                bind! { webhooks },
            )?;
            // An address can be very long; its beginning says whose it is.
            let short = |url: String| url.chars().take(LONGEST).collect();
            names.extend(found.into_iter().map(|(id, url)| (id.to_string(), short(url))));
        }
        Ok(Self(names))
    }

    /// The name that goes with an id.
    pub fn of_id(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }

    /// The name that goes with an id, or the id itself.
    pub fn or_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.of_id(id).unwrap_or(id)
    }
}
