//! Totals of games.

use competition::stats::{Catalogue, Line, Side, Sport, StatisticValues, Totals};
use kit::string_enum::StringEnum;
use proptest::prelude::*;

use crate::{line, season, value};

#[test]
fn rates_come_from_sums() {
    // The average of 1 / 1 and 0 / 3 would be 50 %.
    let games = ["AB 1, 1B 1", "AB 3"];
    assert_eq!(value(Sport::Baseball, &games, "AVG"), Some(0.25));
}

#[test]
fn thirds_of_innings_add_up() {
    let values =
        season(Catalogue::of(Sport::Baseball), Side::Member, &["OUTS 1, ER 1", "OUTS 1", "OUTS 1"]);
    assert_eq!(values["OUTS"], Some(3.0));
    assert_eq!(values["ERA"], Some(9.0));
}

#[test]
fn settings_change_formulas() {
    let catalogue = Catalogue::of(Sport::Baseball);
    let mut settings = catalogue.default_settings();
    settings.set("GAME_INNINGS", 6.0).unwrap();
    let values = catalogue.game_values(&settings, Side::Member, &line("OUTS 9, ER 2"));
    assert_eq!(values["ERA"], Some(4.0));

    let catalogue = Catalogue::of(Sport::IceHockey);
    let mut settings = catalogue.default_settings();
    let game = line("SA 20, EVGA 2, ENGA 1");
    assert_eq!(catalogue.game_values(&settings, Side::Member, &game)["GA"], Some(2.0));
    settings.set("EMPTY_NET", 1.0).unwrap();
    assert_eq!(catalogue.game_values(&settings, Side::Member, &game)["GA"], Some(3.0));
}

#[test]
fn what_nobody_recorded_is_null() {
    let values = season(Catalogue::of(Sport::Basketball), Side::Member, &["FGM 2"]);
    assert_eq!(values["PTS"], Some(4.0));
    assert_eq!(values["PPG"], Some(4.0));
    assert_eq!(values["GP"], Some(1.0));
    // No attempts, and nothing about rebounds.
    for key in ["FG_PCT", "3PM", "REB", "RPG", "AST"] {
        assert_eq!(values[key], None, "{key}");
    }
    let nothing = season(Catalogue::of(Sport::Basketball), Side::Member, &[]);
    assert!(nothing.values().all(Option::is_none));
}

#[test]
fn who_is_in_the_box_score_has_played() {
    let games = ["G 1", "", "A 0", "GP 0, YC 1"];
    assert_eq!(value(Sport::Soccer, &games, "GP"), Some(2.0));
    assert_eq!(value(Sport::Soccer, &games, "YC"), Some(1.0));
}

#[test]
fn longest_plays_are_not_added() {
    let games = ["CAR 5, RUSH_LNG 12", "CAR 7, RUSH_LNG 31", "CAR 1, RUSH_LNG -2"];
    assert_eq!(value(Sport::AmericanFootball, &games, "RUSH_LNG"), Some(31.0));
    assert_eq!(value(Sport::AmericanFootball, &games[2..], "RUSH_LNG"), Some(-2.0));
}

#[test]
fn a_game_has_no_statistics_of_a_season() {
    let catalogue = Catalogue::of(Sport::Basketball);
    let settings = catalogue.default_settings();
    let values = catalogue.game_values(&settings, Side::Member, &line("FGM 6, DREB 10"));
    assert_eq!(values["PTS"], Some(12.0));
    assert_eq!(values["DD"], Some(1.0));
    assert!(!values.contains_key("PPG"));
    assert!(!values.contains_key("TEAM_REB"));
}

#[test]
fn the_team_has_the_sums_of_its_members() {
    let catalogue = Catalogue::of(Sport::Soccer);
    let settings = catalogue.default_settings();
    let members = [
        line("G 2, SH 5, SECONDS 5400"),
        line("G 1, A 2, SH 3"),
        line("GK_SECONDS 5400, GA 1, SV 3"),
    ];
    let team = catalogue.team_line(&members, &line("CK 6, SH 10"));
    assert_eq!(team, line("A 2, CK 6, G 3, GA 1, GK_SECONDS 5400, SH 10, SV 3"));
    let values = catalogue.game_values(&settings, Side::Team, &team);
    assert_eq!(values["SH_PCT"], Some(0.3));
    assert_eq!(values["GAA"], Some(1.0));
    assert_eq!(values["GP"], Some(1.0));
    assert!(!values.contains_key("G_90"));
}

#[test]
fn the_team_plays_one_game_and_the_sets_of_its_members() {
    let catalogue = Catalogue::of(Sport::Volleyball);
    let members = [line("GP 1, SP 4, K 10"), line("GP 1, SP 2, K 4")];
    let team = catalogue.team_line(&members, &Line::new());
    assert_eq!(team, line("GP 1, K 14, SP 4"));
    let members = [line("GP 0, SP 0"), line("GP 0")];
    assert_eq!(catalogue.team_line(&members, &Line::new()), line("GP 1, SP 0"));
}

#[test]
fn totals_can_come_from_elsewhere() {
    let catalogue = Catalogue::of(Sport::Baseball);
    let totals = Totals::from(line("GP 2, AB 8, 1B 3"));
    assert_eq!((totals.games(), totals.get("AB"), totals.get("HR")), (2, Some(8), None));
    let values = catalogue.season_values(&catalogue.default_settings(), Side::Member, &totals);
    assert_eq!(values["AVG"], Some(0.375));
}

#[test]
fn sums_do_not_overflow() {
    let catalogue = Catalogue::of(Sport::Soccer);
    let settings = catalogue.default_settings();
    let mut totals = Totals::default();
    for _ in 0..3 {
        let game = Line::from([("G".to_owned(), i64::MAX), ("A".to_owned(), i64::MIN)]);
        totals.add_game(catalogue, &settings, Side::Member, &game);
    }
    assert_eq!(totals.get("G"), Some(i64::MAX));
    let values = catalogue.season_values(&settings, Side::Member, &totals);
    assert!(values.values().flatten().all(|value| value.is_finite()));
}

/// Some lines of random counts of all entered statistics of a sport.
fn games() -> impl Strategy<Value = (Sport, Vec<Line>)> {
    proptest::sample::select(Sport::ALL).prop_flat_map(|(sport, _)| {
        let statistics = Catalogue::of(sport).statistics();
        let entered = statistics.iter().filter(|statistic| statistic.is_entered());
        let keys: Vec<String> = entered.map(|statistic| statistic.key.to_string()).collect();
        let game = proptest::collection::btree_map(
            proptest::sample::select(keys),
            prop_oneof![Just(0), 0_i64..30, -999_i64..10_000],
            0..20,
        );
        (Just(sport), proptest::collection::vec(game, 0..4))
    })
}

fn add_games(sport: Sport, side: Side, games: &[Line]) -> (Totals, StatisticValues) {
    let catalogue = Catalogue::of(sport);
    let settings = catalogue.default_settings();
    let mut totals = Totals::default();
    for game in games {
        totals.add_game(catalogue, &settings, side, game);
    }
    let values = catalogue.season_values(&settings, side, &totals);
    (totals, values)
}

proptest! {
    #[test]
    fn values_are_finite((sport, games) in games()) {
        for side in [Side::Member, Side::Team] {
            let (_, values) = add_games(sport, side, &games);
            prop_assert!(values.values().flatten().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn the_order_of_games_does_not_matter((sport, games) in games()) {
        let reversed: Vec<Line> = games.iter().rev().cloned().collect();
        prop_assert_eq!(
            add_games(sport, Side::Member, &games),
            add_games(sport, Side::Member, &reversed)
        );
    }

    /// A rate of a season is that of one long game with the same sums.
    #[test]
    fn batting_averages_are_those_of_the_sums(
        games in proptest::collection::vec((0_i64..5, 0_i64..5), 1..8)
    ) {
        let line = |hits: i64, outs: i64| {
            Line::from([("1B".to_owned(), hits), ("AB".to_owned(), hits + outs)])
        };
        let lines: Vec<Line> = games.iter().map(|(hits, outs)| line(*hits, *outs)).collect();
        let hits: i64 = games.iter().map(|(hits, _)| hits).sum();
        let outs: i64 = games.iter().map(|(_, outs)| outs).sum();
        let (_, values) = add_games(Sport::Baseball, Side::Member, &lines);
        let direct = (hits + outs > 0).then(|| hits as f64 / (hits + outs) as f64);
        prop_assert_eq!(values["AVG"], direct);
    }
}
