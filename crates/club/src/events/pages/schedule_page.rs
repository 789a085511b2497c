//! `/schedule`: the events of all teams of the visitor, as an agenda or as a month. `/teams/{team}` shows those of one team.

use super::display::{EventText, TeamNames, monday};
use super::load_access;
use super::month::{self, Month};
use super::schedule_query::{KINDS, ScheduleQuery};
use crate::accounts::account;
use crate::accounts::roster_access::RosterAccess;
use crate::events::EventsRead;
use crate::events::answers::AnswerBlock;
use crate::events::event::{self, EventFilter, EventView};
use crate::events::ongoing;
use crate::i18n::{Html, Locale, format};
use crate::names::Names;
use crate::prelude::*;
use crate::teams::header::TeamHeader;
use crate::web::list::{Cell, Column, FilterBar, List};
use crate::web::prelude::*;

const PAGE: &str = "/schedule";
const DONE: [(&str, &str); 1] = [("deleted", mark!("Event deleted."))];
/// Maximum number of events on the page for printing.
const MAX_PRINTED: i64 = 200;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(PAGE, get(schedule))
        .route("/schedule/print", get(print))
        .route("/teams/{team}", get(team_schedule))
}

/// An event in the agenda.
struct Row {
    text: EventText,
    /// The answers of the family: tone, icon and text.
    answers: Vec<(&'static str, &'static str, Html)>,
    /// For staff: how many come, and how many have not answered.
    tally: Option<(i64, i64)>,
}

/// The events of a week.
struct Week {
    heading: String,
    rows: Vec<Row>,
}

#[derive(Template)]
#[template(path = "events/schedule.html")]
struct SchedulePage {
    frame: Frame,
    query: ScheduleQuery,
    /// The header, on the page of a team.
    header: Option<TeamHeader>,
    filters: FilterBar,
    /// The filters that are set, in words.
    active: String,
    month: Option<Month>,
    weeks: Vec<Week>,
    /// The URL of the next page of the agenda.
    next: String,
    /// Whether the visitor can plan events of these teams.
    can_plan: bool,
    /// Whether somebody of the family is on a team, so that they can have away dates.
    has_family: bool,
}

impl SchedulePage {
    fn event_count(&self) -> usize {
        self.weeks.iter().map(|week| week.rows.len()).sum()
    }
}

async fn schedule(visitor: Visitor<EventsRead>) -> PageResult {
    show(visitor, None).await
}

async fn team_schedule(
    visitor: Visitor<EventsRead>,
    PathParams(team): PathParams<TeamId>,
) -> PageResult {
    show(visitor, Some(team)).await
}

/// The events of a page, with what the page says about them.
struct ScheduleData {
    events: Vec<EventView>,
    blocks: Vec<AnswerBlock>,
    teams: TeamNames,
    today: Day,
    header: Option<TeamHeader>,
    /// The people of the family who are on a team, if there are several.
    family: Vec<(PersonId, String)>,
}

async fn show(visitor: Visitor<EventsRead>, team: Option<TeamId>) -> PageResult {
    let zone = visitor.read(|db: &Reader<'_>| Ok(account::find(db)?.timezone)).await?;
    let now = visitor.app().clock.now();
    let today = zone.day(now);
    let query = ScheduleQuery::read(&visitor.guest.query()?, team, today)?;
    let order = if query.past { Order::Desc } else { Order::Asc };
    let request = ListRequest::from_visitor(&visitor, order)?;
    let (access, roster_access) = load_access(&visitor).await?;
    if let Some(team) = query.team {
        access.check(team)?;
    }
    let filter = query.filter(&roster_access, (now, &zone))?;
    let (checked, is_month) = (access.clone(), query.month.is_some());
    let page = if is_month {
        let read = move |db: &Reader<'_>| month::events(db, &checked, filter);
        RowPage { rows: visitor.read(read).await?, next: String::new() }
    } else {
        let read = move |db: &Reader<'_>, page: &_| agenda(db, &checked, filter.as_ref(), page);
        RowPage::read(&visitor, &request, read).await?
    };
    let (nav, checked) = (visitor.nav.clone(), access.clone());
    let has_family = !roster_access.memberships.is_empty();
    let load = move |db: &Reader<'_>| {
        Ok(ScheduleData {
            blocks: AnswerBlock::load(db, &roster_access, &page.rows)?,
            teams: TeamNames::load(db, &nav, page.rows.iter().map(|view| view.event.team_id))?,
            today,
            header: team.map(|team| TeamHeader::load(db, &checked, team)).transpose()?,
            family: family(db, &roster_access)?,
            events: page.rows,
        })
    };
    let (loaded, next) = (visitor.read(load).await?, page.next);
    let filters = filters(&visitor, &request.form, &query, &loaded.family);
    let title = loaded
        .header
        .as_ref()
        .map_or_else(|| t!("Schedule").to_owned(), |header| header.team.name.clone());
    let section = if team.is_some() { Section::MyTeams } else { Section::Schedule };
    let frame = visitor.frame(title, section).flash(visitor.guest.done_flash(&DONE));
    let page = SchedulePage {
        frame: team.map_or(frame.clone(), |team| frame.team(team)),
        can_plan: team.map_or_else(
            || visitor.is_admin() || visitor.nav.is_staff,
            |team| access.has_full_access(team),
        ),
        active: active_filters(&filters, &loaded),
        month: query
            .month
            .map(|first| Month::new(first, loaded.today, &loaded.events, &loaded.teams)),
        weeks: weeks(&loaded, &access, query.month),
        header: loaded.header,
        has_family,
        filters,
        query,
        next,
    };
    render(StatusCode::OK, &page)
}

/// A page of the events that the filter selects. Before coming events, the first page has those that began earlier and
/// are not over.
fn agenda(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: Option<&EventFilter>,
    page: &Page<(Timestamp, EventId)>,
) -> Result<Vec<EventView>> {
    let Some(filter) = filter else { return Ok(Vec::new()) };
    let mut events = match (filter.from, page.last) {
        (Some(from), None) => ongoing::list(db, access, filter, from)?,
        _ => Vec::new(),
    };
    events.extend(event::list(db, access, filter, page)?);
    Ok(events)
}

/// The people of the family who are on a team. Empty if there is only one.
fn family(db: &Reader<'_>, roster_access: &RosterAccess) -> Result<Vec<(PersonId, String)>> {
    let mut people: Vec<_> = roster_access.memberships.iter().map(|one| one.person_id).collect();
    people.sort_unstable();
    people.dedup();
    if people.len() < 2 {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = people.iter().map(ToString::to_string).collect();
    let names = Names::load(db, ids.iter().map(String::as_str))?;
    let name = |(person, id): (PersonId, &String)| (person, names.get_or_id(id).to_owned());
    Ok(people.into_iter().zip(&ids).map(name).collect())
}

fn filters(
    visitor: &Visitor<EventsRead>,
    form: &Form,
    query: &ScheduleQuery,
    family: &[(PersonId, String)],
) -> FilterBar {
    let mut bar = FilterBar::new(form);
    let teams = &visitor.nav.teams;
    if query.page_of_team.is_none() && teams.len() > 1 {
        let options = teams.iter().map(|team| (team.id, team.name.clone()));
        bar = bar.select("team", "Team", "All teams", options);
    }
    bar = bar.select("type", "Type", "All types", KINDS);
    if query.page_of_team.is_none() && !family.is_empty() {
        bar = bar.select("child", "Family member", "Everybody", family.to_vec());
    }
    let bar =
        ["view", "month", "past"].into_iter().fold(bar, |bar, name| bar.input(name, "", "hidden"));
    let is_filtered =
        ["team", "type", "child"].into_iter().any(|name| form.optional(name).is_some());
    if is_filtered { bar.clear(&query.without_filters()) } else { bar }
}

/// The filters that are set, in words.
fn active_filters(bar: &FilterBar, loaded: &ScheduleData) -> String {
    let name = |(name, value): (&str, &str)| match name {
        "team" => value.parse().ok().map(|team| loaded.teams.name(team)),
        "type" => {
            KINDS.iter().find(|(kind, _)| *kind == value).map(|(_, label)| t!(label).to_owned())
        }
        "child" => {
            let mut family = loaded.family.iter();
            family.find(|(id, _)| id.to_string() == value).map(|(_, name)| name.clone())
        }
        _ => None,
    };
    bar.pairs().filter_map(name).collect::<Vec<_>>().join(" · ")
}

/// The events by the week in which they start. A month shows only those that take place in it.
fn weeks(loaded: &ScheduleData, access: &TeamAccess, month: Option<Day>) -> Vec<Week> {
    let is_shown = |view: &EventView| month.is_none_or(|first| month::is_in_month(view, first));
    let mut weeks: Vec<(Day, Week)> = Vec::new();
    let events = loaded.events.iter().zip(&loaded.blocks);
    for (view, block) in events.filter(|(view, _)| is_shown(view)) {
        let day = view.starts_local.day();
        let row = row(view, block, loaded, access);
        if let Some((_, week)) = weeks.last_mut().filter(|(start, _)| *start == monday(day)) {
            week.rows.push(row);
        } else {
            let heading = week_heading(monday(day), monday(loaded.today));
            weeks.push((monday(day), Week { heading, rows: vec![row] }));
        }
    }
    weeks.into_iter().map(|(_, week)| week).collect()
}

fn row(view: &EventView, block: &AnswerBlock, loaded: &ScheduleData, access: &TeamAccess) -> Row {
    let text = EventText::new(view, &loaded.teams);
    let is_asked = view.event.rsvp_enabled && !text.is_off();
    let counts = view.rsvp_counts;
    let shows_tally = is_asked && access.has_full_access(view.event.team_id);
    let answers = block.people.iter().filter(|_| is_asked);
    let answers = answers.filter(|one| one.answer.is_some() || block.closed.is_none());
    Row {
        answers: answers.map(|one| (one.tone_or_open(), one.icon(), one.summary())).collect(),
        tally: shows_tally.then_some((counts.yes, counts.unanswered)),
        text,
    }
}

fn week_heading(start: Day, this: Day) -> String {
    let weeks_away = (start.start().seconds() - this.start().seconds()) / (7 * 86_400);
    match weeks_away {
        0 => t!("This week").to_owned(),
        1 => t!("Next week").to_owned(),
        -1 => t!("Last week").to_owned(),
        _ => t!("Week of {day}", day = start),
    }
}

#[derive(Template)]
#[template(path = "events/print.html")]
struct PrintPage {
    frame: Frame,
    list: List,
    is_cut: bool,
    max: i64,
}

const PRINTED: &[Column<EventText>] = &[
    Column::page("Date", |text| {
        Cell::text(format::day_with_weekday(Locale::current_or_english(), text.day))
    }),
    Column::page("Time", |text| Cell::text(text.time.as_str())),
    Column::page("Event", |text| {
        let title = Cell::name(&text.title);
        match text.tag() {
            Some((_, label)) => title.and(Cell::text(label).about()),
            None => title,
        }
    }),
    Column::page("Team", |text| Cell::name(&text.team)),
    Column::page("Place", |text| Cell::name(text.place.as_deref().unwrap_or_default())),
];

async fn print(visitor: Visitor<EventsRead>) -> PageResult {
    let zone = visitor.read(|db: &Reader<'_>| Ok(account::find(db)?.timezone)).await?;
    let now = visitor.app().clock.now();
    let query = ScheduleQuery::read(&visitor.guest.query()?, None, zone.day(now))?;
    let (access, roster_access) = load_access(&visitor).await?;
    let filter = query.filter(&roster_access, (now, &zone))?;
    let (nav, month) = (visitor.nav.clone(), query.month);
    let load = move |db: &Reader<'_>| {
        let order = if query.past { Order::Desc } else { Order::Asc };
        let page = Page { limit: MAX_PRINTED, order, last: None };
        let events = match month {
            Some(first) => {
                let mut events = month::events(db, &access, filter)?;
                events.retain(|view| month::is_in_month(view, first));
                events
            }
            None => agenda(db, &access, filter.as_ref(), &page)?,
        };
        let teams = TeamNames::load(db, &nav, events.iter().map(|view| view.event.team_id))?;
        Ok(events.iter().map(|view| EventText::new(view, &teams)).collect())
    };
    let mut rows: Vec<_> = visitor.read(load).await?;
    let max = usize::try_from(MAX_PRINTED).unwrap_or(usize::MAX);
    let is_cut = rows.len() > max;
    rows.truncate(max);
    let page = PrintPage {
        frame: visitor.frame(t!("Schedule"), Section::Schedule),
        list: List::new(t!("Schedule"), PRINTED, &rows, &visitor.times()),
        is_cut,
        max: MAX_PRINTED,
    };
    render(StatusCode::OK, &page)
}
