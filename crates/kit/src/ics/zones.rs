//! The zones of a calendar, described by the changes of their clocks.

use std::time::Duration;

use super::{Entry, When, lines::Lines};
use crate::time::{Observance, Timestamp, Zone};

/// The zones that a calendar's entries use, each with the observances they lie in. Changes between
/// two entries that lie far apart are left out: one entry in a distant year must not drag the
/// changes of all years before it along.
pub(super) struct Zones<'a>(Vec<(&'a Zone, Vec<Observance>)>);

impl<'a> Zones<'a> {
    pub(super) fn of(entries: &'a [Entry<'a>]) -> Self {
        let mut zones = Self(Vec::new());
        for entry in entries {
            if let When::Timed { start, end, zone } = &entry.when
                && !zone.is_utc()
            {
                let observances = zones.observances(zone);
                for moment in [*start, *end] {
                    cover(observances, zone, moment);
                }
            }
        }
        for (_, observances) in &mut zones.0 {
            observances.sort_by_key(|observance| observance.since);
        }
        zones
    }

    fn observances(&mut self, zone: &'a Zone) -> &mut Vec<Observance> {
        let place = self.0.iter().position(|(known, _)| known.name() == zone.name());
        let place = place.unwrap_or_else(|| {
            self.0.push((zone, Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    pub(super) fn write(&self, lines: &mut Lines) {
        for (zone, observances) in &self.0 {
            lines.plain("BEGIN", "VTIMEZONE");
            lines.plain("TZID", zone.name());
            for observance in observances {
                write(observance, lines);
            }
            lines.plain("END", "VTIMEZONE");
        }
    }
}

/// Sees to it that the observance of a moment is known, and with daylight saving the standard time
/// before it too, without which some readers refuse a zone.
fn cover(observances: &mut Vec<Observance>, zone: &Zone, moment: Timestamp) {
    if observances.iter().rev().any(|known| known.contains(moment)) {
        return;
    }
    let observance = zone.observance(moment);
    let before = observance.since.filter(|_| observance.daylight);
    observances.push(observance);
    if let Some(since) = before {
        cover(observances, zone, since.minus(Duration::from_secs(1)));
    }
}

fn write(observance: &Observance, lines: &mut Lines) {
    let kind = if observance.daylight { "DAYLIGHT" } else { "STANDARD" };
    lines.plain("BEGIN", kind);
    match observance.since {
        // The change is told as the clocks showed it before they were changed.
        Some(since) => {
            let local = Zone::utc().local(since).plus_seconds(observance.offset_before.into());
            let local = local.unwrap_or_else(|| Zone::utc().local(since));
            lines.plain("DTSTART", local.compact());
        }
        // What has always been so begins with the first year that every reader can reckon with.
        None => lines.plain("DTSTART", "16010101T000000"),
    }
    lines.plain("TZOFFSETFROM", offset(observance.offset_before));
    lines.plain("TZOFFSETTO", offset(observance.offset));
    lines.text("TZNAME", &observance.name);
    lines.plain("END", kind);
}

/// Hours, minutes and, for the solar times of old, seconds: `+0100`, `-003645`.
fn offset(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.unsigned_abs();
    let text = format!("{sign}{:02}{:02}", seconds / 3600, seconds / 60 % 60);
    if seconds.is_multiple_of(60) { text } else { format!("{text}{:02}", seconds % 60) }
}
