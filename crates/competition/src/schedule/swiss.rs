//! Swiss tournaments: in each round, entries with about the same score play each other, and nobody plays the same
//! opponent twice.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::game::{Game, PairingError, Source, Stage};
use super::matching::Matching;
use super::round_robin::{Pair, Round, number_games};

/// An entry of a Swiss tournament before a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwissEntry {
    pub entry: usize,
    /// The score so far, in any unit.
    pub score: i64,
}

/// Pairs the next round.
///
/// `entries` are in the order of their rank, best first, without those who have withdrawn. `history` has the earlier
/// rounds, in order. In each group of the same score the upper half plays the lower half; an entry without an
/// opponent there plays one with the next lower score. The bye goes to the lowest entry of those with the fewest
/// byes. If there is any pairing without a rematch, one is found; otherwise the error is
/// [`PairingError::OnlyRematches`].
pub fn pair_next_round(entries: &[SwissEntry], history: &[Round]) -> Result<Round, PairingError> {
    if entries.len() < 2 {
        return Err(PairingError::TooFewEntries);
    }
    let players = players(entries, history);
    for bye in bye_candidates(&players) {
        let field: Vec<&Player> =
            players.iter().filter(|player| Some(player.entry) != bye).collect();
        // An entry that has been at home twice more than away, or the reverse, must not go on like this, if possible.
        for balanced in [true, false] {
            let allowed = allowed_pairs(&field, balanced);
            if let Some(matching) = Matching::perfect(&allowed) {
                let mut pairs = pairs_from_the_top(&field, matching);
                improve(&field, &allowed, &mut pairs);
                pairs.sort_unstable();
                let sides = pairs.iter().enumerate();
                let pairs = sides.map(|(board, pair)| assign_sides(&field, *pair, board)).collect();
                return Ok(Round { pairs, bye });
            }
        }
    }
    Err(PairingError::OnlyRematches)
}

/// The games of a round. A bye is a game against [`Source::Bye`].
pub fn swiss_games(round: &Round, number: u32, rounds: u32, first_number: u32) -> Vec<Game> {
    let pairs = round.pairs.iter().map(|pair| (pair.home, Source::Entry(pair.away)));
    let sides = pairs.chain(round.bye.map(|entry| (entry, Source::Bye)));
    let game = |(home, away)| Game {
        rounds_left: rounds.saturating_sub(number),
        ..Game::new(Stage::Swiss, number, Source::Entry(home), away)
    };
    let mut games: Vec<Game> = sides.map(game).collect();
    number_games(&mut games, first_number);
    games
}

/// An entry with what the earlier rounds mean for its next pairing.
#[derive(Debug, Clone, Default)]
struct Player {
    entry: usize,
    score: i64,
    opponents: Vec<usize>,
    byes: usize,
    /// Home games minus away games.
    balance: i32,
    was_home: bool,
}

fn players(entries: &[SwissEntry], history: &[Round]) -> Vec<Player> {
    let player =
        |entry: &SwissEntry| Player { entry: entry.entry, score: entry.score, ..Player::default() };
    let mut players: Vec<Player> = entries.iter().map(player).collect();
    // Within the same score, the given order counts.
    players.sort_by_key(|player| Reverse(player.score));
    let index: BTreeMap<usize, usize> =
        players.iter().enumerate().map(|(index, player)| (player.entry, index)).collect();
    let mut add_game = |entry: usize, opponent: usize, home: bool| {
        if let Some(player) = index.get(&entry).map(|index| &mut players[*index]) {
            player.opponents.push(opponent);
            player.balance += if home { 1 } else { -1 };
            player.was_home = home;
        }
    };
    for pair in history.iter().flat_map(|round| &round.pairs) {
        add_game(pair.home, pair.away, true);
        add_game(pair.away, pair.home, false);
    }
    for entry in history.iter().filter_map(|round| round.bye) {
        if let Some(index) = index.get(&entry) {
            players[*index].byes += 1;
        }
    }
    players
}

/// Who may have the bye, in the order of preference. One `None` if everyone has an opponent.
fn bye_candidates(players: &[Player]) -> Vec<Option<usize>> {
    if players.len().is_multiple_of(2) {
        return vec![None];
    }
    let mut candidates: Vec<&Player> = players.iter().rev().collect();
    candidates.sort_by_key(|player| player.byes);
    candidates.into_iter().map(|player| Some(player.entry)).collect()
}

fn allowed_pairs(field: &[&Player], balanced: bool) -> Vec<Vec<bool>> {
    let allowed = |one: &Player, other: &Player| {
        let rematch = one.opponents.contains(&other.entry) || other.opponents.contains(&one.entry);
        let same_side = one.balance.min(other.balance) >= 2 || one.balance.max(other.balance) <= -2;
        one.entry != other.entry && !rematch && (!balanced || !same_side)
    };
    field.iter().map(|one| field.iter().map(|other| allowed(one, other)).collect()).collect()
}

/// Pairs entries one after the other, best first, each with its preferred opponent that leaves a pairing for the rest.
fn pairs_from_the_top(field: &[&Player], mut matching: Matching<'_>) -> Vec<(usize, usize)> {
    let mut open: Vec<usize> = (0..field.len()).collect();
    let mut pairs = Vec::new();
    while let Some(&top) = open.first() {
        let Some(other) = choose_opponent(field, &open, &mut matching) else { break };
        open.retain(|index| *index != top && *index != other);
        pairs.push((top, other));
    }
    pairs
}

/// The opponent of the best open player, and removes both from the matching. Among opponents with the same score, one is
/// preferred who leaves as few as possible of this score without an opponent of the same score.
fn choose_opponent(
    field: &[&Player],
    open: &[usize],
    matching: &mut Matching<'_>,
) -> Option<usize> {
    let top = *open.first()?;
    for group in open.chunk_by(|one, other| field[*one].score == field[*other].score) {
        let mut candidates: Vec<(usize, usize)> = Vec::new();
        for candidate in preferred_order(top, group) {
            let rest: Vec<usize> =
                group.iter().copied().filter(|index| ![top, candidate].contains(index)).collect();
            let left = matching.count_unmatched(&rest);
            // Nothing is better than leaving nobody, or one of an odd number.
            if left <= 1 && matching.remove_pair(top, candidate) {
                return Some(candidate);
            }
            candidates.push((left, candidate));
        }
        candidates.sort_by_key(|(left, _)| *left);
        let mut candidates = candidates.into_iter().map(|(_, candidate)| candidate);
        if let Some(candidate) = candidates.find(|candidate| matching.remove_pair(top, *candidate))
        {
            return Some(candidate);
        }
    }
    None
}

/// Within the group of `top`: from the middle down, then from the middle up. Otherwise in order.
fn preferred_order(top: usize, group: &[usize]) -> Vec<usize> {
    let others: Vec<usize> = group.iter().copied().filter(|index| *index != top).collect();
    if others.len() == group.len() {
        return others;
    }
    let (above, below) = others.split_at((group.len() / 2).saturating_sub(1));
    below.iter().chain(above.iter().rev()).copied().collect()
}

/// Exchanges opponents between two pairs as long as the scores of opponents come closer to each other, or more
/// entries get the side that they have had less often.
fn improve(field: &[&Player], allowed: &[Vec<bool>], pairs: &mut [(usize, usize)]) {
    let cost = |one: usize, other: usize| {
        let (one, other) = (field[one], field[other]);
        let difference = i128::from(one.score) - i128::from(other.score);
        (difference * difference, i32::from(one.balance.signum() * other.balance.signum() > 0))
    };
    let total = |pairs: [(usize, usize); 2]| {
        let [first, second] = pairs.map(|(one, other)| cost(one, other));
        (first.0.saturating_add(second.0), first.1 + second.1)
    };
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for first in 0..pairs.len() {
            for second in first + 1..pairs.len() {
                let ((a, b), (c, d)) = (pairs[first], pairs[second]);
                let ordered = |one: usize, other: usize| (one.min(other), one.max(other));
                for exchanged in [[(a, d), ordered(b, c)], [(a, c), ordered(b, d)]] {
                    let legal = exchanged.iter().all(|(one, other)| allowed[*one][*other]);
                    if legal && total(exchanged) < total([pairs[first], pairs[second]]) {
                        [pairs[first], pairs[second]] = exchanged;
                        changed = true;
                    }
                }
            }
        }
    }
}

/// Who has been at home less often plays at home, then who was away in the last round, then in turns by board.
fn assign_sides(field: &[&Player], (upper, lower): (usize, usize), board: usize) -> Pair {
    let (upper, lower) = (field[upper], field[lower]);
    let order = (upper.balance, upper.was_home).cmp(&(lower.balance, lower.was_home));
    let upper_at_home = order.then(if board.is_multiple_of(2) {
        std::cmp::Ordering::Less
    } else {
        std::cmp::Ordering::Greater
    });
    if upper_at_home.is_lt() {
        Pair { home: upper.entry, away: lower.entry }
    } else {
        Pair { home: lower.entry, away: upper.entry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(scores: &[i64]) -> Vec<SwissEntry> {
        scores.iter().enumerate().map(|(entry, &score)| SwissEntry { entry, score }).collect()
    }

    fn round(pairs: &[(usize, usize)], bye: Option<usize>) -> Round {
        Round { pairs: pairs.iter().map(|&(home, away)| Pair { home, away }).collect(), bye }
    }

    #[test]
    fn the_upper_half_plays_the_lower_half() {
        let first = pair_next_round(&entries(&[0; 7]), &[]).unwrap();
        assert_eq!(first, round(&[(0, 3), (4, 1), (2, 5)], Some(6)));
    }

    #[test]
    fn winners_play_winners() {
        let history = [round(&[(0, 2), (3, 1)], None)];
        let second = pair_next_round(&entries(&[3, 3, 0, 0]), &history).unwrap();
        assert_eq!(second, round(&[(1, 0), (2, 3)], None));
    }

    #[test]
    fn byes_go_to_the_lowest_without_one() {
        let history = [round(&[(0, 1)], Some(2))];
        let second = pair_next_round(&entries(&[3, 0, 3]), &history).unwrap();
        assert_eq!(second, round(&[(2, 0)], Some(1)));
    }

    #[test]
    fn withdrawn_entries_leave_their_opponents_paired() {
        let history = [round(&[(0, 2), (3, 1)], None)];
        let mut left = entries(&[3, 3, 0, 0]);
        left.remove(3);
        let second = pair_next_round(&left, &history).unwrap();
        assert_eq!(second, round(&[(1, 0)], Some(2)));
    }

    #[test]
    fn a_rematch_is_an_error() {
        let history = [round(&[(0, 1)], None)];
        assert_eq!(pair_next_round(&entries(&[3, 0]), &history), Err(PairingError::OnlyRematches));
        assert_eq!(pair_next_round(&entries(&[0]), &[]), Err(PairingError::TooFewEntries));
    }

    #[test]
    fn the_only_legal_pairing_is_found() {
        // After these rounds, only 0–5, 1–4 and 2–3 are left.
        let history = [
            round(&[(0, 1), (2, 4), (3, 5)], None),
            round(&[(2, 0), (5, 1), (4, 3)], None),
            round(&[(0, 3), (1, 2), (5, 4)], None),
            round(&[(4, 0), (3, 1), (2, 5)], None),
        ];
        let last = pair_next_round(&entries(&[9, 9, 9, 0, 0, 0]), &history).unwrap();
        let mut pairs: Vec<_> =
            last.pairs.iter().map(|p| (p.home.min(p.away), p.home.max(p.away))).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, [(0, 5), (1, 4), (2, 3)]);
    }

    #[test]
    fn score_groups_stay_together() {
        // If 0 played 2, then 1 and 3 would have no opponent of their score.
        let history = [round(&[(1, 3), (4, 5)], None)];
        let next = pair_next_round(&entries(&[2, 2, 2, 2, 0, 0, 0, 0]), &history).unwrap();
        let pairs: Vec<_> =
            next.pairs.iter().map(|p| (p.home.min(p.away), p.home.max(p.away))).collect();
        assert_eq!(pairs, [(0, 3), (1, 2), (4, 6), (5, 7)]);
    }

    #[test]
    fn who_was_at_home_plays_who_was_away() {
        let history = [round(&[(0, 2), (3, 1)], None)];
        let next = pair_next_round(&entries(&[1; 4]), &history).unwrap();
        assert_eq!(next, round(&[(1, 0), (2, 3)], None));
    }

    #[test]
    fn a_bye_is_a_game_without_opponent() {
        let games = swiss_games(&round(&[(0, 1)], Some(2)), 2, 5, 11);
        let texts: Vec<_> = games
            .iter()
            .map(|g| format!("{} {} {} {}", g.number, g.home, g.away, g.rounds_left))
            .collect();
        assert_eq!(texts, ["11 entry:0 entry:1 3", "12 entry:2 bye 3"]);
    }
}
