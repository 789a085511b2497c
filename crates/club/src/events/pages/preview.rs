//! What saving would do: the planned dates, and other events at the same time. It is shown before a series is created,
//! and before an event that overlaps with another one is saved.

use std::collections::{BTreeMap, BTreeSet};

use kit::LocalTime;
use kit::secret::{hex, sha256};
use kit::time::LocalMoment;

use super::event_form::kind_label;
use super::recurrence_form;
use crate::events::conflicts::{ConflictType, Warning};
use crate::events::event::{self, Event};
use crate::i18n::{Locale, format};
use crate::names::Names;
use crate::prelude::*;
use crate::web::form::{FilledForm, Form};
use crate::web::sentence::Sentence;

/// The planned events and their conflicts.
pub(super) struct Preview {
    /// The events in words, such as “Practice, 18:30 to 20:00”.
    pub heading: String,
    /// The recurrence in words. Empty for a single event.
    pub recurrence: Vec<String>,
    /// The dates of a series. Empty for a single event.
    pub dates: Vec<PlannedDate>,
    pub conflicts: Vec<Conflict>,
    /// Dates on which a clock change moves the start.
    pub moved: Vec<String>,
    /// Identifies what the preview shows.
    pub seen: String,
}

/// A date of a series.
pub(super) struct PlannedDate {
    pub day: Day,
    pub label: String,
    pub is_planned: bool,
    pub has_conflict: bool,
}

/// The conflicts of one event.
pub(super) struct Conflict {
    pub day: Day,
    pub label: String,
    pub sentences: Vec<Sentence>,
    /// Identifies the conflicts, also when the preview is calculated again.
    key: String,
}

impl Preview {
    /// The preview of events and the warnings about them. `skipped` are dates that are left out.
    pub(super) fn load(
        db: &Reader<'_>,
        access: &TeamAccess,
        events: &[Event],
        warnings: &[Warning],
        skipped: &BTreeSet<Day>,
    ) -> Result<Self> {
        let locale = Locale::current_or_english();
        let conflicts = load_conflicts(db, access, events, warnings)?;
        let planned = |event: &&Event| !skipped.contains(&event.span().starts_local().day());
        let first = events.iter().find(planned).or(events.first());
        let heading = first.map(heading).unwrap_or_default();
        let time = events.first().map(|event| event.span().starts_local());
        let moved = events.iter().filter(planned).filter_map(|event| {
            let (start, usual) = (event.span().starts_local(), time?);
            let is_moved = (start.hour(), start.minute()) != (usual.hour(), usual.minute());
            is_moved.then(|| format::appointment(locale, start))
        });
        let is_series = events.len() > 1 || events.iter().any(|event| event.series_id.is_some());
        let dates = events.iter().filter(|_| is_series).map(|event| {
            let day = event.span().starts_local().day();
            PlannedDate {
                day,
                label: format::near_day(locale, day),
                is_planned: !skipped.contains(&day),
                has_conflict: conflicts.iter().any(|conflict| conflict.day == day),
            }
        });
        let seen = fingerprint(events, is_series, &conflicts);
        Ok(Self {
            heading,
            recurrence: Vec::new(),
            dates: dates.collect(),
            moved: moved.collect(),
            seen,
            conflicts: conflicts.into_iter().filter(|one| !skipped.contains(&one.day)).collect(),
        })
    }

    /// The preview of a change: events before and after it.
    pub(super) fn load_of_change(
        db: &Reader<'_>,
        access: &TeamAccess,
        changed: &[(Event, Event)],
        warnings: &[Warning],
    ) -> Result<Self> {
        let events: Vec<_> = changed.iter().map(|(_, after)| after.clone()).collect();
        let preview = Self::load(db, access, &events, warnings, &BTreeSet::new())?;
        let locale = Locale::current_or_english();
        let moved = changed
            .iter()
            .filter(|(before, after)| before.span() != after.span() && has_skipped_start(after));
        let moved =
            moved.map(|(_, after)| format::appointment(locale, after.span().starts_local()));
        let moved: Vec<_> = moved.collect();
        let seen = format!("{},{}", preview.seen, moved_key(&moved));
        Ok(Self { dates: Vec::new(), moved, seen, ..preview })
    }

    /// Adds the recurrence in words.
    pub(super) fn recurrence(self, form: &FilledForm, skipped: &BTreeSet<Day>) -> Self {
        Self { recurrence: recurrence_form::in_words(form, skipped), ..self }
    }

    /// The number of events that are planned.
    pub(super) fn count(&self) -> usize {
        self.dates.iter().filter(|date| date.is_planned).count().max(1)
    }

    /// The dates of the checkboxes, for a hidden field.
    pub(super) fn date_list(&self) -> String {
        recurrence_form::join_dates(self.dates.iter().map(|date| &date.day))
    }

    /// Whether the visitor has seen this preview: the same dates and times, and no other conflicts than those that were
    /// shown.
    pub(super) fn was_seen(&self, submitted: &Form) -> bool {
        let keys = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let (seen, now) = (keys(submitted.text("seen")), keys(&self.seen));
        let dates = self.dates.is_empty() || seen.first() == now.first();
        // The dates of a series include their times.
        let is_change = self.dates.is_empty() && !self.moved.is_empty();
        let moved = !is_change || seen.contains(&moved_key(&self.moved));
        dates && moved && self.conflicts.iter().all(|conflict| seen.contains(&conflict.key))
    }
}

/// Identifies the times that a clock change moves.
fn moved_key(moved: &[String]) -> String {
    short_hash(&moved.join(";"))
}

/// Whether a clock change skips the time at which an event of a series would start, so that it starts at another one.
fn has_skipped_start(event: &Event) -> bool {
    let Some(planned) = event.occurrence.filter(|_| !event.all_day) else { return false };
    matches!(event.timezone.moment(planned), LocalMoment::Never { .. })
        && event.timezone.resolve(planned) == Some(event.starts_at)
}

/// The type and the times of an event.
fn heading(event: &Event) -> String {
    let (span, locale) = (event.span(), Locale::current_or_english());
    let (kind, start, end) = (kind_label(event.kind), span.starts_local(), span.ends_local());
    if span.all_day {
        return t!("{type}, all day", type = kind);
    }
    let (start, end) = (format::time(locale, start), format::time(locale, end));
    t!("{type}, {start} to {end}", type = kind, start, end)
}

/// What a preview shows, in short: its dates, followed by each conflict.
fn fingerprint(events: &[Event], is_series: bool, conflicts: &[Conflict]) -> String {
    let dates: Vec<_> =
        events.iter().filter(|_| is_series).map(|e| (e.starts_at, e.ends_at)).collect();
    let dates = short_hash(&format!("{dates:?}"));
    let conflicts = conflicts.iter().map(|conflict| conflict.key.clone());
    std::iter::once(dates).chain(conflicts).collect::<Vec<_>>().join(",")
}

fn short_hash(text: &str) -> String {
    hex(&sha256(text.as_bytes())[..6])
}

/// The warnings of each event in words.
fn load_conflicts(
    db: &Reader<'_>,
    access: &TeamAccess,
    events: &[Event],
    warnings: &[Warning],
) -> Result<Vec<Conflict>> {
    let mut others = BTreeMap::new();
    for id in warnings.iter().filter_map(|warning| warning.other_event_id) {
        others.insert(id, event::find(db, access, id)?);
    }
    let teams = others.values().map(|event| event.team_id.to_string());
    let people = warnings.iter().flat_map(|warning| &warning.person_ids).map(ToString::to_string);
    let ids: BTreeSet<_> = teams.chain(people).collect();
    let names = Names::load(db, ids.iter().map(String::as_str))?;
    let mut conflicts: BTreeMap<Timestamp, Conflict> = BTreeMap::new();
    for warning in warnings {
        let Some(event) = events.iter().find(|event| event.id == warning.event_id) else {
            continue;
        };
        let other = warning.other_event_id.and_then(|id| others.get(&id));
        let day = event.span().starts_local().day();
        let label = format::near_day(Locale::current_or_english(), day);
        let key =
            format!("{:?} {:?} {:?}", event.starts_at, event.location_id, warning.other_event_id);
        let empty = Conflict { day, label, sentences: Vec::new(), key: String::new() };
        let conflict = conflicts.entry(event.starts_at).or_insert(empty);
        conflict.key = short_hash(&format!("{}{key}", conflict.key));
        conflict.sentences.extend(sentences(warning, (day, other), &names));
    }
    Ok(conflicts.into_values().collect())
}

/// Start and end of an event. The days are named if it is not on this day only.
fn start_and_end(event: &Event, day: Day) -> (String, String) {
    let (locale, span) = (Locale::current_or_english(), event.span());
    let (start, end) = (span.starts_local(), span.ends_local());
    if span.all_day {
        let last = end.day().plus_days(-1).unwrap_or(end.day());
        let text = |day| format::day_with_weekday(locale, day);
        return (text(start.day()), text(last));
    }
    let text = |local: LocalTime, is_named| {
        if is_named { format::appointment(locale, local) } else { format::time(locale, local) }
    };
    let has_other_end = start.day() != end.day();
    (text(start, start.day() != day || has_other_end), text(end, has_other_end))
}

/// A warning about an event on a day in words, with the other event.
fn sentences(
    warning: &Warning,
    (day, other): (Day, Option<&Event>),
    names: &Names,
) -> Vec<Sentence> {
    let locale = Locale::current_or_english();
    let has = |kind| warning.conflict_types.contains(&kind);
    let about = |sentence: Sentence| {
        let Some(other) = other else { return sentence };
        let (start, end) = start_and_end(other, day);
        let team = names.get(&other.team_id.to_string()).unwrap_or_default().to_owned();
        sentence
            .name("team", &team)
            .name("title", &other.title)
            .word("start", start)
            .word("end", end)
    };
    let mut sentences = Vec::new();
    sentences.extend(match other {
        Some(_) if has(ConflictType::Location) => Some(about(Sentence::new(
            "{team}: “{title}” is at the same place from {start} to {end}.",
        ))),
        Some(_) if has(ConflictType::Team) => {
            Some(about(Sentence::new("{team} already has “{title}” from {start} to {end}.")))
        }
        None if has(ConflictType::Location) => {
            Some(Sentence::new("Another team is at the same place at that time."))
        }
        _ => None,
    });
    if has(ConflictType::Person) {
        let people = warning.person_ids.iter();
        let people: Vec<_> = people.filter_map(|id| names.get(&id.to_string())).collect();
        let people = format::list(locale, people);
        let text = match other {
            Some(_) => {
                Sentence::new("{people} must also be at “{title}” of {team}, {start} to {end}.")
            }
            None => Sentence::new("{people} must also be at an event of another team."),
        };
        sentences.push(about(text).name("people", &people));
    }
    sentences
}
