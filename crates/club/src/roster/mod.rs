//! The roster: people, their memberships in teams, and their guardians.
//!
//! An account has one record per person. A member is a person on one team. Guardians are people too: siblings share
//! them, and a coach may be one. Private data of a person is included in single objects, in lists only on request, and
//! never in notifications.

pub mod api;
pub mod demo;
pub mod pages;
pub mod person;
pub mod photo;
pub mod profile;
pub mod email_confirmation;
pub mod guardian;
pub mod membership;
pub mod access;
pub mod attendance_summary;
pub mod guards;
pub mod safeguarding;
pub mod confirmations;
pub mod member;
pub mod new_members;
pub mod moving;
pub mod spreadsheet;
pub mod linking;
pub mod enrollment;
pub mod private_data;
pub mod duplicates;
pub mod directory;
pub mod merge;
mod merged_guardians;
pub mod erasure;
mod version_cascade;
pub mod export;
pub mod notification_settings;
pub mod preferences;

use crate::files::file;
use crate::ids::{MemberKind, PersonKind};
use crate::personal_data::PersonMerge;
use crate::rights::ScopeName;
use crate::teams::team;
use crate::web::admission;
use crate::web::module::Module;

crate::permissions! {
    /// View a team's roster.
    RosterRead: Some(ScopeName::RosterRead), Family;
    /// View people across teams, and export rosters.
    PeopleRead: Some(ScopeName::RosterRead), Staff;
    /// Add, update and remove roster members.
    RosterWrite: Some(ScopeName::RosterWrite), Staff;
    /// Set the photo of a person.
    PhotosWrite: Some(ScopeName::RosterWrite), Family;
    /// Confirm that people are adults.
    AdultsConfirm: Some(ScopeName::RosterWrite), Admin;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: || pages::router().merge(photo::pages::router()),
    permissions: PERMISSIONS,
    register_hooks: || {
        team::ON_BECAME_ADULT.register(safeguarding::record_adult_team);
        file::CAN_SEE_PHOTO.register(photo::can_see);
        admission::LOAD_ROSTER_ACCESS.register(access::for_user);
    },
    // `privacy::merge` merges the records themselves after all other modules.
    merge_person: Some(PersonMerge { references: merge::REFERENCES, run: |_, _| Ok(()) }),
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Rosters and people"), Some(ScopeName::RosterRead), "MemberSnapshot" {
            "roster.member_added": "A member was added to a team.";
            "roster.member_updated": "A member's data on a team's roster was changed.";
            "roster.member_removed": "A member was removed from a team.";
        }
        mark!("Rosters and people"), Some(ScopeName::RosterRead), "PersonSnapshot" {
            "roster.person_updated": "A person's data was changed.";
        }
        mark!("Rosters and people"), Some(ScopeName::RosterRead), "PersonMergeSnapshot" {
            "roster.person_merged": "Two records of a person were merged: all data of the first one now belongs to the second one.";
        }
    },
    object_names: crate::object_names! {
        PersonKind: mark!("Person"),
            "select id, coalesce(preferred_name, first_name) || coalesce(' ' || last_name, '') as name
             from person where account_id = :account and id in (:ids)";
        MemberKind: mark!("Member"),
            "select m.id,
                    coalesce(p.preferred_name, p.first_name) || coalesce(' ' || p.last_name, '') as name
             from member m join person p on p.account_id = m.account_id and p.id = m.person_id
             where m.account_id = :account and m.id in (:ids)";
    },
    ..Module::EMPTY
};
