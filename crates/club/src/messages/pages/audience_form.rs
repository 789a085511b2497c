//! The fields for the audience of a message, and what can be chosen in them.

use std::collections::BTreeSet;

use crate::events::event::{self, EventFilter};
use crate::i18n::{Locale, format};
use crate::messages::audience::{Audience, AudienceKind};
use crate::messages::people;
use crate::prelude::*;
use crate::roster::membership::Role;
use crate::teams::team;
use crate::web::form::{Field, FilledForm, Form};

/// Maximum number of events to choose from.
const MAX_EVENTS: i64 = 15;

pub(super) const AUDIENCE: Field =
    Field::radio("audience", "Who gets it", &[]).default("all").page_only();
pub(super) const MEMBERS: Field = Field::checks("member_ids", "People", &[])
    .required("Choose at least one person.")
    .when("audience", &["members"])
    .page_only();
pub(super) const UNANSWERED: Field = Field::select("unanswered_event", "Event", &[])
    .required("Choose an event.")
    .when("audience", &["unanswered"])
    .page_only();
pub(super) const PINNED: Field =
    Field::check("pinned", "Pin this message", "It stays above the other messages.");

/// The people and events of a team to choose from.
#[derive(Debug, Default, Clone)]
pub(super) struct AudienceChoices {
    /// Members with their names and roles.
    members: Vec<(MemberId, String, &'static str)>,
    events: Vec<(EventId, String)>,
}

impl AudienceChoices {
    pub(super) fn load(db: &Reader<'_>, access: &TeamAccess, team: TeamId) -> Result<Self> {
        access.check(team)?;
        let mut members = people::team_members(db, team)?;
        members.retain(|member| member.present);
        let names = people::names(db, members.iter().map(|one| one.person_id).collect())?;
        let choices = members.into_iter().filter_map(|member| {
            let name = names.get(&member.person_id)?.clone();
            Some((member.role == Role::Player, name, member))
        });
        let mut choices: Vec<_> = choices.collect();
        choices.sort_by(|a, b| (a.0, &a.1, a.2.id).cmp(&(b.0, &b.1, b.2.id)));
        let members =
            choices.into_iter().map(|(_, name, member)| (member.id, name, member.role.label()));
        let members = members.collect();
        if !access.has_full_access(team) {
            return Ok(Self { members, events: Vec::new() });
        }
        let filter = EventFilter {
            team_id: Some(team),
            from: Some(db.now()),
            status: Some(event::Status::Scheduled),
            ..EventFilter::default()
        };
        let page = Page { limit: MAX_EVENTS - 1, order: Order::Asc, last: None };
        let zone = team::find(db, team)?.timezone;
        let events = event::list(db, access, &filter, &page)?.into_iter().map(|view| view.event);
        let events = events.filter(|event| event.rsvp_enabled).map(|event| {
            let day = zone.day(event.starts_at);
            let day = format::day_with_weekday(Locale::current_or_english(), day);
            (event.id, t!("{event}, {day}", event = event.shown_title(), day))
        });
        Ok(Self { members, events: events.collect() })
    }

    /// The form with these choices. Without members, as for several teams at once, people cannot be chosen one by one.
    pub(super) fn add_to(&self, form: FilledForm) -> FilledForm {
        let mut groups = vec![
            (
                AudienceKind::All,
                t!("Everybody on the team"),
                t!("Players, their guardians and staff."),
            ),
            (AudienceKind::Guardians, t!("Parents and guardians"), ""),
            (AudienceKind::Players, t!("Players"), t!("A guardian of each child gets it too.")),
            (AudienceKind::Staff, t!("Coaches and staff"), ""),
        ];
        if !self.members.is_empty() {
            groups.push((AudienceKind::Members, t!("People you choose"), ""));
        }
        if !self.events.is_empty() {
            groups.push((
                AudienceKind::Unanswered,
                t!("People who have not answered an event"),
                "",
            ));
        }
        let own = |(kind, label, about): (AudienceKind, &str, &str)| {
            (kind, label.to_owned(), about.to_owned())
        };
        let members =
            self.members.iter().map(|(id, name, role)| (*id, name.clone(), (*role).to_owned()));
        let events = self.events.iter().map(|(id, label)| (*id, label.clone()));
        form.explained_options("audience", groups.into_iter().map(own))
            .explained_options("member_ids", members)
            .options("unanswered_event", events)
    }

    /// Drops the members of another team, which was chosen before.
    pub(super) fn retain_members(&self, form: &Form) -> Form {
        let known: BTreeSet<_> = self.members.iter().map(|(id, ..)| id.to_string()).collect();
        let chosen = form.get_all("member_ids").into_iter().map(str::to_owned);
        let chosen: Vec<_> = chosen.filter(|id| known.contains(id)).collect();
        let mut form = form.clone();
        form.set("member_ids", chosen);
        form
    }
}

/// The audience as the body of a request has it.
pub(super) fn audience(form: &FilledForm) -> Value {
    let to = form.text("audience");
    match to {
        "members" => json!({ "to": to, "member_ids": form.all("member_ids") }),
        "unanswered" => match form.text("unanswered_event") {
            "" => json!({ "to": to }),
            event => json!({ "to": to, "event_id": event }),
        },
        _ => json!({ "to": to }),
    }
}

/// Fills in an audience.
pub(super) fn fill(form: FilledForm, audience: &Audience) -> FilledForm {
    let ids = audience.member_ids.iter().flatten().map(ToString::to_string);
    let form = form.with("audience", audience.to.as_str()).with_all("member_ids", ids);
    match audience.event_id {
        Some(event) => form.with("unanswered_event", event.to_string()),
        None => form,
    }
}
