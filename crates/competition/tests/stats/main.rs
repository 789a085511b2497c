//! Statistics: formulas, catalogues, totals and box scores.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]
#![expect(clippy::float_cmp, reason = "the expected values are exact")]

mod box_score;
mod catalogue;
mod custom;
mod examples;
mod examples_ball;
mod examples_goal;
mod formats;
mod formulas;
mod leaders;
mod totals;

use competition::stats::{Catalogue, Line, Side, Sport, StatisticValues, Totals};

/// Values as text: `G 2, A 1`.
fn line(text: &str) -> Line {
    text.split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once(' ').unwrap();
            (key.to_owned(), value.trim().parse().unwrap())
        })
        .collect()
}

/// The values of a season with these games.
fn season(catalogue: &Catalogue, side: Side, games: &[&str]) -> StatisticValues {
    let settings = catalogue.default_settings();
    let mut totals = Totals::default();
    for game in games {
        let line = line(game);
        let unknown = line.keys().find(|key| catalogue.get(key).is_none_or(|s| !s.is_entered()));
        assert_eq!(unknown, None, "not entered in {}", catalogue.sport());
        totals.add_game(catalogue, &settings, side, &line);
    }
    catalogue.season_values(&settings, side, &totals)
}

/// One value of a member's season.
fn value(sport: Sport, games: &[&str], key: &str) -> Option<f64> {
    season(Catalogue::of(sport), Side::Member, games)[key]
}
