//! Templates of messages: texts that a club sends again and again, such as the details of a match.
//!
//! Templates belong to the club. Admins manage them; coaches and managers read them to write a message.

pub mod api;
mod demo;
pub mod pages;
pub mod template;

use crate::ids::MessageTemplateKind;
use crate::rights::ScopeName;
use crate::web::module::Module;

crate::permissions! {
    /// View message templates.
    TemplatesRead: Some(ScopeName::MessagesRead), Staff;
    /// Create, update and delete message templates.
    TemplatesManage: Some(ScopeName::MessagesWrite), Admin;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    permissions: PERMISSIONS,
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Message templates"), Some(ScopeName::MessagesRead), "MessageTemplate" {
            "message_template.created": "A message template was created.";
            "message_template.updated": "A message template was changed.";
            "message_template.deleted": "A message template was deleted.";
        }
    },
    object_names: crate::object_names! {
        MessageTemplateKind: mark!("Message template"),
            "select id, name from message_template where account_id = :account and id in (:ids)";
    },
    ..Module::EMPTY
};
