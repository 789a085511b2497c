//! Checks of box scores.

use std::collections::BTreeMap;

use competition::stats::{
    BoxScore, Catalogue, CheckedBoxScore, Problem, Scope, Score, Severity, Sport, Subject, Values,
    merge,
};
use kit::string_enum::StringEnum;
use proptest::prelude::*;

fn values(text: &str) -> Values {
    crate::line(text).into_iter().map(|(key, value)| (key, value as f64)).collect()
}

fn check(sport: Sport, members: &[&str], team: &str, score: Option<(i64, i64)>) -> CheckedBoxScore {
    let catalogue = Catalogue::of(sport);
    let members = members.iter().map(|text| values(text)).collect();
    let score = score.map(|(scored, conceded)| Score { scored, conceded });
    let box_score = BoxScore { members, team: values(team) };
    catalogue.check(&catalogue.default_settings(), &box_score, score)
}

/// The issues as text: `error 0 G: not a whole number`.
fn issues(checked: &CheckedBoxScore) -> Vec<String> {
    let describe = |issue: &competition::stats::Issue| {
        let subject = match issue.subject {
            Subject::Member(index) => index.to_string(),
            Subject::Team => "team".to_owned(),
        };
        format!("{} {subject} {}: {}", issue.severity, issue.statistic, issue.problem)
    };
    checked.issues.iter().map(describe).collect()
}

/// The only problem of a member's value.
fn problem(key: &str, value: f64) -> Option<Problem> {
    let catalogue = Catalogue::of(Sport::Soccer);
    let members = vec![Values::from([(key.to_owned(), value)])];
    let box_score = BoxScore { members, team: Values::new() };
    let checked = catalogue.check(&catalogue.default_settings(), &box_score, None);
    assert!(checked.issues.len() <= 1);
    assert_eq!(checked.members[0].is_empty(), !checked.is_valid());
    checked.issues.into_iter().next().map(|issue| {
        assert_eq!(issue.severity, Severity::Error);
        issue.problem
    })
}

#[test]
fn values_are_whole_numbers_of_known_statistics() {
    assert_eq!(problem("G", 2.0), None);
    assert_eq!(problem("G", -0.0), None);
    assert_eq!(problem("GOALS", 2.0), Some(Problem::UnknownKey));
    assert_eq!(problem("MATCH_MINUTES", 2.0), Some(Problem::UnknownKey));
    assert_eq!(problem("PTS", 2.0), Some(Problem::Calculated));
    assert_eq!(problem("CK", 2.0), Some(Problem::WrongScope(Scope::Team)));
    for value in [0.5, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300] {
        assert_eq!(problem("G", value), Some(Problem::NotWhole), "{value}");
    }
    assert_eq!(problem("G", -1.0), Some(Problem::TooSmall { min: 0 }));
    assert_eq!(problem("G", 10_000.0), Some(Problem::TooLarge { max: 9_999 }));
    assert_eq!(problem("G", 1e308), Some(Problem::TooLarge { max: 9_999 }));
    assert_eq!(problem("GS", 2.0), Some(Problem::TooLarge { max: 1 }));
    assert_eq!(problem("SECONDS", 86_401.0), Some(Problem::TooLarge { max: 86_400 }));
}

#[test]
fn only_some_values_can_be_negative() {
    assert!(check(Sport::IceHockey, &["PLUS_MINUS -3"], "", None).is_valid());
    assert!(check(Sport::AmericanFootball, &["RUSH_YDS -12"], "", None).is_valid());
    assert!(!check(Sport::AmericanFootball, &["REC -1"], "", None).is_valid());
}

#[test]
fn the_team_can_have_more_than_a_member() {
    let checked = check(Sport::Basketball, &[], "TEAM_REB 4, FGM 30", None);
    assert_eq!(issues(&checked), [""; 0]);
    let checked = check(Sport::Soccer, &[], "CS 2, SECONDS 1", None);
    assert_eq!(issues(&checked), ["error team SECONDS: only of member"]);
}

#[test]
fn more_makes_than_attempts_are_an_error() {
    let members = ["FGM 5, FGA 9", "FGM 3, FGA 2, FTM 1", "3PM 2, FGM 1"];
    let checked = check(Sport::Basketball, &members, "", None);
    assert_eq!(
        issues(&checked),
        ["error 1 FGM: not FGM <= FGA: FGM=3 FGA=2", "error 2 3PM: not 3PM <= FGM: 3PM=2 FGM=1"]
    );
    assert!(!checked.is_valid());
}

#[test]
fn attempts_need_not_be_recorded() {
    assert_eq!(issues(&check(Sport::Basketball, &["FGM 5, FTM 2"], "", None)), [""; 0]);
    assert_eq!(issues(&check(Sport::Baseball, &["1B 1, SO 2"], "", None)), [""; 0]);
}

#[test]
fn rules_can_use_calculated_statistics() {
    let checked = check(Sport::Baseball, &["AB 3, 1B 2, HR 1, R 1, RBI 1, SO 1"], "", None);
    assert_eq!(issues(&checked), ["error 0 H: not H + SO <= AB: H=3 SO=1 AB=3"]);
}

#[test]
fn unlikely_values_are_warnings() {
    let checked = check(Sport::WaterPolo, &["EX 4"], "", None);
    assert_eq!(issues(&checked), ["warning 0 EX: not EX <= 3: EX=4"]);
    assert!(checked.is_valid());
}

#[test]
fn errors_come_first() {
    let checked = check(Sport::WaterPolo, &["EX 4", "G 2, SH 1"], "", None);
    assert_eq!(
        issues(&checked),
        ["error 1 G: not G <= SH: G=2 SH=1", "warning 0 EX: not EX <= 3: EX=4"]
    );
}

#[test]
fn the_team_is_compared_with_its_members() {
    let checked = check(Sport::Soccer, &["SH 3", "SH 4"], "SH 6, SOG 7", None);
    assert_eq!(
        issues(&checked),
        ["error team SOG: not SOG <= SH: SOG=7 SH=6", "warning team SH: members 7, team 6"]
    );
    // A member can play fewer sets than the team.
    assert_eq!(issues(&check(Sport::Volleyball, &["SP 3"], "SP 4", None)), [""; 0]);
}

#[test]
fn rules_of_the_team_use_sums() {
    let members = ["CMP 10, ATT 12, PASS_YDS 100", "REC 6, REC_YDS 60", "REC 4, REC_YDS 30"];
    let checked = check(Sport::AmericanFootball, &members, "", None);
    assert_eq!(
        issues(&checked),
        ["warning team REC_YDS: not REC_YDS == PASS_YDS: REC_YDS=90 PASS_YDS=100"]
    );
}

#[test]
fn the_score_is_compared_with_the_team() {
    let members = ["G 2", "G 1, GA 1"];
    assert_eq!(issues(&check(Sport::Soccer, &members, "", Some((3, 1)))), [""; 0]);
    assert_eq!(issues(&check(Sport::Soccer, &members, "OGF 1", Some((4, 1)))), [""; 0]);
    assert_eq!(
        issues(&check(Sport::Soccer, &members, "", Some((4, 2)))),
        ["warning team G: G + OGF is 3, the score 4", "warning team GA: GA is 1, the score 2"]
    );
    let checked = check(Sport::Soccer, &members, "", Some((2, 0)));
    assert_eq!(
        issues(&checked),
        ["error team G: G + OGF is 3, the score 2", "warning team GA: GA is 1, the score 0"]
    );
}

#[test]
fn a_score_of_what_was_not_recorded_is_not_compared() {
    assert_eq!(issues(&check(Sport::Soccer, &["YC 1"], "CK 3", Some((4, 2)))), [""; 0]);
    assert_eq!(issues(&check(Sport::Soccer, &["G 9"], "", None)), [""; 0]);
    assert_eq!(issues(&check(Sport::Volleyball, &["K 9"], "", Some((3, 1)))), [""; 0]);
}

#[test]
fn scores_follow_the_rules_of_the_sport() {
    let basketball = ["FGM 10, 3PM 2, FTM 3", "FGM 5"];
    assert_eq!(issues(&check(Sport::Basketball, &basketball, "", Some((35, 30)))), [""; 0]);
    let rugby = ["T 2, C 1", "PG 1, DG 1"];
    assert_eq!(issues(&check(Sport::RugbyUnion, &rugby, "PT 1", Some((25, 0)))), [""; 0]);
    let baseball = ["R 2, OUTS 27, P_R 1", "R 1"];
    assert_eq!(issues(&check(Sport::Baseball, &baseball, "", Some((3, 1)))), [""; 0]);
    let hockey = ["G 2", "EVGA 1, ENGA 1"];
    assert_eq!(issues(&check(Sport::IceHockey, &hockey, "", Some((2, 2)))), [""; 0]);
    let football = ["RUSH_TD 1", "REC_TD 1", "XPM 1, FGM 1", "2PT 1", "SAF 1"];
    let checked = check(Sport::AmericanFootball, &football, "", Some((20, 0)));
    assert_eq!(issues(&checked), [""; 0]);
}

#[test]
fn changes_are_merged() {
    let mut stored = values("G 1, A 2, SH 3");
    let changes = BTreeMap::from([
        ("G".to_owned(), Some(2.0)),
        ("A".to_owned(), None),
        ("YC".to_owned(), Some(1.0)),
        ("RC".to_owned(), None),
    ]);
    merge(&mut stored, &changes);
    assert_eq!(stored, values("G 2, SH 3, YC 1"));
}

proptest! {
    /// Whatever is sent, the valid values are in range and the check does not panic.
    #[test]
    fn any_box_score_can_be_checked(
        sport in proptest::sample::select(Sport::ALL),
        picks in proptest::collection::vec(
            (0_usize..200, any::<f64>(), 0_i64..20, any::<bool>()), 0..30,
        ),
        score in 0_i64..10,
    ) {
        let catalogue = Catalogue::of(sport.0);
        let mut box_score = BoxScore { members: vec![Values::new(); 3], team: Values::new() };
        for (index, (pick, wild, count, is_wild)) in picks.into_iter().enumerate() {
            let statistics = catalogue.statistics();
            let key = statistics[pick % statistics.len()].key.to_string();
            let value = if is_wild { wild } else { count as f64 };
            match index % 4 {
                3 => box_score.team.insert(key, value),
                member => box_score.members[member].insert(key, value),
            };
        }
        let score = Some(Score { scored: score, conceded: score });
        let checked = catalogue.check(&catalogue.default_settings(), &box_score, score);
        for line in checked.members.iter().chain([&checked.team]) {
            for (key, value) in line {
                prop_assert!(catalogue.get(key).unwrap().is_entered());
                prop_assert!((-999..=86_400).contains(value));
            }
        }
    }
}

#[test]
fn correct_lines_of_each_sport_have_no_issues() {
    for (sport, _) in Sport::ALL {
        assert_eq!(issues(&check(*sport, &["", "GP 1", "GP 0"], "", Some((0, 0)))), [""; 0]);
    }
}
