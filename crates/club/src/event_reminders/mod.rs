//! Reminders of events that people have not answered: automatically, some hours before the deadline for answers, and
//! manually.

mod emails;
pub mod reminder;

use crate::events::reminders;
use crate::personal_data::PersonMerge;
use crate::signals::Reaction;
use crate::web::module::Module;

pub use reminder::{list_due, remind_unanswered, reminder_times, send_due};

/// This module.
pub const MODULE: Module = Module {
    register_hooks: || {
        reminders::REMIND_UNANSWERED.register(remind_unanswered);
        reminders::REMINDER_TIMES.register(reminder_times);
    },
    reactions: &[
        Reaction { kinds: &["event.updated"], run: reminder::cancel_outdated },
        Reaction { kinds: &["rsvp.answered"], run: reminder::cancel_answered },
    ],
    merge_person: Some(PersonMerge {
        references: &["event_reminder.person_id"],
        run: reminder::merge_person,
    }),
    ..Module::EMPTY
};
