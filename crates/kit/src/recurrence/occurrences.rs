//! Counting out the days of a rule.

use super::{End, Frequency, MAX_OCCURRENCES, Mark, Rule, RuleFault};
use crate::time::{Day, LocalTime, Zone};

impl Rule {
    /// The local starts of the series in order, at least one and at most [`MAX_OCCURRENCES`].
    ///
    /// The series has only days that the rule matches, on or after the start: a start that does
    /// not match (RFC 5545 leaves it open) is no occurrence and is not counted. Every occurrence
    /// has the start's time of day, also where the zone's clocks are changed. `COUNT` and the
    /// limit count occurrences before `EXDATE` takes some of them out. The zone says which moments
    /// the occurrences are, for an `UNTIL` or `EXDATE` in UTC.
    pub fn occurrences(&self, start: LocalTime, zone: &Zone) -> Result<Vec<LocalTime>, RuleFault> {
        if self.is_past(start, zone) {
            return Err(RuleFault::UntilBeforeStart);
        }
        let mut all = self.with_exceptions(start, zone)?;
        if all.is_empty() {
            return Err(RuleFault::NeverMatches);
        }
        all.retain(|at| !self.is_excepted(*at, zone));
        if all.is_empty() { Err(RuleFault::AllExcepted) } else { Ok(all) }
    }

    fn with_exceptions(&self, start: LocalTime, zone: &Zone) -> Result<Vec<LocalTime>, RuleFault> {
        let mut found = Vec::new();
        for at in self.days(start.day()).map(|day| start.on(day)) {
            if self.is_past(at, zone) {
                return Ok(found);
            }
            if found.len() == MAX_OCCURRENCES {
                return Err(RuleFault::TooManyOccurrences);
            }
            found.push(at);
            if self.end == End::Count(found.len()) {
                return Ok(found);
            }
        }
        match self.end {
            End::Count(_) if !found.is_empty() => Err(RuleFault::BeyondCalendar),
            _ => Ok(found),
        }
    }

    /// The matching days on or after the start, to the end of the calendar. The calendar repeats
    /// after 400 years, weekdays and leap years alike, so that a rule which matches nothing in as
    /// many steps as these have days, weeks or months never will.
    fn days(&self, start: Day) -> impl Iterator<Item = Day> {
        let cycle = match self.frequency {
            Frequency::Daily => 146_097,
            Frequency::Weekly => 20_871,
            Frequency::Monthly => 4_800,
        };
        let mut idle = 0;
        (0..)
            .map_while(move |step| self.period(start, step * i64::from(self.interval)))
            .take_while(move |days| {
                idle = if days.is_empty() { idle + 1 } else { 0 };
                idle <= cycle
            })
            .flatten()
    }

    /// The matching days of the day, week or month so many after that of the start, none of them
    /// before the start. Nothing when the calendar has ended.
    fn period(&self, start: Day, after: i64) -> Option<Vec<Day>> {
        let (first, length) = match self.frequency {
            Frequency::Daily => (start.plus_days(after)?, 1),
            Frequency::Weekly => {
                let gone = start.weekday().days_after(self.week_start);
                let begin = after * 7 - gone;
                // The first week is taken from the start on; what came before is not in it.
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

    fn is_past(&self, at: LocalTime, zone: &Zone) -> bool {
        match self.end {
            End::Count(_) => false,
            End::Until(Mark::Day(last)) => at.day() > last,
            End::Until(Mark::Local(last)) => at > last,
            End::Until(Mark::Moment(last)) => zone.nearest(at).is_none_or(|moment| moment > last),
        }
    }

    fn is_excepted(&self, at: LocalTime, zone: &Zone) -> bool {
        let listed = |mark| self.except.contains(&mark);
        listed(Mark::Day(at.day()))
            || listed(Mark::Local(at))
            || zone.nearest(at).is_some_and(|moment| listed(Mark::Moment(moment)))
    }
}
