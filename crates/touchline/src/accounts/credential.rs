//! The credential of a request: whose it is, and what it opens.

use super::account::Tier;
use super::api_key;
use super::rights::{Listed, Reach, Scopes};
use super::user::Role;
use crate::ids::{AccountId, AppId, GrantId, KeyId, TeamId, UserId};
use kit::Timestamp;
use store::Scope;

/// All that a request needs to know of what it came with.
#[derive(Debug, Clone)]
pub struct Credential {
    pub holder: Holder,
    pub account_id: AccountId,
    pub scopes: Scopes,
    pub tier: Tier,
    /// The version of everything the account shows.
    pub sequence: i64,
}

/// Whose credential it is.
#[derive(Debug, Clone)]
pub enum Holder {
    /// A key, which acts for the account.
    Key { id: KeyId, team_ids: Option<Listed<TeamId>>, last_used_at: Option<Timestamp> },
    /// An app, which acts for a user.
    App {
        user: UserId,
        app: AppId,
        grant: GrantId,
        role: Role,
        /// How often the grant was renewed before this token, and when the token was last seen.
        generation: i64,
        last_used_at: Option<Timestamp>,
    },
}

impl Credential {
    /// Who acts, as the logs say it.
    pub fn actor(&self) -> String {
        match &self.holder {
            Holder::Key { id, .. } => id.to_string(),
            Holder::App { user, .. } => user.to_string(),
        }
    }

    /// Whose job it is when this credential asks for something.
    pub fn scope(&self) -> Scope {
        let scope = Scope::account(self.account_id, self.actor());
        match &self.holder {
            Holder::Key { .. } => scope,
            Holder::App { app, .. } => scope.via(app.to_string()),
        }
    }

    /// The app through which somebody acts.
    pub fn app(&self) -> Option<AppId> {
        match self.holder {
            Holder::Key { .. } => None,
            Holder::App { app, .. } => Some(app),
        }
    }

    /// What acts, as a word.
    pub fn kind(&self) -> &'static str {
        match self.holder {
            Holder::Key { .. } => "api_key",
            Holder::App { .. } => "user",
        }
    }

    /// Which teams the credential reaches by itself; what a user reaches, the roster says.
    pub fn reach(&self) -> Reach {
        match &self.holder {
            Holder::Key { team_ids: Some(Listed(teams)), .. } => Reach::Teams(teams.clone()),
            _ => Reach::Everywhere,
        }
    }
}

impl From<api_key::Found> for Credential {
    fn from(found: api_key::Found) -> Self {
        let api_key::Found { id, team_ids, last_used_at, .. } = found;
        Self {
            holder: Holder::Key { id, team_ids, last_used_at },
            account_id: found.account_id,
            scopes: found.scopes,
            tier: found.tier,
            sequence: found.sequence,
        }
    }
}
