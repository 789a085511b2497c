//! Statistics that an account defines.

use std::collections::HashSet;
use std::fmt;

use super::Catalogue;
use super::definition::{Aggregate, Kind, MAX_COUNT, MAX_SECONDS, Scope};
use super::dependencies::{ReferenceProblem, StatisticFault};
use super::format::Format;
use super::formula::{Formula, FormulaFault, is_key};
use super::statistic::Statistic;

/// The most custom statistics of a sport.
pub const MAX_CUSTOM: usize = 100;
/// The most decimal places.
pub const MAX_PRECISION: u8 = 6;
/// The longest name.
pub const MAX_NAME: usize = 60;
/// The longest abbreviation.
pub const MAX_ABBREVIATION: usize = 12;

/// A statistic that an account defines.
#[derive(Debug, Clone)]
pub struct CustomStatistic {
    /// The key: upper-case characters A to Z, digits and underscores.
    pub key: String,
    /// The name, in the club's language.
    pub name: String,
    /// The heading of a column.
    pub abbreviation: String,
    /// Key of a group of the sport.
    pub group: String,
    /// Where its values come from.
    pub kind: Kind,
    /// How it is calculated. `None` if and only if it is entered.
    pub formula: Option<String>,
    /// How values are shown.
    pub format: Format,
    /// Decimal places of numbers and percentages.
    pub precision: u8,
    /// Whether the first of a leaderboard has the highest value.
    pub higher_is_better: bool,
}

/// Why a custom statistic was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomFault {
    /// Index of the statistic in the list.
    pub index: usize,
    /// What is wrong.
    pub problem: CustomProblem,
}

/// What is wrong with a custom statistic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomProblem {
    /// There are more than [`MAX_CUSTOM`] statistics.
    TooMany,
    /// The key has other characters, or is too long.
    InvalidKey,
    /// Another custom statistic has the key.
    DuplicateKey,
    /// A built-in statistic has the key.
    BuiltInKey,
    /// A setting of the sport has the key.
    SettingKey,
    /// The name is empty or too long.
    InvalidName,
    /// The abbreviation is empty or too long.
    InvalidAbbreviation,
    /// The sport has no such group.
    UnknownGroup,
    /// There are more than [`MAX_PRECISION`] decimal places.
    PrecisionTooLarge,
    /// A calculated statistic has no formula.
    FormulaRequired,
    /// An entered statistic has a formula.
    FormulaNotAllowed,
    /// The formula has a syntax error.
    Syntax(FormulaFault),
    /// A key in the formula cannot be used.
    Reference {
        /// Byte offset in the formula.
        position: usize,
        /// What is wrong there.
        problem: ReferenceProblem,
    },
}

impl CustomProblem {
    /// Byte offset in the formula, if the problem is there.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Syntax(fault) => Some(fault.position),
            Self::Reference { position, .. } => Some(*position),
            _ => None,
        }
    }
}

impl fmt::Display for CustomProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "A sport can have {MAX_CUSTOM} custom statistics."),
            Self::InvalidKey => {
                f.write_str("The key can contain only the characters A to Z, 0 to 9 and _.")
            }
            Self::DuplicateKey => f.write_str("Another statistic has this key."),
            Self::BuiltInKey => f.write_str("A built-in statistic has this key."),
            Self::SettingKey => f.write_str("A setting of the sport has this key."),
            Self::InvalidName => write!(f, "The name must have 1 to {MAX_NAME} characters."),
            Self::InvalidAbbreviation => {
                write!(f, "The abbreviation must have 1 to {MAX_ABBREVIATION} characters.")
            }
            Self::UnknownGroup => f.write_str("The sport has no such group."),
            Self::PrecisionTooLarge => write!(f, "The precision is at most {MAX_PRECISION}."),
            Self::FormulaRequired => f.write_str("A calculated statistic must have a formula."),
            Self::FormulaNotAllowed => f.write_str("An entered statistic cannot have a formula."),
            Self::Syntax(fault) => fault.fmt(f),
            Self::Reference { position, problem } => write!(f, "{problem} (position {position})"),
        }
    }
}

impl Catalogue {
    /// This catalogue with the statistics of an account, which can use each other in any order.
    pub fn with_custom(&self, custom: &[CustomStatistic]) -> Result<Self, Vec<CustomFault>> {
        if custom.len() > MAX_CUSTOM {
            return Err(vec![CustomFault { index: MAX_CUSTOM, problem: CustomProblem::TooMany }]);
        }
        let mut keys = HashSet::new();
        let (mut statistics, mut faults) = (Vec::new(), Vec::new());
        for (index, definition) in custom.iter().enumerate() {
            let unique = keys.insert(definition.key.as_str());
            let problem = if unique { None } else { Some(CustomProblem::DuplicateKey) };
            match problem.map_or_else(|| self.custom_statistic(definition), Err) {
                Ok(statistic) => statistics.push(statistic),
                Err(problem) => faults.push(CustomFault { index, problem }),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut catalogue = self.clone();
        match catalogue.add(statistics) {
            Ok(()) => Ok(catalogue),
            Err(faults) => {
                Err(faults.into_iter().filter_map(|fault| locate(fault, custom)).collect())
            }
        }
    }

    fn custom_statistic(&self, custom: &CustomStatistic) -> Result<Statistic, CustomProblem> {
        self.check_texts(custom)?;
        let group = self.definition().group(&custom.group).ok_or(CustomProblem::UnknownGroup)?;
        let entered = custom.kind == Kind::Entered;
        let formula = match (&custom.formula, entered) {
            (None, true) => None,
            (Some(text), false) => Some(Formula::parse(text).map_err(CustomProblem::Syntax)?),
            (None, false) => return Err(CustomProblem::FormulaRequired),
            (Some(_), true) => return Err(CustomProblem::FormulaNotAllowed),
        };
        let aggregate = if entered { Aggregate::Sum } else { Aggregate::Recompute };
        // The scope of a formula is that of its keys, whatever group it is shown in.
        let scope = if entered { group.scope } else { Scope::Both };
        Ok(Statistic {
            key: custom.key.clone().into(),
            name: custom.name.clone().into(),
            abbreviation: custom.abbreviation.clone().into(),
            group: group.key.into(),
            positions: group.positions,
            kind: custom.kind,
            formula,
            format: custom.format,
            precision: custom.precision,
            leading_zero: true,
            higher_is_better: custom.higher_is_better,
            scope,
            over_games: aggregate,
            over_members: aggregate,
            range: (0, if custom.format == Format::Time { MAX_SECONDS } else { MAX_COUNT }),
            minimum: None,
            custom: true,
        })
    }

    fn check_texts(&self, custom: &CustomStatistic) -> Result<(), CustomProblem> {
        let fits = |text: &str, max| !text.trim().is_empty() && text.chars().count() <= max;
        if !is_key(&custom.key) {
            Err(CustomProblem::InvalidKey)
        } else if self.get(&custom.key).is_some() {
            Err(CustomProblem::BuiltInKey)
        } else if self.definition().setting(&custom.key).is_some() {
            Err(CustomProblem::SettingKey)
        } else if !fits(&custom.name, MAX_NAME) {
            Err(CustomProblem::InvalidName)
        } else if !fits(&custom.abbreviation, MAX_ABBREVIATION) {
            Err(CustomProblem::InvalidAbbreviation)
        } else if custom.precision > MAX_PRECISION {
            Err(CustomProblem::PrecisionTooLarge)
        } else {
            Ok(())
        }
    }
}

/// Finds the custom statistic of a fault. Built-in statistics have none, because they cannot use
/// custom ones.
fn locate(fault: StatisticFault, custom: &[CustomStatistic]) -> Option<CustomFault> {
    let index = custom.iter().position(|statistic| statistic.key == fault.key)?;
    let StatisticFault { position, problem, .. } = fault;
    Some(CustomFault { index, problem: CustomProblem::Reference { position, problem } })
}
