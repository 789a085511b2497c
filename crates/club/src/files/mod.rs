//! Uploaded files: attachments of messages, logos of teams and photos of people.
//!
//! A file is uploaded first, and then attached to a message, a team or a person. Until then only its uploader sees it;
//! afterwards everybody who sees the object that shows it. Images are stored without metadata. A file that is not attached
//! within a day is deleted, and so is one that was replaced.

pub mod api;
pub mod attaching;
pub mod file;
pub mod inventory;
pub mod pages;
pub mod personal_data;
pub mod removal;

use crate::personal_data::PersonalData;
use crate::rights::ScopeName;
use crate::web::module::Module;

crate::permissions! {
    /// View files. Attachments need `messages:read`, logos `teams:read` and photos `roster:read`.
    FilesRead: None, Family;
    /// Upload files. Attachments need `messages:write`, logos `teams:write` and photos `roster:write`.
    FilesWrite: None, Family;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    permissions: PERMISSIONS,
    personal_data: Some(PersonalData {
        section: "files",
        description: "The person's photo; `null` without `roster:read`.",
        is_list: true,
        scope: Some(ScopeName::RosterRead),
        export: personal_data::export_person,
        erase: personal_data::erase_person,
    }),
    ..Module::EMPTY
};
