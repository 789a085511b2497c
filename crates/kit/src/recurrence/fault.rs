//! Why a recurrence was refused.

use std::fmt;

use super::{MAX_EXCEPTIONS, MAX_INTERVAL, MAX_OCCURRENCES, MAX_RULE};

/// Why a recurrence was refused; shown as a sentence for whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleFault {
    /// The rule has more characters than a rule needs.
    TooLong,
    /// A part or a line with a name that is not taken.
    UnknownPart(String),
    /// A part that is given twice, or a second rule.
    RepeatedPart(&'static str),
    /// No `FREQ`.
    NoFrequency,
    /// A frequency other than daily, weekly and monthly.
    UnsupportedFrequency(String),
    /// A part whose value is not understood.
    BadValue(&'static str, String),
    /// A part that has no meaning with this frequency.
    Misplaced(&'static str, &'static str),
    /// An `INTERVAL` of zero or an excessive one.
    BadInterval,
    /// A `COUNT` of zero or more than a series may have.
    BadCount,
    /// Both `COUNT` and `UNTIL`.
    CountAndUntil,
    /// Neither `COUNT` nor `UNTIL`: the series would never end.
    Endless,
    /// More exceptions than a series may have occurrences.
    TooManyExceptions,
    /// `UNTIL` lies before the start.
    UntilBeforeStart,
    /// More occurrences than a series may have.
    TooManyOccurrences,
    /// No day of the calendar matches.
    NeverMatches,
    /// Every occurrence is excepted.
    AllExcepted,
    /// `COUNT` is not reached before the calendar ends.
    BeyondCalendar,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "The rule is longer than {MAX_RULE} characters."),
            Self::UnknownPart(name) => write!(
                f,
                "{name:?} is not supported; use FREQ, INTERVAL, BYDAY, BYMONTHDAY, COUNT, UNTIL, \
                 WKST and lines of EXDATE."
            ),
            Self::RepeatedPart(name) => write!(f, "{name} is given more than once."),
            Self::NoFrequency => {
                f.write_str("The rule has no FREQ; use FREQ=DAILY, WEEKLY or MONTHLY.")
            }
            Self::UnsupportedFrequency(word) => {
                write!(f, "FREQ={word} is not supported; use DAILY, WEEKLY or MONTHLY.")
            }
            Self::BadValue(name, value) => write!(f, "{name} does not take {value:?}."),
            Self::Misplaced(what, frequency) => {
                write!(f, "{what} cannot be used with FREQ={frequency}.")
            }
            Self::BadInterval => {
                write!(f, "INTERVAL must be a whole number from 1 to {MAX_INTERVAL}.")
            }
            Self::BadCount => {
                write!(f, "COUNT must be a whole number from 1 to {MAX_OCCURRENCES}.")
            }
            Self::CountAndUntil => f.write_str("Give COUNT or UNTIL, not both."),
            Self::Endless => f.write_str("The series would never end; give COUNT or UNTIL."),
            Self::TooManyExceptions => write!(f, "EXDATE lists more than {MAX_EXCEPTIONS} times."),
            Self::UntilBeforeStart => f.write_str("UNTIL is before the start of the series."),
            Self::TooManyOccurrences => {
                write!(f, "The series has more than {MAX_OCCURRENCES} occurrences.")
            }
            Self::NeverMatches => f.write_str("No day of the series matches the rule."),
            Self::AllExcepted => f.write_str("EXDATE leaves no occurrence of the series."),
            Self::BeyondCalendar => f.write_str("The series runs past the year 9999."),
        }
    }
}

impl std::error::Error for RuleFault {}
