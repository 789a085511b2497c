//! The types of the tables in [`sports`](super::sports): what a sport's catalogue is built from.

use kit::string_enum;

use super::format::Format;
use super::sport::Sport;

string_enum! {
    /// Where the values of a statistic come from.
    pub enum Kind as StatisticKind {
        /// Recorded in the box score of a game.
        Entered = "entered",
        /// Calculated for a game, and for a season from its totals.
        Game = "game",
        /// Calculated only for a season.
        Season = "season",
    }
}

string_enum! {
    /// Who has a statistic.
    pub enum Scope as StatisticScope {
        /// Members and the team. The team's value comes from its members' values.
        Both = "both",
        /// Only members, because a sum over members has no meaning.
        Member = "member",
        /// Only the team.
        Team = "team",
    }
}

string_enum! {
    /// How several values become one.
    pub enum Aggregate as StatisticAggregate {
        /// Their sum.
        Sum = "sum",
        /// The largest.
        Max = "max",
        /// The formula is evaluated with the totals of its keys.
        Recompute = "recompute",
    }
}

string_enum! {
    /// How serious an issue of a box score is.
    pub enum Severity as BoxScoreSeverity {
        /// The box score must not be saved.
        Error = "error",
        /// The box score can be saved; someone should look at it.
        Warning = "warning",
    }
}

/// What is built in for a sport.
#[derive(Debug)]
pub struct SportDefinition {
    /// The sport.
    pub sport: Sport,
    /// Positions of players: the code and the name.
    pub positions: &'static [(&'static str, &'static str)],
    /// Into what a game is divided.
    pub periods: Periods,
    /// What clubs can change, by key. Formulas use the keys.
    pub settings: &'static [Setting],
    /// Groups of statistics.
    pub groups: &'static [Group],
    pub(super) rules: &'static [RuleRow],
    /// The points or goals in the statistics of a team, and of its opponent.
    pub(super) scored: Option<ScoreRow>,
    pub(super) conceded: Option<ScoreRow>,
}

impl SportDefinition {
    /// The group with this key.
    pub fn group(&self, key: &str) -> Option<&'static Group> {
        self.groups.iter().find(|group| group.key == key)
    }

    /// The setting with this key.
    pub fn setting(&self, key: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }
}

/// The regular periods of a game.
#[derive(Debug, Clone, Copy)]
pub struct Periods {
    /// Name of one period, such as "Half".
    pub name: &'static str,
    /// Number of regular periods; the largest number if a match can end earlier.
    pub count: u8,
    /// Length of a period, if time limits it.
    pub minutes: Option<u8>,
}

/// A number in the rules of a sport that depends on age group or league.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key in formulas.
    pub key: &'static str,
    /// The English name.
    pub name: &'static str,
    /// The value unless the club sets another.
    pub default: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

/// A group of statistics.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// Key of the group, such as `goalkeeper`.
    pub key: &'static str,
    /// The English name.
    pub name: &'static str,
    /// Positions whose players usually have these statistics. Empty means all.
    pub positions: &'static [&'static str],
    /// Keys that a box score asks for first. They are entered statistics.
    pub columns: &'static [&'static str],
    pub(super) scope: Scope,
    pub(super) rows: &'static [Row],
}

/// What a player must have to appear in the leaderboard of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Minimum {
    /// Key of the statistic that must be large enough.
    pub key: &'static str,
    /// How much of it per game of the team.
    pub per_team_game: f64,
}

/// A statistic in a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) key: &'static str,
    pub(super) abbreviation: &'static str,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Empty for entered statistics.
    pub(super) formula: &'static str,
    pub(super) format: Format,
    pub(super) precision: u8,
    pub(super) leading_zero: bool,
    pub(super) higher_is_better: bool,
    pub(super) scope: Scope,
    pub(super) over_games: Aggregate,
    pub(super) over_members: Aggregate,
    pub(super) min: i64,
    pub(super) max: i64,
    pub(super) minimum: Option<Minimum>,
}

/// A formula that must be true for every member who has all its keys, and for the team.
#[derive(Debug, Clone, Copy)]
pub(super) struct RuleRow {
    pub(super) formula: &'static str,
    pub(super) severity: Severity,
    pub(super) only_team: bool,
}

/// The statistic that equals the score. Fewer points than the score are a warning, because the box
/// score may be incomplete.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoreRow {
    pub(super) formula: &'static str,
    /// What more points than the score are.
    pub(super) more: Severity,
}

/// The largest value of a team or member in one game, unless the table says otherwise.
pub(super) const MAX_COUNT: i64 = 9_999;
/// The longest time in one game: a day.
pub(super) const MAX_SECONDS: i64 = 86_400;
/// 100 innings.
const MAX_OUTS: i64 = 300;

/// A whole number that is counted during a game.
pub(super) const fn count(key: &'static str, name: &'static str) -> Row {
    Row {
        key,
        abbreviation: key,
        name,
        kind: Kind::Entered,
        formula: "",
        format: Format::Number,
        precision: 0,
        leading_zero: true,
        higher_is_better: true,
        scope: Scope::Both,
        over_games: Aggregate::Sum,
        over_members: Aggregate::Sum,
        min: 0,
        max: MAX_COUNT,
        minimum: None,
    }
}

/// Whether something happened in a game: 0 or 1.
pub(super) const fn flag(key: &'static str, name: &'static str) -> Row {
    Row { max: 1, ..count(key, name) }
}

/// A whole number that can be negative, such as yards.
pub(super) const fn signed(key: &'static str, name: &'static str) -> Row {
    Row { min: -999, ..count(key, name) }
}

/// A time in seconds.
pub(super) const fn seconds(key: &'static str, name: &'static str) -> Row {
    Row { format: Format::Time, max: MAX_SECONDS, ..count(key, name) }
}

/// Innings, as a number of outs.
pub(super) const fn outs(key: &'static str, name: &'static str) -> Row {
    Row { format: Format::Innings, max: MAX_OUTS, ..count(key, name) }
}

/// The goalkeeper's share of saved shots, for leaderboards from this many seconds in goal per team game.
pub(super) const fn save_percentage(min_seconds: f64) -> Row {
    percent("SV_PCT", "Save percentage", "SV / (SV + GA)")
        .abbreviation("SV%")
        .minimum("GK_SECONDS", min_seconds)
}

/// Goals against in a game of full length, for leaderboards from this many seconds in goal per team game.
pub(super) const fn goals_against_average(formula: &'static str, min_seconds: f64) -> Row {
    ratio("GAA", "Goals against average", formula)
        .lower_is_better()
        .minimum("GK_SECONDS", min_seconds)
}

/// Games played. If it is missing in a box score, a member with any other value has played.
pub(super) const fn games_played() -> Row {
    Row { over_members: Aggregate::Max, ..flag("GP", "Games played") }
}

/// A whole number that is calculated.
pub(super) const fn total(key: &'static str, name: &'static str, formula: &'static str) -> Row {
    Row {
        kind: Kind::Game,
        formula,
        over_games: Aggregate::Recompute,
        over_members: Aggregate::Recompute,
        ..count(key, name)
    }
}

/// A quotient with two decimal places.
pub(super) const fn ratio(key: &'static str, name: &'static str, formula: &'static str) -> Row {
    Row { precision: 2, ..total(key, name, formula) }
}

/// A quotient that is written like a batting average: `.333`.
pub(super) const fn average(key: &'static str, name: &'static str, formula: &'static str) -> Row {
    Row { precision: 3, leading_zero: false, ..total(key, name, formula) }
}

/// A share, in percent with one decimal place.
pub(super) const fn percent(key: &'static str, name: &'static str, formula: &'static str) -> Row {
    Row { format: Format::Percent, precision: 1, ..total(key, name, formula) }
}

/// An average per game of a season, for players in at least half of the team's games.
pub(super) const fn per_game(key: &'static str, name: &'static str, formula: &'static str) -> Row {
    Row { kind: Kind::Season, precision: 1, ..total(key, name, formula) }.minimum("GP", 0.5)
}

/// In how many games a condition was true for a member.
pub(super) const fn games_with(
    key: &'static str,
    name: &'static str,
    condition: &'static str,
) -> Row {
    Row { over_games: Aggregate::Sum, scope: Scope::Member, ..total(key, name, condition) }
}

impl Row {
    pub(super) const fn abbreviation(self, abbreviation: &'static str) -> Self {
        Self { abbreviation, ..self }
    }

    pub(super) const fn precision(self, precision: u8) -> Self {
        Self { precision, ..self }
    }

    pub(super) const fn time(self) -> Self {
        Self { format: Format::Time, precision: 0, ..self }
    }

    pub(super) const fn lower_is_better(self) -> Self {
        Self { higher_is_better: false, ..self }
    }

    pub(super) const fn only_members(self) -> Self {
        Self { scope: Scope::Member, ..self }
    }

    /// A season has the largest value of its games, and a team that of its members.
    pub(super) const fn largest(self) -> Self {
        Self { over_games: Aggregate::Max, over_members: Aggregate::Max, ..self }
    }

    /// A team has the largest value of its members, because all members share it.
    pub(super) const fn shared(self) -> Self {
        Self { over_members: Aggregate::Max, ..self }
    }

    pub(super) const fn at_most(self, max: i64) -> Self {
        Self { max, ..self }
    }

    pub(super) const fn minimum(self, key: &'static str, per_team_game: f64) -> Self {
        Self { minimum: Some(Minimum { key, per_team_game }), ..self }
    }
}

/// A group of statistics of members.
pub(super) const fn group(
    key: &'static str,
    name: &'static str,
    columns: &'static [&'static str],
    rows: &'static [Row],
) -> Group {
    Group { key, name, positions: &[], columns, scope: Scope::Both, rows }
}

impl Group {
    pub(super) const fn positions(self, positions: &'static [&'static str]) -> Self {
        Self { positions, ..self }
    }

    /// The statistics in this group are recorded for the team.
    pub(super) const fn of_team(self) -> Self {
        Self { scope: Scope::Team, ..self }
    }
}

pub(super) const fn setting(
    key: &'static str,
    name: &'static str,
    default: f64,
    (min, max): (f64, f64),
) -> Setting {
    Setting { key, name, default, min, max }
}

pub(super) const fn periods(name: &'static str, count: u8, minutes: Option<u8>) -> Periods {
    Periods { name, count, minutes }
}

/// A rule that no correct box score breaks.
pub(super) const fn error(formula: &'static str) -> RuleRow {
    RuleRow { formula, severity: Severity::Error, only_team: false }
}

/// A rule with rare exceptions.
pub(super) const fn warning(formula: &'static str) -> RuleRow {
    RuleRow { formula, severity: Severity::Warning, only_team: false }
}

impl RuleRow {
    /// The rule is about the sums of all members.
    pub(super) const fn of_team(self) -> Self {
        Self { only_team: true, ..self }
    }
}

/// Members cannot score more than the team.
pub(super) const fn score(formula: &'static str) -> ScoreRow {
    ScoreRow { formula, more: Severity::Error }
}

/// The statistic can differ from the score.
pub(super) const fn approximate_score(formula: &'static str) -> ScoreRow {
    ScoreRow { formula, more: Severity::Warning }
}
