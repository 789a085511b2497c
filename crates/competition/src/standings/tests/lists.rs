//! Tie-breakers: cap, conditions, scopes and directions.

use super::*;
use crate::standings::{External, MultiTeam, Restart};

#[test]
fn a_cap_limits_the_difference_of_each_game() {
    let played = games("0-2 9:0, 0-3 0:1, 1-2 3:0, 1-3 0:1");
    let capped = TieBreaker { cap: Some(3), ..overall(Metric::Difference) };
    let rows = standings(&rules(vec![capped, overall(Metric::PointsFor)]), &entries(4), &played);
    assert_eq!(rows[1].entry, 0);
    assert_eq!(reasons(&rows)[2], Some(Metric::PointsFor));
    let plain = standings(&rules(vec![overall(Metric::Difference)]), &entries(4), &played);
    assert_eq!(values(&plain[2]), ["0=8", "1=2"]);
}

#[test]
fn the_direction_decides_which_value_is_first() {
    let played = games("0-2 3:3, 1-3 1:1");
    let fewest = rules(vec![overall(Metric::PointsAgainst)]);
    let rows = standings(&fewest, &entries(4), &played);
    assert_eq!((order(&rows), ranks(&rows)), (vec![1, 3, 0, 2], vec![1, 1, 3, 3]));
    let mut most = fewest;
    most.tie_breakers[0].direction = Direction::Descending;
    assert_eq!(order(&standings(&most, &entries(4), &played)), [0, 2, 1, 3]);
}

#[test]
fn an_average_counts_games() {
    let list = vec![TieBreaker { per_game: true, ..overall(Metric::PointsFor) }];
    let rows = standings(&rules(list), &entries(5), &games("0-2 3:2, 1-3 2:1, 1-4 0:1"));
    assert_eq!(values(&rows[1]), ["0=3", "1=1", "4=1"]);
}

#[test]
fn head_to_head_is_skipped_for_three_if_the_rules_say_so() {
    // 0 beats 1, 1 beats 2, 2 beats 0; 2 has the best difference, then 0.
    let played = games("0-1 2:0, 1-2 1:0, 2-0 9:0");
    let list = vec![head_to_head(Metric::Points), overall(Metric::Difference)];
    let skip = Rules { multi_team: MultiTeam::Skip, ..rules(list.clone()) };
    let rows = standings(&skip, &entries(3), &played);
    assert_eq!(
        (order(&rows), rows[1].explanation.as_ref().unwrap().scope),
        (vec![2, 1, 0], Some(Scope::Overall))
    );

    let two = vec![
        TieBreaker { only_two: true, ..head_to_head(Metric::Difference) },
        overall(Metric::PointsFor),
    ];
    assert_eq!(reasons(&standings(&rules(two), &entries(3), &played))[1], Some(Metric::PointsFor));
}

#[test]
fn two_entries_and_more_can_have_different_lists() {
    let multi = vec![overall(Metric::PointsAgainst)];
    let both = Rules { multi_tie_breakers: Some(multi), ..rules(vec![overall(Metric::Lots)]) };
    let rows = standings(&both, &entries(2), &games("0-1 1:1"));
    assert_eq!((ranks(&rows), rows[0].pending), (vec![1, 1], Some(Metric::Lots)));
    let rows = standings(&both, &entries(4), &games("0-1 2:2, 2-3 1:1"));
    assert_eq!((order(&rows), ranks(&rows)), (vec![2, 3, 0, 1], vec![1, 1, 3, 3]));
}

#[test]
fn the_list_for_two_applies_once_two_are_left_if_each_restarts() {
    let multi = vec![head_to_head(Metric::Difference)];
    let each = Rules {
        multi_tie_breakers: Some(multi),
        restart: Restart::Each,
        ..rules(vec![head_to_head(Metric::Points)])
    };
    // The difference separates 0. Then 1 and 2 are level, and 1 beat 2.
    let rows = standings(&each, &entries(3), &games("0-1 4:0, 1-2 4:1, 2-0 3:1"));
    assert_eq!(order(&rows), [0, 1, 2]);
    assert_eq!(reasons(&rows), [None, Some(Metric::Difference), Some(Metric::Points)]);
}

#[test]
fn places_limit_a_tie_breaker() {
    let list = vec![TieBreaker { places: vec![1], ..head_to_head(Metric::Points) }];
    let mut entries = entries(4);
    for (entry, adjustment) in entries.iter_mut().zip([10, 13, 0, 3]) {
        entry.adjustment = Points::new(adjustment);
    }
    let rows = standings(&rules(list), &entries, &games("0-1 1:0, 2-3 1:0"));
    assert_eq!(ranks(&rows), [1, 2, 3, 3]);
}

#[test]
fn a_value_that_only_some_entries_have_separates_nobody() {
    let list = vec![overall(Metric::Ranking), overall(Metric::Lots)];
    let mut entries = entries(2);
    entries[0].external = External { ranking: Some(3), ..External::default() };
    let rows = standings(&rules(list.clone()), &entries, &[]);
    assert_eq!((ranks(&rows), rows[0].pending), (vec![1, 1], Some(Metric::Ranking)));
    entries[1].external.ranking = Some(2);
    let rows = standings(&rules(list), &entries, &[]);
    assert_eq!((order(&rows), values(&rows[1])), (vec![1, 0], vec!["1=2".into(), "0=3".into()]));
}
