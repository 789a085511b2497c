//! The messages about an event, as its page shows them. The module `messages`, which depends on this one, provides them.

use crate::accounts::roster_access::RosterAccess;
use crate::hook::Hook;
use crate::prelude::*;

/// A message about an event.
#[derive(Debug, Clone)]
pub struct EventMessage {
    pub id: MessageId,
    /// The subject of an announcement.
    pub subject: Option<String>,
    /// The body as sanitized HTML; `None` if the message was retracted.
    pub body_html: Option<String>,
    /// The name of the author; `None` if the club sent the message.
    pub author: Option<String>,
    pub published_at: Timestamp,
    /// Whether the reader has received and not read it.
    pub is_unread: bool,
}

impl EventMessage {
    /// The page of the message.
    pub fn href(&self) -> String {
        format!("/messages/{}", self.id)
    }
}

/// The messages about an event that a reader may see.
#[derive(Debug, Clone, Default)]
pub struct EventMessages {
    /// The latest messages, oldest first.
    pub latest: Vec<EventMessage>,
    /// The number of messages, at most 100.
    pub count: usize,
    pub unread: usize,
}

type FindMessages =
    fn(&Reader<'_>, &TeamAccess, &RosterAccess, EventId, usize) -> Result<EventMessages>;

/// Finds the latest messages about an event, with the access and the roster positions of the reader. The last argument
/// is the number of messages to return.
pub static FIND_MESSAGES: Hook<FindMessages> = Hook::new("event_messages::FIND_MESSAGES");
