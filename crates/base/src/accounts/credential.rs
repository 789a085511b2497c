//! The credential of a request: who holds it and what it gives access to.

use super::api_key;
use super::user::Role;
use crate::prelude::*;
use crate::rights::SpaceSeparated;
use crate::tier::Tier;

/// An authenticated credential.
#[derive(Debug, Clone)]
pub struct Credential {
    pub holder: Holder,
    pub account_id: AccountId,
    pub scopes: Scopes,
    pub tier: Tier,
    /// The account's journal sequence, which increases with every visible change.
    pub sequence: i64,
}

/// Who holds a credential.
#[derive(Debug, Clone)]
pub enum Holder {
    /// An API key, which acts for the account.
    Key { id: KeyId, team_ids: Option<SpaceSeparated<TeamId>>, last_used_at: Option<Timestamp> },
    /// An OAuth app, which acts for a user.
    App {
        user: UserId,
        app: AppId,
        grant: GrantId,
        role: Role,
        /// How often the grant was refreshed before this token was issued.
        generation: i64,
        /// When the token was last used.
        last_used_at: Option<Timestamp>,
    },
}

impl Credential {
    /// The actor for logs and the audit log: the id of the key or user.
    pub fn actor(&self) -> String {
        match &self.holder {
            Holder::Key { id, .. } => id.to_string(),
            Holder::App { user, .. } => user.to_string(),
        }
    }

    /// The database scope of requests with this credential.
    pub fn scope(&self) -> Scope {
        let scope = Scope::account(self.account_id, self.actor());
        match &self.holder {
            Holder::Key { .. } => scope,
            Holder::App { app, .. } => scope.via(app.to_string()),
        }
    }

    /// The app that acts for the user, if any.
    pub fn app(&self) -> Option<AppId> {
        match self.holder {
            Holder::Key { .. } => None,
            Holder::App { app, .. } => Some(app),
        }
    }

    /// The teams that the credential itself allows. The access of a user is narrowed further by the rosters.
    pub fn team_access(&self) -> TeamAccess {
        match &self.holder {
            Holder::Key { team_ids: Some(SpaceSeparated(teams)), .. } => {
                TeamAccess::Teams(teams.clone())
            }
            _ => TeamAccess::AllTeams,
        }
    }
}

impl From<api_key::AuthenticatedKey> for Credential {
    fn from(key: api_key::AuthenticatedKey) -> Self {
        let api_key::AuthenticatedKey { id, team_ids, last_used_at, .. } = key;
        Self {
            holder: Holder::Key { id, team_ids, last_used_at },
            account_id: key.account_id,
            scopes: key.scopes,
            tier: key.tier,
            sequence: key.sequence,
        }
    }
}
