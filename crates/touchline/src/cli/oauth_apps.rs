//! `touchline oauth-app`.

use clap::Subcommand;
use kit::secret::Token;

use super::accounts::{ACTOR, parse_account_id};
use super::{CommandContext, CommandError, CommandResult, lines, parse_enum};
use crate::accounts::account;
use crate::oauth::app::{self, App, Kind, NewApp};
use crate::oauth::secret;
use crate::prelude::*;

fn parse_app_id(text: &str) -> Result<AppId, String> {
    text.parse().map_err(|_| "use the id of an app (app_…)".to_owned())
}

#[derive(Debug, Subcommand)]
pub(super) enum AppCommand {
    /// Register an app. A server app gets a secret, which is shown only once
    Create {
        #[arg(long, value_parser = parse_account_id)]
        account: AccountId,
        #[arg(long)]
        name: String,
        /// The kind of app: native, spa or server
        #[arg(long, value_parser = parse_enum::<Kind>)]
        kind: Kind,
        /// A redirect URI of the app. May be given several times
        #[arg(long = "redirect-uri", required = true)]
        redirect_uris: Vec<String>,
        /// The scopes the app may request, separated by commas (default: all scopes except `*`)
        #[arg(long, value_parser = Scopes::parse)]
        scopes: Option<Scopes>,
    },
    /// List the apps of an account
    List {
        #[arg(long, value_parser = parse_account_id)]
        account: AccountId,
    },
    /// Disable an app. All its tokens stop working immediately
    Disable {
        #[arg(value_parser = parse_app_id)]
        app: AppId,
    },
    /// Enable an app again
    Enable {
        #[arg(value_parser = parse_app_id)]
        app: AppId,
    },
    /// Create a new secret for an app, which is shown only once. If the app has two, the oldest is revoked
    RotateSecret {
        #[arg(value_parser = parse_app_id)]
        app: AppId,
    },
}

impl AppCommand {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        match self {
            Self::Create { account, name, kind, redirect_uris, scopes } => {
                let scopes = scopes.unwrap_or_else(Scopes::all_named);
                create(ctx, account, NewApp { name, kind, redirect_uris, scopes }).await
            }
            Self::List { account } => list(ctx, account).await,
            Self::Disable { app } => {
                let app = change(ctx, app, app::disable).await?;
                print_app(ctx, &app, None, || format!("{} is disabled.", app.name))
            }
            Self::Enable { app } => {
                let app = change(ctx, app, app::enable).await?;
                print_app(ctx, &app, None, || format!("{} is enabled.", app.name))
            }
            Self::RotateSecret { app } => rotate(ctx, app).await,
        }
    }
}

/// An app as JSON, with its id also as `client_id`.
fn app_json(app: &App) -> Result<Value, CommandError> {
    let mut json = serde_json::to_value(app)?;
    json["client_id"] = app.id.to_string().into();
    Ok(json)
}

async fn create(ctx: &CommandContext, account: AccountId, new: NewApp) -> CommandResult {
    let db = ctx.open_migrated().await?;
    let create = move |tx: &Tx<'_>| {
        account::find(tx)?;
        let app = app::create(tx, new)?;
        let confidential = app.kind.is_confidential();
        let secret = confidential.then(|| secret::add(tx, app.id)).transpose()?;
        Ok::<_, Error>((app, secret.map(|(_, value)| value)))
    };
    let (app, value) = db.write(Scope::account(account, ACTOR), create).await?;
    print_app(ctx, &app, value.as_ref(), || match &value {
        Some(value) => format!(
            "Client ID: {}\nClient secret: {}\nCopy the secret now: it is shown only once.",
            app.id,
            value.reveal()
        ),
        None => format!("Client ID: {}", app.id),
    })
}

async fn list(ctx: &CommandContext, account: AccountId) -> CommandResult {
    let db = ctx.open_migrated().await?;
    let scope = Scope::account(account, ACTOR);
    let apps = db.read(scope, |db| account::find(db).and_then(|_| app::list(db))).await?;
    let objects = apps.iter().map(app_json).collect::<Result<Vec<_>, _>>()?;
    ctx.print(&json!({ "apps": objects }), || {
        lines(&apps, |app| {
            let state = if app.disabled_at.is_some() { "disabled" } else { "enabled" };
            format!("{}  {:6}  {state:8}  {}", app.id, app.kind.as_str(), app.name)
        })
    })
}

async fn rotate(ctx: &CommandContext, id: AppId) -> CommandResult {
    let rotate = |tx: &Tx<'_>, id| {
        let live = secret::list_active(tx, id)?;
        if let Some(oldest) = live.first().filter(|_| live.len() >= secret::MAX_ACTIVE) {
            secret::revoke(tx, id, oldest.id)?;
        }
        let (_, value) = secret::add(tx, id)?;
        Ok((app::find(tx, id)?, value))
    };
    let (app, value) = change(ctx, id, rotate).await?;
    print_app(ctx, &app, Some(&value), || {
        format!("Client secret: {}\nCopy it now: it is shown only once.", value.reveal())
    })
}

/// Changes an app in a transaction of its account.
async fn change<T: Send + 'static>(
    ctx: &CommandContext,
    id: AppId,
    work: fn(&Tx<'_>, AppId) -> Result<T>,
) -> Result<T, CommandError> {
    let db = ctx.open_migrated().await?;
    let found = db.read(Scope::system("oauth-app"), move |db| app::account_of(db, id)).await;
    let account = found.map_err(|_| CommandError::from("there is no app with this id"))?;
    Ok(db.write(Scope::account(account, ACTOR), move |tx| work(tx, id)).await?)
}

/// Prints an app, with its new secret if it has one.
fn print_app(
    ctx: &CommandContext,
    app: &App,
    secret: Option<&Token>,
    text: impl FnOnce() -> String,
) -> CommandResult {
    let mut object = app_json(app)?;
    if let Some(secret) = secret {
        object["client_secret"] = secret.reveal().into();
    }
    ctx.print(&json!({ "app": object }), text)
}
