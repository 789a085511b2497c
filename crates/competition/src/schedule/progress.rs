//! The progress of a tournament: who plays in each game, which games are decided without being played, and what a corrected
//! result changes.

use std::collections::{BTreeMap, BTreeSet};

use super::best_ranked::assign_best_ranked;
use super::game::{Game, Source, Stage};

/// What is known of the games and groups of a tournament.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Results {
    /// The games that have begun, by number.
    pub outcomes: BTreeMap<u32, Outcome>,
    /// The entries of each finished group, by index, best first.
    pub group_ranks: BTreeMap<u32, Vec<usize>>,
    /// For a rank in the groups, the entries at this rank, best first, once all groups are finished. As many of them
    /// advance as there are [`Source::BestRanked`] of this rank. Which of them takes which place is decided so that
    /// entries of the same group meet as late as possible; otherwise they are placed in order.
    pub best_ranked: BTreeMap<u32, Vec<usize>>,
    /// Entries that have withdrawn. Their games that have not begun are walkovers.
    pub withdrawn: BTreeSet<usize>,
}

/// A side of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Home,
    Away,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::Home => Self::Away,
            Self::Away => Self::Home,
        }
    }
}

/// The state of a game that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Won by this side, also by forfeit.
    Won(Side),
    /// Finished without a winner.
    Drawn,
    /// Not finished.
    Started,
}

/// One side of a game.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Opponent {
    /// Depends on games that are not finished.
    #[default]
    Unknown,
    /// Nobody.
    Bye,
    Entry(usize),
}

kit::string_enum! {
    /// Whether a game is played.
    pub enum GameState {
        /// An opponent is not known yet.
        Waiting = "waiting",
        /// Both opponents are known.
        Ready = "ready",
        /// Play has begun.
        Started = "started",
        /// There is a result.
        Finished = "finished",
        /// Decided without a game, because one side has no opponent.
        Bye = "bye",
        /// Decided without a game, because an opponent has withdrawn.
        Walkover = "walkover",
        /// Not played: both sides have no opponent, or the final needs no second game.
        NotNeeded = "not_needed",
    }
}

/// A game with its opponents, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedGame {
    /// The number of the game.
    pub number: u32,
    pub home: Opponent,
    pub away: Opponent,
    pub state: GameState,
    /// The side that advances. Neither does from a game that is not needed, or if both have withdrawn.
    pub winner: Option<Side>,
}

impl ResolvedGame {
    const fn side(&self, side: Side) -> Opponent {
        match side {
            Side::Home => self.home,
            Side::Away => self.away,
        }
    }

    /// Who advances. Unknown if the game is not decided.
    pub fn winning_opponent(&self) -> Opponent {
        self.winner.map_or(self.without_winner(), |winner| self.side(winner))
    }

    /// Who does not advance. Unknown if the game is not decided.
    pub fn losing_opponent(&self) -> Opponent {
        self.winner.map_or(self.without_winner(), |winner| self.side(winner.other()))
    }

    /// Nobody advances from a game that neither side plays.
    fn without_winner(&self) -> Opponent {
        match self.state {
            GameState::NotNeeded | GameState::Walkover => Opponent::Bye,
            _ => Opponent::Unknown,
        }
    }
}

/// Resolves the opponents of all games. The result is in the order of numbers.
pub fn resolve(games: &[Game], results: &Results) -> Vec<ResolvedGame> {
    let best = assign_best_ranked(games, &results.group_ranks, &results.best_ranked);
    let mut resolved: BTreeMap<u32, ResolvedGame> = BTreeMap::new();
    let mut ordered: Vec<&Game> = games.iter().collect();
    ordered.sort_by_key(|game| game.number);
    for game in ordered {
        let opponent = |source: Source| match source {
            Source::Entry(entry) => Opponent::Entry(entry),
            Source::Bye => Opponent::Bye,
            Source::Winner(number) => {
                resolved.get(&number).map_or(Opponent::Unknown, ResolvedGame::winning_opponent)
            }
            Source::Loser(number) => {
                resolved.get(&number).map_or(Opponent::Unknown, ResolvedGame::losing_opponent)
            }
            Source::GroupRank { group, rank } => match results.group_ranks.get(&group) {
                Some(entries) => entry_or_bye(entries.get((rank as usize).wrapping_sub(1))),
                None => Opponent::Unknown,
            },
            Source::BestRanked { rank, .. } => match best.get(&source) {
                Some(entry) => Opponent::Entry(*entry),
                None if results.best_ranked.contains_key(&rank) => Opponent::Bye,
                None => Opponent::Unknown,
            },
        };
        let (home, away) = (opponent(game.home), opponent(game.away));
        let outcome = results.outcomes.get(&game.number).copied();
        let not_needed = outcome.is_none() && !is_needed(game, &resolved);
        let game = decide(game.number, [home, away], outcome, &results.withdrawn);
        let state = if not_needed { GameState::NotNeeded } else { game.state };
        let winner = game.winner.filter(|_| !not_needed);
        resolved.insert(game.number, ResolvedGame { state, winner, ..game });
    }
    resolved.into_values().collect()
}

fn entry_or_bye(entry: Option<&usize>) -> Opponent {
    entry.map_or(Opponent::Bye, |entry| Opponent::Entry(*entry))
}

/// The second final is not needed if the entry without a defeat, which is the home side, has won the first.
fn is_needed(game: &Game, resolved: &BTreeMap<u32, ResolvedGame>) -> bool {
    match (game.stage, game.home) {
        (Stage::FinalReset, Source::Loser(number)) => {
            resolved.get(&number).and_then(|game| game.winner) != Some(Side::Home)
        }
        _ => true,
    }
}

fn decide(
    number: u32,
    [home, away]: [Opponent; 2],
    outcome: Option<Outcome>,
    withdrawn: &BTreeSet<usize>,
) -> ResolvedGame {
    let has_withdrawn =
        |opponent| matches!(opponent, Opponent::Entry(entry) if withdrawn.contains(&entry));
    let (state, winner) = match (outcome, home, away) {
        (Some(Outcome::Won(side)), ..) => (GameState::Finished, Some(side)),
        (Some(Outcome::Drawn), ..) => (GameState::Finished, None),
        (Some(Outcome::Started), ..) => (GameState::Started, None),
        (None, Opponent::Unknown, _) | (None, _, Opponent::Unknown) => (GameState::Waiting, None),
        (None, Opponent::Bye, Opponent::Bye) => (GameState::NotNeeded, None),
        (None, Opponent::Bye, _) => (GameState::Bye, Some(Side::Away)),
        (None, _, Opponent::Bye) => (GameState::Bye, Some(Side::Home)),
        _ if has_withdrawn(home) && has_withdrawn(away) => (GameState::Walkover, None),
        _ if has_withdrawn(away) => (GameState::Walkover, Some(Side::Home)),
        _ if has_withdrawn(home) => (GameState::Walkover, Some(Side::Away)),
        _ => (GameState::Ready, None),
    };
    ResolvedGame { number, home, away, state, winner }
}

/// The winner of a bracket, once it is known.
pub fn champion(games: &[Game], resolved: &[ResolvedGame]) -> Option<usize> {
    let of_stage = |stage: Stage| {
        let number = games.iter().find(|game| game.stage == stage)?.number;
        resolved.iter().find(|game| game.number == number)
    };
    let reset = of_stage(Stage::FinalReset).filter(|game| game.state != GameState::NotNeeded);
    match reset.or_else(|| of_stage(Stage::Final))?.winning_opponent() {
        Opponent::Entry(entry) => Some(entry),
        Opponent::Bye | Opponent::Unknown => None,
    }
}

/// What a correction changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Correction {
    /// The numbers of games that have other opponents now.
    pub changed: Vec<u32>,
    /// Those of them that have already begun. If there are any, the correction is not possible.
    pub conflicts: Vec<u32>,
}

/// Compares the games before and after a correction, such as another result, another order of a group, or new
/// pairings of a Swiss round. Games are compared by number; a game that is missing afterwards has changed.
pub fn compare(before: &[ResolvedGame], after: &[ResolvedGame]) -> Correction {
    let mut correction = Correction::default();
    let after: BTreeMap<u32, &ResolvedGame> =
        after.iter().map(|game| (game.number, game)).collect();
    let pairing = |game: &ResolvedGame| (game.home, game.away);
    for game in before {
        if after.get(&game.number).map(|after| pairing(after)) != Some(pairing(game)) {
            correction.changed.push(game.number);
            if matches!(game.state, GameState::Started | GameState::Finished) {
                correction.conflicts.push(game.number);
            }
        }
    }
    correction
}

/// What changes if a game gets this outcome, or none.
pub fn correct(
    games: &[Game],
    results: &Results,
    number: u32,
    outcome: Option<Outcome>,
) -> Correction {
    let mut corrected = results.clone();
    match outcome {
        Some(outcome) => corrected.outcomes.insert(number, outcome),
        None => corrected.outcomes.remove(&number),
    };
    compare(&resolve(games, results), &resolve(games, &corrected))
}

/// The numbers of the games that become walkovers if an entry withdraws, as far as the opponents are known.
pub fn walkovers(games: &[Game], results: &Results, entry: usize) -> Vec<u32> {
    let mut after = results.clone();
    after.withdrawn.insert(entry);
    let is_walkover = |game: &&ResolvedGame| {
        game.state == GameState::Walkover
            && [game.home, game.away].contains(&Opponent::Entry(entry))
    };
    resolve(games, &after).iter().filter(is_walkover).map(|game| game.number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{
        BracketOptions, Qualifiers, double_elimination, group_games, knockout, single_elimination,
    };

    const HOME: Outcome = Outcome::Won(Side::Home);
    const AWAY: Outcome = Outcome::Won(Side::Away);

    fn results(outcomes: &[(u32, Outcome)]) -> Results {
        Results { outcomes: outcomes.iter().copied().collect(), ..Results::default() }
    }

    fn states(games: &[Game], results: &Results) -> Vec<&'static str> {
        use kit::string_enum::StringEnum;
        resolve(games, results).iter().map(|game| game.state.as_str()).collect()
    }

    /// Games 1 and 2 are semi-finals, 3 is for third place, 4 is the final.
    fn four() -> Vec<Game> {
        let options = BracketOptions { third_place: true, consolation: false };
        single_elimination(&[0, 1, 2, 3], options).unwrap()
    }

    #[test]
    fn results_advance_the_bracket() {
        let games = four();
        assert_eq!(states(&games, &results(&[])), ["ready", "ready", "waiting", "waiting"]);
        let played = results(&[(1, HOME), (2, AWAY)]);
        let resolved = resolve(&games, &played);
        assert_eq!(resolved[2].home, Opponent::Entry(3));
        assert_eq!((resolved[3].home, resolved[3].away), (Opponent::Entry(0), Opponent::Entry(2)));
        assert_eq!(champion(&games, &resolved), None);
        let played = results(&[(1, HOME), (2, AWAY), (4, AWAY)]);
        assert_eq!(champion(&games, &resolve(&games, &played)), Some(2));
        assert_eq!(states(&games, &results(&[(1, Outcome::Drawn)]))[2..], ["waiting", "waiting"]);
    }

    #[test]
    fn a_correction_changes_what_has_not_begun() {
        let games = four();
        let played = results(&[(1, HOME), (2, AWAY)]);
        let correction = correct(&games, &played, 1, Some(AWAY));
        assert_eq!(correction, Correction { changed: vec![3, 4], conflicts: vec![] });
        assert_eq!(correct(&games, &played, 1, Some(HOME)), Correction::default());
        assert_eq!(correct(&games, &played, 2, None).changed, [3, 4]);
        let begun = results(&[(1, HOME), (2, AWAY), (3, Outcome::Started), (4, HOME)]);
        assert_eq!(correct(&games, &begun, 1, Some(AWAY)).conflicts, [3, 4]);
        // The result of the last game changes nothing else.
        assert_eq!(correct(&games, &begun, 4, Some(AWAY)), Correction::default());
    }

    #[test]
    fn the_second_final_depends_on_the_first() {
        let games = double_elimination(&[0, 1]).unwrap();
        assert_eq!(states(&games, &results(&[(1, HOME)]))[1..], ["ready", "waiting"]);
        let finished = results(&[(1, HOME), (2, HOME)]);
        assert_eq!(states(&games, &finished)[2], "not_needed");
        assert_eq!(champion(&games, &resolve(&games, &finished)), Some(0));
        let reset = results(&[(1, HOME), (2, AWAY)]);
        assert_eq!(states(&games, &reset)[2], "ready");
        assert_eq!(champion(&games, &resolve(&games, &reset)), None);
        let played = results(&[(1, HOME), (2, AWAY), (3, AWAY)]);
        assert_eq!(champion(&games, &resolve(&games, &played)), Some(1));
        assert_eq!(correct(&games, &played, 2, Some(HOME)).conflicts, [3]);
        assert_eq!(correct(&games, &reset, 2, Some(HOME)).changed, [3]);
    }

    #[test]
    fn who_withdraws_loses_the_remaining_games() {
        let games = double_elimination(&[0, 1, 2, 3]).unwrap();
        // Entry 0 has won its first game. It loses to the winner of game 2, then in the losers bracket.
        let mut played = results(&[(1, HOME)]);
        assert_eq!(walkovers(&games, &played, 0), [0; 0]);
        played.outcomes.insert(2, HOME);
        let number = |stage| games.iter().find(|game| game.stage == stage).unwrap().number;
        assert_eq!(walkovers(&games, &played, 0), [number(Stage::Winners) + 2]);
        played.withdrawn.extend([0, 1, 2, 3]);
        assert_eq!(champion(&games, &resolve(&games, &played)), None);
    }

    #[test]
    fn finished_groups_fill_the_knockout() {
        let mut games = group_games(&[vec![0, 1, 2], vec![3, 4]], 1).unwrap();
        let number = games.len() as u32 + 1;
        let qualifiers = Qualifiers { per_group: 2, best: 0 };
        games.extend(knockout(&[3, 2], qualifiers, BracketOptions::default(), number).unwrap());
        let mut known = results(&[]);
        known.group_ranks.insert(0, vec![2, 1, 0]);
        let semi_final = |results: &Results| resolve(&games, results)[number as usize - 1];
        assert_eq!(semi_final(&known).home, Opponent::Entry(2));
        assert_eq!(semi_final(&known).away, Opponent::Unknown);
        // An entry has withdrawn and is not ranked, so that A1 has no opponent.
        known.group_ranks.insert(1, vec![4]);
        assert_eq!(semi_final(&known).state, GameState::Bye);
        assert_eq!(walkovers(&games, &results(&[]), 3), [2]);
    }

    #[test]
    fn the_best_third_placed_do_not_meet_their_group_at_once() {
        let sizes = [4; 6];
        let qualifiers = Qualifiers { per_group: 2, best: 4 };
        let games = knockout(&sizes, qualifiers, BracketOptions::default(), 1).unwrap();
        // Entry 23 is the third of group C, and so on.
        let group_ranks = |group: u32| (1..=4).map(|rank| group as usize * 10 + rank).collect();
        let mut known = results(&[]);
        known.group_ranks = (0..6).map(|group| (group, group_ranks(group))).collect();
        for advancing in [[3, 13, 23, 33], [33, 23, 13, 3], [43, 53, 3, 13], [53, 3, 43, 23]] {
            known.best_ranked.insert(3, advancing.to_vec());
            let resolved = resolve(&games, &known);
            let first_round = &resolved[..8];
            for game in first_round {
                let (Opponent::Entry(home), Opponent::Entry(away)) = (game.home, game.away) else {
                    panic!("{game:?} has unknown opponents");
                };
                assert_ne!(home / 10, away / 10, "{advancing:?}");
            }
            let placed = first_round.iter().flat_map(|game| [game.home, game.away]);
            let thirds = placed.filter(|side| matches!(side, Opponent::Entry(e) if e % 10 == 3));
            assert_eq!(thirds.count(), 4);
        }
    }
}
