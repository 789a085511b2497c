//! Which notifications a caller can see: by kind (scopes) and by team.

use serde::Deserialize;

use crate::accounts::api_key;
use crate::accounts::permissions::{AccessLevel, grantable_scopes};
use crate::accounts::user;
use crate::notification_kinds;
use crate::prelude::*;
use crate::rights::SpaceSeparated;

/// Which notifications a caller can see.
#[derive(Debug, Clone)]
pub struct EventVisibility {
    scopes: Scopes,
    /// The teams that the caller is limited to; `None` for all.
    teams: Option<Vec<TeamId>>,
}

impl EventVisibility {
    /// What a caller with these scopes and this access can see.
    pub fn new(scopes: Scopes, access: &TeamAccess) -> Self {
        let teams = match access {
            TeamAccess::AllTeams => None,
            TeamAccess::Teams(teams) => Some(teams.clone()),
            TeamAccess::User(place) => Some(place.managed_team_ids.clone()),
        };
        Self { scopes, teams }
    }

    /// What the creator of a webhook can see now; `None` if they can no longer have webhooks.
    pub fn of_creator(db: &Reader<'_>, creator: &str, app: Option<&str>) -> Result<Option<Self>> {
        let visibility = if let Ok(key) = creator.parse::<KeyId>() {
            of_key(db, key)?
        } else if let Ok(user) = creator.parse::<UserId>() {
            of_user(db, user, app.and_then(|app| app.parse().ok()))?
        } else {
            // The command line and the demo data can see everything.
            Some(Self { scopes: Scopes::all_named(), teams: None })
        };
        Ok(visibility.filter(|visibility| visibility.scopes.contains(ScopeName::WebhooksWrite)))
    }

    /// The most that the creator of a webhook has ever been able to see, including rights that they have lost since:
    /// the deliveries from that time are still stored.
    pub fn maximum_of_creator(db: &Reader<'_>, creator: &str, app: Option<&str>) -> Result<Self> {
        let scopes = if let Ok(key) = creator.parse::<KeyId>() {
            api_key::find(db, key)?.scopes
        } else if let (Ok(user), Some(Ok(app))) = (creator.parse(), app.map(str::parse)) {
            all_granted_scopes(db, user, app)?
        } else {
            Scopes::all_named()
        };
        Ok(Self { scopes, teams: None })
    }

    /// Limits the visibility to these teams; `None` changes nothing.
    #[must_use]
    pub fn limited_to(mut self, teams: Option<&[TeamId]>) -> Self {
        self.teams = match (self.teams, teams) {
            (None, teams) => teams.map(<[TeamId]>::to_vec),
            (own, None) => own,
            (Some(own), Some(teams)) => {
                Some(own.into_iter().filter(|id| teams.contains(id)).collect())
            }
        };
        self
    }

    /// Whether the caller can see notifications of this kind at all.
    pub fn can_see_kind(&self, kind: &str) -> bool {
        let kind = notification_kinds::find(kind);
        kind.is_some_and(|kind| kind.scope.is_none_or(|scope| self.scopes.contains(scope)))
    }

    /// The first kind that matches these patterns and that this caller can see, but the other one cannot.
    pub fn find_hidden_from(
        &self,
        other: Option<&Self>,
        patterns: &[String],
    ) -> Option<&'static str> {
        let mut kinds = notification_kinds::all_kinds().map(|kind| kind.name);
        kinds.find(|kind| {
            notification_kinds::any_pattern_matches(patterns, kind)
                && self.can_see_kind(kind)
                && other.is_none_or(|other| !other.can_see_kind(kind))
        })
    }

    /// Whether the caller can see this notification.
    pub fn can_see(&self, kind: &str, body: &str) -> bool {
        let is_about =
            |teams: &Vec<TeamId>| team_of(kind, body).is_some_and(|id| teams.contains(&id));
        self.can_see_kind(kind) && self.teams.as_ref().is_none_or(is_about)
    }
}

/// What an API key can see; `None` if it is revoked or expired.
fn of_key(db: &Reader<'_>, id: KeyId) -> Result<Option<EventVisibility>> {
    let key = api_key::find(db, id)?;
    let is_valid = key.revoked_at.is_none() && key.expires_at.is_none_or(|end| db.now() < end);
    let teams = key.team_ids.map(|SpaceSeparated(teams)| teams);
    Ok(is_valid.then_some(EventVisibility { scopes: key.scopes, teams }))
}

/// What a user can see, directly or through an app; `None` if they are not an active admin.
fn of_user(db: &Reader<'_>, id: UserId, app: Option<AppId>) -> Result<Option<EventVisibility>> {
    // The user may have been deleted after leaving the account, so the role is checked first.
    let Some(role) = user::role_of(db, id)?.map(AccessLevel::from) else { return Ok(None) };
    if user::find(db, id)?.disabled_at.is_some() || role < AccessLevel::Admin {
        return Ok(None);
    }
    let scopes = match app {
        None => Some(Scopes::all_named()),
        Some(app) => granted_scopes(db, id, app)?,
    };
    Ok(scopes.map(|scopes| EventVisibility {
        scopes: scopes.intersection(grantable_scopes(role)),
        teams: None,
    }))
}

/// The scopes that a user grants to an app now.
fn granted_scopes(db: &Reader<'_>, user: UserId, app: AppId) -> Result<Option<Scopes>> {
    let granted: Option<(Scopes,)> = db.optional(
        sql!(
            SELECT_GRANTS,
            " and revoked_at is null and expires_at > :now order by created_at desc limit 1"
        ),
        bind! { app, user },
    )?;
    Ok(granted.map(|(scopes,)| scopes))
}

/// All scopes that a user has ever granted to an app.
fn all_granted_scopes(db: &Reader<'_>, user: UserId, app: AppId) -> Result<Scopes> {
    let granted: Vec<(Scopes,)> = db.all(SELECT_GRANTS, bind! { app, user })?;
    Ok(Scopes::of(granted.iter().flat_map(|(scopes,)| scopes.names())))
}

const SELECT_GRANTS: &str = "
    select scopes from oauth_grant
    where account_id = :account and app_id = :app and user_id = :user";

/// The team that a notification is about, if it is about one.
fn team_of(kind: &str, body: &str) -> Option<TeamId> {
    #[derive(Deserialize)]
    struct Body {
        data: Data,
    }
    #[derive(Deserialize)]
    struct Data {
        object: Object,
    }
    #[derive(Deserialize)]
    struct Object {
        id: Option<String>,
        team_id: Option<String>,
    }
    let Object { id, team_id } = serde_json::from_str::<Body>(body).ok()?.data.object;
    if kind.starts_with("team.") { id } else { team_id }?.parse().ok()
}
