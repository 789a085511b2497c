//! The link of an invitation, as it is shown once and as it is followed.

use askama::Template;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use kit::Timestamp;
use kit::secret::{Token, same};

use crate::accounts::permits::Needs;
use crate::app::App;
use crate::error::Result;
use crate::web::page::{self, Frame};
use crate::web::visitor::Visitor;

/// The path of an invitation.
fn path(token: &Token) -> String {
    format!("/join/{}", token.reveal())
}

/// The address as it is written in a letter. Only whoever reads the letter has its seal, so whoever comes
/// with it can read what is sent there.
pub fn mailed_address(app: &App, token: &Token) -> String {
    app.url(&format!("{}?m={}", path(token), seal(app, &token.hash())))
}

/// Whether somebody came by the address that was mailed.
pub(super) fn is_mailed(app: &App, hash: &[u8; 32], told: &str) -> bool {
    same(told.as_bytes(), seal(app, hash).as_bytes())
}

fn seal(app: &App, hash: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(app.secrets.key("mailed invitation").sign(&[hash]))
}

#[derive(Template)]
#[template(path = "joining/link.html")]
struct Shown<'a> {
    frame: Frame,
    link: &'a str,
    expires_at: Timestamp,
    /// For whom it is: an address, or everybody on a team.
    email: Option<&'a str>,
    mailed: bool,
    back: &'a str,
}

/// What a page tells of a new link.
#[derive(Debug)]
pub struct New<'a> {
    pub token: &'a Token,
    pub expires_at: Timestamp,
    pub email: Option<&'a str>,
    /// Whether it was also sent by mail.
    pub mailed: bool,
    /// The page to go on to.
    pub back: &'a str,
}

/// Shows a new link, this once.
pub fn show<N: Needs>(visitor: &Visitor<N>, frame: Frame, new: &New<'_>) -> Result<Response> {
    let New { token, expires_at, email, mailed, back } = *new;
    let link = visitor.url(&path(token));
    page::html(StatusCode::OK, &Shown { frame, link: &link, expires_at, email, mailed, back })
}
