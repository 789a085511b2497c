//! What runs the examples of each sport, and proves that every calculated statistic has one.

use std::collections::BTreeSet;

use competition::stats::{Catalogue, Side, Sport};
use kit::string_enum::StringEnum;

use crate::examples_ball::BALL_SPORTS;
use crate::examples_goal::GOAL_SPORTS;
use crate::season;

/// Games, and what they are in a season.
pub(crate) struct Example {
    pub(crate) sport: Sport,
    pub(crate) side: Side,
    /// Each is a line: `G 2, A 1`. A published season is one line, with its `GP`.
    pub(crate) games: &'static [&'static str],
    /// Formatted values: `AVG .378, W_PCT 75.0%`. `-` is null.
    pub(crate) expected: &'static str,
}

pub(crate) const fn member(
    sport: Sport,
    games: &'static [&'static str],
    expected: &'static str,
) -> Example {
    Example { sport, side: Side::Member, games, expected }
}

pub(crate) const fn team(
    sport: Sport,
    games: &'static [&'static str],
    expected: &'static str,
) -> Example {
    Example { sport, side: Side::Team, games, expected }
}

fn examples() -> impl Iterator<Item = &'static Example> {
    GOAL_SPORTS.iter().chain(BALL_SPORTS)
}

impl Example {
    fn expected(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.expected.split(',').map(|pair| pair.trim().split_once(' ').unwrap())
    }
}

#[test]
fn the_formulas_give_the_known_values() {
    let mut wrong = Vec::new();
    for example in examples() {
        let catalogue = Catalogue::of(example.sport);
        let values = season(catalogue, example.side, example.games);
        for (key, expected) in example.expected() {
            let statistic =
                catalogue.get(key).unwrap_or_else(|| panic!("{key} of {}", example.sport));
            let shown = match values.get(key) {
                Some(Some(value)) => statistic.format(*value),
                Some(None) => "-".to_owned(),
                None => "not there".to_owned(),
            };
            if shown != expected {
                wrong.push(format!("{} {key}: {shown}, not {expected}", example.sport));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_calculated_statistic_has_an_example() {
    let mut missing = Vec::new();
    for (sport, _) in Sport::ALL {
        let has_value = |(_, value): &(&str, &str)| *value != "-";
        let of_sport = examples().filter(|example| example.sport == *sport);
        let covered: BTreeSet<&str> = of_sport
            .flat_map(|example| example.expected().filter(has_value))
            .map(|(key, _)| key)
            .collect();
        for statistic in Catalogue::of(*sport).statistics() {
            if !statistic.is_entered() && !covered.contains(statistic.key.as_ref()) {
                missing.push(format!("{sport} {}", statistic.key));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
