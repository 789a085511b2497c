//! Building blocks of brackets: the seed order, rounds of neighbors, and the numbering of games.

use std::cmp::Reverse;

use super::game::{Game, Position, Source, Stage};

/// The seeds of the slots of a bracket from top to bottom, from 0: the best two can only meet in the final, the best
/// four in the semi-finals, and so on. Seeds of `count` and above are byes. The number of slots is a power of two.
pub(super) fn seed_order(count: usize) -> Vec<usize> {
    let mut seeds = vec![0];
    while seeds.len() < count {
        let last = seeds.len() * 2 - 1;
        // The better seed is on top, so that it plays at home.
        seeds = seeds.into_iter().flat_map(|seed| [seed, last - seed]).collect();
    }
    seeds
}

/// The slots of a bracket for sources in the order of their seeds, best first. Missing opponents are byes of the
/// best.
pub(super) fn seeded_slots(sources: &[Source]) -> Vec<Source> {
    let slot = |seed: usize| sources.get(seed).copied().unwrap_or(Source::Bye);
    seed_order(sources.len()).into_iter().map(slot).collect()
}

/// The sources that a round leaves behind, in the order of rows.
#[derive(Debug)]
pub(super) struct Outcomes {
    pub(super) winners: Vec<Source>,
    pub(super) losers: Vec<Source>,
}

/// Makes the games of a tournament with brackets.
#[derive(Debug, Default)]
pub(super) struct Builder {
    games: Vec<Game>,
}

impl Builder {
    /// Neighboring slots play each other. A slot next to a bye advances without a game, and the bye is the loser.
    pub(super) fn round(&mut self, stage: Stage, column: u32, slots: &[Source]) -> Outcomes {
        let mut outcomes = Outcomes { winners: Vec::new(), losers: Vec::new() };
        for (row, pair) in (0..).zip(slots.chunks(2)) {
            let (winner, loser) = match *pair {
                [one, Source::Bye] | [Source::Bye, one] | [one] => (one, Source::Bye),
                [home, away, ..] => self.game(stage, home, away, Position { column, row }),
                [] => continue,
            };
            outcomes.winners.push(winner);
            outcomes.losers.push(loser);
        }
        outcomes
    }

    /// Adds a game, and returns its winner and its loser.
    pub(super) fn game(
        &mut self,
        stage: Stage,
        home: Source,
        away: Source,
        position: Position,
    ) -> (Source, Source) {
        let number = self.games.len() as u32 + 1;
        let position = Some(position);
        let game = Game::new(stage, position.map_or(1, |at| at.column + 1), home, away);
        self.games.push(Game { number, position, ..game });
        (Source::Winner(number), Source::Loser(number))
    }

    /// The games in an order in which they can be played, numbered from `first_number`.
    pub(super) fn finish(self, first_number: u32) -> Vec<Game> {
        let mut games = self.games;
        set_rounds_left(&mut games);
        let mut steps: Vec<u32> = Vec::new();
        for game in &games {
            let sources = game.sources().into_iter().filter_map(source_game);
            let earlier = sources.map(|number| steps[number as usize - 1]).max();
            let after_sources = earlier.map_or(1, |step| step + 1);
            // Entries with a bye play in the second round, not at the time of the first.
            let first = match game.stage {
                Stage::Knockout | Stage::Winners => game.round,
                _ => 1,
            };
            steps.push(after_sources.max(first));
        }
        let mut order: Vec<usize> = (0..games.len()).collect();
        // The final comes last, even if a consolation bracket takes as long.
        let is_final = |index: usize| games[index].stage >= Stage::Final;
        order.sort_by_key(|&index| (is_final(index), steps[index], games[index].stage, index));
        let mut numbers = vec![0; games.len()];
        for (number, &index) in (first_number..).zip(&order) {
            numbers[index] = number;
        }
        for game in &mut games {
            game.number = numbers[game.number as usize - 1];
            game.home = renumber(game.home, &numbers);
            game.away = renumber(game.away, &numbers);
        }
        games.sort_by_key(|game| game.number);
        games
    }
}

/// The number of the game that a source refers to.
pub(super) const fn source_game(source: Source) -> Option<u32> {
    match source {
        Source::Winner(number) | Source::Loser(number) => Some(number),
        _ => None,
    }
}

fn renumber(source: Source, numbers: &[u32]) -> Source {
    match source {
        Source::Winner(number) => Source::Winner(numbers[number as usize - 1]),
        Source::Loser(number) => Source::Loser(numbers[number as usize - 1]),
        other => other,
    }
}

/// The final is the last round of a knockout; other stages have rounds of their own.
fn set_rounds_left(games: &mut [Game]) {
    let drawing = |stage| if stage == Stage::Knockout { Stage::Final } else { stage };
    let mut by_round: Vec<(Stage, Reverse<u32>)> =
        games.iter().map(|game| (drawing(game.stage), Reverse(game.round))).collect();
    by_round.sort_unstable();
    by_round.dedup_by_key(|(stage, _)| *stage);
    for game in games {
        let last = by_round.iter().find(|(stage, _)| *stage == drawing(game.stage));
        game.rounds_left = last.map_or(0, |(_, Reverse(last))| last - game.round);
    }
}

/// The column in which entries of two games of the same drawing meet, if they win until then.
pub(super) fn meeting_column(one: Position, other: Position) -> u32 {
    let mut column = one.column.max(other.column);
    while one.row >> (column - one.column) != other.row >> (column - other.column) {
        column += 1;
    }
    column
}

/// The cost of two entries of a group that may meet in a column of a bracket with this last column. One early meeting
/// costs more than many late ones.
pub(super) fn meeting_cost(column: u32, last_column: u32) -> i64 {
    1 << (last_column.saturating_sub(column).min(12) * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_in_the_usual_order() {
        let from_one = |count| seed_order(count).iter().map(|seed| seed + 1).collect::<Vec<_>>();
        assert_eq!(from_one(2), [1, 2]);
        assert_eq!(from_one(4), [1, 4, 2, 3]);
        assert_eq!(from_one(8), [1, 8, 4, 5, 2, 7, 3, 6]);
        assert_eq!(from_one(16), [1, 16, 8, 9, 4, 13, 5, 12, 2, 15, 7, 10, 3, 14, 6, 11]);
        assert_eq!(from_one(5), from_one(8));
    }

    #[test]
    fn neighbors_meet_in_the_next_column() {
        let at = |column, row| Position { column, row };
        assert_eq!(meeting_column(at(0, 0), at(0, 1)), 1);
        assert_eq!(meeting_column(at(0, 0), at(0, 3)), 2);
        assert_eq!(meeting_column(at(0, 1), at(1, 0)), 1);
        assert_eq!(meeting_column(at(2, 0), at(0, 4)), 3);
    }
}
