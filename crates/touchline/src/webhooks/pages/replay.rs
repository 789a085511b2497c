//! Sending to a webhook again: what failed, a time range, or sequence numbers.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{LocalTime, Timestamp, Zone};
use store::{Reader, Tx};

use super::{Keeper, Sent, place, show, shown};
use crate::accounts::account;
use crate::error::{Code, Result};
use crate::ids::WebhookId;
use crate::web::form::{Faults, Form};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};
use crate::webhooks::access::Manager;
use crate::webhooks::asking::{self, Part};
use crate::webhooks::summary::{self, Open};
use crate::webhooks::webhook::{self, Status, Webhook};

const TURNED: &str = "The end comes before this.";

/// What was typed.
#[derive(Debug, Default)]
struct Typed {
    what: String,
    from: String,
    to: String,
    first: String,
    last: String,
    missed: bool,
}

impl Typed {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            what: text("what"),
            from: text("from"),
            to: text("to"),
            first: text("first"),
            last: text("last"),
            missed: form.ticked("missed"),
        }
    }

    fn is(&self, what: &str) -> bool {
        self.what == what
    }

    /// The part of the log that is meant and whether only what did not arrive is, or what is wrong.
    fn part(
        &self,
        open: &Open,
        zone: &Zone,
        now: Timestamp,
    ) -> std::result::Result<(Part, bool), Faults> {
        let mut faults = Faults::default();
        let other = "Clear this field, or choose the option it belongs to.";
        if self.what != "time" && !(self.from.is_empty() && self.to.is_empty()) {
            faults.add("from", other);
        }
        if self.what != "numbers" && !(self.first.is_empty() && self.last.is_empty()) {
            faults.add("first", other);
        }
        let part = match self.what.as_str() {
            "failed" => {
                let part = open.numbers.map(|(first, last)| Part::Numbers(first, last));
                if part.is_none() {
                    faults.add("what", "Nothing has failed.");
                }
                part.map(|part| (part, true))
            }
            "time" => {
                let from = moment(&self.from, zone);
                let to = if self.to.is_empty() { Some(now) } else { moment(&self.to, zone) };
                for (name, known) in [("from", from), ("to", to)] {
                    if known.is_none() {
                        faults.add(name, "Write it like 2026-09-05T18:30.");
                    }
                }
                let why = if self.to.is_empty() { "This is still to come." } else { TURNED };
                let part = in_order(from.zip(to), ("from", why), &mut faults);
                part.map(|(from, to)| (Part::Time(from, to), self.missed))
            }
            "numbers" => {
                let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
                let first: Option<i64> = number(&self.first);
                let last = if self.last.is_empty() { Some(i64::MAX) } else { number(&self.last) };
                for (name, known) in [("first", first), ("last", last)] {
                    if known.is_none() {
                        faults.add(name, "Write a number, 1 or more.");
                    }
                }
                let part = in_order(first.zip(last), ("first", TURNED), &mut faults);
                part.map(|(first, last)| (Part::Numbers(first, last), self.missed))
            }
            _ => {
                faults.add("what", "Choose what the webhook is told again.");
                None
            }
        };
        part.filter(|_| faults.is_empty()).ok_or(faults)
    }
}

/// Two ends of which the first does not come after the last.
fn in_order<T: Ord>(
    ends: Option<(T, T)>,
    (first, why): (&str, &str),
    faults: &mut Faults,
) -> Option<(T, T)> {
    let turned = ends.as_ref().is_some_and(|(first, last)| first > last);
    if turned {
        faults.add(first, why);
    }
    ends.filter(|_| !turned)
}

/// A moment in the club's zone.
fn moment(text: &str, zone: &Zone) -> Option<Timestamp> {
    let local: LocalTime = text.parse().ok()?;
    zone.nearest(local)
}

#[derive(Template)]
#[template(path = "webhooks/replay.html")]
struct ReplayPage {
    frame: Frame,
    url: String,
    place: String,
    typed: Typed,
    faults: Faults,
    open: Open,
    /// How far the webhook has come in the log, and where the log begins.
    position: i64,
    oldest: i64,
    on: bool,
    zone_name: String,
}

/// What the page is about.
struct Look {
    webhook: Webhook,
    open: Open,
    oldest: i64,
    zone: Zone,
}

fn look(db: &Reader<'_>, id: WebhookId) -> Result<Look> {
    let webhook = webhook::find(db, id)?;
    let open = summary::open(db, id)?;
    Ok(Look { webhook, open, oldest: asking::oldest(db)?, zone: account::find(db)?.timezone })
}

pub(super) async fn ask(visitor: Keeper, At(id): At<WebhookId>) -> Outcome<Response> {
    let looked = visitor.read(move |db| look(db, id)).await?;
    let what = if looked.open.numbers.is_some() { "failed" } else { "time" };
    let typed = Typed { what: what.to_owned(), ..Typed::default() };
    show_form(&visitor, looked, typed, Faults::default())
}

fn show_form(visitor: &Keeper, looked: Look, typed: Typed, faults: Faults) -> Outcome<Response> {
    let Look { webhook, open, oldest, zone } = looked;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = ReplayPage {
        frame: visitor.frame("Replay", Section::Webhooks),
        url: shown::short_url(&webhook.url),
        place: place(&webhook),
        typed,
        faults,
        open,
        position: webhook.position,
        oldest,
        on: webhook.status == Status::Enabled,
        zone_name: zone.name().to_owned(),
    };
    show(status, &page)
}

pub(super) async fn replay(
    At(id): At<WebhookId>,
    Sent { visitor, form }: Sent,
) -> Outcome<Response> {
    let looked = visitor.read(move |db| look(db, id)).await?;
    let typed = Typed::read(&form);
    let now = visitor.app().clock.now();
    let (part, missed) = match typed.part(&looked.open, &looked.zone, now) {
        Ok(part) => part,
        Err(faults) => return show_form(&visitor, looked, typed, faults),
    };
    let replay = move |tx: &Tx<'_>| asking::replay(tx, &Manager::everywhere(), id, part, missed);
    match visitor.write(replay).await {
        Ok(_) => Ok(see_other(&format!("{}?done=replay", place(&looked.webhook)))),
        Err(error)
            if matches!(
                error.code,
                Code::ValidationFailed | Code::Gone | Code::Conflict | Code::InvalidState
            ) =>
        {
            show_form(&visitor, looked, typed, Faults::from(&error))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_a_part_of_the_log() {
        let open = Open { pending: 0, failed: 2, numbers: Some((7, 9)) };
        let zone: Zone = "Europe/Lisbon".parse().unwrap();
        let now: Timestamp = "2026-09-05T10:00:00Z".parse().unwrap();
        let read = |query: &str| {
            Typed::read(&Form::parse(query.as_bytes()).unwrap()).part(&open, &zone, now)
        };
        assert!(matches!(read("what=failed"), Ok((Part::Numbers(7, 9), true))));
        assert!(matches!(read("what=numbers&first=3"), Ok((Part::Numbers(3, i64::MAX), false))));
        let time = read("what=time&from=2026-09-05T10:00&missed=yes").unwrap();
        assert!(matches!(time, (Part::Time(from, to), true) if from < now && to == now));
        for wrong in [
            "",
            "what=odd",
            "what=numbers&first=0",
            "what=numbers&first=1&last=x",
            "what=numbers&first=4&last=3",
            "what=time&from=2026-09-05T10:00&to=2026-09-05T09:59",
            "what=time&from=now",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
