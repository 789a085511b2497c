//! Properties of every table: a total order that depends neither on the order of the games nor on the names of entries.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use competition::standings::{
    Bye, Decided, Details, Entry, External, Game, GameState, MultiTeam, PRESETS, Pair, Points,
    Restart, Row, Rules, Side, TieBreaker, Unfinished, Value, Withdrawal, standings,
};
use kit::string_enum::StringEnum;
use proptest::prelude::*;

fn one_of<T: StringEnum + std::fmt::Debug>() -> impl Strategy<Value = T> {
    (0..T::ALL.len()).prop_map(|i| T::ALL[i].0)
}

/// Any tie-breaker, even one without meaning.
fn tie_breaker() -> impl Strategy<Value = TieBreaker> {
    let conditions = (any::<bool>(), any::<bool>(), any::<bool>(), 0..3_u32);
    let places = prop::option::weighted(0.1, 1..4_u32);
    (one_of(), one_of(), one_of(), prop::option::of(0..3_u32), conditions, places).prop_map(
        |(metric, scope, direction, cap, (per_game, only_two, all_met, min_games), places)| {
            let places = places.into_iter().collect();
            let new = TieBreaker::new(metric, scope);
            TieBreaker { direction, cap, per_game, only_two, all_met, min_games, places, ..new }
        },
    )
}

/// The rules of a preset, sometimes with other tie-breakers or another restart mode.
fn rules() -> impl Strategy<Value = Rules> {
    let list = || prop::option::weighted(0.3, prop::collection::vec(tie_breaker(), 0..5));
    let modes = (
        prop::option::of(one_of::<Restart>()),
        prop::option::of(one_of::<Unfinished>()),
        one_of::<Withdrawal>(),
        one_of::<MultiTeam>(),
    );
    (0..PRESETS.len(), modes, list(), list()).prop_map(|(i, modes, list, multi)| {
        let rules = PRESETS[i].rules();
        let (restart, unfinished, withdrawal, multi_team) = modes;
        Rules {
            restart: restart.unwrap_or(rules.restart),
            unfinished: unfinished.unwrap_or(rules.unfinished),
            withdrawal,
            multi_team,
            tie_breakers: list.unwrap_or(rules.tie_breakers),
            multi_tie_breakers: multi.or(rules.multi_tie_breakers),
            ..rules
        }
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let part = || prop::option::of(0..2_u32);
    let number = || prop::option::of(0..3_i32);
    let external = (number(), number(), number(), number()).prop_map(|(a, b, c, d)| External {
        fair_play: a,
        ranking: b,
        play_off: c,
        lots: d,
        ..External::default()
    });
    let bye = (0..4_u32, prop::option::of(Just(Points::HALF)));
    let byes = prop::collection::vec(bye.prop_map(|(round, points)| Bye { round, points }), 0..2);
    (part(), part(), part(), -3..3_i32, prop::bool::weighted(0.1), byes, external).prop_map(
        |(group, division, conference, adjustment, withdrawn, byes, external)| Entry {
            group,
            division,
            conference,
            adjustment: Points::from_hundredths(adjustment * 50),
            withdrawn,
            byes,
            external,
        },
    )
}

/// A game among so many entries, or one more: such a game is ignored.
fn game(entries: usize) -> impl Strategy<Value = Game> {
    let score = || (0..4_i32, 0..4_i32).prop_map(|(home, away)| Pair::new(home, away));
    let state = prop_oneof![
        8 => Just(GameState::Final),
        1 => Just(GameState::Scheduled),
        1 => Just(GameState::InProgress),
        1 => Just(GameState::Annulled),
    ];
    let decided =
        prop_oneof![Just(Decided::Regulation), Just(Decided::Overtime), Just(Decided::Shootout)];
    let details = (0..5_i32, 0..9_i32, 0..9_i32, -2..1_i32).prop_map(|(a, b, c, d)| Details {
        tries: a,
        set_points: b,
        balls: c,
        wickets: a,
        fair_play: d,
    });
    let forfeit =
        prop_oneof![8 => Just(None), 1 => Just(Some(Side::Home)), 1 => Just(Some(Side::Away))];
    let sides = (0..=entries, 0..=entries, prop::option::weighted(0.9, score()), state, 0..4_u32);
    let more = (decided, prop::option::of(score()), forfeit, any::<bool>(), details);
    (sides, more).prop_map(|((home, away, score, state, round), more)| {
        let (decided, shootout, forfeited_by, neutral, details) = more;
        Game {
            home,
            away,
            state,
            score,
            decided,
            shootout,
            regulation_score: shootout,
            forfeited_by,
            neutral,
            bonus: None,
            details: Pair::new(details, Details::default()),
            round,
        }
    })
}

/// A competition of up to eight entries, and a permutation of them.
fn competition() -> impl Strategy<Value = (Rules, Vec<Entry>, Vec<Game>, Vec<usize>)> {
    (rules(), prop::collection::vec(entry(), 0..8)).prop_flat_map(|(rules, entries)| {
        let games = prop::collection::vec(game(entries.len()), 0..24);
        let permutation = Just((0..entries.len()).collect::<Vec<_>>()).prop_shuffle();
        (Just(rules), Just(entries), games, permutation)
    })
}

/// What a row says, without the order in which entries with the same value are listed.
fn canonical(row: &Row, name: &dyn Fn(usize) -> usize) -> impl PartialEq + std::fmt::Debug {
    // The order among entries that share a rank, and so the explanation of each, is that of the input.
    let explanation = row.explanation.as_ref().filter(|_| !row.shared_rank).map(|why| {
        let with: BTreeSet<usize> = why.with.iter().map(|entry| name(*entry)).collect();
        let values: BTreeSet<(usize, Value)> =
            why.values.iter().map(|(entry, value)| (name(*entry), *value)).collect();
        (why.rule, why.scope, with, values)
    });
    (name(row.entry), row.rank, row.shared_rank, row.points, row.pending, explanation)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_table_is_a_total_order((rules, entries, games, _) in competition()) {
        let rows = standings(&rules, &entries, &games);
        let ranked: BTreeSet<usize> = rows.iter().map(|row| row.entry).collect();
        prop_assert_eq!(ranked.len(), entries.len());
        prop_assert_eq!(rows.len(), entries.len());
        for group in rows.chunk_by(|a, b| a.group == b.group) {
            prop_assert_eq!(group[0].rank, 1);
            prop_assert!(group[0].explanation.is_none());
            for (position, pair) in (2..).zip(group.windows(2)) {
                let (above, row) = (&pair[0], &pair[1]);
                let is_shared = row.rank == above.rank;
                prop_assert!(is_shared || row.rank == position);
                if row.withdrawn == above.withdrawn {
                    prop_assert!(row.rank_value <= above.rank_value);
                    // Points alone place a row exactly if they differ from those of the row above.
                    prop_assert_eq!(row.explanation.is_none(), row.rank_value < above.rank_value);
                }
                if is_shared {
                    prop_assert!(row.shared_rank && above.shared_rank);
                    prop_assert_eq!(row.explanation.as_ref().map(|why| why.rule), Some(None));
                }
            }
        }
    }

    #[test]
    fn an_explanation_has_values_that_differ((rules, entries, games, _) in competition()) {
        for row in standings(&rules, &entries, &games) {
            let Some(why) = row.explanation.filter(|why| why.rule.is_some()) else { continue };
            prop_assert!(why.with.contains(&row.entry));
            let own = why.values.iter().find(|(entry, _)| *entry == row.entry);
            let first = why.values.first();
            prop_assert!(own.is_some() && own.map(|o| o.1) != first.map(|f| f.1));
        }
    }

    #[test]
    fn the_order_of_games_is_irrelevant(
        ((rules, entries, games, _), shuffled) in competition().prop_flat_map(|competition| {
            let games = Just(competition.2.clone()).prop_shuffle();
            (Just(competition), games)
        })
    ) {
        prop_assert_eq!(standings(&rules, &entries, &games), standings(&rules, &entries, &shuffled));
    }

    #[test]
    fn the_order_of_entries_is_irrelevant((rules, entries, games, new_index) in competition()) {
        let mut renamed = entries.clone();
        for (old, new) in new_index.iter().enumerate() {
            renamed[*new] = entries[old].clone();
        }
        let index = |old: usize| new_index.get(old).copied().unwrap_or(old);
        let renamed_games: Vec<Game> = games
            .iter()
            .map(|game| Game { home: index(game.home), away: index(game.away), ..game.clone() })
            .collect();
        let mut before: Vec<_> = standings(&rules, &entries, &games);
        let mut after: Vec<_> = standings(&rules, &renamed, &renamed_games);
        before.sort_by_key(|row| index(row.entry));
        after.sort_by_key(|row| row.entry);
        for (before, after) in before.iter().zip(&after) {
            prop_assert_eq!(canonical(before, &index), canonical(after, &|entry| entry));
        }
    }

    #[test]
    fn values_compare_as_cross_products(a in -99..99_i64, b in 1..99_i64, c in -99..99_i64, d in 1..99_i64) {
        let expected: Ordering = (a * d).cmp(&(c * b));
        prop_assert_eq!(Value::ratio(a, b).cmp(&Value::ratio(c, d)), expected);
    }
}

#[test]
fn a_field_of_257_entries_is_ranked() {
    let entries = vec![Entry::default(); 257];
    let games: Vec<Game> = (0..257_usize)
        .flat_map(|home| (1..5_usize).map(move |step| (home, (home + step * 7) % 257)))
        .zip(0_i32..)
        .map(|((home, away), number)| Game::played(home, away, number % 3, number % 2))
        .collect();
    for preset in PRESETS {
        let rows = standings(&preset.rules(), &entries, &games);
        assert_eq!((rows.len(), rows[0].rank), (257, 1), "{}", preset.key);
    }
}
