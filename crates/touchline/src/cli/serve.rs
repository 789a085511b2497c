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

use super::{Desk, Outcome, Refusal, refused};
use crate::accounts::api_key::Key;
use crate::app::App;
use crate::config::Config;
use crate::dispatch::Dispatcher;
use crate::post::Post;
use crate::signin::set_up;
use crate::web::{health, server};
use crate::{cards, demo, jobs};

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Load a demo club and show a key for it
    #[arg(long)]
    demo: bool,
}

impl Serve {
    pub(super) async fn run(self, desk: &Desk) -> Outcome {
        start_log(desk.config.log.as_str())?;
        let db = desk.open_migrated().await?;
        let options = desk.options();
        let listener = listen(desk.config.listen).await?;
        let address = listener.local_addr()?;
        let config = Config { listen: address, ..desk.config.clone() };
        let app =
            App::new(config, db.clone(), options.clock, options.dice).await.map_err(refused)?;
        if self.demo {
            super::private_folder(&desk.config.data)?;
            demo::load(&app).await.map_err(refused)?;
            let (key, value) = demo::key(&db, &desk.config.data).await.map_err(refused)?;
            let password = demo::sign_ins(&db, &desk.config.data).await.map_err(refused)?;
            welcome(desk, &key, &value, (app.home.as_str(), &password))?;
        } else {
            first_steps(desk, &app).await?;
        }
        run(app, listener).await?;
        db.close();
        Ok(())
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Refusal> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| Refusal::from(format!("cannot listen on {address}: {error}")))
}

/// Serves until the process is told to stop, then lets everything that was accepted end.
async fn run(app: App, listener: TcpListener) -> Outcome {
    // Before anything begins: whoever is told to stop right away must not drop what they have begun.
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (stop, stopped) = watch::channel(false);
    if let Some(address) = app.config.metrics_listen {
        let router = health::metrics_router().with_state(app.clone());
        let listener = listen(address).await?;
        app.spawn(server::serve(listener, app.clone(), router, stopped.clone()));
    }
    app.spawn(jobs::run(app.clone(), stopped.clone()));
    app.spawn(Dispatcher::new(app.clone()).map_err(Refusal::from)?.run(stopped.clone()));
    app.spawn(Post::new(app.clone()).map_err(Refusal::from)?.run(stopped.clone()));
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
        tracing::info!("stopping: finishing what was accepted");
        app.stop();
        // Nobody listens any more only if the server has ended by itself.
        let _ = stop.send(true);
    };
    tokio::join!(serving, stopping);
    app.finish().await;
    Ok(())
}

/// Pretty lines on a terminal, JSON lines otherwise; always on standard error.
fn start_log(filter: &str) -> Outcome {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .map_err(|error| Refusal::from(format!("log: {error}")))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if std::io::stderr().is_terminal() {
        log.try_init()
    } else {
        log.json().flatten_event(true).try_init()
    };
    started.map_err(|error| Refusal::from(format!("log: {error}")))
}

/// Shows how to sign in to the demo club, and its key with a line that works when pasted.
fn welcome(desk: &Desk, key: &Key, value: &ApiKey, (url, password): (&str, &str)) -> Outcome {
    let mut shown = serde_json::to_value(key)?;
    shown["value"] = value.reveal().into();
    let said = json!({
        "url": url,
        "set_up": null,
        "demo": {
            "account": { "id": demo::ACCOUNT },
            "key": shown,
            "password": password,
            "sign_ins": demo::SIGN_INS,
        },
    });
    desk.say(&said, || {
        let value = value.reveal();
        let people = demo::SIGN_INS.map(|sign_in| sign_in.email).join(", ");
        format!(
            "\n  Touchline is ready, with a demo club.\n\n  Sign in    {url}/sign-in\n  As         {people}\n  \
             Password   {password}\n\n  Reference  {url}/docs\n  API key    {value}\n\n  Try it:\n\n  curl -H 'Authorization: Bearer {value}' '{url}/api/public/v1/teams?limit=5'\n"
        )
    })
}

/// Says how to begin when no club has an owner yet: with a link that works once.
async fn first_steps(desk: &Desk, app: &App) -> Outcome {
    let invited = app.db.write(Scope::system("set-up"), set_up::invite).await.map_err(refused)?;
    let url = app.home.as_str();
    let link = invited.map(|token| format!("{url}/set-up/{}", token.reveal()));
    if desk.json {
        return desk.say(&json!({ "url": url, "set_up": link, "demo": null }), String::new);
    }
    let Some(link) = link else { return Ok(()) };
    desk.say(&json!({}), || {
        format!(
            "\n  Nobody owns a club here yet. Set yours up with this link; it works once, within 30 minutes:\n\n  \
             {link}\n\n  Or look around first: touchline serve --demo\n"
        )
    })
}

/// Asks the service at the configured address whether it is ready.
pub(super) async fn healthcheck(desk: &Desk) -> Outcome {
    let address = desk.config.listen;
    let asked = tokio::time::timeout(Duration::from_secs(5), ask(address)).await;
    let answer = asked.map_err(|_| Refusal::from(format!("{address} does not answer")))?;
    let answer = answer.map_err(|error| Refusal::from(format!("{address}: {error}")))?;
    if answer.starts_with("HTTP/1.1 200") {
        desk.say(&json!({ "ready": true }), || "ready".to_owned())
    } else {
        Err(Refusal::from(format!("{address} is not ready")))
    }
}

async fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
