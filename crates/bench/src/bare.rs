//! What reads are compared with: a plain axum server whose two routes return fixed bytes.
//!
//! It is a process like the service, so both share the machine with the load generator alike.

use std::path::{Path, PathBuf};

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use bytes::Bytes;
use clap::Args;
use tokio::net::TcpListener;

use crate::Result;
use crate::http::TEAMS;
use crate::process::LISTENING;

#[derive(Debug, Args)]
pub(crate) struct Bare {
    /// A file with the page
    pub(crate) page: PathBuf,
    /// A file with the team
    pub(crate) team: PathBuf,
}

impl Bare {
    pub(crate) async fn serve(self) -> Result<()> {
        let (page, team) = (bytes(&self.page)?, bytes(&self.team)?);
        let json = [(CONTENT_TYPE, "application/json")];
        let router = Router::new()
            .route(TEAMS, get(move || std::future::ready((json.clone(), page.clone()))));
        let json = [(CONTENT_TYPE, "application/json")];
        let router = router.route(
            &format!("{TEAMS}/{{id}}"),
            get(move || std::future::ready((json.clone(), team.clone()))),
        );
        let told = |error: std::io::Error| format!("the bare route: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(told)?;
        eprintln!("{LISTENING}{}", listener.local_addr().map_err(told)?);
        axum::serve(listener, router).await.map_err(told)
    }
}

fn bytes(file: &Path) -> Result<Bytes> {
    let read = std::fs::read(file);
    read.map(Bytes::from).map_err(|error| format!("cannot read {}: {error}", file.display()))
}
