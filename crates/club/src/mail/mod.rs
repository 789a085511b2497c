//! Emails to people: the outbox, emails to guardians, and unsubscribing. [`crate::mailer`] sends them.

pub mod api;
pub mod guardian_notice;
pub mod email;
pub mod pages;

use serde_json::json;

use crate::personal_data::PersonalData;
use crate::rights::ScopeName;
use crate::roster::safeguarding;
use crate::web::module::Module;

crate::permissions! {
    /// View sent emails.
    OutboxRead: Some(ScopeName::MessagesRead), Admin;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    permissions: PERMISSIONS,
    register_hooks: || {
        safeguarding::ON_PROTECTION_CHANGED.register(guardian_notice::send);
        safeguarding::ON_ADDRESS_REPLACED.register(guardian_notice::send_to_replaced_address);
    },
    personal_data: Some(PersonalData {
        section: "emails",
        description: "Emails sent to the person or queued; `null` without `messages:read`.",
        is_list: true,
        scope: Some(ScopeName::MessagesRead),
        export: |db, person| Ok(json!(email::list_to_person(db, person)?)),
        erase: |tx, person| {
            email::erase_person(tx, person)?;
            email::erase_about(tx, &person.to_string())?;
            Ok(Vec::new())
        },
    }),
    ..Module::EMPTY
};
