//! Statistics of a catalogue.

use std::borrow::Cow;

use super::definition::{Aggregate, Group, Kind, MAX_COUNT, Minimum, Row, Scope};
use super::format::{Format, format_value};
use super::formula::{Formula, FormulaFault};

/// A text that is built in or belongs to a custom statistic.
pub type Text = Cow<'static, str>;

/// A statistic of a [`Catalogue`](super::Catalogue).
#[derive(Debug, Clone)]
pub struct Statistic {
    /// The key in formulas and box scores.
    pub key: Text,
    /// The English name.
    pub name: Text,
    /// The heading of a column.
    pub abbreviation: Text,
    /// Key of the group.
    pub group: Text,
    /// Positions whose players usually have the statistic. Empty means all.
    pub positions: &'static [&'static str],
    /// Where its values come from.
    pub kind: Kind,
    /// How it is calculated, unless it is entered.
    pub formula: Option<Formula>,
    /// How values are shown.
    pub format: Format,
    /// Decimal places of numbers and percentages.
    pub precision: u8,
    /// Whether a number between -1 and 1 is written with a 0 before the point.
    pub leading_zero: bool,
    /// Whether the first of a leaderboard has the highest value.
    pub higher_is_better: bool,
    /// Whether members, the team or both have it.
    pub scope: Scope,
    /// How the values of games become one value of a season.
    pub over_games: Aggregate,
    /// How the values of members become one value of the team.
    pub over_members: Aggregate,
    /// The smallest and the largest value that can be entered for a member.
    pub range: (i64, i64),
    /// What a member must have to appear in its leaderboard.
    pub minimum: Option<Minimum>,
    /// Whether the account defined it.
    pub custom: bool,
}

impl Statistic {
    pub(super) fn built_in(group: &Group, row: &Row) -> Result<Self, FormulaFault> {
        let formula = match row.formula {
            "" => None,
            text => Some(Formula::parse(text)?),
        };
        Ok(Self {
            key: row.key.into(),
            name: row.name.into(),
            abbreviation: row.abbreviation.into(),
            group: group.key.into(),
            positions: group.positions,
            kind: row.kind,
            formula,
            format: row.format,
            precision: row.precision,
            leading_zero: row.leading_zero,
            higher_is_better: row.higher_is_better,
            scope: if group.scope == Scope::Team { Scope::Team } else { row.scope },
            over_games: row.over_games,
            over_members: row.over_members,
            range: (row.min, row.max),
            minimum: row.minimum,
            custom: false,
        })
    }

    /// Whether box scores have it.
    pub fn is_entered(&self) -> bool {
        self.kind == Kind::Entered
    }

    /// Whether members or the team have it.
    pub fn applies_to(&self, side: Side) -> bool {
        match side {
            Side::Member => self.scope != Scope::Team,
            Side::Team => self.scope != Scope::Member,
        }
    }

    /// The smallest and the largest value that can be entered.
    pub fn range_of(&self, side: Side) -> (i64, i64) {
        match side {
            Side::Member => self.range,
            Side::Team => (self.range.0, self.range.1.max(MAX_COUNT)),
        }
    }

    /// A value as text, with a decimal point: `.333`, `50.5%`, `6.1` innings, `60:05` minutes.
    pub fn format(&self, value: f64) -> String {
        format_value(value, self.format, self.precision, self.leading_zero)
    }
}

/// Whose values are calculated or entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// One member.
    Member,
    /// The team.
    Team,
}
