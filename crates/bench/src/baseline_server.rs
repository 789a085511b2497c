//! The baseline for reads: a plain axum server whose routes return fixed bytes.
//!
//! It is a separate process, like the service, so both share the machine with the load generator equally.

use std::process::{Command, Stdio};

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use bytes::Bytes;
use clap::Args;
use tokio::net::TcpListener;

use crate::Result;
use crate::environment::Database;
use crate::process::{LISTENING, Process};

#[derive(Debug, Args)]
pub(crate) struct BaselineServer {
    /// Routes, each with the file whose bytes it returns: `/teams/{id}=team.json`
    #[arg(required = true)]
    routes: Vec<String>,
}

impl BaselineServer {
    pub(crate) async fn serve(self) -> Result<()> {
        let mut router = Router::new();
        for route in &self.routes {
            let (path, file) = route.split_once('=').ok_or("a route has no file")?;
            let read = std::fs::read(file).map(Bytes::from);
            let bytes = read.map_err(|error| format!("cannot read {file}: {error}"))?;
            let json = [(CONTENT_TYPE, "application/json")];
            let answer = move || std::future::ready((json.clone(), bytes.clone()));
            router = router.route(path, get(answer));
        }
        let failed = |error: std::io::Error| format!("the baseline server failed: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        eprintln!("{LISTENING}{}", listener.local_addr().map_err(failed)?);
        axum::serve(listener, router).await.map_err(failed)
    }
}

/// Starts a baseline server with these routes and the bytes that each returns.
pub(crate) async fn start(database: &Database, routes: &[(String, Vec<u8>)]) -> Result<Process> {
    let program = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    let mut command = Command::new(program);
    command.arg("baseline-server").stdin(Stdio::null()).stdout(Stdio::null());
    for (number, (path, bytes)) in routes.iter().enumerate() {
        let file = database.write_file(&format!("baseline-{number}"), bytes)?;
        command.arg(format!("{path}={}", file.display()));
    }
    Process::start(command, &database.create_folder("baseline")?).await
}
