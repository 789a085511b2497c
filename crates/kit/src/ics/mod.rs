//! Calendars as text: the part of iCalendar (RFC 5545, RFC 7986) that a subscribed feed needs.
//!
//! Times are written in their zone, and every zone that is used is described by the changes of its
//! clocks, so that a reader needs no table of its own. UTC is written as such.

mod lines;
mod zones;

use std::borrow::Cow;
use std::time::Duration;

use crate::time::{Day, Timestamp, Zone};
use lines::Lines;
use zones::Zones;

/// A calendar that others subscribe to.
#[derive(Debug, Clone)]
pub struct Calendar<'a> {
    /// What the calendar is called.
    pub name: Cow<'a, str>,
    /// What wrote it, such as `-//Touchline//Calendar//EN`.
    pub product: Cow<'a, str>,
    /// How long a reader may wait before it looks again.
    pub refresh: Duration,
    /// What is in it.
    pub entries: Vec<Entry<'a>>,
}

/// One event of a calendar.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The same for ever, wherever the event is moved.
    pub uid: Cow<'a, str>,
    /// Higher after every change that matters to who takes part.
    pub sequence: i64,
    /// When the event was made.
    pub created: Timestamp,
    /// When the event was last changed.
    pub last_modified: Timestamp,
    /// What it is called.
    pub summary: Cow<'a, str>,
    /// More about it, on several lines.
    pub description: Option<Cow<'a, str>>,
    /// Where it is, in words.
    pub location: Option<Cow<'a, str>>,
    /// Where it is, in degrees north and east.
    pub geo: Option<(f64, f64)>,
    /// Where to read on.
    pub url: Option<Cow<'a, str>>,
    /// Whether it takes place.
    pub status: Status,
    /// When it takes place.
    pub when: When,
    /// What kind of event it is.
    pub categories: Vec<Cow<'a, str>>,
}

crate::words! {
    /// Whether an event takes place.
    pub enum Status {
        /// It does.
        Confirmed = "CONFIRMED",
        /// It may.
        Tentative = "TENTATIVE",
        /// It does not.
        Cancelled = "CANCELLED",
    }
}

/// When an event takes place.
#[derive(Debug, Clone)]
pub enum When {
    /// From one moment to another, shown in a zone.
    Timed {
        /// The moment it begins.
        start: Timestamp,
        /// The moment it ends.
        end: Timestamp,
        /// The zone of the place.
        zone: Zone,
    },
    /// On whole days, whatever the zone.
    AllDay {
        /// The first day.
        first: Day,
        /// The day after the last.
        last_exclusive: Day,
    },
}

impl Calendar<'_> {
    /// The calendar's text, ready to be served as `text/calendar`.
    pub fn text(&self) -> String {
        let mut lines = Lines::with_capacity(1024 + self.entries.len() * 640);
        lines.plain("BEGIN", "VCALENDAR");
        lines.plain("VERSION", "2.0");
        lines.text("PRODID", &self.product);
        lines.plain("CALSCALE", "GREGORIAN");
        lines.plain("METHOD", "PUBLISH");
        lines.text("X-WR-CALNAME", &self.name);
        lines.text("NAME", &self.name);
        let refresh = duration(self.refresh);
        lines.plain("REFRESH-INTERVAL;VALUE=DURATION", &refresh);
        lines.plain("X-PUBLISHED-TTL", &refresh);
        Zones::of(&self.entries).write(&mut lines);
        for entry in &self.entries {
            entry.write(&mut lines);
        }
        lines.plain("END", "VCALENDAR");
        lines.finish()
    }
}

impl Entry<'_> {
    fn write(&self, lines: &mut Lines) {
        lines.plain("BEGIN", "VEVENT");
        lines.text("UID", &self.uid);
        lines.moment("DTSTAMP", self.last_modified);
        self.when.write(lines);
        lines.plain("SEQUENCE", self.sequence);
        lines.moment("CREATED", self.created);
        lines.moment("LAST-MODIFIED", self.last_modified);
        lines.plain("STATUS", self.status);
        lines.text("SUMMARY", &self.summary);
        for (name, text) in [("DESCRIPTION", &self.description), ("LOCATION", &self.location)] {
            if let Some(text) = text {
                lines.text(name, text);
            }
        }
        if let Some((north, east)) = self.geo {
            lines.plain("GEO", format_args!("{north:.6};{east:.6}"));
        }
        if let Some(url) = &self.url {
            lines.address("URL", url);
        }
        lines.texts("CATEGORIES", &self.categories);
        lines.plain("END", "VEVENT");
    }
}

impl When {
    /// Writes the start, and the end if it comes later, as the format demands.
    fn write(&self, lines: &mut Lines) {
        match *self {
            Self::AllDay { first, last_exclusive } => {
                lines.plain("DTSTART;VALUE=DATE", first.compact());
                if last_exclusive > first {
                    lines.plain("DTEND;VALUE=DATE", last_exclusive.compact());
                }
            }
            Self::Timed { start, end, ref zone } => {
                let [from, to] = [start, end].map(|moment| (moment, zone.local(moment)));
                // A local time that comes twice means the first; the second has no name but UTC.
                let second = |(moment, local): (Timestamp, _)| {
                    zone.nearest(local).map(Timestamp::seconds) != Some(moment.seconds())
                };
                let utc = zone.is_utc() || second(from) || second(to);
                let ends = (end > start).then_some(("DTEND", to));
                for (name, (moment, local)) in [("DTSTART", from)].into_iter().chain(ends) {
                    if utc {
                        lines.moment(name, moment);
                    } else {
                        lines.local(name, local, zone);
                    }
                }
            }
        }
    }
}

/// A length of time as iCalendar writes it, in one unit because few readers know more: `PT6H`.
fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds % 3600 == 0 => format!("PT{}H", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("PT{}M", seconds / 60),
        seconds => format!("PT{seconds}S"),
    }
}

#[cfg(test)]
mod tests;
