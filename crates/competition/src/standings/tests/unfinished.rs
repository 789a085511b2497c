//! Ties whose entries have games to play against each other.

use super::*;

/// 0 and 1 are level on points. 0 won their first game, 1 has the better difference, and they meet again.
fn level_with_a_game_to_play() -> Vec<Game> {
    let mut games = games("0-1 1:0, 1-2 5:0, 3-0 1:0, 3-2 1:0");
    games.push(Game::scheduled(1, 0));
    games
}

fn first_two(key: &str) -> (Vec<usize>, Vec<u32>, Option<Metric>) {
    let rows = standings(&preset(key).unwrap(), &entries(4), &level_with_a_game_to_play());
    let level: Vec<Row> = rows.into_iter().filter(|row| row.entry < 2).collect();
    assert_eq!(level[0].pending, level[1].pending);
    (order(&level), ranks(&level), level[0].pending)
}

#[test]
fn games_to_be_played_count_or_are_awaited() {
    assert_eq!(first_two("uefa-euro"), (vec![0, 1], vec![2, 3], Some(Metric::Points)));
    assert_eq!(first_two("laliga"), (vec![1, 0], vec![2, 3], Some(Metric::Difference)));
    assert_eq!(first_two("fiba"), (vec![0, 1], vec![2, 2], Some(Metric::Wins)));
}

#[test]
fn a_rank_is_not_pending_once_all_games_of_the_tie_are_played() {
    let mut games = level_with_a_game_to_play();
    games.pop();
    let rows = standings(&preset("laliga").unwrap(), &entries(4), &games);
    assert_eq!((order(&rows), rows[1].pending), (vec![3, 0, 1, 2], None));
}

#[test]
fn bundesliga_teams_that_have_yet_to_meet_share_a_rank() {
    let mut games = games("0-2 1:0, 1-3 1:0");
    games.push(Game::scheduled(0, 1));
    let rows = standings(&preset("bundesliga").unwrap(), &entries(4), &games);
    assert_eq!((ranks(&rows), rows[0].pending), (vec![1, 1, 3, 3], Some(Metric::Difference)));
    assert_eq!(rows[2].pending, Some(Metric::PlayOff));
}

#[test]
fn a_tie_for_relegation_awaits_the_play_off() {
    let rules = preset("serie-a").unwrap();
    let mut entries = entries(18);
    for entry in &mut entries[..16] {
        entry.adjustment = Points::new(50);
    }
    // 16 and 17 are level in places 17 and 18.
    let played = games("16-17 2:0, 17-16 1:0");
    let rows = standings(&rules, &entries, &played);
    assert_eq!((rows[16].entry, reasons(&rows)[17]), (16, Some(Metric::Difference)));
    assert_eq!(rows[17].pending, Some(Metric::PlayOff));

    entries[16].external.play_off = Some(0);
    entries[17].external.play_off = Some(2);
    let rows = standings(&rules, &entries, &played);
    assert_eq!((rows[16].entry, reasons(&rows)[17]), (17, Some(Metric::PlayOff)));
    assert_eq!(rows[17].pending, None);
}
