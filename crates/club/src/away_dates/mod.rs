//! Away dates: days on which a person is away. The events of their teams on these days are answered with no, unless the
//! person has answered.

mod answers;
pub mod api;
pub mod away_date;
mod demo;
pub mod pages;
pub mod personal_data;

use crate::personal_data::{PersonMerge, PersonalData};
use crate::rights::ScopeName;
use crate::signals::Reaction;
use crate::web::module::Module;

crate::ids! {
    /// Days on which a person is away.
    AwayDateId = AwayDateKind "awy";
}

crate::permissions! {
    /// View the away dates of yourself, your children, or the members of your teams.
    AwayDatesRead: Some(ScopeName::RosterRead), Family;
    /// Add and delete away dates of yourself, your children, or the members of your teams.
    AwayDatesWrite: Some(ScopeName::RosterWrite), Family;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    permissions: PERMISSIONS,
    reactions: &[
        Reaction { kinds: &["event.created", "event.updated"], run: answers::event_changed },
        Reaction {
            kinds: &["roster.member_added", "roster.member_updated"],
            run: answers::member_changed,
        },
        Reaction { kinds: &["team.restored"], run: answers::team_restored },
    ],
    personal_data: Some(PersonalData {
        section: "away_dates",
        description: "Days on which the person is or was away.",
        is_list: true,
        scope: None,
        export: personal_data::export_person,
        erase: |tx, person| personal_data::erase_person(tx, person).map(|()| Vec::new()),
    }),
    merge_person: Some(PersonMerge {
        references: &["away_date.person_id"],
        run: personal_data::merge_person,
    }),
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Away dates"), Some(ScopeName::RosterRead), "AwayDateSnapshot" {
            "away_date.created": "Away dates of a person were added.";
            "away_date.deleted": "Away dates of a person were deleted.";
        }
    },
    object_names: crate::object_names! {
        AwayDateKind: mark!("Away date");
    },
    ..Module::EMPTY
};
