//! Properties of pairings and plans, for tournaments of all kinds and sizes.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod brackets;
mod placement;
mod round_robin;
mod swiss;

use competition::schedule::{
    Game, GameState, Opponent, Outcome, ResolvedGame, Results, Side, SplitMix64, resolve,
};

/// The indexes of this many entries.
fn entries(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// Plays all games that can be played, with random winners. Returns the final state.
fn play(games: &[Game], results: &mut Results, random: &mut SplitMix64) -> Vec<ResolvedGame> {
    loop {
        let resolved = resolve(games, results);
        let ready: Vec<u32> = numbers(&resolved, GameState::Ready);
        if ready.is_empty() {
            return resolved;
        }
        for number in ready {
            let side = if random.below(2) == 0 { Side::Home } else { Side::Away };
            results.outcomes.insert(number, Outcome::Won(side));
        }
    }
}

fn numbers(resolved: &[ResolvedGame], state: GameState) -> Vec<u32> {
    resolved.iter().filter(|game| game.state == state).map(|game| game.number).collect()
}

/// The winner and the loser of a finished game.
fn winner_and_loser(game: &ResolvedGame) -> Option<(usize, usize)> {
    match (game.winning_opponent(), game.losing_opponent()) {
        (Opponent::Entry(winner), Opponent::Entry(loser)) => Some((winner, loser)),
        _ => None,
    }
}
