//! Tie-breakers of Swiss tournaments, which weigh results by the points of the opponents.
//!
//! Byes, forfeits, and the rounds after a withdrawal follow the FIDE rule of 2009: they count as played against a virtual
//! opponent, and as draws in the score of an opponent. FIDE has changed this since (unverified). Other rounds without a
//! game do not count: in a round-robin tournament with an odd number of entries, each is free once.

use super::input::Entry;
use super::number::Value;
use super::results::{Outcome, Results};
use super::rules::{Metric, Rules};

/// The scores that the tie-breakers add up. A unit is half of a hundredth of a point, so that half a score is whole.
#[derive(Debug, Default)]
pub(super) struct SwissScores {
    /// For each entry, its games: the outcome, and the score of the real or virtual opponent.
    games: Vec<Vec<(Outcome, i128)>>,
}

const UNITS_PER_POINT: i128 = 200;

/// A round of one entry.
#[derive(Clone, Copy, Default)]
struct Round {
    score: i128,
    has_game: bool,
    has_bye_or_forfeit: bool,
}

impl Round {
    fn is_unplayed(self) -> bool {
        self.has_bye_or_forfeit && !self.has_game
    }
}

impl SwissScores {
    /// The scores, or nothing if no tie-breaker needs them.
    pub(super) fn new(rules: &Rules, entries: &[Entry], results: &Results) -> Self {
        let is_swiss = |metric| {
            matches!(
                metric,
                Metric::Buchholz
                    | Metric::BuchholzCut1
                    | Metric::MedianBuchholz
                    | Metric::SonnebornBerger
            )
        };
        if !rules.all_tie_breakers().any(|breaker| is_swiss(breaker.metric)) {
            return Self::default();
        }
        let mut numbers: Vec<u32> = results.sides.iter().flatten().map(|side| side.round).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|number| *number > 0);

        let draw = units(rules.points.draw.hundredths());
        let mut scores = Vec::with_capacity(entries.len());
        let mut virtual_games = Vec::with_capacity(entries.len());
        for entry in 0..entries.len() {
            let rounds = rounds(rules, entries, results, entry, &numbers);
            let unplayed = rounds.iter().filter(|round| round.is_unplayed()).count() as i128;
            let sides = results.sides[entry].iter().filter(|side| !side.is_forfeit);
            let played: i128 = sides.map(|side| units(side.points.hundredths())).sum();
            scores.push(if numbers.is_empty() {
                units(results.totals[entry].points.hundredths())
            } else {
                played + draw * unplayed
            });
            virtual_games.push(virtual_opponents(rules, &rounds));
        }
        for (games, sides) in virtual_games.iter_mut().zip(&results.sides) {
            let played = sides.iter().filter(|side| !side.is_forfeit);
            games.extend(played.map(|side| (side.outcome, scores[side.opponent])));
        }
        Self { games: virtual_games }
    }

    /// The sum of the scores of the opponents, without the `lowest` lowest and the `highest` highest.
    pub(super) fn buchholz(&self, entry: usize, lowest: usize, highest: usize) -> Value {
        let mut scores: Vec<i128> = self.games_of(entry).iter().map(|(_, score)| *score).collect();
        scores.sort_unstable();
        let kept = scores.len().saturating_sub(lowest + highest);
        Value::ratio(scores.iter().skip(lowest).take(kept).sum::<i128>(), UNITS_PER_POINT)
    }

    /// The scores of beaten opponents plus half the scores of opponents with whom the entry drew.
    pub(super) fn sonneborn_berger(&self, entry: usize) -> Value {
        let games = self.games_of(entry).iter();
        let weighted = games.map(|(outcome, score)| match outcome {
            Outcome::Win => *score,
            Outcome::Draw => score / 2,
            Outcome::Loss => 0,
        });
        Value::ratio(weighted.sum::<i128>(), UNITS_PER_POINT)
    }

    fn games_of(&self, entry: usize) -> &[(Outcome, i128)] {
        self.games.get(entry).map_or(&[], Vec::as_slice)
    }
}

fn units(hundredths: i64) -> i128 {
    2 * i128::from(hundredths)
}

/// The score of an entry in each round of the tournament.
fn rounds(
    rules: &Rules,
    entries: &[Entry],
    results: &Results,
    entry: usize,
    numbers: &[u32],
) -> Vec<Round> {
    let own = &entries[entry];
    let absent = Round { has_bye_or_forfeit: own.withdrawn, ..Round::default() };
    let mut rounds = vec![absent; numbers.len()];
    let index = |round| numbers.binary_search(&round).ok();
    for side in &results.sides[entry] {
        if let Some(i) = index(side.round) {
            rounds[i].score += units(side.points.hundredths());
            rounds[i].has_game |= !side.is_forfeit;
            rounds[i].has_bye_or_forfeit |= side.is_forfeit;
        }
    }
    for bye in &own.byes {
        if let Some(i) = index(bye.round) {
            let points = bye.points.unwrap_or(rules.points.bye);
            rounds[i].score += units(points.hundredths());
            rounds[i].has_bye_or_forfeit = true;
        }
    }
    rounds
}

/// The virtual opponents of the unplayed rounds. A virtual opponent has the score of the entry before the round, the result of the round from the other side, and a draw in each later round.
fn virtual_opponents(rules: &Rules, rounds: &[Round]) -> Vec<(Outcome, i128)> {
    let (win, draw) = (units(rules.points.win.hundredths()), units(rules.points.draw.hundredths()));
    let mut before = 0;
    let mut games = Vec::new();
    for (i, round) in rounds.iter().enumerate() {
        if round.is_unplayed() {
            let outcome = match round.score.cmp(&draw) {
                std::cmp::Ordering::Greater => Outcome::Win,
                std::cmp::Ordering::Equal => Outcome::Draw,
                std::cmp::Ordering::Less => Outcome::Loss,
            };
            let later = (rounds.len() - i - 1) as i128;
            games.push((outcome, before + win - round.score + draw * later));
        }
        before += round.score;
    }
    games
}
