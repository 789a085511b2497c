//! What somebody may be told: the kinds they may read, and the teams they reach.

use serde::Deserialize;
use store::{Reader, bind};

use super::kinds;
use crate::accounts::api_key;
use crate::accounts::permits::{Least, grantable};
use crate::accounts::rights::{Listed, Reach, ScopeName, Scopes};
use crate::accounts::user;
use crate::error::Result;
use crate::ids::{AppId, KeyId, TeamId, UserId};

/// What somebody may be told.
#[derive(Debug, Clone)]
pub struct Ears {
    scopes: Scopes,
    /// The teams they are narrowed to, if they are.
    teams: Option<Vec<TeamId>>,
}

impl Ears {
    /// The ears of somebody with these scopes and this reach.
    pub fn new(scopes: Scopes, reach: &Reach) -> Self {
        let teams = match reach {
            Reach::Everywhere => None,
            Reach::Teams(teams) => Some(teams.clone()),
            Reach::User(place) => Some(place.leads.clone()),
        };
        Self { scopes, teams }
    }

    /// What whoever made a webhook may be told now; `None` if they may have no webhooks any more.
    pub fn of_creator(db: &Reader<'_>, creator: &str, app: Option<&str>) -> Result<Option<Self>> {
        let ears = if let Ok(key) = creator.parse::<KeyId>() {
            of_key(db, key)?
        } else if let Ok(user) = creator.parse::<UserId>() {
            of_user(db, user, app.and_then(|app| app.parse().ok()))?
        } else {
            // The command line and the demo act for the house.
            Some(Self { scopes: Scopes::all_named(), teams: None })
        };
        Ok(ears.filter(|ears| ears.scopes.allow(ScopeName::WebhooksWrite)))
    }

    /// What whoever answers for a webhook could be told at most, also if they have lost the right since: what the webhook
    /// was sent is still known.
    pub fn ever_of_creator(db: &Reader<'_>, creator: &str, app: Option<&str>) -> Result<Self> {
        let scopes = if let Ok(key) = creator.parse::<KeyId>() {
            api_key::find(db, key)?.scopes
        } else if let (Ok(user), Some(Ok(app))) = (creator.parse(), app.map(str::parse)) {
            ever_granted(db, user, app)?
        } else {
            Scopes::all_named()
        };
        Ok(Self { scopes, teams: None })
    }

    /// The same ears, listening only to these teams.
    #[must_use]
    pub fn narrowed(mut self, to: Option<&[TeamId]>) -> Self {
        self.teams = match (self.teams, to) {
            (None, to) => to.map(<[TeamId]>::to_vec),
            (own, None) => own,
            (Some(own), Some(to)) => Some(own.into_iter().filter(|id| to.contains(id)).collect()),
        };
        self
    }

    /// Whether they may be told of this kind at all.
    pub fn may_hear(&self, kind: &str) -> bool {
        let known = kinds::find(kind);
        known.is_some_and(|kind| kind.scope.is_none_or(|scope| self.scopes.allow(scope)))
    }

    /// Whether they may be told this.
    pub fn hear(&self, kind: &str, body: &str) -> bool {
        let among = |teams: &Vec<TeamId>| team_of(kind, body).is_some_and(|id| teams.contains(&id));
        self.may_hear(kind) && self.teams.as_ref().is_none_or(among)
    }
}

/// What a key may be told, if it is good.
fn of_key(db: &Reader<'_>, id: KeyId) -> Result<Option<Ears>> {
    let key = api_key::find(db, id)?;
    let good = key.revoked_at.is_none() && key.expires_at.is_none_or(|end| db.now() < end);
    let teams = key.team_ids.map(|Listed(teams)| teams);
    Ok(good.then_some(Ears { scopes: key.scopes, teams }))
}

/// What an admin may be told, alone or through an app.
fn of_user(db: &Reader<'_>, id: UserId, app: Option<AppId>) -> Result<Option<Ears>> {
    // Whoever left may be gone altogether, so that nothing more is to be found of them.
    let Some(role) = user::role_of(db, id)?.map(Least::from) else { return Ok(None) };
    let enabled = user::find(db, id)?.disabled_at.is_none();
    if !enabled || role < Least::Admin {
        return Ok(None);
    }
    let scopes = match app {
        None => Some(Scopes::all_named()),
        Some(app) => granted(db, id, app)?,
    };
    Ok(scopes.map(|scopes| Ears { scopes: scopes.shared(grantable(role)), teams: None }))
}

/// What a user lets an app do now.
fn granted(db: &Reader<'_>, user: UserId, app: AppId) -> Result<Option<Scopes>> {
    let granted: Option<(Scopes,)> = db.maybe(
        "select scopes from oauth_grant
         where account_id = :account and app_id = :app and user_id = :user
           and revoked_at is null and expires_at > :now
         order by created_at desc limit 1",
        bind! { app, user },
    )?;
    Ok(granted.map(|(scopes,)| scopes))
}

/// All that a user ever let an app do.
fn ever_granted(db: &Reader<'_>, user: UserId, app: AppId) -> Result<Scopes> {
    let granted: Vec<(Scopes,)> = db.all(
        "select scopes from oauth_grant
         where account_id = :account and app_id = :app and user_id = :user",
        bind! { app, user },
    )?;
    let named = granted.iter().flat_map(|(scopes,)| scopes.names());
    Ok(Scopes::of(named))
}

/// The team that news are about, if they are about one.
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
