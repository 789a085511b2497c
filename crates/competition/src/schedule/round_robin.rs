//! Leagues: everyone plays everyone the same number of times.

use super::game::{Game, PairingError, Source, Stage};

/// The pairings of one round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    pub pairs: Vec<Pair>,
    /// The entry without a game, if the number of entries is odd.
    pub bye: Option<usize>,
}

/// Two entries that play each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    pub home: usize,
    pub away: usize,
}

impl Pair {
    const fn reverse(self) -> Self {
        Self { home: self.away, away: self.home }
    }
}

/// Rounds in which everyone plays everyone once in each leg. In each leg and over all legs, home and away games of an
/// entry differ by at most one. Every second leg is the reverse of the one before.
pub fn round_robin(entries: &[usize], legs: u32) -> Result<Vec<Round>, PairingError> {
    if entries.len() < 2 {
        return Err(PairingError::TooFewEntries);
    }
    if legs == 0 {
        return Err(PairingError::NoLegs);
    }
    let first: Vec<Round> = single_leg(entries);
    let second = first.iter().map(|round| Round {
        pairs: round.pairs.iter().map(|pair| pair.reverse()).collect(),
        bye: round.bye,
    });
    let both: Vec<Round> = first.iter().cloned().chain(second).collect();
    let rounds = first.len() * legs as usize;
    Ok(both.into_iter().cycle().take(rounds).collect())
}

/// The circle method: one entry stays in the center, and the others turn by one place in each round. Alternating
/// sides along the circle keeps home and away balanced, with the fewest possible home or away games in a row (de
/// Werra, 1981).
fn single_leg(entries: &[usize]) -> Vec<Round> {
    let circle = (entries.len() - 1) | 1;
    let round = |number: usize| {
        let on_circle = |offset: usize| entries.get((number + offset) % circle).copied();
        let mut round = Round::default();
        match (entries.get(circle).copied(), on_circle(0)) {
            (Some(center), Some(other)) if number.is_multiple_of(2) => {
                round.pairs.push(Pair { home: center, away: other });
            }
            (Some(center), Some(other)) => round.pairs.push(Pair { home: other, away: center }),
            (_, other) => round.bye = other,
        }
        for distance in 1..=circle / 2 {
            if let (Some(one), Some(other)) = (on_circle(distance), on_circle(circle - distance)) {
                let pair = Pair { home: one, away: other };
                round.pairs.push(if distance % 2 == 1 { pair } else { pair.reverse() });
            }
        }
        round
    };
    (0..circle).map(round).collect()
}

/// The games of a league.
pub fn league(entries: &[usize], legs: u32) -> Result<Vec<Game>, PairingError> {
    let mut games = round_robin_games(entries, legs, Stage::League, None)?;
    number_games(&mut games, 1);
    Ok(games)
}

/// The games of each group, in the order of rounds. Larger groups have more rounds.
pub fn group_games(groups: &[Vec<usize>], legs: u32) -> Result<Vec<Game>, PairingError> {
    if groups.is_empty() {
        return Err(PairingError::NoSuchGroup);
    }
    let mut games = Vec::new();
    for (group, entries) in (0..).zip(groups) {
        games.extend(round_robin_games(entries, legs, Stage::Group, Some(group))?);
    }
    games.sort_by_key(|game| game.round);
    number_games(&mut games, 1);
    Ok(games)
}

fn round_robin_games(
    entries: &[usize],
    legs: u32,
    stage: Stage,
    group: Option<u32>,
) -> Result<Vec<Game>, PairingError> {
    let rounds = round_robin(entries, legs)?;
    let rounds_of_leg = rounds.len() as u32 / legs;
    let mut games = Vec::new();
    for (number, round) in (1..).zip(&rounds) {
        for pair in &round.pairs {
            let (home, away) = (Source::Entry(pair.home), Source::Entry(pair.away));
            games.push(Game {
                rounds_left: rounds.len() as u32 - number,
                group,
                leg: (number - 1) / rounds_of_leg + 1,
                ..Game::new(stage, number, home, away)
            });
        }
    }
    Ok(games)
}

/// Numbers games that do not refer to each other.
pub(super) fn number_games(games: &mut [Game], first_number: u32) {
    for (number, game) in (first_number..).zip(games) {
        game.number = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(round: &Round) -> Vec<(usize, usize)> {
        round.pairs.iter().map(|pair| (pair.home, pair.away)).collect()
    }

    #[test]
    fn four_entries_play_three_rounds() {
        let rounds = round_robin(&[0, 1, 2, 3], 2).unwrap();
        assert_eq!(pairs(&rounds[0]), [(3, 0), (1, 2)]);
        assert_eq!(pairs(&rounds[1]), [(1, 3), (2, 0)]);
        assert_eq!(pairs(&rounds[2]), [(3, 2), (0, 1)]);
        assert_eq!(pairs(&rounds[3]), [(0, 3), (2, 1)]);
        assert_eq!(rounds.len(), 6);
    }

    #[test]
    fn with_an_odd_number_each_entry_has_one_bye() {
        let rounds = round_robin(&[7, 8, 9], 1).unwrap();
        let byes: Vec<_> = rounds.iter().map(|round| round.bye).collect();
        assert_eq!(byes, [Some(7), Some(8), Some(9)]);
        assert!(rounds.iter().all(|round| round.pairs.len() == 1));
    }

    #[test]
    fn wrong_input_is_refused() {
        assert_eq!(round_robin(&[0], 1), Err(PairingError::TooFewEntries));
        assert_eq!(round_robin(&[0, 1], 0), Err(PairingError::NoLegs));
        assert_eq!(group_games(&[], 1), Err(PairingError::NoSuchGroup));
        assert_eq!(group_games(&[vec![0, 1], vec![2]], 1), Err(PairingError::TooFewEntries));
    }

    #[test]
    fn groups_play_their_rounds_side_by_side() {
        let games = group_games(&[vec![0, 1, 2, 3], vec![4, 5, 6]], 1).unwrap();
        let order: Vec<_> = games.iter().map(|game| (game.round, game.group)).collect();
        let (a, b) = (Some(0), Some(1));
        assert_eq!(order, [(1, a), (1, a), (1, b), (2, a), (2, a), (2, b), (3, a), (3, a), (3, b)]);
        assert_eq!(games.last().unwrap().number, 9);
    }
}
