//! Emails to people: the outbox, daily summaries, emails to guardians, and the pages to choose or stop emails. [`crate::mailer`] sends them.

pub mod api;
pub mod guardian_notice;
pub mod email;
pub mod pending;
pub mod summary;
pub mod pages;

use serde_json::json;

use crate::ids::MailKind;
use crate::personal_data::{PersonMerge, PersonalData};
use crate::rights::ScopeName;
use crate::roster::{notification_settings, safeguarding};
use crate::web::module::Module;

crate::permissions! {
    /// View sent emails.
    OutboxRead: Some(ScopeName::MessagesRead), Admin;
    /// View your notification settings.
    NotificationSettingsRead: Some(ScopeName::MessagesRead), KnownPerson;
    /// Update your notification settings.
    NotificationSettingsWrite: Some(ScopeName::MessagesWrite), KnownPerson;
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
            notification_settings::delete_for_person(tx, person)?;
            Ok(Vec::new())
        },
    }),
    merge_person: Some(PersonMerge {
        references: &["mail.person_id", "mail.about"],
        run: |tx, records| email::move_to_person(tx, records.from, records.into),
    }),
    object_names: crate::object_names! {
        MailKind: mark!("Email");
    },
    ..Module::EMPTY
};
