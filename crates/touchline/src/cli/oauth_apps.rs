//! `touchline oauth-app`.

use clap::Subcommand;
use kit::word::Word;
use serde_json::{Value, json};
use store::{Db, Scope};

use super::accounts::{ACTOR, account_id};
use super::{Desk, Outcome, Refusal, refused};
use crate::accounts::account;
use crate::accounts::rights::Scopes;
use crate::ids::{AccountId, AppId};
use crate::oauth::app::{self, App, Kind, NewApp};
use crate::oauth::secret;

fn kind(text: &str) -> Result<Kind, String> {
    Kind::parse(text).ok_or_else(|| format!("one of: {}", Kind::choices()))
}

fn app_id(text: &str) -> Result<AppId, String> {
    text.parse().map_err(|_| "not the id of an app (app_…)".to_owned())
}

#[derive(Debug, Subcommand)]
pub(super) enum AppVerb {
    /// Register an app; one on a server gets a secret, shown this once
    Create {
        #[arg(long, value_parser = account_id)]
        account: AccountId,
        #[arg(long)]
        name: String,
        /// native, spa or server
        #[arg(long, value_parser = kind)]
        kind: Kind,
        /// Where the app's users go back to; may be given several times
        #[arg(long = "redirect-uri", required = true)]
        redirect_uris: Vec<String>,
        /// What the app may ask for, separated by commas (everything that has a name if left out)
        #[arg(long, value_parser = Scopes::parse)]
        scopes: Option<Scopes>,
    },
    /// List an account's apps
    List {
        #[arg(long, value_parser = account_id)]
        account: AccountId,
    },
    /// Take an app out of service; everybody's tokens end at once
    Disable {
        #[arg(value_parser = app_id)]
        app: AppId,
    },
    /// Put an app into service again
    Enable {
        #[arg(value_parser = app_id)]
        app: AppId,
    },
    /// Give an app a new secret, shown this once; if it has two already, the oldest ends
    RotateSecret {
        #[arg(value_parser = app_id)]
        app: AppId,
    },
}

impl AppVerb {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        match self {
            Self::Create { account, name, kind, redirect_uris, scopes } => {
                let scopes = scopes.unwrap_or_else(Scopes::all_named);
                create(desk, account, NewApp { name, kind, redirect_uris, scopes }).await
            }
            Self::List { account } => list(desk, account).await,
            Self::Disable { app } => {
                let db = desk.open_migrated().await?;
                let scope = scope_of(&db, app).await?;
                let ended = db.write(scope, move |tx| app::disable(tx, app)).await;
                let app = ended.map_err(refused)?;
                desk.say(&json!({ "app": shown(&app)? }), || format!("{} is disabled.", app.name))
            }
            Self::Enable { app } => {
                let db = desk.open_migrated().await?;
                let scope = scope_of(&db, app).await?;
                let begun = db.write(scope, move |tx| app::enable(tx, app)).await;
                let app = begun.map_err(refused)?;
                desk.say(&json!({ "app": shown(&app)? }), || format!("{} is enabled.", app.name))
            }
            Self::RotateSecret { app } => rotate(desk, app).await,
        }
    }
}

/// An app as it is told: its id under the name that apps know it by.
fn shown(app: &App) -> Result<Value, Refusal> {
    let mut shown = serde_json::to_value(app)?;
    shown["client_id"] = app.id.to_string().into();
    Ok(shown)
}

async fn create(desk: &Desk, account: AccountId, new: NewApp) -> Outcome {
    let db = desk.open_migrated().await?;
    let made = db.write(Scope::account(account, ACTOR), move |tx| {
        account::find(tx)?;
        let app = app::create(tx, new)?;
        let confidential = app.kind.is_confidential();
        let secret = confidential.then(|| secret::add(tx, app.id)).transpose()?;
        Ok((app, secret.map(|(_, value)| value)))
    });
    let (app, value) = made.await.map_err(refused)?;
    let mut object = shown(&app)?;
    if let Some(value) = &value {
        object["client_secret"] = value.reveal().into();
    }
    desk.say(&json!({ "app": object }), || match &value {
        Some(value) => format!(
            "Client id {}\nClient secret {}\nKeep the secret safe; it is not shown again.",
            app.id,
            value.reveal()
        ),
        None => format!("Client id {}", app.id),
    })
}

async fn list(desk: &Desk, account: AccountId) -> Outcome {
    let db = desk.open_migrated().await?;
    let scope = Scope::account(account, ACTOR);
    let apps = db.read(scope, |db| account::find(db).and_then(|_| app::list(db))).await;
    let apps = apps.map_err(refused)?;
    let objects = apps.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    desk.say(&json!({ "apps": objects }), || {
        let line = |app: &App| {
            let state = if app.disabled_at.is_some() { "disabled" } else { "in service" };
            format!("{}  {:6}  {state:10}  {}", app.id, app.kind.word(), app.name)
        };
        apps.iter().map(line).collect::<Vec<_>>().join("\n")
    })
}

async fn rotate(desk: &Desk, id: AppId) -> Outcome {
    let db = desk.open_migrated().await?;
    let scope = scope_of(&db, id).await?;
    let made = db.write(scope, move |tx| {
        let live = secret::live(tx, id)?;
        if let Some(oldest) = live.first().filter(|_| live.len() >= secret::MOST) {
            secret::revoke(tx, id, oldest.id)?;
        }
        let (_, value) = secret::add(tx, id)?;
        Ok((app::find(tx, id)?, value))
    });
    let (app, value) = made.await.map_err(refused)?;
    let mut object = shown(&app)?;
    object["client_secret"] = value.reveal().into();
    desk.say(&json!({ "app": object }), || {
        format!("Client secret {}\nKeep it safe; it is not shown again.", value.reveal())
    })
}

/// The app knows its account.
async fn scope_of(db: &Db, id: AppId) -> Result<Scope, Refusal> {
    let found = db.read(Scope::system("oauth-app"), move |db| app::account_of(db, id)).await;
    let account = found.map_err(|_| Refusal::from("there is no such app"))?;
    Ok(Scope::account(account, ACTOR))
}
