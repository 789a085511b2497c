//! Nobody meets the same opponent twice, and byes and sides are balanced.

use std::collections::BTreeSet;

use competition::schedule::{PairingError, Round, SplitMix64, SwissEntry, pair_next_round};
use proptest::prelude::*;

use super::entries;

/// A Swiss tournament with random results.
struct Tournament {
    scores: Vec<i64>,
    rounds: Vec<Round>,
    random: SplitMix64,
}

impl Tournament {
    fn new(count: usize, seed: u64) -> Self {
        Self { scores: vec![0; count], rounds: Vec::new(), random: SplitMix64::new(seed) }
    }

    fn standings(&self) -> Vec<SwissEntry> {
        let mut standings: Vec<SwissEntry> = entries(self.scores.len())
            .into_iter()
            .map(|entry| SwissEntry { entry, score: self.scores[entry] })
            .collect();
        standings.sort_by_key(|entry| -entry.score);
        standings
    }

    fn play_round(&mut self) -> Result<(), PairingError> {
        let round = pair_next_round(&self.standings(), &self.rounds)?;
        for pair in &round.pairs {
            match self.random.below(3) {
                0 => self.scores[pair.home] += 2,
                1 => self.scores[pair.away] += 2,
                _ => {
                    self.scores[pair.home] += 1;
                    self.scores[pair.away] += 1;
                }
            }
        }
        if let Some(entry) = round.bye {
            self.scores[entry] += 2;
        }
        self.rounds.push(round);
        Ok(())
    }

    fn check_rounds(&self) {
        let mut met = BTreeSet::new();
        for round in &self.rounds {
            let mut playing: Vec<usize> = round.bye.into_iter().collect();
            for pair in &round.pairs {
                playing.extend([pair.home, pair.away]);
                let key = (pair.home.min(pair.away), pair.home.max(pair.away));
                assert!(met.insert(key), "{key:?} meet twice");
            }
            playing.sort_unstable();
            assert_eq!(playing, entries(self.scores.len()));
        }
    }

    fn byes(&self) -> Vec<usize> {
        let of_entry = |entry| self.rounds.iter().filter(|round| round.bye == Some(entry)).count();
        entries(self.scores.len()).into_iter().map(of_entry).collect()
    }

    /// The largest difference of home and away games of an entry.
    fn imbalance(&self) -> i32 {
        let mut balances = vec![0i32; self.scores.len()];
        for pair in self.rounds.iter().flat_map(|round| &round.pairs) {
            balances[pair.home] += 1;
            balances[pair.away] -= 1;
        }
        balances.into_iter().map(i32::abs).max().unwrap_or(0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nobody_meets_twice_in_as_many_rounds_as_possible(count in 2..=20usize, seed: u64) {
        let mut tournament = Tournament::new(count, seed);
        let error = loop {
            if let Err(error) = tournament.play_round() {
                break error;
            }
        };
        prop_assert_eq!(error, PairingError::OnlyRematches);
        tournament.check_rounds();
        // With fewer rounds than this, every graph of open pairings has a perfect matching (Dirac).
        prop_assert!(tournament.rounds.len() >= count / 2, "{} rounds", tournament.rounds.len());
    }

    #[test]
    fn byes_and_sides_are_balanced(count in 2..=64usize, seed: u64) {
        let mut tournament = Tournament::new(count, seed);
        for _ in 0..(count / 2).min(9) {
            tournament.play_round().unwrap();
            let byes = tournament.byes();
            prop_assert_eq!(byes.iter().sum::<usize>(), count % 2 * tournament.rounds.len());
            prop_assert!(byes.iter().all(|byes| *byes <= 1));
            prop_assert!(tournament.imbalance() <= 2);
        }
        tournament.check_rounds();
    }
}

#[test]
fn many_entries_are_paired() {
    let mut tournament = Tournament::new(257, 1);
    for _ in 0..9 {
        tournament.play_round().unwrap();
    }
    tournament.check_rounds();
    assert!(tournament.imbalance() <= 2);
}

#[test]
fn opponents_have_similar_scores() {
    let mut tournament = Tournament::new(32, 7);
    for _ in 0..6 {
        tournament.play_round().unwrap();
        let standings = tournament.standings();
        let score = |entry: usize| standings.iter().find(|e| e.entry == entry).unwrap().score;
        let next = pair_next_round(&standings, &tournament.rounds).unwrap();
        for pair in &next.pairs {
            assert!((score(pair.home) - score(pair.away)).abs() <= 2, "{pair:?}");
        }
    }
}
