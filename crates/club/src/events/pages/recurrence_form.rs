//! The recurrence of a new event: from the fields of the form to a recurrence rule, and in words.

use std::collections::BTreeSet;

use askama::Template;
use kit::Weekday;
use kit::recurrence::{Rule, RuleFault};

use super::event_form;
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::web::form::{FilledForm, Form};

/// The names of weekdays: value in the form, label and short label.
const WEEKDAYS: [(Weekday, &str, &str); 7] = [
    (Weekday::Monday, mark!("Monday"), mark!("Mo")),
    (Weekday::Tuesday, mark!("Tuesday"), mark!("Tu")),
    (Weekday::Wednesday, mark!("Wednesday"), mark!("We")),
    (Weekday::Thursday, mark!("Thursday"), mark!("Th")),
    (Weekday::Friday, mark!("Friday"), mark!("Fr")),
    (Weekday::Saturday, mark!("Saturday"), mark!("Sa")),
    (Weekday::Sunday, mark!("Sunday"), mark!("Su")),
];

/// The checkboxes of the weekdays.
#[derive(Template)]
#[template(path = "events/weekdays.html")]
struct Weekdays {
    /// Value, label, short label, and whether it is selected.
    days: Vec<(String, &'static str, &'static str, bool)>,
    error: String,
}

/// Whether the event repeats.
pub(super) fn repeats(form: &FilledForm) -> bool {
    form.text("repeat") == "weekly"
}

/// The selected weekdays, or that of the date.
fn weekdays(form: &FilledForm) -> Vec<(Weekday, &'static str, &'static str)> {
    let chosen = form.all("days");
    let of_date = form.text("date").parse::<Day>().ok().map(Day::weekday);
    let is_selected = |day: &Weekday| {
        let is_of_date = chosen.is_empty() && of_date == Some(*day);
        is_of_date || chosen.contains(&day.to_string().as_str())
    };
    WEEKDAYS.into_iter().filter(|(day, ..)| is_selected(day)).collect()
}

/// Adds the checkboxes of the weekdays to the form.
pub(super) fn add_weekdays(form: FilledForm) -> FilledForm {
    let selected = weekdays(&form);
    let day = |(day, label, short): &(Weekday, &'static str, &'static str)| {
        (day.to_string(), t!(label), t!(short), selected.iter().any(|(one, ..)| one == day))
    };
    let days = WEEKDAYS.iter().map(day).collect();
    let page = Weekdays { days, error: form.faults.at("days").to_owned() };
    form.slot("weekdays", page.render().unwrap_or_default())
}

/// The dates that the coach leaves out. A preview shows checkboxes of dates: those that are not checked are left out,
/// and a button leaves out one more.
pub(super) fn skipped_dates(submitted: &Form) -> BTreeSet<Day> {
    let list = |name| submitted.text(name).split(',').filter_map(|day| day.parse::<Day>().ok());
    let shown: BTreeSet<Day> = list("dates").collect();
    let kept: BTreeSet<Day> =
        submitted.get_all("on").into_iter().filter_map(|day| day.parse().ok()).collect();
    let before = list("skip").filter(|day| !shown.contains(day));
    let skipped = shown.iter().copied().filter(|day| !kept.contains(day));
    before.chain(skipped).chain(list("leave_out")).collect()
}

/// The value of the hidden field with the dates that are left out.
pub(super) fn join_dates<'a>(days: impl IntoIterator<Item = &'a Day>) -> String {
    days.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The recurrence rule without and with exceptions. Errors are added to the form.
pub(super) fn rules(
    form: &mut FilledForm,
    skipped: &BTreeSet<Day>,
    zone: &Zone,
) -> Option<(String, String)> {
    let days: Vec<_> = weekdays(form).iter().map(|(day, ..)| day.to_string()).collect();
    let end = match (form.text("until").parse::<Day>(), form.text("count")) {
        (Ok(_), count) if !count.is_empty() => {
            form.faults.add("count", t!("Enter a last date or a number of dates, not both."));
            return None;
        }
        (Ok(day), _) => format!("UNTIL={}", day.compact()),
        (Err(_), "") => {
            form.faults.add("until", t!("A repeating event needs an end. Enter the last date."));
            return None;
        }
        (Err(_), count) => format!("COUNT={count}"),
    };
    let interval = form.text("interval");
    let all = format!("FREQ=WEEKLY;INTERVAL={interval};BYDAY={};{end}", days.join(","));
    let left_out: Vec<_> = skipped.iter().map(|day| day.compact().to_string()).collect();
    let planned = if left_out.is_empty() {
        all.clone()
    } else {
        format!("{all}\nEXDATE;VALUE=DATE:{}", left_out.join(","))
    };
    let (start, _) = event_form::entered_times(form).filter(|_| form.faults.is_empty())?;
    let rule = planned.parse::<Rule>();
    match rule.and_then(|rule| rule.occurrences(start, zone)) {
        Ok(_) => Some((all, planned)),
        Err(fault) => {
            add_fault(form, &fault);
            None
        }
    }
}

/// Adds the error of a rule at the field that the coach can correct.
fn add_fault(form: &mut FilledForm, fault: &RuleFault) {
    let (field, error) = match fault {
        RuleFault::UntilBeforeStart => ("until", t!("The last date is before the first one.")),
        RuleFault::NeverMatches => {
            ("until", t!("None of these weekdays is between the first and the last date."))
        }
        RuleFault::TooManyOccurrences | RuleFault::BeyondCalendar => {
            ("until", t!("There are more than 400 dates. Choose an earlier last date."))
        }
        RuleFault::BadCount => ("count", t!("A series can have at most 400 dates.")),
        RuleFault::AllExcepted => ("", t!("You left out all dates. Keep at least one.")),
        other => {
            form.faults.add("days", other.to_string());
            return;
        }
    };
    form.faults.add(field, error);
}

/// The recurrence in words: on which days, until when, and which dates are left out.
pub(super) fn in_words(form: &FilledForm, skipped: &BTreeSet<Day>) -> Vec<String> {
    let locale = Locale::current_or_english();
    let days = weekdays(form).into_iter().map(|(_, label, _)| t!(label));
    let days = format::list(locale, days);
    let weeks = form.text("interval").parse::<i64>().unwrap_or(1);
    let mut words = vec![if weeks == 1 {
        t!("Every {days}", days)
    } else {
        tn!("Every {count} week on {days}", "Every {count} weeks on {days}", weeks, days)
    }];
    if let Ok(day) = form.text("until").parse::<Day>() {
        words.push(t!("Until {day}", day));
    } else if let Ok(count) = form.text("count").parse::<i64>() {
        words.push(tn!("{count} date", "{count} dates", count));
    }
    if !skipped.is_empty() {
        let days = format::list(locale, skipped.iter().map(|day| format::near_day(locale, *day)));
        words.push(t!("Except {days}", days));
    }
    words
}
