//! The fields of an event, for the pages that create and edit events.

use kit::LocalTime;
use kit::time::LocalMoment;

use super::concurrent_edit;
use crate::events::event::{Event, Kind};
use crate::events::location::{self, Location, LocationFilter, NewLocation};
use crate::events::schedule;
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::teams::team::{self, Team, TeamFilter};
use crate::web::fields::Fields;
use crate::web::form::{Choice, Field, FilledForm, Rows};

/// The option of the list of places that adds a new one.
pub(super) const NEW_PLACE: &str = "new";
/// The checkbox that puts a postponed event back on the schedule.
pub(super) const TAKES_PLACE: &str = "takes_place";
/// The deadlines of the list, in hours before the start.
const DEADLINES: [i64; 8] = [1, 2, 6, 12, 24, 48, 72, 168];
/// The maximum number of places in the list.
const MAX_PLACES: i64 = 500;
/// The maximum number of teams in the list.
const MAX_TEAMS: i64 = 500;

const DUTIES: Field = Field::rows(
    "duties",
    "Duties",
    Rows {
        fields: &[
            Field::hidden("duty_id_{row}").key("id"),
            Field::line("duty_name_{row}", "Duty {row}", 120).key("name").required("Enter a name."),
            Field::number_from(
                "duty_slots_{row}",
                "People needed for duty {row}",
                (1, 100),
                "Enter a number from 1 to {max}.",
            )
            .key("slots"),
        ],
        first: 1,
        min: 2,
        max: 50,
        empty: 1,
        error: "",
        class: "pair level rows",
        row_class: "",
    },
)
.hint("For example, “Bring oranges” or “Referee”. Families can sign up. Empty rows are ignored.");

pub(super) const FIELDS: &[Field] = &[
    Field::hidden("team_id"),
    // Only for those who manage several teams.
    Field::select("team", "Team", &[]).page_only(),
    Field::hidden("opened").page_only(),
    Field::hidden("skip").page_only(),
    Field::select(
        "type",
        "Type",
        &[
            Choice::new("practice", "Practice"),
            Choice::new("game", "Game"),
            Choice::new("meeting", "Meeting"),
            Choice::new("tournament", "Tournament"),
            Choice::new("other", "Other"),
        ],
    )
    .default("practice")
    .required("Choose a type."),
    Field::line("opponent", "Opponent", 120).when("type", &["game"]),
    Field::select(
        "home_away",
        "Home or away",
        &[
            Choice::new("", "Not set"),
            Choice::new("home", "Home game"),
            Choice::new("away", "Away game"),
            Choice::new("neutral", "Neutral ground"),
        ],
    )
    .when("type", &["game"]),
    Field::line("uniform", "Uniform", 120)
        .hint("For example, blue shirts.")
        .when("type", &["game"]),
    Field::line("title", "Title", 120)
        .hint("If you leave it empty, the title is the type or the opponent."),
    // Only for a postponed event.
    Field::check(
        TAKES_PLACE,
        "Put the event back on the schedule",
        "It takes place at this date and time, also if you did not change them.",
    )
    .page_only(),
    Field::day("date", "Date").page_only().required("Choose a date."),
    Field::level_pair(
        "",
        &[Field::time("starts_at", "Start time"), Field::time("ends_at", "End time")],
    )
    .named("times"),
    Field::check("all_day", "All day", "The event has no times."),
    Field::day("ends_on", "Last day").page_only().hint("Only if the event ends on another day."),
    Field::select("location_id", "Place", &[Choice::new("", "No place yet")]),
    Field::line("place_name", "Name of the place", 120)
        .page_only()
        .required("Enter the name of the place.")
        .when("location_id", &[NEW_PLACE]),
    Field::line("place_address", "Address", 500)
        .page_only()
        .hint("For the map link.")
        .when("location_id", &[NEW_PLACE]),
    Field::select(
        "repeat",
        "Repeats",
        &[Choice::new("", "Does not repeat"), Choice::new("weekly", "Weekly")],
    )
    .page_only(),
    Field::slot("weekdays").when("repeat", &["weekly"]),
    Field::number_from(
        "interval",
        "Repeat every … weeks",
        (1, 52),
        "Enter a number from 1 to {max}.",
    )
    .default("1")
    .page_only()
    .when("repeat", &["weekly"]),
    Field::level_pair(
        "",
        &[
            Field::day("until", "Until").page_only().hint("The last possible date."),
            Field::number_from(
                "count",
                "Number of dates",
                (1, 400),
                "Enter a number from 1 to {max}.",
            )
            .page_only()
            .hint("Instead of a last date."),
        ],
    )
    .when("repeat", &["weekly"]),
    Field::number_from(
        "arrival_minutes",
        "Arrival (minutes before the start)",
        (0, 600),
        "Enter a number of minutes from 0 to {max}.",
    ),
    Field::block("notes", "Notes", 10_000).hint("Everybody on the team sees them."),
    Field::check("rsvp_enabled", "Ask who is coming", "Players and families answer."),
    Field::select(
        "deadline",
        "Answer deadline",
        &[
            Choice::new("", "End of the event"),
            Choice::new("1", "1 hour before"),
            Choice::new("2", "2 hours before"),
            Choice::new("6", "6 hours before"),
            Choice::new("12", "12 hours before"),
            Choice::new("24", "1 day before"),
            Choice::new("48", "2 days before"),
            Choice::new("72", "3 days before"),
            Choice::new("168", "1 week before"),
        ],
    )
    .key("rsvp_deadline")
    .when("rsvp_enabled", &["yes"]),
    Field::number_from(
        "capacity",
        "Maximum number of people",
        (1, 100_000),
        "Enter a number from 1 to {max}, or leave the field empty.",
    )
    .hint("Anybody else goes on a waiting list.")
    .when("rsvp_enabled", &["yes"]),
    DUTIES,
    APPLY_TO,
];

/// Which events of a series a change applies to.
pub(super) const APPLY_TO: Field = Field::radio(
    "apply_to",
    "Which events?",
    &[
        Choice::new("this", "Only this event"),
        Choice::new("following", "This and the following events"),
        Choice::new("all", "All events of the series"),
    ],
)
.default("this")
.required("Choose which events.");

/// The type of an event in the reader's language.
pub(super) fn kind_label(kind: Kind) -> &'static str {
    match kind {
        Kind::Game => t!("Game"),
        Kind::Practice => t!("Practice"),
        Kind::Meeting => t!("Meeting"),
        Kind::Tournament => t!("Tournament"),
        Kind::Other => t!("Event"),
    }
}

/// What a closed part of the form contains, in a few words.
pub(super) fn summary(form: &FilledForm, part: &str) -> String {
    let text = match part {
        "days" if form.is_checked("all_day") => t!("All day"),
        "days" if form.text("ends_on").is_empty() => t!("One day with times"),
        "days" => t!("Several days"),
        "arrival" if form.text("arrival_minutes").is_empty() => t!("No arrival time"),
        "arrival" => {
            let minutes = form.text("arrival_minutes").parse::<i64>().unwrap_or_default();
            return tn!(
                "Arrive {count} minute before the start",
                "Arrive {count} minutes before the start",
                minutes
            );
        }
        "answers" if form.is_checked("rsvp_enabled") => t!("Everybody is asked"),
        "answers" => t!("Nobody is asked"),
        _ if form.has_rows("duties") => return concurrent_edit::duties(form),
        _ => t!("No duties"),
    };
    text.to_owned()
}

/// What the form needs to know about the team.
pub(super) struct TeamData {
    pub team: Team,
    /// The active places that the visitor may choose, by name.
    pub places: Vec<Location>,
    /// The active teams that the visitor manages.
    pub teams: Vec<Team>,
}

impl TeamData {
    /// The data of an active team that the visitor manages.
    pub(super) fn load(db: &Reader<'_>, access: &TeamAccess, id: TeamId) -> Result<Self> {
        access.check(id)?;
        let team = team::find_active(db, id)?;
        let filter =
            LocationFilter { status: Some(location::Status::Active), ..LocationFilter::default() };
        let page = Page { limit: MAX_PLACES, order: Order::Asc, last: None };
        let mut places = location::list(db, access, &filter, &page)?;
        places.sort_by(|a, b| a.name_folded.cmp(&b.name_folded));
        let filter = TeamFilter { status: Some(team::Status::Active), ..TeamFilter::default() };
        let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
        let teams = team::list(db, access, &filter, &page)?;
        Ok(Self { team, places, teams })
    }

    /// Adds the places, and the current place of the event if it is not one of them.
    pub(super) fn add_options(&self, form: FilledForm, current: Option<&Location>) -> FilledForm {
        let missing = current.filter(|one| !self.places.iter().any(|place| place.id == one.id));
        let places = self.places.iter().chain(missing);
        let places = places.map(|place| (place.id.to_string(), place.name.clone()));
        let new = (NEW_PLACE.to_owned(), t!("Add a new place …").to_owned());
        form.options("location_id", places.chain([new]))
    }
}

/// The form with the values of an event.
pub(super) fn from_event(event: &Event) -> FilledForm {
    let (span, form) = (event.span(), FilledForm::empty(FIELDS).filled_from(event));
    let (start, end) = (span.starts_local(), span.ends_local());
    let last_day =
        if event.all_day { end.day().plus_days(-1).unwrap_or(end.day()) } else { end.day() };
    let ends_on = if last_day > start.day() { last_day.to_string() } else { String::new() };
    let time = |local| if event.all_day { String::new() } else { time_text(local) };
    let default = schedule::default_title(event.kind, event.opponent.as_deref(), event.home_away);
    let form = if event.title == default { form.cleared("title") } else { form };
    let form = form
        .with("status", event.status.as_str())
        .with("date", start.day().to_string())
        .with("ends_on", ends_on)
        .with("starts_at", time(start))
        .with("ends_at", time(end));
    with_deadline(form, event)
}

/// Selects the deadline. One that is not in the list gets an option.
fn with_deadline(form: FilledForm, event: &Event) -> FilledForm {
    let Some(deadline) = event.rsvp_deadline else { return form.with("deadline", "") };
    let seconds = event.span().starts_local().seconds_since(event.timezone.local(deadline));
    match DEADLINES.iter().find(|hours| **hours * 3600 == seconds) {
        Some(hours) => form.with("deadline", hours.to_string()),
        None => form.with("deadline", deadline.to_string()),
    }
}

/// Adds an option for a deadline that is not in the list.
pub(super) fn add_deadline_option(form: FilledForm, event: &Event) -> FilledForm {
    let value = with_deadline(FilledForm::empty(FIELDS), event).text("deadline").to_owned();
    let Ok(deadline) = value.parse::<Timestamp>() else { return form };
    let local = event.timezone.local(deadline);
    form.options("deadline", [(value, format::appointment(Locale::current_or_english(), local))])
}

/// A time for an input, such as `18:30`.
pub(super) fn time_text(local: LocalTime) -> String {
    format!("{:02}:{:02}", local.hour(), local.minute())
}

/// Start and end as they were entered; `None` if one of them is missing or invalid.
pub(super) fn entered_times(form: &FilledForm) -> Option<(LocalTime, LocalTime)> {
    let date = form.text("date");
    let last = Some(form.text("ends_on")).filter(|day| !day.is_empty()).unwrap_or(date);
    if form.is_checked("all_day") {
        let day = |text: &str| text.parse::<Day>().map(Day::at_midnight).ok();
        return Some((day(date)?, day(last)?));
    }
    let time = |day: &str, name| format!("{day}T{}", form.text(name)).parse().ok();
    Some((time(date, "starts_at")?, time(last, "ends_at")?))
}

/// The body of a request to the API. Errors are added to the form.
pub(super) fn body(form: &mut FilledForm, zone: &Zone) -> Value {
    let mut body = form.body();
    let Some(fields) = body.as_object_mut() else { return body };
    if form.text("location_id") == NEW_PLACE {
        fields.remove("location_id");
    }
    check_times(form);
    let entered = entered_times(form);
    if let Some((start, end)) = entered {
        let all_day = form.is_checked("all_day");
        let text = |local: LocalTime| {
            if all_day { local.day().to_string() } else { local.to_string() }
        };
        fields.insert("starts_at".into(), text(start).into());
        fields.insert("ends_at".into(), text(end).into());
    } else {
        // The form already says what is missing.
        fields.remove("starts_at");
        fields.remove("ends_at");
    }
    let deadline = form.text("deadline");
    let before = |hours: i64| {
        let (start, _) = entered?;
        zone.resolve(start.plus_seconds(-hours.clamp(0, 1000) * 3600)?)
    };
    let deadline = match deadline.parse::<i64>() {
        Ok(hours) => before(hours),
        Err(_) => deadline.parse::<Timestamp>().ok(),
    };
    let deadline = deadline.filter(|_| form.is_checked("rsvp_enabled"));
    let deadline = deadline.map(|moment| moment.to_string());
    fields.insert("rsvp_deadline".into(), deadline.into());
    if form.is_checked("all_day") {
        // Pages show no time of arrival without a start time.
        fields.insert("arrival_minutes".into(), Value::Null);
    }
    body
}

/// Checks that the times are complete and in order.
fn check_times(form: &mut FilledForm) {
    let all_day = form.is_checked("all_day");
    for (name, missing) in
        [("starts_at", mark!("Enter a start time.")), ("ends_at", mark!("Enter an end time."))]
    {
        let time = form.text(name);
        let error = if all_day || format!("2026-01-01T{time}").parse::<LocalTime>().is_ok() {
            continue;
        } else if time.is_empty() {
            t!(missing)
        } else {
            t!("Enter a time such as 18:30.")
        };
        form.faults.add(name, error);
    }
    let Some((start, end)) = entered_times(form) else { return };
    if all_day && end < start {
        form.faults.add("ends_on", t!("The last day must not be before the date."));
    } else if !all_day && end <= start {
        let error = t!(
            "The end must be after the start. If the event ends on another day, enter its last day below."
        );
        form.faults.add("ends_at", error);
    }
}

/// Checks that the times exist once, where a clock change skips or repeats an hour.
pub(super) fn check_clock_change(form: &mut FilledForm, zone: &Zone) {
    let Some((start, end)) = entered_times(form) else { return };
    if form.is_checked("all_day") {
        return;
    }
    let locale = Locale::current_or_english();
    for (name, local) in [("starts_at", start), ("ends_at", end)] {
        let (time, day) = (format::time(locale, local), local.day());
        let error = match zone.moment(local) {
            LocalMoment::Never { .. } => t!(
                "{time} does not exist on {day}, because the clocks are set forward. Choose another time.",
                time,
                day
            ),
            LocalMoment::Twice { .. } => t!(
                "{time} occurs twice on {day}, because the clocks are set back. Choose another time.",
                time,
                day
            ),
            _ => continue,
        };
        form.faults.add(name, error);
    }
}

/// The body of the request for the new place that was entered. Errors are added to the form.
pub(super) fn new_place(form: &mut FilledForm) -> Option<Value> {
    if form.text("location_id") != NEW_PLACE {
        return None;
    }
    let address = Some(form.text("place_address")).filter(|address| !address.is_empty());
    let body = json!({ "name": form.text("place_name"), "address": address });
    if let Err(error) = Fields::read::<NewLocation>(body.clone()) {
        for fault in &error.faults {
            form.faults.add(&fault.pointer.replace('/', "place_"), fault.detail.clone());
        }
    }
    Some(body)
}
