//! `/`: Home, or the way to sign in.

use std::sync::Arc;

use http::HeaderMap;

use super::changes;
use super::data::{self, FirstSteps, HomeData};
use super::more;
use crate::dues::due::DueView;
use crate::events::EventsRead;
use crate::events::answers::AnswerBlock;
use crate::events::event::{Counts, EventView, Status};
use crate::events::pages::display::{self, EventText, TeamNames};
use crate::events::pages::remind;
use crate::i18n::{Locale, format};
use crate::messages::message::Message;
use crate::prelude::*;
use crate::signin::pages::start;
use crate::web::prelude::*;
use crate::web::team_look::TeamLook;
use crate::web::visitor::Guest;

/// The number of changes that are always shown. The user can open the others.
const MAX_OPEN_CHANGES: usize = 8;
/// The maximum number of forms among the events that need an answer, and on the page. An event without a form counts as
/// one. Parents of many teams find the other events in the schedule.
const MAX_OPEN_FORMS: usize = 10;
const MAX_FORMS: usize = 18;

/// A visitor who sees the schedules of their teams.
pub(super) type FamilyVisitor = Visitor<EventsRead>;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/", get(show))
        .route("/home/seen", post(confirm_changes))
        .merge(more::router())
}

/// A coming event: what a family answers, and what a coach counts.
struct Item {
    text: EventText,
    /// When people should be there, if that is earlier than the start.
    arrival: Option<String>,
    block: AnswerBlock,
    /// The counts for staff.
    counts: Option<Counts>,
}

impl Item {
    fn new(view: EventView, block: AnswerBlock, teams: &TeamNames, access: &TeamAccess) -> Self {
        let event = &view.event;
        let is_counted = access.has_full_access(event.team_id)
            && event.rsvp_enabled
            && event.status == Status::Scheduled;
        let early = event.arrival_minutes.filter(|minutes| *minutes > 0 && !event.all_day);
        let arrival = early.and_then(|minutes| view.starts_local.plus_seconds(-60 * minutes));
        Self {
            text: EventText::new(&view, teams),
            arrival: arrival.map(|at| format::time(Locale::current_or_english(), at)),
            counts: is_counted.then_some(view.rsvp_counts),
            block,
        }
    }

    /// Whether a coach can remind people who have not answered.
    fn can_remind(&self) -> bool {
        self.block.closed.is_none() && self.counts.as_ref().is_some_and(|c| c.unanswered > 0)
    }

    fn long_day(&self) -> String {
        format::long_day(Locale::current_or_english(), self.text.day)
    }
}

/// A change of an event that the user has not confirmed.
struct Change {
    text: EventText,
    /// When the event starts now. The former time of a postponed event.
    when: String,
    reason: Option<String>,
    /// The number of further events of the series with the same change.
    others: usize,
}

impl Change {
    fn is_postponed(&self) -> bool {
        self.text.status == Status::Postponed
    }

    /// The tone and the icon of the notice.
    fn look(&self) -> (&'static str, &'static str) {
        if self.text.is_off() { ("no", "triangle-alert") } else { ("may", "info") }
    }
}

/// Something to do at an event, or after it.
struct Task {
    name: String,
    event: String,
    href: String,
}

#[derive(Template)]
#[template(path = "home/home.html")]
struct HomePage {
    frame: Frame,
    lead: String,
    changes: Vec<Change>,
    /// The changes after the first ones.
    more_changes: Vec<Change>,
    /// The time until which the button confirms changes.
    changed_until: Option<Timestamp>,
    ask: Vec<Item>,
    coming: Vec<Item>,
    /// The number of other events that need an answer.
    more_to_answer: usize,
    announcements: Vec<(TeamLook, String, Message)>,
    has_more_announcements: bool,
    dues: Vec<DueView>,
    duties: Vec<Task>,
    attendance: Vec<Task>,
    claims: i64,
    steps: Option<FirstSteps>,
    card_payments: bool,
    /// Where a coach adds people: the form of their team, or the list if they have several.
    people: String,
}

impl HomePage {
    /// The number of changed events after the first changes.
    fn more_changed_events(&self) -> usize {
        self.more_changes.iter().map(|change| 1 + change.others).sum()
    }

    /// The label of the button that confirms all changes.
    fn confirm_label(&self) -> &'static str {
        if self.changes.len() > 1 { t!("Hide all changes") } else { t!("Got it") }
    }

    fn has_tasks(&self) -> bool {
        !(self.announcements.is_empty()
            && self.dues.is_empty()
            && self.duties.is_empty()
            && self.attendance.is_empty()
            && self.claims == 0)
    }
}

async fn show(guest: Guest, headers: HeaderMap) -> PageResult {
    let has_club = guest.visit.as_ref().is_some_and(|visit| !visit.pending && visit.role.is_some());
    if !has_club {
        return start::start(guest, headers).await;
    }
    let visitor = FamilyVisitor::from_guest(guest).await?;
    let (user, is_admin) = (visitor.visit.user, visitor.is_admin());
    let roster_access = visitor.roster_access().await?;
    let access = data::access(&roster_access, is_admin);
    let own_people = roster_access.own_person_ids.clone();
    let managed = roster_access.managed_team_ids.clone();
    let nav = Arc::clone(&visitor.nav);
    let read = move |db: &Reader<'_>| data::load(db, user, &roster_access, (is_admin, &nav));
    let data = visitor.read(read).await?;
    let joined = ("joined", mark!("Welcome. You have joined the club."));
    let flash = remind::flash(&visitor)?.or_else(|| visitor.guest.done_flash(&[joined]));
    let page = arrange(&visitor, data, &access, &own_people);
    let frame = page.frame.clone().flash(flash);
    let people = match managed[..] {
        [team] => format!("/teams/{team}/roster/new"),
        _ => "/teams/add-people".to_owned(),
    };
    render(StatusCode::OK, &HomePage { frame, people, ..page })
}

/// Sorts the data into what has to be done, what changed and what comes next.
fn arrange(
    visitor: &FamilyVisitor,
    data: HomeData,
    access: &TeamAccess,
    own_people: &[PersonId],
) -> HomePage {
    let now = visitor.app().clock.now();
    let teams = &data.teams;
    let duties = my_duties(teams, &data.duties, own_people);
    let attendance = data.attendance.iter().map(|view| missing_attendance(view, teams)).collect();
    let change = |group: &Vec<EventView>| {
        let view = group.first()?;
        Some(Change {
            text: EventText::new(view, teams),
            when: display::start(view),
            reason: view.event.cancel_reason.clone(),
            others: group.len() - 1,
        })
    };
    let mut changes: Vec<_> = data.changes.groups.iter().filter_map(change).collect();
    let change_count = changes.len();
    let more_changes = changes.split_off(change_count.min(MAX_OPEN_CHANGES));
    let items = data.events.into_iter().map(|(view, block)| Item::new(view, block, teams, access));
    let (mut ask, mut coming): (Vec<_>, Vec<_>) = items.partition(|item| item.block.needs_answer());
    let message =
        |message: Message| (teams.look(message.team_id), teams.name(message.team_id), message);
    let today = data.account.timezone.day(now);
    let today = format::long_day(Locale::current_or_english(), today);
    let wanted = ask.iter().map(|item| item.block.unanswered_count()).sum();
    let (more_to_answer, open) = truncate(&mut ask, MAX_OPEN_FORMS);
    truncate(&mut coming, MAX_FORMS - open.min(MAX_OPEN_FORMS));
    HomePage {
        frame: visitor.frame(today, Section::Home),
        lead: lead(wanted, change_count),
        changes,
        more_changes,
        changed_until: data.changes.until,
        ask,
        coming,
        more_to_answer,
        announcements: data.announcements.into_iter().map(message).collect(),
        has_more_announcements: data.has_more_announcements,
        dues: data.dues,
        duties,
        attendance,
        claims: data.claims,
        steps: data.steps,
        card_payments: visitor.app().cards.is_some(),
        people: String::new(),
    }
}

/// Keeps the first events whose forms fit into the page, but at least one. Returns the number of events that were left
/// out, and the number of forms that were kept.
fn truncate(items: &mut Vec<Item>, max_forms: usize) -> (usize, usize) {
    let (mut forms, mut kept) = (0, 0);
    for item in items.iter() {
        let more = forms + item.block.people.len().max(1);
        if kept > 0 && more > max_forms {
            break;
        }
        (forms, kept) = (more, kept + 1);
    }
    let left_out = items.len() - kept;
    items.truncate(kept);
    (left_out, forms)
}

/// One line below the date: how much there is to do.
fn lead(answer_count: usize, change_count: usize) -> String {
    let answers = || tn!("{count} answer needed", "{count} answers needed", answer_count);
    let changes = || tn!("{count} change", "{count} changes", change_count);
    match (answer_count, change_count) {
        (0, 0) => t!("Nothing needs your answer.").to_owned(),
        (_, 0) => answers(),
        (0, _) => changes(),
        _ => format!("{} · {}", answers(), changes()),
    }
}

/// The duties at coming events that the user took on.
fn my_duties(teams: &TeamNames, events: &[EventView], own_people: &[PersonId]) -> Vec<Task> {
    let mut all = Vec::new();
    for view in events {
        let is_mine = |person: &PersonId| own_people.contains(person);
        for duty in view.event.duties.0.iter().filter(|duty| duty.assignees.iter().any(is_mine)) {
            let text = EventText::new(view, teams);
            all.push(Task {
                name: duty.name.clone(),
                event: day_and_title(&text),
                href: text.href(),
            });
        }
    }
    all
}

fn missing_attendance(view: &EventView, teams: &TeamNames) -> Task {
    let text = EventText::new(view, teams);
    Task {
        name: t!("Take attendance").to_owned(),
        event: format!("{} · {}", day_and_title(&text), text.team),
        href: format!("{}/attendance", text.href()),
    }
}

fn day_and_title(text: &EventText) -> String {
    let day = format::near_day(Locale::current_or_english(), text.day);
    format!("{day} · {}", text.title)
}

/// The changes that were shown are not shown again.
async fn confirm_changes(posted: VisitorForm<EventsRead>) -> PageResult {
    let user = posted.visitor.visit.user;
    let until = posted.form.text("until").parse().unwrap_or(posted.visitor.app().clock.now());
    posted.visitor.write(move |tx: &Tx<'_>| changes::confirm(tx, user, until)).await?;
    Ok(see_other("/"))
}
