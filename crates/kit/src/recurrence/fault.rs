//! Errors of recurrence rules.

use std::fmt;

use super::{MAX_EXCEPTIONS, MAX_INTERVAL, MAX_OCCURRENCES, MAX_RULE};

/// Why a recurrence rule was rejected. `Display` is an error text for the author of the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleFault {
    /// The rule has more than [`MAX_RULE`] characters.
    TooLong,
    /// A part or a line is not supported.
    UnknownPart(String),
    /// A part occurs twice, or there is a second rule.
    RepeatedPart(&'static str),
    /// `FREQ` is missing.
    NoFrequency,
    /// The frequency is not daily, weekly or monthly.
    UnsupportedFrequency(String),
    /// The value of a part is not valid.
    BadValue(&'static str, String),
    /// A part cannot be used with this frequency.
    Misplaced(&'static str, &'static str),
    /// `INTERVAL` is zero or greater than [`MAX_INTERVAL`].
    BadInterval,
    /// `COUNT` is zero or greater than [`MAX_OCCURRENCES`].
    BadCount,
    /// Both `COUNT` and `UNTIL` are set.
    CountAndUntil,
    /// Neither `COUNT` nor `UNTIL` is set.
    Endless,
    /// There are more than [`MAX_EXCEPTIONS`] exceptions.
    TooManyExceptions,
    /// `UNTIL` is before the start.
    UntilBeforeStart,
    /// There are more than [`MAX_OCCURRENCES`] occurrences.
    TooManyOccurrences,
    /// No day matches the rule.
    NeverMatches,
    /// `EXDATE` removes every occurrence.
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
                "{name:?} is not supported. Use FREQ, INTERVAL, BYDAY, BYMONTHDAY, COUNT, UNTIL, \
                 WKST, and EXDATE lines."
            ),
            Self::RepeatedPart(name) => write!(f, "{name} occurs more than once."),
            Self::NoFrequency => {
                f.write_str("FREQ is missing. Use FREQ=DAILY, FREQ=WEEKLY or FREQ=MONTHLY.")
            }
            Self::UnsupportedFrequency(value) => {
                write!(f, "FREQ={value} is not supported. Use DAILY, WEEKLY or MONTHLY.")
            }
            Self::BadValue(name, value) => write!(f, "{value:?} is not a valid value of {name}."),
            Self::Misplaced(part, frequency) => {
                write!(f, "{part} cannot be used with FREQ={frequency}.")
            }
            Self::BadInterval => {
                write!(f, "INTERVAL must be a whole number from 1 to {MAX_INTERVAL}.")
            }
            Self::BadCount => {
                write!(f, "COUNT must be a whole number from 1 to {MAX_OCCURRENCES}.")
            }
            Self::CountAndUntil => f.write_str("Use COUNT or UNTIL, not both."),
            Self::Endless => f.write_str("The series has no end. Add COUNT or UNTIL."),
            Self::TooManyExceptions => {
                write!(f, "EXDATE has more than {MAX_EXCEPTIONS} exceptions.")
            }
            Self::UntilBeforeStart => f.write_str("UNTIL is before the start of the series."),
            Self::TooManyOccurrences => {
                write!(f, "The series has more than {MAX_OCCURRENCES} occurrences.")
            }
            Self::NeverMatches => f.write_str("No day matches the rule."),
            Self::AllExcepted => f.write_str("EXDATE removes all occurrences of the series."),
            Self::BeyondCalendar => f.write_str("The series continues after the year 9999."),
        }
    }
}

impl std::error::Error for RuleFault {}
