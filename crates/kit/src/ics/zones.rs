//! Writes the time zone definitions (`VTIMEZONE`) of a calendar.

use std::time::Duration;

use super::{Entry, When, lines::LineWriter};
use crate::time::{Observance, Timestamp, Zone};

/// The zones that a calendar's entries use, each with the observances that contain an entry. Observances without
/// entries are omitted, so one event in a distant year doesn't add the clock changes of all years before it.
pub(super) struct Zones<'a>(Vec<(&'a Zone, Vec<Observance>)>);

impl<'a> Zones<'a> {
    pub(super) fn from_entries(entries: &'a [Entry<'a>]) -> Self {
        let mut zones = Self(Vec::new());
        for entry in entries {
            if let When::Timed { start, end, zone } = &entry.when
                && !zone.is_utc()
            {
                let observances = zones.observances(zone);
                for moment in [*start, *end] {
                    add_observance(observances, zone, moment);
                }
            }
        }
        for (_, observances) in &mut zones.0 {
            observances.sort_by_key(|observance| observance.since);
        }
        zones
    }

    fn observances(&mut self, zone: &'a Zone) -> &mut Vec<Observance> {
        let index = self.0.iter().position(|(other, _)| other.name() == zone.name());
        let index = index.unwrap_or_else(|| {
            self.0.push((zone, Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }

    pub(super) fn write(&self, lines: &mut LineWriter) {
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

/// Adds the observance at a timestamp if it is missing. For daylight saving time also adds the standard time before it,
/// because some calendar programs reject a zone without standard time.
fn add_observance(observances: &mut Vec<Observance>, zone: &Zone, moment: Timestamp) {
    if observances.iter().rev().any(|observance| observance.contains(moment)) {
        return;
    }
    let observance = zone.observance(moment);
    let before = observance.since.filter(|_| observance.daylight);
    observances.push(observance);
    if let Some(since) = before {
        add_observance(observances, zone, since.minus(Duration::from_secs(1)));
    }
}

fn write(observance: &Observance, lines: &mut LineWriter) {
    let kind = if observance.daylight { "DAYLIGHT" } else { "STANDARD" };
    lines.plain("BEGIN", kind);
    match observance.since {
        // The local time of the change, in the offset before it.
        Some(since) => {
            let local = Zone::utc().local(since).plus_seconds(observance.offset_before.into());
            let local = local.unwrap_or_else(|| Zone::utc().local(since));
            lines.plain("DTSTART", local.compact());
        }
        // 1601 is the first year that all calendar programs support.
        None => lines.plain("DTSTART", "16010101T000000"),
    }
    lines.plain("TZOFFSETFROM", offset(observance.offset_before));
    lines.plain("TZOFFSETTO", offset(observance.offset));
    lines.text("TZNAME", &observance.name);
    lines.plain("END", kind);
}

/// Formats an offset as hours, minutes and, for historical local mean times, seconds: `+0100`, `-003645`.
fn offset(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.unsigned_abs();
    let text = format!("{sign}{:02}{:02}", seconds / 3600, seconds / 60 % 60);
    if seconds.is_multiple_of(60) { text } else { format!("{text}{:02}", seconds % 60) }
}
