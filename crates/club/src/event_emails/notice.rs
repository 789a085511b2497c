//! One email to each person on the team about all events that a request cancelled, postponed or moved.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::events::edit::NOTICE_PERIOD;
use crate::events::event::{Event, EventView, Status};
use crate::events::pages::display::kind_label;
use crate::i18n::{Locale, format};
use crate::mail::email::{self, NewEmail};
use crate::messages::audience::{self, Audience};
use crate::messages::{people, recipients};
use crate::prelude::*;
use crate::roster::notification_settings::EmailKind;
use crate::roster::person::{self, Person};
use crate::roster::preferences::RecipientLocales;
use crate::roster::safeguarding;
use crate::teams::team;

/// Emails about events that start within this time are urgent.
const URGENT_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

/// What happened to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cancelled,
    Postponed,
    /// A postponed event takes place at its former time.
    Resumed,
    NewTime,
    NewPlace,
}

impl Kind {
    /// What happened to an event. `None` if people need not hear about it.
    fn of(old: &Event, new: &Event) -> Option<Self> {
        match (old.status, new.status) {
            (Status::Cancelled, _) | (Status::Postponed, Status::Postponed) => None,
            (_, Status::Cancelled) => Some(Self::Cancelled),
            (_, Status::Postponed) => Some(Self::Postponed),
            _ if old.span() != new.span() => Some(Self::NewTime),
            (Status::Postponed, _) => Some(Self::Resumed),
            _ if old.location_id != new.location_id => Some(Self::NewPlace),
            _ => None,
        }
    }
}

/// What an email says about an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wording {
    Full,
    /// Without what a coach wrote, for a minor: title and place. Too few adults can read the email.
    WithoutTexts,
}

/// What an email is about.
struct About<'a> {
    team: &'a str,
    notices: &'a [Notice<'a>],
    wording: Wording,
}

/// An event before and after the change.
struct Notice<'a> {
    kind: Kind,
    before: &'a EventView,
    after: &'a EventView,
}

/// Adds the emails about changed events to the outbox. All of them belong to the same team. Events that are over, or that
/// start later than [`NOTICE_PERIOD`], cause no email.
pub fn send(tx: &Tx<'_>, changed: &[(Option<&EventView>, &EventView)]) -> Result<()> {
    let now = tx.now();
    // Earlier emails that were not sent yet, such as reminders, are outdated, however far ahead the event is.
    for (before, after) in changed {
        if before.is_some_and(|before| Kind::of(&before.event, &after.event).is_some()) {
            email::cancel(tx, &after.event.id.to_string())?;
        }
    }
    let notices = changed.iter().filter_map(|(before, after)| Notice::new((*before)?, after, now));
    let notices: Vec<_> = notices.collect();
    let Some(first) = notices.first() else { return Ok(()) };
    let team = team::find(tx, first.after.event.team_id)?;
    let people = recipients(tx, team.id)?;
    let ids: BTreeSet<_> = people.iter().map(|person| person.id).collect();
    let minors = safeguarding::minors(tx, &ids)?;
    let audience = audience::people(tx, team.id, &Audience::default())?;
    let unprotected = recipients::unprotected_minors(tx, &team, &audience, &ids)?;
    let locales = RecipientLocales::load(tx, &people)?;
    // Sent at once, also at night and instead of in a daily summary.
    let is_urgent = notices.iter().any(|notice| notice.starts_before(now.plus(URGENT_PERIOD)));
    let mut emails = Vec::new();
    for person in people {
        let (about, locale) = (first.after.event.id, locales.of(&person));
        let new = NewEmail::to_person(&person, about, EmailKind::EventChange, locale);
        let Some(new) = new else { continue };
        // Free text of one adult must not reach a minor in a private email.
        let reason = first.after.event.cancel_reason.as_deref();
        let reason = reason.filter(|_| !minors.contains(&person.id));
        let name = person::display_name(&person);
        let is_unprotected = unprotected.contains(&person.id);
        let wording = if is_unprotected { Wording::WithoutTexts } else { Wording::Full };
        let write = || {
            let about = About { team: &team.name, notices: &notices, wording };
            (about.subject(), about.body(&name, reason))
        };
        let (subject, body_text) = new.locale.run(write);
        let team_id = Some(team.id);
        emails.push(NewEmail { team_id, is_urgent, subject, body_text, ..new });
    }
    email::enqueue_all(tx, emails).map(drop)
}

/// The people who get an email about an event of this team: members and guardians who accept emails, except the user who
/// made the change.
pub fn recipients(db: &Reader<'_>, team: TeamId) -> Result<Vec<Person>> {
    let people = audience::people(db, team, &Audience::default())?;
    let is_actor =
        |person: &Person| person.user_id.is_some_and(|user| user.to_string() == db.actor());
    let kind = |person: &Person| (!is_actor(person)).then_some(EmailKind::EventChange);
    let recipients = people::email_recipients(db, &people, kind)?;
    Ok(recipients.into_iter().map(|(person, _)| person).collect())
}

/// The names of these people.
pub fn recipient_names(db: &Reader<'_>, team: TeamId) -> Result<Vec<String>> {
    let mut names: Vec<_> = recipients(db, team)?.iter().map(person::display_name).collect();
    names.sort();
    Ok(names)
}

impl<'a> Notice<'a> {
    fn new(before: &'a EventView, after: &'a EventView, now: Timestamp) -> Option<Self> {
        let (old, new) = (&before.event, &after.event);
        let is_near =
            |event: &Event| !event.is_over(now) && event.starts_at < now.plus(NOTICE_PERIOD);
        let kind = Kind::of(old, new)?;
        (is_near(old) || is_near(new)).then_some(Self { kind, before, after })
    }

    /// Whether the event started or starts before this time.
    fn starts_before(&self, time: Timestamp) -> bool {
        [self.before, self.after].iter().any(|view| view.event.starts_at < time)
    }

    /// The title of the event, or what kind of event it is.
    fn title(&self, wording: Wording) -> Cow<'_, str> {
        match wording {
            Wording::Full => self.after.event.shown_title(),
            Wording::WithoutTexts => kind_label(self.after.event.kind).into(),
        }
    }

    /// The event in the email: title, what happened, time and place.
    fn text(&self, wording: Wording) -> String {
        let title = self.title(wording);
        let place = |view: &EventView| match wording {
            Wording::Full => place(view),
            Wording::WithoutTexts => t!("see the schedule", "place").to_owned(),
        };
        let (old, new) = (when(self.before), when(self.after));
        match self.kind {
            Kind::Cancelled => t!("{title}\nCancelled: {time}", title, time = old),
            Kind::Postponed => {
                t!("{title}\nPostponed: {time}\nThe new time is not known yet.", title, time = old)
            }
            Kind::Resumed => t!(
                "{title}\nBack on the schedule: {time}\nPlace: {place}",
                title,
                time = new,
                place = place(self.after)
            ),
            Kind::NewTime => t!(
                "{title}\nNew time: {new}\nPreviously: {old}\nPlace: {place}",
                title,
                new,
                old,
                place = place(self.after)
            ),
            Kind::NewPlace => t!(
                "{title}\n{time}\nNew place: {new}\nPreviously: {old}",
                title,
                time = new,
                new = place(self.after),
                old = place(self.before)
            ),
        }
    }
}

/// Start and end of an event in its time zone.
fn when(view: &EventView) -> String {
    let locale = Locale::current_or_english();
    let (start, end) = (view.starts_local, view.ends_local);
    if view.event.all_day {
        let last = end.day().plus_days(-1).unwrap_or(end.day());
        let day = |day| format::day_with_weekday(locale, day);
        return if last <= start.day() {
            day(start.day())
        } else {
            t!("{start} to {end}", start = day(start.day()), end = day(last))
        };
    }
    let end = if end.day() == start.day() {
        format::time(locale, end)
    } else {
        format::appointment(locale, end)
    };
    t!("{start} to {end}", start = format::appointment(locale, start), end)
}

/// Name and address of the place.
fn place(view: &EventView) -> String {
    let Some(location) = &view.location else { return t!("not known yet", "place").to_owned() };
    let address = location.address.as_deref().map(|address| address.replace('\n', ", "));
    match address {
        Some(address) => format!("{}, {address}", location.name),
        None => location.name.clone(),
    }
}

impl About<'_> {
    fn are_all_cancelled(&self) -> bool {
        self.notices.iter().all(|notice| notice.kind == Kind::Cancelled)
    }

    fn subject(&self) -> String {
        let team = self.team;
        if let [notice] = self.notices {
            let (title, time) = (notice.title(self.wording), when(notice.after));
            return match notice.kind {
                Kind::Cancelled => t!("[{team}] Cancelled: {title}, {time}", team, title, time),
                Kind::Postponed => t!("[{team}] Postponed: {title}, {time}", team, title, time),
                Kind::Resumed => {
                    t!("[{team}] Back on the schedule: {title}, {time}", team, title, time)
                }
                Kind::NewTime => t!("[{team}] New time: {title}, {time}", team, title, time),
                Kind::NewPlace => t!("[{team}] New place: {title}, {time}", team, title, time),
            };
        }
        let count = self.notices.len();
        if self.are_all_cancelled() {
            tn!(
                "[{team}] {count} event is cancelled",
                "[{team}] {count} events are cancelled",
                count,
                team
            )
        } else {
            tn!(
                "[{team}] {count} event has changed",
                "[{team}] {count} events have changed",
                count,
                team
            )
        }
    }

    fn body(&self, name: &str, reason: Option<&str>) -> String {
        let (team, count) = (self.team, self.notices.len());
        let intro = if self.are_all_cancelled() {
            tn!(
                "An event of {team} is cancelled:",
                "{count} events of {team} are cancelled:",
                count,
                team
            )
        } else {
            tn!(
                "An event of {team} has changed:",
                "{count} events of {team} have changed:",
                count,
                team
            )
        };
        let events: Vec<_> = self.notices.iter().map(|one| one.text(self.wording)).collect();
        let reason = reason.map(|reason| t!("\n\nReason: {reason}", reason)).unwrap_or_default();
        let events = events.join("\n\n");
        t!("Hello {name},\n\n{intro}\n\n{events}{reason}\n", name, intro, events, reason)
    }
}
