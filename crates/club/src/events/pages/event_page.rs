//! `/events/{event}`: everything about one event.

use std::collections::BTreeMap;

use super::answer::{self, RejectedAnswer};
use super::display::{EventText, TeamNames, kind_label, last_day};
use super::load_access;
use super::map_link::MapLinks;
use super::other_club;
use crate::accounts::account;
use crate::accounts::roster_access::RosterAccess;
use crate::events::EventsRead;
use crate::events::answers::AnswerBlock;
use crate::events::conflicts::{self, ConflictType};
use crate::events::contacts::{self, Contact, UnansweredContacts};
use crate::events::event::{self, EventView, Status};
use crate::events::event_messages::{EventMessages, FIND_MESSAGES};
use crate::events::reminders::{REMINDER_TIMES, ReminderTimes};
use crate::events::responses::{self, Response};
use crate::events::result;
use crate::events::rsvp::{self, Answer};
use crate::i18n::{Locale, format};
use crate::names::Names;
use crate::prelude::*;
use crate::web::prelude::*;
use crate::web::visitor::{PageError, url_encode};

/// The number of messages on the page.
const MESSAGES: usize = 3;
/// Attendance can be taken from this long before the start.
const ATTENDANCE_SECONDS: i64 = 86_400;

pub(super) fn router() -> Router<App> {
    Router::new().route("/events/{event}", get(show))
}

/// A duty as the page shows it.
struct DutyRow {
    id: DutyId,
    name: String,
    slots: i64,
    taken: usize,
    /// The names of those who have taken it.
    names: String,
    /// Whether the visitor has taken it.
    is_mine: bool,
    /// Whether the visitor can take it or give it up.
    can_change: bool,
}

/// Another event at the same time.
struct ConflictRow {
    text: &'static str,
    /// Path and title of the other event, if the visitor can see it.
    other: Option<(String, String)>,
}

/// The result of a form on the page.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) flash: Option<Flash>,
    pub(super) rejected: Option<RejectedAnswer>,
    pub(super) status: StatusCode,
}

/// What the page shows besides the layout.
struct EventPageData {
    view: EventView,
    text: EventText,
    block: AnswerBlock,
    responses: Vec<Response>,
    unanswered: Vec<UnansweredContacts>,
    duties: Vec<DutyRow>,
    messages: EventMessages,
    reminders: ReminderTimes,
    conflicts: Vec<ConflictRow>,
    zone: Zone,
    now: Timestamp,
    is_staff: bool,
    /// The person who takes duties for the visitor.
    volunteer: Option<PersonId>,
}

#[derive(Template)]
#[template(path = "events/event.html")]
struct EventPage {
    frame: Frame,
    data: EventPageData,
    rejected: Option<RejectedAnswer>,
    path: String,
}

async fn show(visitor: Visitor<EventsRead>, PathParams(id): PathParams<EventId>) -> PageResult {
    let flash = super::remind::flash(&visitor)?.or_else(|| visitor.guest.done_flash(super::DONE));
    match respond(&visitor, id, Outcome { flash, ..Outcome::default() }).await {
        Err(PageError::Error(error)) if error.code == Code::NotFound => {
            other_club::offer(&visitor, id).await
        }
        page => page,
    }
}

/// The page with an answer that was not accepted.
pub(super) async fn show_rejected<N: Permission>(
    visitor: &Visitor<N>,
    id: EventId,
    rejected: RejectedAnswer,
) -> PageResult {
    let (access, missing) = (load_access(visitor).await?.0, rejected.clone());
    match visitor.read(move |db| event::find(db, &access, id)).await {
        Err(error) if error.code == Code::NotFound => answer::former_member_page(visitor, &missing),
        _ => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            respond(visitor, id, Outcome { rejected: Some(rejected), status, flash: None }).await
        }
    }
}

/// The page with an error of one of its forms.
pub(super) async fn show_failure<N: Permission>(
    visitor: &Visitor<N>,
    id: EventId,
    error: &Error,
) -> PageResult {
    let flash = Some(Flash::failure(error.detail.to_string()));
    respond(visitor, id, Outcome { flash, rejected: None, status: error.code.status() }).await
}

async fn respond<N: Permission>(visitor: &Visitor<N>, id: EventId, outcome: Outcome) -> PageResult {
    let (access, roster_access) = load_access(visitor).await?;
    let nav = visitor.nav.clone();
    let read = move |db: &Reader<'_>| {
        let view = event::view(db, event::find(db, &access, id)?)?;
        let teams = TeamNames::load(db, &nav, [view.event.team_id])?;
        load(db, &access, &roster_access, view, &teams)
    };
    let data = visitor.read(read).await?;
    let frame = visitor.frame(data.text.title.clone(), Section::Schedule);
    let frame = frame.team(data.view.event.team_id).flash(outcome.flash);
    let path = format!("/events/{id}");
    render(outcome.status, &EventPage { frame, data, rejected: outcome.rejected, path })
}

fn load(
    db: &Reader<'_>,
    access: &TeamAccess,
    roster_access: &RosterAccess,
    view: EventView,
    teams: &TeamNames,
) -> Result<EventPageData> {
    let event = &view.event;
    let is_staff = access.has_full_access(event.team_id);
    let mut blocks = AnswerBlock::load(db, roster_access, std::slice::from_ref(&view))?;
    let responses =
        if event.rsvp_enabled { responses::list(db, access, event)? } else { Vec::new() };
    let is_open = rsvp::closed_reason(event, db.now()).is_none();
    let unanswered =
        if is_staff && is_open { contacts::of_unanswered(db, &responses)? } else { Vec::new() };
    let volunteer = volunteer(roster_access, event.team_id);
    let messages = FIND_MESSAGES.get()?(db, access, roster_access, event.id, MESSAGES)?;
    let reminders =
        if is_staff { REMINDER_TIMES.get()?(db, event)? } else { ReminderTimes::default() };
    Ok(EventPageData {
        block: blocks.remove(0),
        text: EventText::new(&view, teams),
        duties: duties(db, &view, &responses, volunteer, is_staff)?,
        messages,
        reminders,
        conflicts: if is_staff { load_conflicts(db, access, &view)? } else { Vec::new() },
        zone: account::find(db)?.timezone,
        now: db.now(),
        responses,
        unanswered,
        is_staff,
        volunteer,
        view,
    })
}

/// The person who takes duties for the visitor: the visitor, if they or their dependents are on the team.
fn volunteer(roster_access: &RosterAccess, team: TeamId) -> Option<PersonId> {
    let on_team = roster_access.memberships.iter().filter(|one| one.team_id == team);
    let people: Vec<_> = on_team.map(|one| one.person_id).collect();
    let own = &roster_access.own_person_ids;
    let member = own.iter().find(|person| people.contains(person));
    member.or_else(|| own.first().filter(|_| !people.is_empty())).copied()
}

/// The duties with names. Families see the first names of people who are not on the team.
fn duties(
    db: &Reader<'_>,
    view: &EventView,
    responses: &[Response],
    volunteer: Option<PersonId>,
    is_staff: bool,
) -> Result<Vec<DutyRow>> {
    let event = &view.event;
    let people: Vec<_> = event.duties.assignees().iter().map(ToString::to_string).collect();
    let names = Names::load(db, people.iter().map(String::as_str))?;
    let on_team: BTreeMap<_, _> = responses.iter().map(|one| (one.person_id, one.name())).collect();
    let name = |id: &PersonId| {
        let full = names.get(&id.to_string()).unwrap_or_default();
        let first = || full.split_whitespace().next().unwrap_or_default().to_owned();
        if is_staff { full.to_owned() } else { on_team.get(id).cloned().unwrap_or_else(first) }
    };
    let is_open = event.status != Status::Cancelled && !event.is_over(db.now());
    let row = |duty: &crate::events::duty::Duty| {
        let is_mine = volunteer.is_some_and(|person| duty.assignees.contains(&person));
        let is_free = usize::try_from(duty.slots).is_ok_and(|slots| duty.assignees.len() < slots);
        let locale = Locale::current_or_english();
        DutyRow {
            id: duty.id,
            name: duty.name.clone(),
            slots: duty.slots,
            taken: duty.assignees.len(),
            names: format::list(locale, duty.assignees.iter().map(name)),
            is_mine,
            can_change: is_open && volunteer.is_some() && (is_mine || is_free),
        }
    };
    Ok(event.duties.0.iter().map(row).collect())
}

/// Other events at the same time, for staff.
fn load_conflicts(
    db: &Reader<'_>,
    access: &TeamAccess,
    view: &EventView,
) -> Result<Vec<ConflictRow>> {
    let event = &view.event;
    if event.status != Status::Scheduled || event.is_over(db.now()) {
        return Ok(Vec::new());
    }
    let warnings = conflicts::find_overlaps(db, access, std::slice::from_ref(event))?;
    let others = warnings.iter().filter_map(|warning| warning.other_event_id);
    let others: Vec<_> = others.map(|id| id.to_string()).collect();
    let titles = Names::load(db, others.iter().map(String::as_str))?;
    let row = |warning: &conflicts::Warning| ConflictRow {
        text: match warning.conflict_types.first() {
            Some(ConflictType::Team) => t!("The team has another event at this time."),
            Some(ConflictType::Location) => t!("The place is used for another event at this time."),
            _ => t!("Somebody on the team must also be at another event at this time."),
        },
        other: warning.other_event_id.map(|id| {
            let title = titles.get(&id.to_string()).unwrap_or_default().to_owned();
            (format!("/events/{id}"), title)
        }),
    };
    Ok(warnings.iter().map(row).collect())
}

impl EventPageData {
    /// The type and the day: `Game · Saturday 16 May`.
    fn headline(&self) -> String {
        let (locale, event) = (Locale::current_or_english(), &self.view.event);
        let (first, last) = (self.view.starts_local.day(), last_day(&self.view));
        let today = self.zone.day(self.now);
        let text = |day: Day| {
            if day.year() == today.year() {
                format::long_day(locale, day)
            } else {
                format::day_with_weekday(locale, day)
            }
        };
        let days = if last > first {
            t!("{first} to {last}", first = text(first), last = text(last))
        } else {
            text(first)
        };
        format!("{} · {days}", kind_label(event.kind))
    }

    /// Labels and times: when to be there, the start and the end. Empty for whole days.
    fn times(&self) -> Vec<(&'static str, String)> {
        let (locale, event) = (Locale::current_or_english(), &self.view.event);
        if event.all_day {
            return Vec::new();
        }
        let time = |moment: Timestamp| format::time(locale, event.timezone.local(moment));
        let early = event.arrival_minutes.filter(|minutes| *minutes > 0).and_then(|minutes| {
            let seconds = u64::try_from(minutes).ok()? * 60;
            Some(event.starts_at.minus(std::time::Duration::from_secs(seconds)))
        });
        let arrival = early.map(|moment| (t!("Arrive by"), time(moment)));
        let start = (t!("Starts"), time(event.starts_at));
        let end = (t!("Ends"), time(event.ends_at));
        arrival.into_iter().chain([start, end]).collect()
    }

    /// The time zone, if it is not that of the club.
    fn other_zone(&self) -> Option<&str> {
        let zone = &self.view.event.timezone;
        (*zone != self.zone && !self.view.event.all_day).then(|| zone.name())
    }

    /// Links to the place on a map.
    fn map_links(&self) -> Option<MapLinks> {
        MapLinks::new(self.view.location.as_ref()?)
    }

    /// Home, away or neutral ground.
    fn home_away_label(&self) -> &'static str {
        match self.view.event.home_away {
            Some(event::HomeAway::Home) => t!("Home game"),
            Some(event::HomeAway::Away) => t!("Away game"),
            Some(event::HomeAway::Neutral) => t!("On neutral ground"),
            None => "",
        }
    }

    fn with(&self, answer: Answer) -> Vec<&Response> {
        self.responses.iter().filter(|one| one.answer == Some(answer)).collect()
    }

    /// The answers with their lists of names, except the waiting list and those who have not answered.
    fn people_by_answer(&self) -> Vec<(&'static str, Vec<&Response>)> {
        let lists = [
            (t!("Can’t go"), self.with(Answer::No)),
            (t!("Maybe"), self.with(Answer::Maybe)),
            (t!("Going"), self.with(Answer::Yes)),
        ];
        lists.into_iter().filter(|(_, list)| !list.is_empty()).collect()
    }

    /// The number of members who are asked.
    fn asked_count(&self) -> i64 {
        self.view.event.asked_count
    }

    fn can_answer(&self) -> bool {
        self.block.closed.is_none()
    }

    fn is_upcoming(&self) -> bool {
        !self.view.event.is_over(self.now)
    }

    /// Whether attendance can be taken.
    fn takes_attendance(&self) -> bool {
        let event = &self.view.event;
        let is_planned = matches!(event.status, Status::Scheduled | Status::Completed);
        is_planned && event.starts_at.seconds() - self.now.seconds() < ATTENDANCE_SECONDS
    }

    /// Whether the result can be entered: from a day before the game.
    fn takes_result(&self) -> bool {
        result::check_recordable(&self.view.event, self.now).is_ok()
    }

    /// Whether the game has begun and has no result yet.
    fn wants_result(&self) -> bool {
        let event = &self.view.event;
        self.takes_result() && event.result.is_none() && event.starts_at <= self.now
    }

    fn can_be_postponed(&self) -> bool {
        self.view.event.status == Status::Scheduled && self.can_be_cancelled()
    }

    fn can_be_edited(&self) -> bool {
        self.view.event.status != Status::Cancelled && self.is_upcoming()
    }

    fn can_be_cancelled(&self) -> bool {
        self.can_be_edited() && self.view.event.result.is_none()
    }

    /// Whether the event can be deleted: nobody has answered, so nobody misses it.
    fn can_be_deleted(&self) -> bool {
        let counts = self.view.rsvp_counts;
        let answered = counts.yes + counts.no + counts.maybe + counts.waitlisted;
        answered == 0 && self.can_be_cancelled()
    }

    /// The time until which answers are accepted.
    fn deadline(&self) -> Option<String> {
        let event = &self.view.event;
        let deadline = event.rsvp_deadline.filter(|_| self.can_answer())?;
        let local = event.timezone.local(deadline);
        Some(format::appointment(Locale::current_or_english(), local))
    }
}

impl Contact {
    /// The link to call, or else to write an email, with the icon.
    pub(super) fn link(&self) -> Option<(String, &'static str)> {
        if let Some(phone) = &self.phone {
            let number: String =
                phone.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
            return Some((format!("tel:{number}"), "phone"));
        }
        let address = url_encode(self.email.as_ref()?).replace("%40", "@").replace('+', "%20");
        Some((format!("mailto:{address}"), "mail"))
    }
}

/// The names of people in one line.
fn names(people: &[&Response]) -> String {
    format::list(Locale::current_or_english(), people.iter().map(|one| one.name()))
}
