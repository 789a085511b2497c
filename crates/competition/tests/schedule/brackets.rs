//! Brackets have the right number of games, and everyone loses the right number of them.

use std::collections::{BTreeMap, BTreeSet};

use competition::schedule::{
    BracketOptions, Correction, Game, GameState, Opponent, Outcome, PairingError, Position,
    Qualifiers, ResolvedGame, Results, Side, Source, SplitMix64, Stage, champion, correct,
    double_elimination, group_games, knockout, resolve, single_elimination, walkovers,
};
use proptest::prelude::*;

use super::{entries, numbers, play, winner_and_loser};

const PLAIN: BracketOptions = BracketOptions { third_place: false, consolation: false };

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![20 => 2..=64usize, 1 => Just(257)]
}

/// A bracket of any kind.
fn brackets() -> impl Strategy<Value = Vec<Game>> {
    (2..=24usize, any::<[bool; 3]>()).prop_map(|(count, [double, third_place, consolation])| {
        if double {
            double_elimination(&entries(count)).unwrap()
        } else {
            let options = BracketOptions { third_place, consolation };
            single_elimination(&entries(count), options).unwrap()
        }
    })
}

/// The number of defeats of each entry, in games of these stages.
fn defeats(games: &[Game], resolved: &[ResolvedGame], stages: &[Stage]) -> BTreeMap<usize, u32> {
    let mut defeats = BTreeMap::new();
    for (game, resolved) in games.iter().zip(resolved) {
        if let Some((_, loser)) =
            winner_and_loser(resolved).filter(|_| stages.contains(&game.stage))
        {
            *defeats.entry(loser).or_default() += 1;
        }
    }
    defeats
}

/// Games refer to games with lower numbers, and no two games are drawn at the same position.
fn check_shape(games: &[Game], first_number: u32) {
    let mut positions: BTreeSet<(u8, Position)> = BTreeSet::new();
    for (number, game) in (first_number..).zip(games) {
        assert_eq!(game.number, number);
        for source in game.sources() {
            if let Source::Winner(earlier) | Source::Loser(earlier) = source {
                assert!((first_number..number).contains(&earlier), "{game:?}");
            }
        }
        let drawing = match game.stage {
            Stage::Losers => 1,
            Stage::Consolation => 2,
            _ => 0,
        };
        assert!(positions.insert((drawing, game.position.unwrap())), "{game:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn all_but_the_champion_lose_once(count in sizes(), seed: u64) {
        let games = single_elimination(&entries(count), PLAIN).unwrap();
        check_shape(&games, 1);
        prop_assert_eq!(games.len(), count - 1);
        let resolved = play(&games, &mut Results::default(), &mut SplitMix64::new(seed));
        let champion = champion(&games, &resolved).unwrap();
        let defeats = defeats(&games, &resolved, &[Stage::Knockout, Stage::Final]);
        let expected = entries(count).into_iter().filter(|entry| *entry != champion);
        prop_assert_eq!(defeats, expected.map(|entry| (entry, 1)).collect());
    }

    #[test]
    fn everyone_plays_twice_with_consolation(count in 6..=64usize, seed: u64) {
        let options = BracketOptions { third_place: true, consolation: true };
        let games = single_elimination(&entries(count), options).unwrap();
        check_shape(&games, 1);
        prop_assert_eq!(games.iter().filter(|game| game.stage == Stage::ThirdPlace).count(), 1);
        let resolved = play(&games, &mut Results::default(), &mut SplitMix64::new(seed));
        prop_assert_eq!(numbers(&resolved, GameState::Finished).len(), games.len());
        let mut played: BTreeMap<usize, u32> = BTreeMap::new();
        for (winner, loser) in resolved.iter().filter_map(winner_and_loser) {
            prop_assert!(winner != loser);
            *played.entry(winner).or_default() += 1;
            *played.entry(loser).or_default() += 1;
        }
        prop_assert!(played.len() == count && played.values().all(|played| *played >= 2));
    }

    #[test]
    fn all_but_the_champion_lose_twice(count in sizes(), seed: u64) {
        let games = double_elimination(&entries(count)).unwrap();
        check_shape(&games, 1);
        prop_assert_eq!(games.len(), 2 * count - 1);
        let resolved = play(&games, &mut Results::default(), &mut SplitMix64::new(seed));
        let champion = champion(&games, &resolved).unwrap();
        let stages = [Stage::Winners, Stage::Losers, Stage::Final, Stage::FinalReset];
        let mut defeats = defeats(&games, &resolved, &stages);
        let of_champion = defeats.remove(&champion).unwrap_or(0);
        let played = numbers(&resolved, GameState::Finished).len();
        prop_assert_eq!(played, 2 * count - 2 + of_champion as usize);
        prop_assert!(of_champion <= 1);
        prop_assert_eq!(defeats.len(), count - 1);
        prop_assert!(defeats.values().all(|defeats| *defeats == 2));
    }

    #[test]
    fn seeds_meet_as_late_as_possible(count in sizes()) {
        let games = single_elimination(&entries(count), PLAIN).unwrap();
        // The better seed, which is the lower entry, always wins.
        let mut results = Results::default();
        for round in 1.. {
            for game in resolve(&games, &results) {
                if let (GameState::Ready, Opponent::Entry(home), Opponent::Entry(away)) =
                    (game.state, game.home, game.away)
                {
                    let winner = if home < away { Side::Home } else { Side::Away };
                    results.outcomes.insert(game.number, Outcome::Won(winner));
                }
            }
            let Some(last) = games.iter().find(|game| game.round == round) else { break };
            let left = 1 << (last.rounds_left + 1);
            let resolved = resolve(&games, &results);
            for (game, resolved) in games.iter().zip(&resolved).filter(|(game, _)| game.round == round) {
                let (winner, loser) = winner_and_loser(resolved).unwrap();
                prop_assert_eq!(winner + loser, left - 1, "{:?}", game);
            }
        }
    }

    #[test]
    fn entries_of_a_group_meet_in_the_final_only(groups in 2..=16usize) {
        let qualifiers = Qualifiers { per_group: 2, best: 0 };
        let games = knockout(&vec![4; groups], qualifiers, PLAIN, 100).unwrap();
        check_shape(&games, 100);
        prop_assert_eq!(games.len(), groups * 2 - 1);
        let top_half: Vec<u32> = groups_in_top_half(&games);
        let distinct: BTreeSet<&u32> = top_half.iter().collect();
        prop_assert_eq!(distinct.len(), top_half.len(), "{:?}", top_half);
    }

    #[test]
    fn entries_of_a_group_do_not_meet_at_once(
        groups in 2..=12usize,
        per_group in 1..=4u32,
        best in 0..=12u32,
    ) {
        let qualifiers = Qualifiers { per_group, best };
        let games = knockout(&vec![5; groups], qualifiers, PLAIN, 1);
        if best as usize > groups {
            prop_assert_eq!(games, Err(PairingError::TooManyQualifiers));
            return Ok(());
        }
        let games = games.unwrap();
        prop_assert_eq!(games.len(), groups * per_group as usize + best as usize - 1);
        let mut seen = BTreeSet::new();
        for game in &games {
            for source in game.sources() {
                prop_assert!(seen.insert(source), "{} appears twice", source);
            }
            if let (Source::GroupRank { group, .. }, Source::GroupRank { group: other, .. }) =
                (game.home, game.away)
            {
                prop_assert_ne!(group, other);
            }
        }
    }

    #[test]
    fn withdrawn_entries_play_no_more(games in brackets(), seed: u64, rounds in 0..4usize) {
        let mut random = SplitMix64::new(seed);
        let mut results = Results::default();
        for _ in 0..rounds {
            for number in numbers(&resolve(&games, &results), GameState::Ready) {
                results.outcomes.insert(number, Outcome::Won(Side::Home));
            }
        }
        let entry = random.below(2);
        let walkovers = walkovers(&games, &results, entry);
        prop_assert!(walkovers.iter().all(|number| !results.outcomes.contains_key(number)));
        let was_champion = champion(&games, &resolve(&games, &results)) == Some(entry);
        results.withdrawn.insert(entry);
        let resolved = play(&games, &mut results, &mut random);
        for number in walkovers {
            prop_assert_eq!(resolved[number as usize - 1].state, GameState::Walkover);
        }
        prop_assert_eq!(numbers(&resolved, GameState::Waiting), [0; 0]);
        prop_assert_eq!(champion(&games, &resolved) == Some(entry), was_champion);
    }

    #[test]
    fn a_correction_without_conflicts_changes_no_played_game(
        games in brackets(),
        seed: u64,
        played in 1..60usize,
    ) {
        let mut random = SplitMix64::new(seed);
        let mut results = Results::default();
        for _ in 0..played {
            let ready = numbers(&resolve(&games, &results), GameState::Ready);
            if !ready.is_empty() {
                let number = ready[random.below(ready.len())];
                results.outcomes.insert(number, Outcome::Won(Side::Home));
            }
        }
        let finished: Vec<u32> = results.outcomes.keys().copied().collect();
        let number = finished[random.below(finished.len())];
        let corrected = Some(Outcome::Won(Side::Away));
        let Correction { changed, conflicts } = correct(&games, &results, number, corrected);
        prop_assert!(conflicts.iter().all(|number| changed.contains(number)));
        prop_assert!(changed.iter().all(|changed| *changed > number));
        let before = resolve(&games, &results);
        results.outcomes.insert(number, Outcome::Won(Side::Away));
        let after = resolve(&games, &results);
        for (before, after) in before.iter().zip(&after) {
            let same = (before.home, before.away) == (after.home, after.away);
            prop_assert!(same || changed.contains(&before.number));
            let played = finished.contains(&before.number);
            prop_assert_eq!(!same && played, conflicts.contains(&before.number));
        }
    }
}

/// The groups whose entries start in the top half, once for each entry.
fn groups_in_top_half(games: &[Game]) -> Vec<u32> {
    let last = games.last().unwrap();
    let mut open = vec![last.home];
    let mut groups = Vec::new();
    while let Some(source) = open.pop() {
        match source {
            Source::Winner(number) => {
                open.extend(games.iter().find(|game| game.number == number).unwrap().sources());
            }
            Source::GroupRank { group, .. } => groups.push(group),
            other => panic!("unexpected source {other}"),
        }
    }
    groups
}

#[test]
fn favorites_have_no_early_rematch_in_the_losers_bracket() {
    let games = double_elimination(&entries(32)).unwrap();
    let mut results = Results::default();
    let mut met = BTreeSet::new();
    let mut rematches = Vec::new();
    for game in &games {
        let resolved = resolve(&games, &results)[game.number as usize - 1];
        let (Opponent::Entry(home), Opponent::Entry(away)) = (resolved.home, resolved.away) else {
            panic!("{resolved:?} has unknown opponents");
        };
        if !met.insert((home.min(away), home.max(away))) {
            rematches.push((game.stage, game.rounds_left));
        }
        let winner = if home < away { Side::Home } else { Side::Away };
        results.outcomes.insert(game.number, Outcome::Won(winner));
        if game.stage == Stage::Final {
            break;
        }
    }
    assert!(
        rematches.iter().all(|(stage, left)| *stage == Stage::Final || *left < 2),
        "{rematches:?}"
    );
}

#[test]
fn a_whole_tournament_with_groups_of_unequal_size() {
    let groups = vec![entries(4), vec![4, 5, 6], vec![7, 8, 9]];
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    let mut games = group_games(&groups, 1).unwrap();
    let number = games.len() as u32 + 1;
    let options = BracketOptions { third_place: true, consolation: false };
    games.extend(knockout(&sizes, Qualifiers::usual(&sizes), options, number).unwrap());
    assert_eq!(games.len(), 6 + 3 + 3 + 6);
    let mut results = Results::default();
    play(&games, &mut results, &mut SplitMix64::new(1));
    assert_eq!(results.outcomes.len(), 12);
    results.group_ranks = (0..).zip(groups).collect();
    let resolved = play(&games, &mut results, &mut SplitMix64::new(1));
    assert_eq!(numbers(&resolved, GameState::Finished).len(), games.len());
    assert!(champion(&games, &resolved).is_some());
}
