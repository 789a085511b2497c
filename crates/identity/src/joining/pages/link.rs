//! Invitation links: the page that shows a new link once, and signatures of mailed links.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kit::Timestamp;
use kit::secret::{Token, constant_time_eq};

use crate::error::Result;
use crate::web::page;
use crate::web::prelude::*;

/// The path of an invitation.
fn path(token: &Token) -> String {
    format!("/join/{}", token.reveal())
}

/// The URL in the invitation email. It has a signature that appears only in the email, so a user who opens it has
/// access to the mailbox.
pub fn mailed_url(app: &App, token: &Token) -> String {
    app.url(&format!("{}?m={}", path(token), sign(app, &token.hash())))
}

/// Whether this is the signature in the invitation email.
pub(super) fn is_mailed_link(app: &App, hash: &[u8; 32], signature: &str) -> bool {
    constant_time_eq(signature.as_bytes(), sign(app, hash).as_bytes())
}

fn sign(app: &App, hash: &[u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(app.secrets.key("mailed invitation").sign(&[hash]))
}

#[derive(Template)]
#[template(path = "joining/link.html")]
struct LinkPage<'a> {
    frame: Frame,
    link: &'a str,
    expires_at: Timestamp,
    /// The invited address. `None` for a team's link.
    email: Option<&'a str>,
    mailed: bool,
    back: &'a str,
}

/// A new link to show.
#[derive(Debug)]
pub struct NewLink<'a> {
    pub token: &'a Token,
    pub expires_at: Timestamp,
    pub email: Option<&'a str>,
    /// Whether it was also sent by email.
    pub mailed: bool,
    /// The page to continue to.
    pub back: &'a str,
}

/// Shows a new link. It cannot be shown again.
pub fn show<N: Permission>(
    visitor: &Visitor<N>,
    frame: Frame,
    new: &NewLink<'_>,
) -> Result<Response> {
    let NewLink { token, expires_at, email, mailed, back } = *new;
    let link = visitor.url(&path(token));
    page::html(StatusCode::OK, &LinkPage { frame, link: &link, expires_at, email, mailed, back })
}
