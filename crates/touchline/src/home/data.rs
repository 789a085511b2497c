//! Reads everything that Home shows, with a constant number of queries.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::changes::{self, Changes};
use crate::accounts::account::{self, Account};
use crate::accounts::permissions::AccessLevel;
use crate::accounts::roster_access::RosterAccess;
use crate::attendance::sheet;
use crate::dues::due::{self, DueFilter, DueView};
use crate::events::answers::{self, AnswerBlock};
use crate::events::event::{self, EventFilter, EventView};
use crate::events::ongoing;
use crate::events::pages::display::TeamNames;
use crate::events::volunteers;
use crate::joining::claim;
use crate::messages::listing::{self, MessageFilter};
use crate::messages::message::{Kind, Message};
use crate::prelude::*;
use crate::web::nav::Nav;

/// How far ahead Home looks.
const LOOK_AHEAD: Duration = Duration::from_secs(21 * 86_400);
/// Events that began this long ago may still go on. Longer ones are read separately.
const MAX_ONGOING: Duration = Duration::from_secs(12 * 3600);
const MAX_EVENTS: i64 = 60;
/// The maximum number of later events whose answers are due soon.
const MAX_LATER_EVENTS: i64 = 10;
const MAX_ANNOUNCEMENTS: usize = 3;
/// One more, to know whether there are others.
const ANNOUNCEMENTS_READ: i64 = 4;
const MAX_DUTIES: i64 = 10;
const MAX_ATTENDANCE: i64 = 3;
/// How long Home asks for the attendance of an event.
const ATTENDANCE_PERIOD: Duration = Duration::from_secs(36 * 3600);
const MAX_DUES: usize = 4;
/// The maximum number of open dues that are read to find those due first.
const MAX_DUES_READ: i64 = 50;

/// What Home shows.
pub(super) struct HomeData {
    pub account: Account,
    pub teams: TeamNames,
    pub changes: Changes,
    /// The coming events with the answers of the family.
    pub events: Vec<(EventView, AnswerBlock)>,
    pub announcements: Vec<Message>,
    /// Whether there are more unread announcements.
    pub has_more_announcements: bool,
    /// The coming events at which the user has a duty.
    pub duties: Vec<EventView>,
    /// Events of the last hours whose attendance a coach has not recorded.
    pub attendance: Vec<EventView>,
    pub dues: Vec<DueView>,
    /// Requests to join, for admins.
    pub claims: i64,
    /// What an admin has set up so far. `None` if the club has an event, or the user is no admin.
    pub steps: Option<FirstSteps>,
}

/// What an admin of a new club has done already.
pub(super) struct FirstSteps {
    pub team: Option<TeamId>,
    pub has_people: bool,
}

/// The teams whose events Home shows: those of the family, or all of them for an admin who is on no roster.
pub(super) fn access(roster_access: &RosterAccess, is_admin: bool) -> TeamAccess {
    if is_admin && roster_access.visible_team_ids.is_empty() {
        return TeamAccess::AllTeams;
    }
    roster_access.team_access(AccessLevel::Family)
}

pub(super) fn load(
    db: &Reader<'_>,
    user: UserId,
    roster_access: &RosterAccess,
    (is_admin, nav): (bool, &Arc<Nav>),
) -> Result<HomeData> {
    let access = access(roster_access, is_admin);
    let mut events = coming_events(db, &access)?;
    events.retain(|view| view.event.ends_at > db.now());
    let blocks = AnswerBlock::load(db, roster_access, &events)?;
    let horizon = db.now().plus(LOOK_AHEAD);
    let is_shown = |(view, block): &(EventView, AnswerBlock)| {
        view.event.starts_at < horizon || block.needs_answer()
    };
    let changes = changes::list(db, &access, user)?;
    let mut announcements = unread_announcements(db, roster_access)?;
    let has_more_announcements = announcements.len() > MAX_ANNOUNCEMENTS;
    announcements.truncate(MAX_ANNOUNCEMENTS);
    let duties = duties(db, &access, roster_access)?;
    let managed = roster_access.managed_team_ids.clone();
    let since = db.now().minus(ATTENDANCE_PERIOD);
    let attendance = sheet::list_missing(db, managed, since, MAX_ATTENDANCE)?;
    let shown = events.iter().chain(changes.groups.iter().flatten());
    let shown = shown.chain(&duties).chain(&attendance).map(|view| view.event.team_id);
    let teams = shown.chain(announcements.iter().map(|message| message.team_id));
    let teams = TeamNames::load(db, nav, teams)?;
    let steps = if is_admin { first_steps(db)? } else { None };
    Ok(HomeData {
        account: account::find(db)?,
        teams,
        changes,
        events: events.into_iter().zip(blocks).filter(is_shown).collect(),
        announcements,
        has_more_announcements,
        duties,
        attendance,
        dues: open_dues(db, roster_access)?,
        claims: if is_admin { claim::count_open(db)? } else { 0 },
        steps,
    })
}

fn coming_events(db: &Reader<'_>, access: &TeamAccess) -> Result<Vec<EventView>> {
    if *access != TeamAccess::AllTeams && access.team_filter().1.is_empty() {
        return Ok(Vec::new());
    }
    let from = db.now().minus(MAX_ONGOING);
    let filter = EventFilter {
        from: Some(from),
        to: Some(db.now().plus(LOOK_AHEAD)),
        ..EventFilter::default()
    };
    let mut events = ongoing::list(db, access, &filter, from)?;
    events.extend(event::list(db, access, &filter, &first_page(MAX_EVENTS, Order::Asc))?);
    events.extend(answers::list_due(db, access, db.now().plus(LOOK_AHEAD), MAX_LATER_EVENTS)?);
    Ok(events)
}

fn unread_announcements(db: &Reader<'_>, roster_access: &RosterAccess) -> Result<Vec<Message>> {
    let access = roster_access.team_access(AccessLevel::Family);
    let mut all = Vec::new();
    for person in &roster_access.own_person_ids {
        let filter = MessageFilter {
            kind: Some(Kind::Announcement),
            person_id: Some(*person),
            unread: Some(true),
            ..MessageFilter::default()
        };
        all.extend(listing::list(
            db,
            &access,
            &filter,
            &first_page(ANNOUNCEMENTS_READ, Order::Desc),
        )?);
    }
    // A user can be two people of the club, who both receive a message.
    let mut seen = BTreeSet::new();
    all.retain(|message| seen.insert(message.id));
    Ok(all)
}

/// The coming events at which the user has a duty.
fn duties(
    db: &Reader<'_>,
    access: &TeamAccess,
    roster_access: &RosterAccess,
) -> Result<Vec<EventView>> {
    let own = roster_access.own_person_ids.iter();
    let events = own.map(|person| volunteers::list_of_person(db, access, *person, MAX_DUTIES));
    Ok(events.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The open dues that the visitor pays, those due first at the top.
fn open_dues(db: &Reader<'_>, roster_access: &RosterAccess) -> Result<Vec<DueView>> {
    let access = roster_access.team_access(AccessLevel::Family);
    let mut dues = Vec::new();
    for payer in &roster_access.own_person_ids {
        let filter =
            DueFilter { payer_id: Some(*payer), unpaid: Some(true), ..DueFilter::default() };
        dues.extend(due::list(db, &access, &filter, &first_page(MAX_DUES_READ, Order::Asc))?);
    }
    // Dues without a day come last.
    dues.sort_by_key(|due| (due.next_due_on.is_none(), due.next_due_on));
    dues.truncate(MAX_DUES);
    Ok(dues)
}

fn first_page<P>(limit: i64, order: Order) -> Page<P> {
    Page { limit, order, last: None }
}

/// The steps of an admin, until there is an event.
fn first_steps(db: &Reader<'_>) -> Result<Option<FirstSteps>> {
    let event: Option<(EventId,)> =
        db.optional("select id from event where account_id = :account limit 1", bind! {})?;
    if event.is_some() {
        return Ok(None);
    }
    let team: Option<(TeamId,)> = db.optional(
        "select id from team where account_id = :account and status = 'active' limit 1",
        bind! {},
    )?;
    let member: Option<(MemberId,)> =
        db.optional("select id from member where account_id = :account limit 1", bind! {})?;
    Ok(Some(FirstSteps { team: team.map(|(id,)| id), has_people: member.is_some() }))
}
