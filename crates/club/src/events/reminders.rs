//! What the pages of events need from `event_reminders`, which depends on emails and messages and so comes after them.

use crate::hook::Hook;
use crate::prelude::*;

use super::event::Event;

type RemindUnanswered = fn(&Tx<'_>, &TeamAccess, EventId, &str) -> Result<ReminderSummary>;

/// Emails everybody who has not answered an event now. Gets the address of the event's page.
pub static REMIND_UNANSWERED: Hook<RemindUnanswered> = Hook::new("reminders::REMIND_UNANSWERED");
/// When reminders about an event were sent and will be sent.
pub static REMINDER_TIMES: Hook<fn(&Reader<'_>, &Event) -> Result<ReminderTimes>> =
    Hook::new("reminders::REMINDER_TIMES");

/// The result of a manual reminder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReminderSummary {
    /// Members without an answer whose reminder was queued, to them or to their guardians.
    pub reminded: i64,
    /// The emails that were queued. One email covers all members that its recipient answers for.
    pub emails: i64,
    /// Members without an answer who were reminded within the last hour, and were left out.
    pub recent: i64,
    /// Members without an answer whom no email reaches: there is no address, or the recipients have opted out.
    pub unreachable: i64,
}

/// When reminders about an event were sent and will be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReminderTimes {
    /// When the last reminder was sent, manually or automatically.
    pub last: Option<Timestamp>,
    /// When the automatic reminder will be sent. `None` if the team has turned it off, it was sent, or the event takes no
    /// answers.
    pub next: Option<Timestamp>,
}
