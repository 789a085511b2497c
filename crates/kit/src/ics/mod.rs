//! Writes iCalendar feeds: the subset of RFC 5545 and RFC 7986 that a subscribed calendar needs.
//!
//! Times are written in their time zone, and every zone that is used is defined in the calendar (`VTIMEZONE`), so a
//! calendar program doesn't need its own time zone data. Times in UTC are written as such.

mod lines;
mod zones;

use std::borrow::Cow;
use std::time::Duration;

use crate::time::{Day, Timestamp, Zone};
use lines::LineWriter;
use zones::Zones;

/// A calendar that people subscribe to.
#[derive(Debug, Clone)]
pub struct Calendar<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The product identifier (`PRODID`), such as `-//Touchline//Calendar//EN`.
    pub product: Cow<'a, str>,
    /// How often calendar programs should refresh it.
    pub refresh: Duration,
    /// The events.
    pub entries: Vec<Entry<'a>>,
}

/// One event of a calendar.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The globally unique identifier. It never changes.
    pub uid: Cow<'a, str>,
    /// The revision, increased with every change that matters to participants.
    pub sequence: i64,
    /// When the event was created.
    pub created: Timestamp,
    /// When the event was last changed.
    pub last_modified: Timestamp,
    /// The title.
    pub summary: Cow<'a, str>,
    /// The description; may have several lines.
    pub description: Option<Cow<'a, str>>,
    /// The name or address of the location.
    pub location: Option<Cow<'a, str>>,
    /// Latitude and longitude in degrees.
    pub geo: Option<(f64, f64)>,
    /// A link to the event.
    pub url: Option<Cow<'a, str>>,
    /// Whether the event takes place.
    pub status: Status,
    /// When the event takes place.
    pub when: When,
    /// The categories, such as the type of event.
    pub categories: Vec<Cow<'a, str>>,
}

crate::string_enum! {
    /// Whether an event takes place.
    pub enum Status {
        /// It takes place.
        Confirmed = "CONFIRMED",
        /// It may take place.
        Tentative = "TENTATIVE",
        /// It doesn't take place.
        Cancelled = "CANCELLED",
    }
}

/// When an event takes place.
#[derive(Debug, Clone)]
pub enum When {
    /// From a start time to an end time, displayed in a time zone.
    Timed {
        /// The start.
        start: Timestamp,
        /// The end.
        end: Timestamp,
        /// The time zone of the event.
        zone: Zone,
    },
    /// On whole days, independent of the time zone.
    AllDay {
        /// The first day.
        first: Day,
        /// The day after the last.
        last_exclusive: Day,
    },
}

impl Calendar<'_> {
    /// Formats the calendar as `text/calendar`.
    pub fn text(&self) -> String {
        let mut lines = LineWriter::with_capacity(1024 + self.entries.len() * 640);
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
        Zones::from_entries(&self.entries).write(&mut lines);
        for entry in &self.entries {
            entry.write(&mut lines);
        }
        lines.plain("END", "VCALENDAR");
        lines.finish()
    }
}

impl Entry<'_> {
    fn write(&self, lines: &mut LineWriter) {
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
        if let Some((latitude, longitude)) = self.geo {
            lines.plain("GEO", format_args!("{latitude:.6};{longitude:.6}"));
        }
        if let Some(url) = &self.url {
            lines.url("URL", url);
        }
        lines.texts("CATEGORIES", &self.categories);
        lines.plain("END", "VEVENT");
    }
}

impl When {
    /// Writes the start, and the end if it is later, as RFC 5545 requires.
    fn write(&self, lines: &mut LineWriter) {
        match *self {
            Self::AllDay { first, last_exclusive } => {
                lines.plain("DTSTART;VALUE=DATE", first.compact());
                if last_exclusive > first {
                    lines.plain("DTEND;VALUE=DATE", last_exclusive.compact());
                }
            }
            Self::Timed { start, end, ref zone } => {
                let [from, to] = [start, end].map(|moment| (moment, zone.local(moment)));
                // A local time that occurs twice means the first; the second can only be expressed in UTC.
                let is_second = |(moment, local): (Timestamp, _)| {
                    zone.resolve(local).map(Timestamp::seconds) != Some(moment.seconds())
                };
                let utc = zone.is_utc() || is_second(from) || is_second(to);
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

/// Formats a duration for iCalendar, such as `PT6H`. Uses a single unit, because few calendar programs support several.
fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds % 3600 == 0 => format!("PT{}H", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("PT{}M", seconds / 60),
        seconds => format!("PT{seconds}S"),
    }
}

#[cfg(test)]
mod tests;
