//! Expands a rule to its occurrences.

use super::{End, Frequency, MAX_OCCURRENCES, Rule, RuleFault, TimeValue};
use crate::time::{Day, LocalTime, Zone};

impl Rule {
    /// Returns the local start times of the series in order, at least one and at most [`MAX_OCCURRENCES`].
    ///
    /// The series contains only days on or after the start that match the rule. A start that doesn't match is not an
    /// occurrence and doesn't count (RFC 5545 leaves this undefined). Every occurrence has the same local time of day,
    /// also after a change to daylight saving time. `COUNT` and the limit include occurrences that `EXDATE` removes.
    /// The zone is needed for an `UNTIL` or `EXDATE` in UTC.
    pub fn occurrences(&self, start: LocalTime, zone: &Zone) -> Result<Vec<LocalTime>, RuleFault> {
        if self.is_after_end(start, zone) {
            return Err(RuleFault::UntilBeforeStart);
        }
        let mut all = self.before_exceptions(start, zone)?;
        if all.is_empty() {
            return Err(RuleFault::NeverMatches);
        }
        all.retain(|at| !self.is_excluded(*at, zone));
        if all.is_empty() { Err(RuleFault::AllExcepted) } else { Ok(all) }
    }

    fn before_exceptions(
        &self,
        start: LocalTime,
        zone: &Zone,
    ) -> Result<Vec<LocalTime>, RuleFault> {
        let mut occurrences = Vec::new();
        for at in self.days(start.day()).map(|day| start.on(day)) {
            if self.is_after_end(at, zone) {
                return Ok(occurrences);
            }
            if occurrences.len() == MAX_OCCURRENCES {
                return Err(RuleFault::TooManyOccurrences);
            }
            occurrences.push(at);
            if self.end == End::Count(occurrences.len()) {
                return Ok(occurrences);
            }
        }
        match self.end {
            End::Count(_) if !occurrences.is_empty() => Err(RuleFault::BeyondCalendar),
            _ => Ok(occurrences),
        }
    }

    /// Returns the matching days on or after the start, to the end of the calendar. Weekdays and leap years repeat
    /// after 400 years: a rule that matches no day in as many consecutive periods as these years have days, weeks or
    /// months never matches.
    fn days(&self, start: Day) -> impl Iterator<Item = Day> {
        let cycle = match self.frequency {
            Frequency::Daily => 146_097,
            Frequency::Weekly => 20_871,
            Frequency::Monthly => 4_800,
        };
        let mut empty_periods = 0;
        (0..)
            .map_while(move |step| self.period(start, step * i64::from(self.interval)))
            .take_while(move |days| {
                empty_periods = if days.is_empty() { empty_periods + 1 } else { 0 };
                empty_periods <= cycle
            })
            .flatten()
    }

    /// Returns the matching days of one period (day, week or month), `after` periods after the one of the start,
    /// without days before the start. `None` after the end of the calendar.
    fn period(&self, start: Day, after: i64) -> Option<Vec<Day>> {
        let (first, length) = match self.frequency {
            Frequency::Daily => (start.plus_days(after)?, 1),
            Frequency::Weekly => {
                let day_of_week = start.weekday().days_after(self.week_start);
                let begin = after * 7 - day_of_week;
                // The first week begins with the start.
                (start.plus_days(begin.max(0))?, 7 + begin.min(0))
            }
            Frequency::Monthly => {
                let months = i64::from(start.year()) * 12 + i64::from(start.month()) - 1 + after;
                let (year, month) = (i16::try_from(months / 12).ok()?, months % 12 + 1);
                let first = Day::new(year, month as i8, 1)?;
                (first, i64::from(first.days_in_month()))
            }
        };
        let days = (0..length).filter_map(|days| first.plus_days(days));
        Some(days.filter(|day| *day >= start && self.matches(*day, start)).collect())
    }

    fn matches(&self, day: Day, start: Day) -> bool {
        if self.days.is_empty() && self.month_days.is_empty() {
            return match self.frequency {
                Frequency::Daily => true,
                Frequency::Weekly => day.weekday() == start.weekday(),
                Frequency::Monthly => day.day() == start.day(),
            };
        }
        let from_end = day.day() - day.days_in_month() - 1;
        let of_month = [day.day(), from_end].iter().any(|day| self.month_days.contains(day));
        (self.month_days.is_empty() || of_month)
            && (self.days.is_empty() || self.days.iter().any(|of_week| of_week.includes(day)))
    }

    fn is_after_end(&self, at: LocalTime, zone: &Zone) -> bool {
        match self.end {
            End::Count(_) => false,
            End::Until(TimeValue::Day(last)) => at.day() > last,
            End::Until(TimeValue::Local(last)) => at > last,
            End::Until(TimeValue::Moment(last)) => {
                zone.resolve(at).is_none_or(|moment| moment > last)
            }
        }
    }

    fn is_excluded(&self, at: LocalTime, zone: &Zone) -> bool {
        let listed = |mark| self.exceptions.contains(&mark);
        listed(TimeValue::Day(at.day()))
            || listed(TimeValue::Local(at))
            || zone.resolve(at).is_some_and(|moment| listed(TimeValue::Moment(moment)))
    }
}
