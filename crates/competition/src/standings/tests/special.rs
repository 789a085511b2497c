//! Tie-breakers of single sports and competitions.

use super::*;
use crate::standings::{Bye, Decided, Details, Side, best_across_groups};

#[test]
fn the_third_placed_are_compared_over_all_games() {
    let mut entries = entries(9);
    for (entry, group) in entries.iter_mut().zip([1, 1, 1, 2, 2, 2, 3, 3, 3]) {
        entry.group = Some(group);
    }
    let played =
        games("0-1 1:0, 0-2 1:0, 1-2 3:0, 3-4 1:0, 3-5 1:0, 4-5 1:0, 6-7 1:0, 6-8 2:1, 7-8 2:1");
    let rules = preset("fifa-wc-2026").unwrap();
    let rows = best_across_groups(&rules, &entries, &played, 3);
    assert_eq!((order(&rows), ranks(&rows)), (vec![8, 5, 2], vec![1, 2, 3]));
    assert_eq!(reasons(&rows), [None, Some(Metric::PointsFor), Some(Metric::Difference)]);
    assert_eq!(values(&rows[2]), ["5=-2", "8=-2", "2=-4"]);
    assert_eq!(best_across_groups(&rules, &entries, &played, 4), []);
    assert_eq!(best_across_groups(&rules, &entries, &played, 0), []);
}

#[test]
fn net_run_rate_is_runs_per_over() {
    let faced = |balls| Details { balls, ..Details::default() };
    let mut played = games("0-1 160:150, 1-0 121:120");
    played[0].details = Pair::new(faced(120), faced(120));
    played[1].details = Pair::new(faced(90), faced(120));
    // 0 scored 280 runs in 40 overs and conceded 271 in 35.
    let rows = standings(&preset("ipl").unwrap(), &entries(2), &played);
    assert_eq!(reasons(&rows)[1], Some(Metric::NetRunRate));
    assert_eq!(values(&rows[1]), ["1=0.743", "0=-0.743"]);
}

#[test]
fn euroleague_ignores_points_scored_in_overtime() {
    let mut played = games("0-1 90:80");
    played[0].decided = Decided::Overtime;
    played[0].regulation_score = Some(Pair::new(75, 75));
    let rows = standings(&preset("euroleague").unwrap(), &entries(2), &played);
    assert_eq!((rows[0].wins, rows[0].points_for, rows[0].difference), (1, 75, 0));
}

#[test]
fn the_nhl_leaves_out_the_first_home_game_of_an_uneven_number() {
    // 0 has three home games against 1, which has two. 0 won the first of the three.
    let played = games("0-1 5:0, 1-0 1:0, 0-1 1:0, 1-0 0:1, 0-1 0:1, 1-2 1:0");
    let wins =
        |scope| standings(&rules(vec![TieBreaker::new(Metric::Wins, scope)]), &entries(3), &played);
    assert_eq!(values(&wins(Scope::HeadToHead)[1]), ["0=3", "1=2"]);
    assert_eq!(ranks(&wins(Scope::BalancedHeadToHead)), [1, 1, 3]);
}

#[test]
fn only_the_best_of_each_division_is_compared_for_a_wild_card() {
    let mut entries = entries(4);
    for (entry, division) in entries.iter_mut().zip([1, 1, 2, 2]) {
        entry.division = Some(division);
        entry.conference = Some(1);
    }
    // 0, 1 and 2 have one win and one loss. 0 beat 1 in their division, although 1 beat 2.
    let played = games("0-1 3:0, 1-2 30:0, 2-0 3:0");
    let rows = standings(&preset("nfl-wild-card").unwrap(), &entries[..3], &played);
    assert_eq!(order(&rows), [2, 0, 1]);
    assert_eq!(rows[0].rank_value.to_string(), "0.500");
    assert_eq!(rows[2].explanation.as_ref().unwrap().rule, Some(Metric::BestOfDivision));
}

#[test]
fn the_last_half_is_extended_until_the_tie_is_broken() {
    let mut entries = entries(4);
    for entry in &mut entries {
        entry.conference = Some(1);
    }
    // Of the last games, 0 and 1 won two each. The third from the end is won by 0 only.
    let played = games("1-3 1:0, 0-2 0:1, 0-2 1:0, 1-3 0:1, 0-2 1:0, 1-3 1:0, 0-2 1:0, 1-3 1:0");
    let half = TieBreaker::new(Metric::WinPercentage, Scope::LastHalf);
    let rows = standings(&rules(vec![half]), &entries, &played);
    assert_eq!((order(&rows)[0], values(&rows[1])), (0, vec!["0=1".into(), "1=0.667".into()]));
}

#[test]
fn results_against_the_best_other_team_separate_in_ice_hockey() {
    // 1, 2 and 3 beat each other 1:0 in turn, and have the same points. 0 beat them by 1, 2 and 3 goals.
    let played = games("1-2 1:0, 2-3 1:0, 3-1 1:0, 0-1 3:0, 0-2 1:0, 0-3 2:0");
    let rows = standings(&preset("iihf").unwrap(), &entries(4), &played);
    assert_eq!(order(&rows), [0, 2, 3, 1]);
    let explanation = rows[2].explanation.as_ref().unwrap();
    assert_eq!(
        (explanation.rule, explanation.scope),
        (Some(Metric::Difference), Some(Scope::BestOutsideTie))
    );
}

#[test]
fn mls_and_ultimate_compare_what_only_they_count() {
    let mut played = games("0-2 1:0, 1-3 1:0, 2-4 0:0, 3-4 0:0");
    played[0].details.home.fair_play = -3;
    played[1].details.home.fair_play = -1;
    let rows = standings(&preset("mls").unwrap(), &entries(5), &played);
    assert_eq!(
        (order(&rows)[..2].to_vec(), reasons(&rows)[1]),
        (vec![1, 0], Some(Metric::FairPlay))
    );

    let mut played = games("0-1 13:5, 1-2 13:5, 2-0 13:0");
    played[2].forfeited_by = Some(Side::Away);
    let rows = standings(&preset("wfdf").unwrap(), &entries(3), &played);
    assert_eq!((rows[2].entry, reasons(&rows)[2]), (0, Some(Metric::Forfeits)));
}

/// Two rounds of five players. 4 has a bye in the first, and 3 in the second.
fn swiss(metric: Metric) -> Vec<Row> {
    let mut entries = entries(5);
    entries[4].byes = vec![Bye { round: 1, points: None }];
    entries[3].byes = vec![Bye { round: 2, points: None }];
    let mut played = games("0-1 1:0, 2-3 1:0, 0-2 1:0, 4-1 1:0");
    for (game, round) in played.iter_mut().zip([1, 1, 2, 2]) {
        game.round = round;
    }
    let list = vec![overall(metric)];
    standings(&Rules { tie_breakers: list, ..preset("swiss").unwrap() }, &entries, &played)
}

#[test]
fn swiss_tie_breakers_add_the_scores_of_real_and_virtual_opponents() {
    let rows = swiss(Metric::Buchholz);
    assert_eq!((order(&rows), points(&rows, 4)), (vec![0, 4, 2, 3, 1], "2".to_owned()));
    // The virtual opponent of 4 has no points before the bye, none from it, and half a point from the next round.
    assert_eq!(values(&rows[1]), ["0=1", "4=0.500"]);
    // As an opponent of 2, 3 has half a point for its bye.
    assert_eq!(values(&rows[3]), ["2=2.500", "3=1"]);

    assert_eq!(values(&swiss(Metric::BuchholzCut1)[3]), ["2=2", "3=1"]);
    assert_eq!(ranks(&swiss(Metric::MedianBuchholz)), [1, 1, 3, 3, 5]);
    assert_eq!(values(&swiss(Metric::SonnebornBerger)[3]), ["2=0.500", "3=0"]);
}

#[test]
fn a_draw_in_chess_is_worth_half_a_point() {
    let rows =
        standings(&preset("chess").unwrap(), &entries(3), &games("0-1 0:0, 0-2 1:0, 1-2 0:0"));
    assert_eq!((points(&rows, 0), points(&rows, 1)), ("1.5".to_owned(), "1".to_owned()));
}

#[test]
fn a_bye_can_be_worth_half_a_point_or_none() {
    let mut entries = entries(3);
    entries[0].byes = vec![Bye { round: 1, points: Some(Points::HALF) }];
    entries[1].byes = vec![Bye { round: 2, points: Some(Points::ZERO) }];
    let rows = standings(&preset("swiss").unwrap(), &entries, &games("1-2 1:0"));
    assert_eq!((points(&rows, 0), points(&rows, 1)), ("0.5".to_owned(), "1".to_owned()));
}

#[test]
fn a_free_round_of_a_round_robin_tournament_does_not_count() {
    // 2 beat 0, and both have a point. 1, which 0 beat, has half a point.
    let played = games("1-3 0:0, 0-2 0:1, 0-1 1:0");
    let rows = standings(&preset("chess").unwrap(), &entries(4), &played);
    assert_eq!((rows[0].entry, reasons(&rows)[1]), (2, Some(Metric::Points)));
    let sonneborn_berger =
        Rules { tie_breakers: vec![overall(Metric::SonnebornBerger)], ..preset("chess").unwrap() };
    let rows = standings(&sonneborn_berger, &entries(4), &played);
    assert_eq!(values(&rows[1]), ["2=1", "0=0.500"]);
}

#[test]
fn the_direct_encounter_counts_only_if_all_have_met() {
    let met = TieBreaker { all_met: true, ..head_to_head(Metric::Points) };
    let list = rules(vec![met, overall(Metric::PointsFor)]);
    // 0 beat 1, and both are level with 2, which has met neither.
    let rows = standings(&list, &entries(5), &games("0-1 1:0, 1-3 9:0, 2-4 5:0"));
    assert_eq!((order(&rows)[0], reasons(&rows)[1]), (1, Some(Metric::PointsFor)));
    let rows = standings(&list, &entries(4), &games("0-1 1:0, 1-3 9:0"));
    assert_eq!((order(&rows)[0], reasons(&rows)[1]), (0, Some(Metric::Points)));
}
