//! The statistics of each sport, and formulas over them.
//!
//! A [`Catalogue`] has the statistics of a sport: those of the tables in `sports`, and those that
//! an account defines. Some are entered in the box score of each game; the others have a
//! [formula] over the keys of statistics and settings.
//!
//! 1. [`Catalogue::check`] checks a [`BoxScore`] and returns the valid values of each member and of
//!    the team.
//! 2. [`Catalogue::game_values`] calculates the other statistics of that game.
//! 3. [`Totals::add_game`] adds up games, and [`Catalogue::season_values`] calculates the
//!    statistics of all games from the sums.
//! 4. [`Statistic::leaders`] ranks members, and [`Statistic::format`] writes a value.
//!
//! Recorded values are whole numbers: times are in seconds, innings in outs, overs in balls.
//! Calculated values are finite numbers or null. They are rounded only when they are written.

pub mod formula;
mod format;
mod sport;
mod definition;
mod sports;
mod statistic;
mod settings;
mod dependencies;
mod catalogue;
mod custom;
mod totals;
mod leaders;
mod box_score;

pub use box_score::{BoxScore, CheckedBoxScore, Issue, Problem, Score, Subject, Values, merge};
pub use catalogue::Catalogue;
pub use custom::{
    CustomFault, CustomProblem, CustomStatistic, MAX_ABBREVIATION, MAX_CUSTOM, MAX_NAME,
    MAX_PRECISION,
};
pub use definition::{
    Aggregate, Group, Kind, Minimum, Periods, Scope, Setting, Severity, SportDefinition,
};
pub use dependencies::ReferenceProblem;
pub use format::{Format, format_value, round_half_away};
pub use leaders::Leader;
pub use settings::{SettingFault, Settings};
pub use sport::Sport;
pub use statistic::{Side, Statistic, Text};
pub use totals::{Line, StatisticValues, Totals};
