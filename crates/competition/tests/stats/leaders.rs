//! Leaderboards.

use competition::stats::{Catalogue, Side, Sport, StatisticValues};

use crate::season;

fn batters(games: &[&str]) -> Vec<StatisticValues> {
    let catalogue = Catalogue::of(Sport::Baseball);
    games.iter().map(|game| season(catalogue, Side::Member, &[game])).collect()
}

/// The ranks and indices of the leaders after this number of games of the team.
fn leaders(key: &str, members: &[StatisticValues], games: i64) -> Vec<(usize, usize)> {
    let statistic = Catalogue::of(Sport::Baseball).get(key).unwrap();
    let leaders = statistic.leaders(members.iter().map(|values| (values, games)));
    leaders.iter().map(|leader| (leader.rank, leader.index)).collect()
}

#[test]
fn equal_values_share_a_rank() {
    let members = batters(&["AB 40, 1B 10", "AB 40, 1B 16", "AB 36, 1B 9", "AB 40, 1B 8", "SB 1"]);
    assert_eq!(leaders("AVG", &members, 10), [(1, 1), (2, 0), (2, 2), (4, 3)]);
}

#[test]
fn the_lowest_earned_run_average_is_first() {
    let members = batters(&["OUTS 30, ER 5", "OUTS 30, ER 2", "OUTS 29, ER 0"]);
    assert_eq!(leaders("ERA", &members, 10), [(1, 1), (2, 0)]);
}

#[test]
fn totals_have_no_minimum() {
    let members = batters(&["AB 1, HR 1", "AB 400, HR 0", "PO 3"]);
    assert_eq!(leaders("HR", &members, 100), [(1, 0), (2, 1)]);
}

#[test]
fn minimums_are_rounded_to_whole_numbers() {
    let minimum = Catalogue::of(Sport::Baseball).get("AVG").unwrap().minimum.unwrap();
    assert_eq!(minimum.after(162), 502.0);
    assert_eq!(minimum.after(60), 186.0);
    assert_eq!(minimum.after(0), 0.0);
    let members = batters(&["AB 501, 1B 200", "AB 502, 1B 100"]);
    assert_eq!(leaders("AVG", &members, 162), [(1, 1)]);
}

#[test]
fn members_of_teams_with_fewer_games_need_less() {
    let statistic = Catalogue::of(Sport::Baseball).get("AVG").unwrap();
    let members = batters(&["AB 31, 1B 10", "AB 31, 1B 20"]);
    let leaders = statistic.leaders([(&members[0], 10), (&members[1], 11)]);
    assert_eq!(leaders.iter().map(|leader| leader.index).collect::<Vec<_>>(), [0]);
}
