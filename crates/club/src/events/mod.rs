//! The schedule: events, locations, RSVPs, volunteer duties and calendar feeds.

pub mod answers;
pub mod api;
mod demo;
pub mod calendar;
pub mod conflicts;
pub mod duty;
pub mod contacts;
pub mod edit;
pub mod event;
pub mod event_messages;
pub mod feed;
pub mod personal_data;
mod person_merge;
pub mod history;
pub mod location;
pub mod ongoing;
pub mod pages;
pub mod reminders;
pub mod responses;
pub mod result;
mod rescheduling;
mod roster_changes;
pub mod rsvp;
pub mod rsvp_redaction;
pub mod rsvp_snapshot;
pub mod schedule;
pub mod undo;
pub mod volunteers;
pub mod event_time;
pub mod export;
pub mod rsvp_export;

use crate::ids::{EventKind, FeedKind, LocationKind, RsvpKind, SeriesKind};
use crate::personal_data::{PersonMerge, PersonalData};
use crate::rights::ScopeName;
use crate::signals::Reaction;
use crate::web::module::Module;

crate::permissions! {
    /// View schedules and RSVPs.
    EventsRead: Some(ScopeName::EventsRead), Family;
    /// View RSVP history and missing RSVPs, and export schedules.
    EventsOversee: Some(ScopeName::EventsRead), Staff;
    /// Create and update events, and add locations.
    EventsWrite: Some(ScopeName::EventsWrite), Staff;
    /// Answer RSVPs for yourself or your children, sign up for duties, and subscribe to calendars.
    EventsAnswer: Some(ScopeName::EventsWrite), Family;
    /// Update and archive locations, where several teams may have events.
    LocationsManage: Some(ScopeName::EventsWrite), Admin;
}

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: pages::router,
    permissions: PERMISSIONS,
    reactions: &[Reaction {
        kinds: &["roster.member_added", "roster.member_updated", "roster.member_removed"],
        run: roster_changes::react,
    }],
    personal_data: Some(PersonalData {
        section: "events",
        description: "RSVPs, duties and calendar feeds; `null` without `events:read`.",
        is_list: false,
        scope: Some(ScopeName::EventsRead),
        export: personal_data::export_person,
        erase: |tx, person| personal_data::erase_person(tx, person).map(|()| Vec::new()),
    }),
    merge_person: Some(PersonMerge {
        references: person_merge::REFERENCES,
        run: person_merge::run,
    }),
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Events"), Some(ScopeName::EventsRead), "TeamEvent" {
            "event.created": "An event was created.";
            "event.updated": "An event was changed.";
            "event.cancelled": "An event was cancelled.";
            "event.completed": "The result of a game was recorded: the game is over.";
            "event.deleted": "An event without RSVPs was deleted.";
            "result.recorded": "The result of a game was recorded or corrected, or its running score changed.";
            "result.deleted": "The result of a game was deleted. The game is scheduled again.";
        }
        mark!("Locations"), Some(ScopeName::EventsRead), "EventLocation" {
            "location.created": "A location was created.";
            "location.updated": "A location was changed.";
            "location.archived": "A location was archived.";
        }
        mark!("RSVPs"), Some(ScopeName::EventsRead), "RsvpSnapshot" {
            "rsvp.answered": "A member's RSVP to an event changed: they answered, moved up from the waiting list, left the team, or are away.";
        }
        mark!("Calendar feeds"), Some(ScopeName::EventsRead), "CalendarFeed" {
            "calendar_feed.created": "A calendar feed was created.";
            "calendar_feed.revoked": "A calendar feed was revoked.";
        }
    },
    object_names: crate::object_names! {
        EventKind: mark!("Event"),
            "select id, title from event where account_id = :account and id in (:ids)";
        SeriesKind: mark!("Series");
        RsvpKind: mark!("Answer");
        LocationKind: mark!("Location"),
            "select id, name from location where account_id = :account and id in (:ids)";
        FeedKind: mark!("Calendar"),
            "select id, name from calendar_feed where account_id = :account and id in (:ids)";
    },
    ..Module::EMPTY
};
