//! What reads are compared with: a plain axum server whose routes return fixed bytes.
//!
//! It is a process like the service, so both share the machine with the load generator alike.

use std::process::{Command, Stdio};

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use bytes::Bytes;
use clap::Args;
use tokio::net::TcpListener;

use crate::Result;
use crate::process::{LISTENING, Process};
use crate::site::Database;

#[derive(Debug, Args)]
pub(crate) struct Bare {
    /// Routes, each with the file whose bytes it returns: `/teams/{id}=team.json`
    #[arg(required = true)]
    routes: Vec<String>,
}

impl Bare {
    pub(crate) async fn serve(self) -> Result<()> {
        let mut router = Router::new();
        for route in &self.routes {
            let (path, file) = route.split_once('=').ok_or("a route without a file")?;
            let read = std::fs::read(file).map(Bytes::from);
            let bytes = read.map_err(|error| format!("cannot read {file}: {error}"))?;
            let json = [(CONTENT_TYPE, "application/json")];
            let answer = move || std::future::ready((json.clone(), bytes.clone()));
            router = router.route(path, get(answer));
        }
        let told = |error: std::io::Error| format!("the bare route: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(told)?;
        eprintln!("{LISTENING}{}", listener.local_addr().map_err(told)?);
        axum::serve(listener, router).await.map_err(told)
    }
}

/// Starts such a server with these routes and the bytes of each.
pub(crate) async fn start(database: &Database, routes: &[(String, Vec<u8>)]) -> Result<Process> {
    let program = std::env::current_exe().map_err(|error| format!("no program: {error}"))?;
    let mut command = Command::new(program);
    command.arg("bare").stdin(Stdio::null()).stdout(Stdio::null());
    for (number, (path, bytes)) in routes.iter().enumerate() {
        let file = database.keep(&format!("bare-{number}"), bytes)?;
        command.arg(format!("{path}={}", file.display()));
    }
    Process::start(command, &database.folder("bare")?).await
}
