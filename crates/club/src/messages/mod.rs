//! Announcements, conversations and read receipts.
//!
//! An announcement is one-way and also goes out by email. A message starts a conversation or replies in one. The
//! recipients are determined at publication and include the guardians of minors. A conversation with a minor has at
//! least two adults. A retracted message is kept, but its content is no longer shown.

pub mod api;
mod demo;
pub mod attachments;
pub mod audience;
pub mod recipients;
pub mod conversation;
pub mod editing;
pub mod inbox;
mod person_merge;
pub mod personal_data;
pub mod listing;
pub mod markdown;
pub mod menu;
pub mod message;
pub mod pages;
pub mod people;
pub mod emails;
pub mod posting;
pub mod preview;
pub mod receipt;
pub mod safety;

use crate::events::event_messages;
use crate::files::file;
use crate::ids::MessageKind;
use crate::personal_data::{PersonMerge, PersonalData};
use crate::rights::ScopeName;
use crate::roster::person;
use crate::web::module::Module;
use crate::web::nav::LOAD_NAV;

crate::permissions! {
    /// Read messages.
    MessagesRead: Some(ScopeName::MessagesRead), Family;
    /// Send messages.
    MessagesWrite: Some(ScopeName::MessagesWrite), Family;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    permissions: PERMISSIONS,
    // A message shows the name of its author.
    register_hooks: || {
        person::ON_RENAMED.register(message::bump_versions_of_author);
        LOAD_NAV.register(pages::nav::load);
        event_messages::FIND_MESSAGES.register(inbox::of_event);
        file::CAN_SEE_ATTACHMENTS.register(message::can_see_attachments);
    },
    personal_data: Some(PersonalData {
        section: "messages",
        description: "Messages sent, received and read; `null` without `messages:read`.",
        is_list: false,
        scope: Some(ScopeName::MessagesRead),
        export: personal_data::export_person,
        erase: personal_data::erase_person,
    }),
    merge_person: Some(PersonMerge {
        references: person_merge::REFERENCES,
        run: person_merge::run,
    }),
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Messages"), Some(ScopeName::MessagesRead), "Message" {
            "message.posted": "A message or announcement was posted.";
            "message.scheduled": "A message was scheduled to be posted later.";
            "message.updated": "A scheduled message was changed, or a published message was pinned, unpinned or given new metadata.";
            "message.retracted": "A message was retracted.";
        }
        mark!("Messages"), Some(ScopeName::MessagesRead), "ReceiptSnapshot" {
            "message.read": "A recipient read a message.";
        }
    },
    object_names: crate::object_names! {
        MessageKind: mark!("Message"),
            "select id, subject from message where account_id = :account and id in (:ids)";
    },
    ..Module::EMPTY
};
