//! Totals of games, and what is calculated from them.
//!
//! A rate of a season is calculated from the sums of what it needs, never from the rates of games.
//!
//! A statistic that was not recorded counts as 0 in a formula, because an empty cell of a box score
//! usually means that nothing happened. If nothing from which a statistic is calculated was
//! recorded, it is null. A game played is not counted as a record of anything else.

use std::collections::BTreeMap;

use super::Catalogue;
use super::definition::{Aggregate, Kind};
use super::format::round_half_away;
use super::formula::Formula;
use super::settings::Settings;
use super::statistic::{Side, Statistic};

/// What was recorded for a member or a team in one game, by key.
pub type Line = BTreeMap<String, i64>;

/// The value of each statistic, by key. Null if it cannot be calculated.
pub type StatisticValues = BTreeMap<String, Option<f64>>;

/// Key of the number of games.
pub(super) const GAMES_PLAYED: &str = "GP";

/// The sums of the games of a member or a team. Some statistics have a maximum instead of a sum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    sums: Line,
}

/// Totals that were added up elsewhere.
impl From<Line> for Totals {
    fn from(sums: Line) -> Self {
        Self { sums }
    }
}

impl Totals {
    /// The total of an entered statistic, if it was recorded.
    pub fn get(&self, key: &str) -> Option<i64> {
        self.sums.get(key).copied()
    }

    /// The number of games.
    pub fn games(&self) -> i64 {
        self.get(GAMES_PLAYED).unwrap_or(0)
    }

    /// Adds a game. A line without values is no game; with values, it is one unless it says so.
    pub fn add_game(
        &mut self,
        catalogue: &Catalogue,
        settings: &Settings,
        side: Side,
        line: &Line,
    ) {
        if line.is_empty() {
            return;
        }
        let line = with_game(line);
        for (key, value) in &line {
            if let Some(statistic) = catalogue.get(key).filter(|found| found.is_entered()) {
                self.add_value(statistic, *value);
            }
        }
        let game = Evaluation::new(catalogue, settings, side, Span::Game, &line);
        for index in catalogue.order() {
            let statistic = &catalogue.statistics()[*index];
            if statistic.over_games != Aggregate::Recompute
                && statistic.applies_to(side)
                && let Some(value) = game.value(*index)
            {
                // The conversion saturates.
                self.add_value(statistic, round_half_away(value, 0) as i64);
            }
        }
    }

    fn add_value(&mut self, statistic: &Statistic, value: i64) {
        add(&mut self.sums, &statistic.key, value, statistic.over_games);
    }
}

fn add(sums: &mut Line, key: &str, value: i64, aggregate: Aggregate) {
    let combine = |sum: i64| match aggregate {
        Aggregate::Max => sum.max(value),
        Aggregate::Sum | Aggregate::Recompute => sum.saturating_add(value),
    };
    sums.entry(key.to_owned()).and_modify(|sum| *sum = combine(*sum)).or_insert(value);
}

/// The line with the game that it is about.
fn with_game(line: &Line) -> Line {
    let mut line = line.clone();
    if !line.is_empty() {
        line.entry(GAMES_PLAYED.to_owned()).or_insert(1);
    }
    line
}

impl Catalogue {
    /// The line of a team in a game: what was recorded for the team, and otherwise the sums of its
    /// members' values.
    pub fn team_line<'a>(&self, members: impl IntoIterator<Item = &'a Line>, team: &Line) -> Line {
        let mut line = self.member_sums(members);
        line.extend(team.iter().map(|(key, value)| (key.clone(), *value)));
        line.retain(|key, _| self.get(key).is_some_and(|found| found.applies_to(Side::Team)));
        if line.contains_key(GAMES_PLAYED) {
            line.insert(GAMES_PLAYED.to_owned(), 1);
        }
        line
    }

    /// What the members' values are for the team.
    pub(super) fn member_sums<'a>(&self, members: impl IntoIterator<Item = &'a Line>) -> Line {
        let mut sums = Line::new();
        for (key, value) in members.into_iter().flatten() {
            if let Some(statistic) = self.get(key).filter(|found| found.applies_to(Side::Team)) {
                add(&mut sums, key, *value, statistic.over_members);
            }
        }
        sums
    }

    /// All statistics of one game, entered and calculated.
    pub fn game_values(&self, settings: &Settings, side: Side, line: &Line) -> StatisticValues {
        Evaluation::new(self, settings, side, Span::Game, &with_game(line)).values()
    }

    /// All statistics of several games, entered and calculated.
    pub fn season_values(
        &self,
        settings: &Settings,
        side: Side,
        totals: &Totals,
    ) -> StatisticValues {
        Evaluation::new(self, settings, side, Span::Season, &totals.sums).values()
    }
}

/// What values are calculated for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Span {
    Game,
    Season,
}

/// The values of all statistics of a member or team.
pub(super) struct Evaluation<'a> {
    catalogue: &'a Catalogue,
    settings: &'a Settings,
    side: Side,
    span: Span,
    recorded: &'a Line,
    /// By index of the statistic. What was not recorded is 0.
    results: Vec<Option<f64>>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        catalogue: &'a Catalogue,
        settings: &'a Settings,
        side: Side,
        span: Span,
        recorded: &'a Line,
    ) -> Self {
        let recorded_value = |statistic: &Statistic| {
            Some(recorded.get(statistic.key.as_ref()).map_or(0.0, |value| *value as f64))
        };
        let results = catalogue.statistics().iter().map(recorded_value).collect();
        let mut evaluation = Self { catalogue, settings, side, span, recorded, results };
        for &index in catalogue.order() {
            let statistic = &catalogue.statistics()[index];
            let from_games = span == Span::Season && statistic.over_games != Aggregate::Recompute;
            if let Some(formula) = statistic.formula.as_ref().filter(|_| !from_games) {
                evaluation.results[index] = evaluation.evaluate(formula);
            }
        }
        evaluation
    }

    /// The value of a formula in which 0 stands for what was not recorded.
    pub(super) fn evaluate(&self, formula: &Formula) -> Option<f64> {
        formula.evaluate(&|key| match self.catalogue.index_of(key) {
            Some(index) => self.results[index],
            None => self.settings.get(key),
        })
    }

    /// The value of a statistic. Null if nothing was recorded for it.
    pub(super) fn value(&self, index: usize) -> Option<f64> {
        self.results[index].filter(|_| self.is_recorded(index))
    }

    /// Whether something was recorded from which the statistic is calculated.
    fn is_recorded(&self, index: usize) -> bool {
        let inputs = self.catalogue.inputs(index);
        let key = |index: &usize| self.catalogue.statistics()[*index].key.as_ref();
        inputs
            .iter()
            .map(key)
            .filter(|key| *key != GAMES_PLAYED || inputs.len() == 1)
            .any(|key| self.recorded.contains_key(key))
    }

    fn values(&self) -> StatisticValues {
        let statistics = self.catalogue.statistics().iter().enumerate();
        statistics
            .filter(|(_, statistic)| statistic.applies_to(self.side))
            .filter(|(_, statistic)| self.span == Span::Season || statistic.kind != Kind::Season)
            .map(|(index, statistic)| (statistic.key.to_string(), self.value(index)))
            .collect()
    }
}
