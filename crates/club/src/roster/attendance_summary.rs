//! What the page of a member needs from `attendance`, which comes after it.

use crate::hook::Hook;
use crate::prelude::*;

/// Loads the attendance of a member at the events of the team.
pub static FIND_ATTENDANCE: Hook<fn(&Reader<'_>, MemberId) -> Result<AttendanceSummary>> =
    Hook::new("attendance_summary::FIND_ATTENDANCE");

/// At how many events a member was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttendanceSummary {
    /// Events where the member was there, on time or late.
    pub there: i64,
    pub late: i64,
    pub excused: i64,
    pub absent: i64,
    /// Events with a record.
    pub total: i64,
}

impl AttendanceSummary {
    /// The other numbers in words.
    pub fn details(&self) -> String {
        let Self { late, excused, absent, .. } = *self;
        t!("{late} late · {excused} excused · {absent} absent", late, excused, absent)
    }
}
