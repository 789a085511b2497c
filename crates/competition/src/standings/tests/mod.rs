//! Tests of single rules. Real tables and properties are tested in `tests/`.

mod games;
mod lists;
mod metrics;
mod numbers;
mod presets;
mod special;
mod unfinished;

use super::{
    Direction, Entry, Game, GameState, Metric, Pair, PointRules, Points, Row, Rules, Scope,
    TieBreaker, preset, standings,
};

/// Entries without groups.
fn entries(count: usize) -> Vec<Entry> {
    vec![Entry::default(); count]
}

/// Games from `home-away score-score` such as `0-1 2:2`, separated by commas, in the order of play.
fn games(text: &str) -> Vec<Game> {
    let pair = |text: &str, separator| {
        let (a, b) = text.trim().split_once(separator).unwrap();
        (a.parse::<i32>().unwrap(), b.parse::<i32>().unwrap())
    };
    let game = |(round, text): (u32, &str)| {
        let (sides, score) = text.trim().split_once(' ').unwrap();
        let ((home, away), (home_score, away_score)) = (pair(sides, '-'), pair(score, ':'));
        let (home, away) = (usize::try_from(home).unwrap(), usize::try_from(away).unwrap());
        Game { round, ..Game::played(home, away, home_score, away_score) }
    };
    (1..).zip(text.split(',')).map(game).collect()
}

/// The indexes of the entries, best first.
fn order(rows: &[Row]) -> Vec<usize> {
    rows.iter().map(|row| row.entry).collect()
}

/// The ranks of the rows, from the top.
fn ranks(rows: &[Row]) -> Vec<u32> {
    rows.iter().map(|row| row.rank).collect()
}

/// The rule that separates each row from the row above.
fn reasons(rows: &[Row]) -> Vec<Option<Metric>> {
    rows.iter().map(|row| row.explanation.as_ref().and_then(|why| why.rule)).collect()
}

/// The values that an explanation gives, as text.
fn values(row: &Row) -> Vec<String> {
    let explanation = row.explanation.as_ref().unwrap();
    explanation.values.iter().map(|(entry, value)| format!("{entry}={value}")).collect()
}

fn rules(tie_breakers: Vec<TieBreaker>) -> Rules {
    Rules::new(PointRules::new(3, 1, 0), tie_breakers)
}

fn overall(metric: Metric) -> TieBreaker {
    TieBreaker::new(metric, Scope::Overall)
}

fn head_to_head(metric: Metric) -> TieBreaker {
    TieBreaker::new(metric, Scope::HeadToHead)
}

fn points(rows: &[Row], entry: usize) -> String {
    rows.iter().find(|row| row.entry == entry).unwrap().points.to_string()
}

#[test]
fn a_table_without_entries_is_empty() {
    assert_eq!(standings(&preset("soccer").unwrap(), &[], &[]), []);
}

#[test]
fn entries_without_games_share_the_first_rank() {
    let rows = standings(&preset("uefa-euro").unwrap(), &entries(3), &[]);
    assert_eq!(ranks(&rows), [1, 1, 1]);
    assert!(rows.iter().all(|row| row.shared_rank));
    let explanation = rows[1].explanation.as_ref().unwrap();
    assert_eq!((explanation.rule, explanation.with.len()), (None, 3));
    assert_eq!(rows[0].explanation, None);
}

#[test]
fn a_single_entry_is_first() {
    let rows = standings(&preset("nba").unwrap(), &entries(1), &[]);
    assert_eq!((rows[0].rank, rows[0].shared_rank), (1, false));
}

#[test]
fn ranks_after_a_shared_rank_have_a_gap() {
    let rows = standings(&rules(vec![]), &entries(4), &games("0-3 1:0, 1-2 1:1"));
    assert_eq!((order(&rows), ranks(&rows)), (vec![0, 1, 2, 3], vec![1, 2, 2, 4]));
    assert_eq!(
        rows.iter().map(|row| row.shared_rank).collect::<Vec<_>>(),
        [false, true, true, false]
    );
}

#[test]
fn groups_are_ranked_separately() {
    let mut entries = entries(4);
    for (i, entry) in entries.iter_mut().enumerate() {
        entry.group = Some(u32::try_from(i % 2).unwrap());
    }
    let rows = standings(&rules(vec![]), &entries, &games("0-1 0:1, 2-3 1:0"));
    assert_eq!((order(&rows), ranks(&rows)), (vec![2, 0, 1, 3], vec![1, 2, 1, 2]));
}

#[test]
fn an_adjustment_counts_in_the_table_but_not_among_the_games_of_a_tie() {
    let mut entries = entries(3);
    entries[0].adjustment = Points::new(-3);
    let list = vec![head_to_head(Metric::Points)];
    let rows = standings(&rules(list), &entries, &games("0-1 1:0, 0-2 1:0, 1-2 1:0"));
    assert_eq!(order(&rows), [0, 1, 2]);
    assert_eq!((points(&rows, 0).as_str(), rows[0].adjustment), ("3", Points::new(-3)));
    assert_eq!(values(&rows[1]), ["0=3", "1=0"]);
}
