//! `touchline serve` and `touchline healthcheck`.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use kit::secret::ApiKey;
use serde_json::json;
use store::Scope;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::{CommandContext, CommandError, CommandResult, with_secret};
use crate::accounts::api_key::Key;
use crate::config::{self, Config};
use crate::dispatch::Dispatcher;
use crate::mailer::MailWorker;
use crate::signin::set_up;
use crate::web::app::App;
use crate::web::{health, server};
use crate::{cards, demo, jobs};

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Load a demo club and print how to sign in to it
    #[arg(long)]
    demo: bool,
}

impl Serve {
    pub(super) async fn run(self, ctx: &CommandContext) -> CommandResult {
        start_log(ctx.config.log.as_str())?;
        if self.demo {
            let (_, created) = super::data::load_demo_club(ctx).await?;
            if created {
                // Loading needs much more memory than serving, and the process would keep some of it.
                let error = config::restart_process();
                tracing::warn!(%error, "could not restart the process after loading the demo club");
            }
        }
        let db = ctx.open_migrated().await?;
        let options = ctx.options();
        let listener = listen(ctx.config.listen).await?;
        let address = listener.local_addr()?;
        let config = Config { listen: address, ..ctx.config.clone() };
        let app = App::new(config, db.clone(), options.clock, options.rng).await?;
        if self.demo {
            let (key, value) = demo::key(&db, &ctx.config.data).await?;
            let password = demo::ensure_users(&db, &ctx.config.data).await?;
            print_demo_credentials(ctx, &key, &value, (app.base_url.as_str(), &password))?;
        } else {
            print_setup_link(ctx, &app).await?;
        }
        run(app, listener).await?;
        db.close();
        Ok(())
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, CommandError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| CommandError::from(format!("cannot listen on {address}: {error}")))
}

/// Serves until the process gets SIGTERM or SIGINT, then shuts down gracefully.
async fn run(app: App, listener: TcpListener) -> CommandResult {
    // Registered first, so that an early signal does not abort work that has started.
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (stop, stopped) = watch::channel(false);
    if let Some(address) = app.config.metrics_listen {
        let router = health::metrics_router().with_state(app.clone());
        let listener = listen(address).await?;
        app.spawn(server::serve(listener, app.clone(), router, stopped.clone()));
    }
    app.spawn(jobs::run(app.clone(), stopped.clone()));
    app.spawn(Dispatcher::new(app.clone())?.run(stopped.clone()));
    app.spawn(MailWorker::new(app.clone())?.run(stopped.clone()));
    app.spawn(cards::run(app.clone(), stopped.clone()));
    let address = listener.local_addr()?;
    writeln!(std::io::stderr(), "listening on http://{address}")?;
    let router = crate::service(app.clone());
    let serving = server::serve(listener, app.clone(), router, stopped);
    let stopping = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("shutting down: waiting for running requests");
        app.stop();
        // This fails only if the server has ended already.
        let _ = stop.send(true);
    };
    tokio::join!(serving, stopping);
    app.finish().await;
    Ok(())
}

/// Starts logging to standard error: readable lines on a terminal, JSON lines otherwise.
fn start_log(filter: &str) -> CommandResult {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .map_err(|error| CommandError::from(format!("log: {error}")))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if std::io::stderr().is_terminal() {
        log.try_init()
    } else {
        log.json().flatten_event(true).try_init()
    };
    started.map_err(|error| CommandError::from(format!("log: {error}")))
}

/// Prints how to sign in to the demo club, its API key, and a `curl` command to try.
fn print_demo_credentials(
    ctx: &CommandContext,
    key: &Key,
    value: &ApiKey,
    (url, password): (&str, &str),
) -> CommandResult {
    let key_json = with_secret(key, "value", value.reveal())?;
    let object = json!({
        "url": url,
        "set_up": null,
        "demo": {
            "account": { "id": demo::ACCOUNT },
            "key": key_json,
            "password": password,
            "sign_ins": demo::SIGN_INS,
        },
    });
    ctx.print(&object, || {
        let value = value.reveal();
        let people = demo::SIGN_INS.map(|sign_in| sign_in.email).join(", ");
        format!(
            "\n  Touchline is ready, with a demo club.\n\n  Sign in    {url}/sign-in\n  As         {people}\n  \
             Password   {password}\n\n  Reference  {url}/docs\n  API key    {value}\n\n  Try it:\n\n  curl -H 'Authorization: Bearer {value}' '{url}/api/public/v1/teams?limit=5'\n"
        )
    })
}

/// Prints a link for setting up the first club, if no club has an owner yet.
async fn print_setup_link(ctx: &CommandContext, app: &App) -> CommandResult {
    let invited = app.db.write(Scope::system("set-up"), set_up::create_link).await?;
    let url = app.base_url.as_str();
    let link = invited.map(|token| format!("{url}/set-up/{}", token.reveal()));
    if ctx.json {
        return ctx.print(&json!({ "url": url, "set_up": link, "demo": null }), String::new);
    }
    let Some(link) = link else { return Ok(()) };
    ctx.print(&json!({}), || {
        format!(
            "\n  There is no club yet. Open this link to set up yours. It works once and is valid for 30 minutes:\n\n  \
             {link}\n\n  To try Touchline with sample data first: touchline serve --demo\n"
        )
    })
}

/// Checks whether the service at the configured address is ready.
pub(super) async fn healthcheck(ctx: &CommandContext) -> CommandResult {
    let address = ctx.config.listen;
    let response = tokio::time::timeout(Duration::from_secs(5), request_readiness(address)).await;
    let response = response
        .map_err(|_| CommandError::from(format!("{address} did not respond within 5 seconds")))?;
    let response = response.map_err(|error| CommandError::from(format!("{address}: {error}")))?;
    if response.starts_with("HTTP/1.1 200") {
        ctx.print(&json!({ "ready": true }), || "ready".to_owned())
    } else {
        Err(CommandError::from(format!("{address} is not ready")))
    }
}

async fn request_readiness(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    Ok(response)
}
