//! The page for a replay: failed deliveries, a time range, or a range of sequence numbers.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{LocalTime, Timestamp, Zone};
use store::{Reader, Tx};

use super::{PostedForm, WebhookAdmin, display, render, webhook_path};
use crate::accounts::account;
use crate::error::{Code, Result};
use crate::ids::WebhookId;
use crate::web::form::{Faults, Form};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};
use crate::webhooks::access::Manager;
use crate::webhooks::actions::{self, ReplayRange};
use crate::webhooks::summary::{self, Undelivered};
use crate::webhooks::webhook::{self, Status, Webhook};

const START_AFTER_END: &str = "The start must not be after the end.";

/// The values of the form.
#[derive(Debug, Default)]
struct FormInput {
    what: String,
    from: String,
    to: String,
    first: String,
    last: String,
    missed: bool,
}

impl FormInput {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            what: text("what"),
            from: text("from"),
            to: text("to"),
            first: text("first"),
            last: text("last"),
            missed: form.is_checked("missed"),
        }
    }

    fn is_selected(&self, what: &str) -> bool {
        self.what == what
    }

    /// Validates the form. Returns the part of the log, and whether to skip successful deliveries.
    fn range(
        &self,
        undelivered: &Undelivered,
        zone: &Zone,
        now: Timestamp,
    ) -> std::result::Result<(ReplayRange, bool), Faults> {
        let mut faults = Faults::default();
        let wrong_option = "Clear this field, or choose the option it belongs to.";
        if self.what != "time" && !(self.from.is_empty() && self.to.is_empty()) {
            faults.add("from", wrong_option);
        }
        if self.what != "numbers" && !(self.first.is_empty() && self.last.is_empty()) {
            faults.add("first", wrong_option);
        }
        let range = match self.what.as_str() {
            "failed" => {
                let range = undelivered
                    .failed_range
                    .map(|(first, last)| ReplayRange::Sequences(first, last));
                if range.is_none() {
                    faults.add("what", "No deliveries have failed.");
                }
                range.map(|range| (range, true))
            }
            "time" => {
                let from = parse_local_time(&self.from, zone);
                let to =
                    if self.to.is_empty() { Some(now) } else { parse_local_time(&self.to, zone) };
                for (name, time) in [("from", from), ("to", to)] {
                    if time.is_none() {
                        faults.add(name, "Enter a date and time, for example 2026-09-05T18:30.");
                    }
                }
                let error = if self.to.is_empty() {
                    "This time is in the future."
                } else {
                    START_AFTER_END
                };
                let range = check_order(from.zip(to), ("from", error), &mut faults);
                range.map(|(from, to)| (ReplayRange::Time(from, to), self.missed))
            }
            "numbers" => {
                let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
                let first: Option<i64> = number(&self.first);
                let last = if self.last.is_empty() { Some(i64::MAX) } else { number(&self.last) };
                for (name, sequence) in [("first", first), ("last", last)] {
                    if sequence.is_none() {
                        faults.add(name, "Enter a number that is 1 or more.");
                    }
                }
                let range = check_order(first.zip(last), ("first", START_AFTER_END), &mut faults);
                range.map(|(first, last)| (ReplayRange::Sequences(first, last), self.missed))
            }
            _ => {
                faults.add("what", "Choose what to send again.");
                None
            }
        };
        range.filter(|_| faults.is_empty()).ok_or(faults)
    }
}

/// Adds an error to a field if the start of a range is after its end.
fn check_order<T: Ord>(
    range: Option<(T, T)>,
    (field, error): (&str, &str),
    faults: &mut Faults,
) -> Option<(T, T)> {
    let is_reversed = range.as_ref().is_some_and(|(first, last)| first > last);
    if is_reversed {
        faults.add(field, error);
    }
    range.filter(|_| !is_reversed)
}

/// Parses a local time in the club's time zone.
fn parse_local_time(text: &str, zone: &Zone) -> Option<Timestamp> {
    let local: LocalTime = text.parse().ok()?;
    zone.resolve(local)
}

#[derive(Template)]
#[template(path = "webhooks/replay.html")]
struct ReplayPage {
    frame: Frame,
    url: String,
    webhook_href: String,
    input: FormInput,
    faults: Faults,
    undelivered: Undelivered,
    /// The webhook's position in the log, and the oldest sequence number of the log.
    position: i64,
    oldest: i64,
    is_enabled: bool,
    zone_name: String,
}

/// What the page needs from the database.
struct PageData {
    webhook: Webhook,
    undelivered: Undelivered,
    oldest: i64,
    zone: Zone,
}

fn load(db: &Reader<'_>, id: WebhookId) -> Result<PageData> {
    Ok(PageData {
        webhook: webhook::find(db, id)?,
        undelivered: summary::count_undelivered(db, id)?,
        oldest: actions::oldest_sequence(db)?,
        zone: account::find(db)?.timezone,
    })
}

pub(super) async fn replay_page(
    visitor: WebhookAdmin,
    PathParams(id): PathParams<WebhookId>,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    let what = if data.undelivered.failed_range.is_some() { "failed" } else { "time" };
    let input = FormInput { what: what.to_owned(), ..FormInput::default() };
    show_form(&visitor, data, input, Faults::default())
}

fn show_form(
    visitor: &WebhookAdmin,
    data: PageData,
    input: FormInput,
    faults: Faults,
) -> PageResult<Response> {
    let PageData { webhook, undelivered, oldest, zone } = data;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = ReplayPage {
        frame: visitor.frame("Replay", Section::Webhooks),
        url: display::short_url(&webhook.url),
        webhook_href: webhook_path(&webhook),
        input,
        faults,
        undelivered,
        position: webhook.position,
        oldest,
        is_enabled: webhook.status == Status::Enabled,
        zone_name: zone.name().to_owned(),
    };
    render(status, &page)
}

pub(super) async fn replay(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, form }: PostedForm,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    let input = FormInput::read(&form);
    let now = visitor.app().clock.now();
    let (range, missed) = match input.range(&data.undelivered, &data.zone, now) {
        Ok(range) => range,
        Err(faults) => return show_form(&visitor, data, input, faults),
    };
    let replay =
        move |tx: &Tx<'_>| actions::replay(tx, &Manager::unrestricted(), id, range, missed);
    match visitor.write(replay).await {
        Ok(_) => Ok(see_other(&format!("{}?done=replay", webhook_path(&data.webhook)))),
        Err(error)
            if matches!(
                error.code,
                Code::ValidationFailed | Code::Gone | Code::Conflict | Code::InvalidState
            ) =>
        {
            show_form(&visitor, data, input, Faults::from(&error))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_selects_a_part_of_the_log() {
        let undelivered = Undelivered { pending: 0, failed: 2, failed_range: Some((7, 9)) };
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let now: Timestamp = "2026-09-05T10:00:00Z".parse().unwrap();
        let read = |query: &str| {
            FormInput::read(&Form::parse(query.as_bytes()).unwrap()).range(&undelivered, &zone, now)
        };
        assert!(matches!(read("what=failed"), Ok((ReplayRange::Sequences(7, 9), true))));
        assert!(matches!(
            read("what=numbers&first=3"),
            Ok((ReplayRange::Sequences(3, i64::MAX), false))
        ));
        let time = read("what=time&from=2026-09-05T10:00&missed=yes").unwrap();
        assert!(matches!(time, (ReplayRange::Time(from, to), true) if from < now && to == now));
        for invalid in [
            "",
            "what=odd",
            "what=numbers&first=0",
            "what=numbers&first=1&last=x",
            "what=numbers&first=4&last=3",
            "what=time&from=2026-09-05T10:00&to=2026-09-05T09:59",
            "what=time&from=now",
        ] {
            assert!(read(invalid).is_err(), "{invalid}");
        }
    }
}
