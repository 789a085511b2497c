//! What a page shows to a signed-in owner or admin: the service's own URL and ids of their club in the examples.

use http::request::Parts;
use kit::text::escape_html;

use super::ORIGIN;
use crate::accounts::user::Role;
use crate::hook::Hook;
use crate::prelude::*;
use crate::web::app::App;
use crate::web::public_url;
use crate::web::session_cookie::session_cookie;
use crate::web::visitor::Guest;

type ReadIds = fn(&Reader<'_>) -> Result<Vec<String>>;

/// Reads ids of the account for the examples, such as that of its first team. None of them is secret.
pub static EXAMPLE_IDS: Hook<ReadIds> = Hook::new("docs::EXAMPLE_IDS");

/// The part after the prefix in the ids of all examples.
const EXAMPLE_ID: &str = "01kbm2x5q8f7vr0n3hd9tzc4wy";
/// Where the pages say whose ids they show.
pub const NOTE: &str = "<!-- viewer -->";

/// A signed-in owner or admin.
#[derive(Debug)]
pub struct Viewer {
    club: String,
    origin: String,
    ids: Vec<String>,
}

impl Viewer {
    /// The viewer behind a request, unless they are signed out or not an admin.
    pub async fn load(parts: &mut Parts, app: &App) -> Result<Option<Self>> {
        if session_cookie(&parts.headers).is_none() {
            return Ok(None);
        }
        let guest = Guest::load(parts, app).await?;
        let Some(visit) = guest.visit.as_ref().filter(|visit| !visit.pending) else {
            return Ok(None);
        };
        let is_admin = visit.role.is_some_and(|role| role != Role::Member);
        let Some(account) = visit.club.filter(|_| is_admin) else { return Ok(None) };
        let read = EXAMPLE_IDS.get()?;
        let mut ids = app.db.read(guest.scope_in(account, visit.user), read).await?;
        ids.push(account.to_string());
        Ok(Some(Self {
            club: visit.club_name.clone().unwrap_or_default(),
            origin: public_url::for_request(app, &guest.context, ""),
            ids,
        }))
    }

    /// The page with the viewer's own ids.
    pub fn personalize(&self, page: &str) -> String {
        let mut page = page.replace(ORIGIN, &escape_html(&self.origin));
        for id in &self.ids {
            let prefix = id.split_once('_').map_or("", |(prefix, _)| prefix);
            page = page.replace(&format!("{prefix}_{EXAMPLE_ID}"), &escape_html(id));
        }
        let club = escape_html(&self.club);
        let note = format!("<p class=\"viewer\">Examples use IDs of <bdi>{club}</bdi>.</p>");
        page.replacen(NOTE, &note, 1)
    }
}
