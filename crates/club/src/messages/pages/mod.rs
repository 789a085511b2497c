//! The pages of messages: the inbox, conversations, and the form for a new message.

mod attachment_form;
mod audience_form;
mod compose;
mod edit;
mod inbox;
pub mod nav;
mod receipts;
mod recipients;
mod thread;

use super::inbox::Viewer;
use super::message::Kind;
use super::{MessagesRead, MessagesWrite};
use crate::prelude::*;
use crate::web::prelude::*;

/// Path of the inbox.
const INBOX: &str = "/messages";
const NEW: &str = "/messages/new";

/// A visitor who may read messages.
type MessageReader = Visitor<MessagesRead>;
/// A visitor who may send messages.
type MessageWriter = Visitor<MessagesWrite>;
/// A form of a visitor who may send messages.
type Submission = VisitorForm<MessagesWrite>;
/// The same with files.
type Upload = VisitorUpload<MessagesWrite>;

/// Confirmations of completed actions.
const DONE: [(&str, &str); 8] = [
    ("sent", mark!("Your message was sent.")),
    ("scheduled", mark!("Your message is scheduled.")),
    ("replied", mark!("Your reply was sent.")),
    ("saved", mark!("Your changes were saved.")),
    ("pinned", mark!("The message is pinned.")),
    ("unpinned", mark!("The message is no longer pinned.")),
    ("retracted", mark!("The message was retracted.")),
    ("cancelled", mark!("The message will not be sent.")),
];

/// Routes of the pages.
pub fn router() -> Router<App> {
    Router::new()
        .route(INBOX, get(inbox::of_visitor))
        .route("/teams/{team}/messages", get(inbox::of_team))
        .route(NEW, get(compose::new).post(compose::submit))
        .route("/messages/new/recipients", post(recipients::count))
        .route("/messages/{message}", get(thread::show).post(thread::reply))
        .route("/messages/{message}/receipts", get(receipts::list))
        .route("/messages/{message}/pin", post(edit::pin))
        .route("/messages/{message}/edit", get(edit::form).post(edit::save))
        .route("/messages/{message}/send", post(edit::send_now))
        .route("/messages/{message}/retract", get(edit::confirm_retraction).post(edit::retract))
}

/// The visitor as the owner of an inbox.
async fn viewer<N: Permission>(visitor: &Visitor<N>) -> Result<Viewer> {
    let roster = visitor.roster_access().await?;
    let access =
        if visitor.is_admin() { TeamAccess::AllTeams } else { roster.team_access(N::MIN_LEVEL) };
    Ok(Viewer { user: visitor.visit.user, access, roster })
}

fn path(id: MessageId) -> String {
    format!("{INBOX}/{id}")
}

/// The icon of a kind of message.
fn kind_icon(kind: Kind) -> &'static str {
    match kind {
        Kind::Announcement => "megaphone",
        Kind::Message => "message-circle",
    }
}
