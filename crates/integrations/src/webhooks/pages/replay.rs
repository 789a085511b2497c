//! The page for a replay: failed deliveries, a time range, or a range of sequence numbers.

use super::{PostedForm, WebhookAdmin};
use crate::accounts::account;
use crate::prelude::*;
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::prelude::*;
use crate::webhooks::access::Manager;
use crate::webhooks::actions::{self, ReplayRange};
use crate::webhooks::summary::{self, Undelivered};
use crate::webhooks::webhook::{self, Webhook};

const START_AFTER_END: &str = mark!("The start must not be after the end.");

const WRONG_OPTION: &str = mark!("Clear this field, or choose the option it belongs to.");
const NOT_POSITIVE: &str = mark!("Enter a number that is 1 or more.");

const FIELDS: &[Field] = &[
    Field::radio(
        "what",
        "What to send again",
        &[
            Choice::new("failed", "Failed deliveries")
                .about("From the first failed delivery to the last."),
            Choice::new("time", "A time range").about("Notifications from a period of time."),
            Choice::new("numbers", "Sequence numbers")
                .about("From one sequence number to another."),
        ],
    )
    .required("Choose what to send again."),
    Field::level_pair(
        "A time range",
        &[
            Field::local_time("from", "From").required("").or_reject(WRONG_OPTION),
            Field::local_time("to", "Until").hint("Leave empty for now").or_reject(WRONG_OPTION),
        ],
    )
    .hide_label()
    .hint("In the club’s time zone, {zone}.")
    .when("what", &["time"]),
    Field::level_pair(
        "Sequence numbers",
        &[
            Field::number_from("first", "First number", (1, i64::MAX), NOT_POSITIVE)
                .required("")
                .or_reject(WRONG_OPTION)
                .attributes("maxlength=18"),
            Field::number_from("last", "Last number", (1, i64::MAX), NOT_POSITIVE)
                .hint("Leave empty for the newest")
                .or_reject(WRONG_OPTION)
                .attributes("maxlength=18"),
        ],
    )
    .hide_label()
    .when("what", &["numbers"]),
    Field::check(
        "missed",
        "Skip successful deliveries",
        "Send only notifications that the receiver has not accepted yet.",
    )
    .when("what", &["time", "numbers"]),
];

/// The part of the log, and whether to skip successful deliveries. `None` after adding errors to the form.
fn range(
    form: &mut FilledForm,
    undelivered: &Undelivered,
    now: Timestamp,
) -> Option<(ReplayRange, bool)> {
    let body = form.body();
    let missed = form.is_checked("missed");
    let range = match form.text("what") {
        "failed" => {
            let range = undelivered.failed_range;
            if range.is_none() {
                form.faults.add("what", t!("No deliveries have failed."));
            }
            range.map(|(first, last)| (ReplayRange::Sequences(first, last), true))
        }
        "time" => {
            let time = |name: &str| body[name].as_str().and_then(|text| text.parse().ok());
            let (from, to) = (time("from"), time("to"));
            let in_future = mark!("This time is in the future.");
            let error = if to.is_some() { START_AFTER_END } else { in_future };
            let range = check_order(from.zip(to.or(Some(now))), ("from", error), &mut form.faults);
            range.map(|(from, to)| (ReplayRange::Time(from, to), missed))
        }
        _ => {
            let (first, last) = (body["first"].as_i64(), body["last"].as_i64());
            let range = first.zip(last.or(Some(i64::MAX)));
            let range = check_order(range, ("first", START_AFTER_END), &mut form.faults);
            range.map(|(first, last)| (ReplayRange::Sequences(first, last), missed))
        }
    };
    range.filter(|_| form.faults.is_empty())
}

/// Adds an error to a field if the start of a range is after its end.
fn check_order<T: Ord>(
    range: Option<(T, T)>,
    (field, error): (&str, &str),
    faults: &mut Faults,
) -> Option<(T, T)> {
    let is_reversed = range.as_ref().is_some_and(|(first, last)| first > last);
    if is_reversed {
        faults.add(field, t!(error));
    }
    range.filter(|_| !is_reversed)
}

#[derive(Template)]
#[template(path = "webhooks/replay.html")]
struct ReplayPage {
    frame: Frame,
    form: FilledForm,
    data: PageData,
}

/// What the page needs from the database.
struct PageData {
    webhook: Webhook,
    undelivered: Undelivered,
    /// The oldest sequence number of the log.
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
    let form = FilledForm::empty(FIELDS).with("what", what);
    show_form(&visitor, data, form)
}

fn show_form(visitor: &WebhookAdmin, data: PageData, form: FilledForm) -> PageResult<Response> {
    let frame = visitor.frame(t!("Replay"), Section::Webhooks);
    let page = ReplayPage { frame, form: form.zone(&data.zone), data };
    render(page.form.status(), &page)
}

pub(super) async fn replay(
    PathParams(id): PathParams<WebhookId>,
    PostedForm { visitor, form }: PostedForm,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    let mut form = FilledForm::submitted(FIELDS, &form).zone(&data.zone);
    if let Some((range, missed)) = range(&mut form, &data.undelivered, visitor.app().clock.now()) {
        let manager = Manager::unrestricted();
        let replay = move |tx: &Tx<'_>| actions::replay(tx, &manager, id, range, missed);
        if form.accept(visitor.write(replay).await)?.is_some() {
            return Ok(see_other(&format!("{}?done=replay", data.webhook.path())));
        }
    }
    show_form(&visitor, data, form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::form::Form;

    #[test]
    fn the_form_selects_a_part_of_the_log() {
        let undelivered = Undelivered { pending: 0, failed: 2, failed_range: Some((7, 9)) };
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let now: Timestamp = "2026-09-05T10:00:00Z".parse().unwrap();
        let read = |query: &str| {
            let form = Form::parse(query.as_bytes()).unwrap();
            let mut form = FilledForm::submitted(FIELDS, &form).zone(&zone);
            range(&mut form, &undelivered, now)
        };
        assert!(matches!(read("what=failed"), Some((ReplayRange::Sequences(7, 9), true))));
        assert!(matches!(
            read("what=numbers&first=3"),
            Some((ReplayRange::Sequences(3, i64::MAX), false))
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
            assert!(read(invalid).is_none(), "{invalid}");
        }
    }
}
