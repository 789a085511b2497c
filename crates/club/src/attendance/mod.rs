//! Attendance: who was at an event. Coaches record it; families see their own.

pub mod api;
mod demo;
pub mod export;
pub mod lines;
pub mod pages;
pub mod personal_data;
pub mod rates;
pub mod sheet;

use crate::events::edit;
use crate::personal_data::{PersonMerge, PersonalData};
use crate::rights::ScopeName;
use crate::roster::attendance_summary;
use crate::web::module::Module;

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    register_hooks: || {
        edit::BEFORE_DELETE.register(sheet::check_deletable);
        attendance_summary::FIND_ATTENDANCE.register(rates::summary);
    },
    personal_data: Some(PersonalData {
        section: "attendance",
        description: "Attendance at events; `null` without `events:read`.",
        is_list: true,
        scope: Some(ScopeName::EventsRead),
        export: personal_data::export_person,
        erase: |tx, person| personal_data::erase_person(tx, person).map(|()| Vec::new()),
    }),
    merge_person: Some(PersonMerge {
        references: &["attendance.member_id"],
        run: personal_data::merge_person,
    }),
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Attendance"), Some(ScopeName::EventsRead), "AttendanceSnapshot" {
            "attendance.recorded": "The attendance of an event was recorded or changed.";
        }
    },
    ..Module::EMPTY
};
