//! Two people who edit the same event: the second one sees what changed meanwhile, and loses nothing.

use std::collections::BTreeMap;

use super::display::status_label;
use super::event_form::{self, TAKES_PLACE};
use crate::events::event::{Event, Kind, Status};
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::web::form::{Faults, FilledForm};

/// The values of the fields of a form, by name.
pub(super) type Values = BTreeMap<String, String>;

/// The compared fields with their labels. The labels are those of the form.
const COMPARED: &[(&str, &str)] = &[
    ("status", mark!("Status")),
    ("type", mark!("Type")),
    ("opponent", mark!("Opponent")),
    ("home_away", mark!("Home or away")),
    ("uniform", mark!("Uniform")),
    ("title", mark!("Title")),
    ("date", mark!("Date")),
    ("starts_at", mark!("Start time")),
    ("ends_at", mark!("End time")),
    ("all_day", mark!("All day")),
    ("ends_on", mark!("Last day")),
    ("location_id", mark!("Place")),
    ("arrival_minutes", mark!("Arrival (minutes before the start)")),
    ("notes", mark!("Notes")),
    ("rsvp_enabled", mark!("Ask who is coming")),
    ("deadline", mark!("Answer deadline")),
    ("capacity", mark!("Maximum number of people")),
    ("duties", mark!("Duties")),
];
/// The maximum number of duties of an event.
pub(super) const MAX_DUTIES: usize = 50;

/// A field that somebody else changed while the form was open.
pub(super) struct ChangedField {
    pub label: &'static str,
    /// The value that is saved now.
    pub current: String,
    /// What the visitor entered, if they changed the field too.
    pub entered: Option<String>,
}

/// The values of a form. Fields that do not apply are empty.
pub(super) fn values(form: &FilledForm) -> Values {
    let is_game = form.text("type") == Kind::Game.as_str();
    let asks = form.is_checked("rsvp_enabled");
    let value = |name: &str| match name {
        "opponent" | "home_away" | "uniform" if !is_game => String::new(),
        "deadline" | "capacity" if !asks => String::new(),
        "starts_at" | "ends_at" if form.is_checked("all_day") => String::new(),
        "duties" => duties(form),
        // Not a field of the form.
        "status" if form.text("status").is_empty() => {
            opened_values(form).remove("status").unwrap_or_default()
        }
        _ => form.text(name).replace("\r\n", "\n"),
    };
    COMPARED.iter().map(|(name, _)| ((*name).to_owned(), value(name))).collect()
}

/// The duties in one line.
pub(super) fn duties(form: &FilledForm) -> String {
    let duty = |row: usize| {
        let name = form.text(&format!("duty_name_{row}"));
        let slots = form.text(&format!("duty_slots_{row}"));
        let slots = if slots.is_empty() { "1" } else { slots };
        (!name.is_empty()).then(|| format!("{name} ({slots})"))
    };
    (1..=MAX_DUTIES + 1).filter_map(duty).collect::<Vec<_>>().join(", ")
}

/// The form of an event with a hidden field that contains its values.
pub(super) fn open(event: &Event) -> FilledForm {
    let form = event_form::from_event(event);
    let values = values(&form);
    with_opened(form, &values)
}

fn with_opened(form: FilledForm, values: &Values) -> FilledForm {
    form.with("opened", serde_json::to_string(values).unwrap_or_default())
}

/// The values of the event when the visitor opened the form.
pub(super) fn opened_values(form: &FilledForm) -> Values {
    serde_json::from_str(form.text("opened")).unwrap_or_default()
}

/// Compares what the visitor saw with the event as it is now. Fields that only others changed get their new values, so
/// that saving does not undo them. Returns what others changed.
pub(super) fn merge(form: &mut FilledForm, event: &Event) -> Vec<ChangedField> {
    let (opened, entered) = (opened_values(form), values(form));
    let current_form = event_form::from_event(event);
    let current = values(&current_form);
    let differs = |name: &&(&str, &str)| opened.get(name.0) != current.get(name.0);
    let mut changed = Vec::new();
    for (name, label) in COMPARED.iter().filter(differs) {
        let is_own = opened.get(*name) != entered.get(*name);
        let text = |values: &Values| show(name, values.get(*name).map_or("", String::as_str), form);
        let entered = (is_own && entered.get(*name) != current.get(*name)).then(|| text(&entered));
        changed.push(ChangedField { label: t!(label), current: text(&current), entered });
        if !is_own {
            take_over(form, &current_form, name);
        }
    }
    if !changed.is_empty() {
        form.faults = Faults::default();
        form.faults.add("", t!("Somebody else changed this event while you had it open."));
        *form = with_opened(form.clone(), &current);
    }
    changed
}

/// Keeps what the coach entered for duties that somebody else has removed. Saving the form adds them as new duties.
#[must_use]
pub(super) fn without_removed_duties(mut form: FilledForm, event: &Event) -> FilledForm {
    let ids: Vec<_> = event.duties.0.iter().map(|duty| duty.id.to_string()).collect();
    for name in (1..=MAX_DUTIES).map(|row| format!("duty_id_{row}")) {
        if !ids.iter().any(|id| id == form.text(&name)) {
            form = form.cleared(&name);
        }
    }
    form
}

/// Takes over a field from another form.
fn take_over(form: &mut FilledForm, from: &FilledForm, name: &str) {
    let names: Vec<String> = match name {
        "duties" => (1..=MAX_DUTIES)
            .flat_map(|row| ["id", "name", "slots"].map(|field| format!("duty_{field}_{row}")))
            .collect(),
        _ => vec![name.to_owned()],
    };
    for name in names {
        let value = from.text(&name).to_owned();
        *form = if value.is_empty() {
            form.clone().cleared(&name)
        } else {
            form.clone().with(&name, value)
        };
    }
}

/// A value for the reader.
fn show(name: &str, value: &str, form: &FilledForm) -> String {
    let locale = Locale::current_or_english();
    let day = |text: &str| text.parse().ok().map(|day| format::day_with_weekday(locale, day));
    let shown = match name {
        "all_day" | "rsvp_enabled" => {
            return if value.is_empty() { t!("No") } else { t!("Yes") }.to_owned();
        }
        _ if value.is_empty() => return t!("Empty").to_owned(),
        "date" | "ends_on" => day(value),
        "status" => Status::parse(value).map(|status| status_label(status).to_owned()),
        "type" | "home_away" | "location_id" | "deadline" => form.option_label(name, value),
        _ => None,
    };
    shown.unwrap_or_else(|| value.to_owned())
}

/// Whether a postponed event takes place at the time in the form, so that it is put back on the schedule.
fn takes_place(form: &FilledForm) -> bool {
    form.is_checked(TAKES_PLACE)
}

/// The body of the change: only what the visitor changed, so that other fields, and other events of the series, keep
/// their values.
pub(super) fn changes(form: &FilledForm, mut body: Value) -> Value {
    let (opened, entered) = (opened_values(form), values(form));
    let is_changed =
        |names: &[&str]| names.iter().any(|name| opened.get(*name) != entered.get(*name));
    let starts = is_changed(&["date", "starts_at", "all_day"]) || takes_place(form);
    let named = is_changed(&["type", "opponent", "home_away"]) && form.text("title").is_empty();
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|key, _| match key.as_str() {
            "apply_to" => true,
            "starts_at" => starts,
            "ends_at" => starts || is_changed(&["ends_at", "ends_on"]),
            "rsvp_deadline" => is_changed(&["deadline"]),
            "title" => named || is_changed(&["title"]),
            key => is_changed(&[key]),
        });
    }
    body
}

/// Whether the visitor changed anything.
pub(super) fn is_unchanged(form: &FilledForm) -> bool {
    opened_values(form) == values(form) && !takes_place(form)
}

/// Whether start or end were changed, or those of a postponed event confirmed.
pub(super) fn has_new_times(form: &FilledForm) -> bool {
    let (opened, entered) = (opened_values(form), values(form));
    let is_changed = |name: &&str| opened.get(*name) != entered.get(*name);
    takes_place(form)
        || ["date", "starts_at", "ends_at", "ends_on", "all_day"].iter().any(is_changed)
}
