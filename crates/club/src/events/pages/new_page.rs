//! `/events/new`: the form for a single event or a series, its preview, and the submission.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::event_form::{self, FIELDS, TeamData};
use super::preview::Preview;
use super::recurrence_form;
use super::{Coach, CoachForm, event_path};
use crate::events::event::{self, Event, EventFilter, Kind, Status};
use crate::events::location;
use crate::events::schedule::{self, NewEvent};
use crate::prelude::*;
use crate::teams::choose::{TeamSelection, choose};
use crate::web::fields::Fields;
use crate::web::form::FilledForm;
use crate::web::form_dedup::Submission;
use crate::web::prelude::*;

/// The maximum number of events that are considered to find a day without one.
const MAX_BUSY: i64 = 100;
/// Start and end of an event of a team that had none before.
const USUAL_TIMES: (&str, &str) = ("18:00", "19:30");

#[derive(Template)]
#[template(path = "events/new.html")]
struct NewPage {
    frame: Frame,
    team: TeamId,
    has_several_teams: bool,
    form: FilledForm,
    preview: Option<Preview>,
}

impl NewPage {
    /// Whether one of these fields has an error, so that their part of the page must be open.
    fn has_error(&self, fields: &[&str]) -> bool {
        self.form.has_error(fields)
    }

    /// What a closed part of the form contains.
    fn summary(&self, part: &str) -> String {
        event_form::summary(&self.form, part)
    }

    fn has_duty_error(&self) -> bool {
        self.form.faults.all().any(|(field, _)| field.starts_with("dut"))
    }
}

/// The form of a team. Without a team in the address, that of the team with the newest event.
pub(super) async fn new(visitor: Coach) -> PageResult {
    let (query, access) = (visitor.guest.query()?, visitor.team_access().await?);
    if let Some(copied) = query.optional("copy") {
        let id: EventId = copied.parse().map_err(|_| Error::not_found())?;
        let of = access.clone();
        let event = visitor.read(move |db| event::find(db, &of, id)).await?;
        return new_form(&visitor, access, event.team_id, Some(event)).await;
    }
    if let Some(team) = query.optional("team") {
        let team = team.parse().map_err(|_| Error::not_found())?;
        return new_form(&visitor, access, team, None).await;
    }
    let of = access.clone();
    if let Some(team) = visitor.read(move |db| event::newest_team(db, &of)).await? {
        return new_form(&visitor, access, team, None).await;
    }
    let path = |team| format!("/events/new?team={team}");
    match choose(&visitor, (t!("New event"), Section::Schedule), path).await? {
        TeamSelection::Team(team) => new_form(&visitor, access, team, None).await,
        TeamSelection::Page(page) => Ok(page),
    }
}

async fn new_form(
    visitor: &Coach,
    access: TeamAccess,
    team: TeamId,
    copied: Option<Event>,
) -> PageResult {
    let read = move |db: &Reader<'_>| {
        let data = TeamData::load(db, &access, team)?;
        let is_copy = copied.is_some();
        let model = match copied {
            Some(event) => Some(event),
            None => usual_event(db, &access, team)?,
        };
        let today = data.team.timezone.day(db.now());
        let day = match &model {
            Some(event) if is_copy => next_date(event, today),
            Some(event) => free_date(event, today, &busy_days(db, &access, team)?),
            None => today.plus_days(1).unwrap_or(today),
        };
        let form = default_form(&data, model.as_ref(), is_copy, day);
        Ok((data, form))
    };
    let (data, form) = visitor.read(read).await?;
    show(visitor, &data, form.nonce(new_nonce(visitor.app())), None)
}

/// The latest practice of a team, or else its latest event.
fn usual_event(db: &Reader<'_>, access: &TeamAccess, team: TeamId) -> Result<Option<Event>> {
    for kind in [Some(Kind::Practice), None] {
        let filter = EventFilter { team_id: Some(team), kind, ..EventFilter::default() };
        let page = Page { limit: 20, order: Order::Desc, last: None };
        let events = event::list(db, access, &filter, &page)?.into_iter().map(|view| view.event);
        let takes_place =
            |event: &Event| matches!(event.status, Status::Scheduled | Status::Completed);
        if let Some(event) = events.into_iter().find(takes_place) {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

/// The days of the near future on which events of a team begin.
fn busy_days(db: &Reader<'_>, access: &TeamAccess, team: TeamId) -> Result<BTreeSet<Day>> {
    let filter =
        EventFilter { team_id: Some(team), from: Some(db.now()), ..EventFilter::default() };
    let page = Page { limit: MAX_BUSY, order: Order::Asc, last: None };
    let events = event::list(db, access, &filter, &page)?;
    Ok(events.iter().map(|view| view.starts_local.day()).collect())
}

/// The next day with the weekday of an event on which the team has nothing, or else any such day. If there is none within
/// two weeks, the next date after the event.
fn free_date(event: &Event, today: Day, busy: &BTreeSet<Day>) -> Day {
    let weekday = event.span().starts_local().day().weekday();
    let days = (1..=14).filter_map(|days| today.plus_days(days));
    let free: Vec<_> = days.filter(|day| !busy.contains(day)).collect();
    let usual = free.iter().find(|day| day.weekday() == weekday);
    usual.or(free.first()).copied().unwrap_or_else(|| next_date(event, today))
}

/// A form with the times, place and deadline of the team's usual event as defaults. A copy also has its title,
/// opponent, notes and duties.
fn default_form(data: &TeamData, model: Option<&Event>, is_copy: bool, day: Day) -> FilledForm {
    let Some(event) = model else {
        return FilledForm::empty(FIELDS)
            .with("team_id", data.team.id.to_string())
            .with("date", day.to_string())
            .with("starts_at", USUAL_TIMES.0)
            .with("ends_at", USUAL_TIMES.1)
            .with("rsvp_enabled", "yes");
    };
    let form = with_date(event_form::from_event(event), event, day);
    let is_active = data.places.iter().any(|place| Some(place.id) == event.location_id);
    let form = if is_active { form } else { form.cleared("location_id") };
    // A deadline that is not in the list belongs to the date of the event.
    let has_date = form.text("deadline").parse::<Timestamp>().is_ok();
    let form = if has_date { form.with("deadline", "24") } else { form };
    // A duty's id belongs to one event.
    let ids = (1..=event.duties.0.len()).map(|row| format!("duty_id_{row}"));
    let form = ids.fold(form, |form, name| form.cleared(&name));
    if is_copy {
        return form;
    }
    let duties = 1..=event.duties.0.len();
    let duties = duties.flat_map(|row| [format!("duty_name_{row}"), format!("duty_slots_{row}")]);
    let own = ["title", "opponent", "home_away", "uniform", "notes", "all_day", "capacity"];
    let own = own.into_iter().map(str::to_owned).chain(duties);
    let form = own.fold(form, |form, name| form.cleared(&name)).with("type", "practice");
    // A practice is on one day, unless it ends after midnight.
    let is_overnight = form.text("ends_at") <= form.text("starts_at") && !event.all_day;
    let form = if is_overnight { form } else { form.cleared("ends_on") };
    let has_times = !form.text("starts_at").is_empty();
    if has_times {
        return form;
    }
    form.with("starts_at", USUAL_TIMES.0).with("ends_at", USUAL_TIMES.1)
}

/// Moves the form of an event to another date. An event of several days lasts as many days from there.
fn with_date(form: FilledForm, event: &Event, date: Day) -> FilledForm {
    let days = |from: Day, to: Day| to.at_midnight().seconds_since(from.at_midnight()) / 86_400;
    let first = event.span().starts_local().day();
    let last = form.text("ends_on").parse::<Day>().ok();
    let last = last.and_then(|last| date.plus_days(days(first, last)));
    let form = form.cleared("ends_on").with("date", date.to_string());
    last.map_or(form.clone(), |last| form.with("ends_on", last.to_string()))
}

/// The first date after the event and after today with the same weekday.
fn next_date(event: &Event, today: Day) -> Day {
    let day = event.span().starts_local().day();
    let weeks_ago = today.at_midnight().seconds_since(day.at_midnight()) / (7 * 86_400);
    let next = |weeks: i64| day.plus_days(weeks * 7).filter(|next| *next > today);
    let weeks = weeks_ago.max(0);
    next(weeks).filter(|_| weeks > 0).or_else(|| next(weeks + 1)).unwrap_or(day)
}

fn show(
    visitor: &Coach,
    data: &TeamData,
    form: FilledForm,
    preview: Option<Preview>,
) -> PageResult {
    let team = &data.team;
    let teams = data.teams.iter().map(|team| (team.id.to_string(), team.name.clone()));
    let form = form.with("team_id", team.id.to_string()).with("team", team.id.to_string());
    let form = data.add_options(form.without("apply_to"), None).options("team", teams);
    let title = t!("New event for {team}", team = &team.name);
    let page = NewPage {
        has_several_teams: data.teams.len() > 1,
        frame: visitor.frame(title, Section::Schedule).team(team.id),
        team: team.id,
        form: recurrence_form::add_weekdays(form),
        preview,
    };
    render(page.form.status(), &page)
}

/// What a submitted form asks for.
struct SubmittedEvent {
    access: TeamAccess,
    /// The body of the request without its recurrence.
    body: Value,
    /// The recurrence rule without and with exceptions.
    rules: Option<(String, String)>,
    place: Option<Value>,
    skipped: BTreeSet<Day>,
    sent: Form,
}

impl SubmittedEvent {
    /// Reads the form. Errors are added to it.
    fn read(
        form: &mut FilledForm,
        sent: &Form,
        data: &TeamData,
        access: TeamAccess,
    ) -> Option<Self> {
        let zone = &data.team.timezone;
        let body = event_form::body(form, zone);
        event_form::check_clock_change(form, zone);
        let place = event_form::new_place(form);
        let skipped = recurrence_form::skipped_dates(sent);
        let rules = if recurrence_form::repeats(form) {
            recurrence_form::rules(form, &skipped, zone)
        } else {
            None
        };
        form.finish::<NewEvent>(body.clone())?;
        Some(Self { access, body, rules, place, skipped, sent: sent.clone() })
    }

    /// The request. A preview contains all dates of a series, also those that are left out.
    fn request(&self, is_preview: bool) -> Result<NewEvent> {
        let mut body = self.body.clone();
        let rule = self.rules.as_ref().map(|(all, planned)| if is_preview { all } else { planned });
        body["recurrence"] = json!(rule);
        Fields::read(body)
    }

    fn preview(&self, tx: &Tx<'_>) -> Result<Preview> {
        let (events, warnings) = schedule::preview(tx, &self.access, self.request(true)?)?;
        Preview::load(tx, &self.access, &events, &warnings, &self.skipped)
    }

    /// Creates the events, unless the visitor must see the preview first.
    fn create(&self, tx: &Tx<'_>) -> Result<EventId> {
        if !self.preview(tx)?.was_seen(&self.sent) {
            return Err(Error::new(
                Code::PreconditionFailed,
                "Preview the event before you create it.",
            ));
        }
        let mut new = self.request(false)?;
        if let Some(place) = &self.place {
            let place = Fields::read(place.clone())?;
            new.location_id = Some(location::create(tx, &self.access, place)?.id);
        }
        Ok(schedule::create(tx, &self.access, new)?.event.id)
    }
}

/// Shows the preview or creates the events, depending on the button that was pressed.
pub(super) async fn submit(CoachForm { visitor, form: sent }: CoachForm) -> PageResult {
    let team = sent.optional("team").unwrap_or_else(|| sent.text("team_id"));
    let team: TeamId = team.parse().map_err(|_| Error::not_found())?;
    let access = visitor.team_access().await?;
    let of = access.clone();
    let data = visitor.read(move |db| TeamData::load(db, &of, team)).await?;
    let nonce = parse_nonce(&sent)?;
    let skipped = recurrence_form::skipped_dates(&sent);
    let mut form = FilledForm::submitted(FIELDS, &sent)
        .with("team_id", team.to_string())
        .without("apply_to")
        .with("skip", recurrence_form::join_dates(&skipped));
    let Some(submitted) = SubmittedEvent::read(&mut form, &sent, &data, access) else {
        return show(&visitor, &data, form, None);
    };
    let submitted = Arc::new(submitted);
    if sent.text("step") == "save" && sent.text("leave_out").is_empty() {
        let request = Arc::clone(&submitted);
        let is_series = request.rules.is_some();
        match visitor.write_once(nonce, move |tx| request.create(tx)).await {
            Ok(Submission::Accepted(id)) => {
                return Ok(redirect_to_created(&id.to_string(), is_series));
            }
            Ok(Submission::Duplicate(id)) => return Ok(redirect_to_created(&id, is_series)),
            Err(error) if error.code == Code::PreconditionFailed => {}
            Err(error) => {
                form.accept::<()>(Err(error))?;
                return show(&visitor, &data, form, None);
            }
        }
    }
    let preview = visitor.write(move |tx| Ok((submitted.preview(tx)?, submitted.rules.is_some())));
    match form.accept(preview.await)? {
        Some((preview, true)) => {
            let preview = preview.recurrence(&form, &skipped);
            show(&visitor, &data, form, Some(preview))
        }
        Some((preview, false)) => show(&visitor, &data, form, Some(preview)),
        None => show(&visitor, &data, form, None),
    }
}

fn redirect_to_created(id: &str, is_series: bool) -> Response {
    let done = if is_series { "series_created" } else { "created" };
    see_other(&format!("{}?done={done}", event_path(id)))
}
