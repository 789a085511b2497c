//! Emails about events that were cancelled, postponed or moved.

pub mod notice;

use crate::events::edit;
use crate::mail::email;
use crate::signals::Reaction;
use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module {
    register_hooks: || {
        edit::ON_CHANGED.register(notice::send);
        edit::FIND_NOTIFIED.register(notice::recipient_names);
    },
    reactions: &[Reaction {
        kinds: &["event.deleted"],
        run: |tx, event| email::cancel(tx, event).map(drop),
    }],
    ..Module::EMPTY
};
