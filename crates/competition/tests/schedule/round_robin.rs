//! Everyone meets everyone equally often, with balanced home and away games.

use std::collections::BTreeMap;

use competition::schedule::{
    GroupDraw, PairingError, Round, draw_groups, group_games, league, round_robin,
};
use proptest::prelude::*;

use super::entries;

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![30 => 2..=64usize, 1 => Just(257)]
}

/// Home minus away games of each entry.
fn balances(rounds: &[Round]) -> BTreeMap<usize, i32> {
    let mut balances = BTreeMap::new();
    for pair in rounds.iter().flat_map(|round| &round.pairs) {
        *balances.entry(pair.home).or_insert(0) += 1;
        *balances.entry(pair.away).or_insert(0) -= 1;
    }
    balances
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn everyone_meets_everyone_once_in_each_leg(count in sizes(), legs in 1..=4u32) {
        let rounds = round_robin(&entries(count), legs).unwrap();
        let mut meetings: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for round in &rounds {
            let mut playing: Vec<usize> = round.bye.into_iter().collect();
            for pair in &round.pairs {
                playing.extend([pair.home, pair.away]);
                let key = (pair.home.min(pair.away), pair.home.max(pair.away));
                *meetings.entry(key).or_default() += 1;
            }
            playing.sort_unstable();
            prop_assert_eq!(playing, entries(count));
        }
        prop_assert_eq!(meetings.len(), count * (count - 1) / 2);
        prop_assert!(meetings.values().all(|times| *times == legs));
    }

    #[test]
    fn home_and_away_are_balanced(count in sizes(), legs in 1..=4u32) {
        let rounds = round_robin(&entries(count), legs).unwrap();
        let leg_length = rounds.len() / legs as usize;
        prop_assert!(balances(&rounds).values().all(|balance| balance.abs() <= 1));
        for leg in rounds.chunks(leg_length) {
            prop_assert!(balances(leg).values().all(|balance| balance.abs() <= 1));
        }
        if legs.is_multiple_of(2) {
            prop_assert!(balances(&rounds).values().all(|balance| *balance == 0));
        }
    }

    #[test]
    fn home_and_away_alternate(count in 3..=64usize) {
        let rounds = round_robin(&entries(count), 1).unwrap();
        let mut last: BTreeMap<usize, bool> = BTreeMap::new();
        let mut repeated = 0;
        for pair in rounds.iter().flat_map(|round| &round.pairs) {
            repeated += usize::from(last.insert(pair.home, true) == Some(true));
            repeated += usize::from(last.insert(pair.away, false) == Some(false));
        }
        // The smallest number possible (de Werra, 1981).
        prop_assert_eq!(repeated, if count.is_multiple_of(2) { count - 2 } else { 0 });
    }

    #[test]
    fn the_second_leg_reverses_the_first(count in 2..=20usize) {
        let rounds = round_robin(&entries(count), 2).unwrap();
        let (first, second) = rounds.split_at(rounds.len() / 2);
        for (first, second) in first.iter().zip(second) {
            for (pair, reversed) in first.pairs.iter().zip(&second.pairs) {
                prop_assert_eq!((pair.home, pair.away), (reversed.away, reversed.home));
            }
        }
    }

    #[test]
    fn groups_have_about_the_same_size(count in 4..=64usize, groups in 1..=12u32, seed: u64) {
        for draw in [GroupDraw::Snake, GroupDraw::Pots, GroupDraw::Random] {
            let drawn = draw_groups(&entries(count), &[], groups, draw, seed);
            if count < groups as usize * 2 {
                prop_assert_eq!(drawn, Err(PairingError::TooFewEntries));
                continue;
            }
            let drawn = drawn.unwrap();
            let smallest = drawn.iter().map(Vec::len).min().unwrap();
            prop_assert!(drawn.iter().all(|group| group.len() - smallest <= 1));
            let mut all = drawn.concat();
            all.sort_unstable();
            prop_assert_eq!(all, entries(count));
            let expected: usize = drawn.iter().map(|group| group.len() * (group.len() - 1)).sum();
            prop_assert_eq!(group_games(&drawn, 2).unwrap().len(), expected);
        }
    }
}

#[test]
fn games_are_numbered_in_the_order_of_rounds() {
    let games = league(&entries(9), 3).unwrap();
    assert_eq!(games.len(), 108);
    for (number, game) in (1..).zip(&games) {
        assert_eq!(game.number, number);
        assert_eq!(game.round, (number - 1) / 4 + 1);
        assert_eq!(game.leg, (game.round - 1) / 9 + 1);
        assert_eq!(game.round + game.rounds_left, 27);
    }
}
