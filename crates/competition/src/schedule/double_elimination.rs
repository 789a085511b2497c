//! Double elimination: an entry is out with its second defeat.

use super::bracket::{Builder, seeded_slots};
use super::game::{Game, PairingError, Position, Source, Stage};

/// The games of a double elimination. `entries` are in the order of their seeds, best first. The last game is
/// [`Stage::FinalReset`], which is played only if the entry from the losers bracket wins the final.
pub fn double_elimination(entries: &[usize]) -> Result<Vec<Game>, PairingError> {
    if entries.len() < 2 {
        return Err(PairingError::TooFewEntries);
    }
    let sources: Vec<Source> = entries.iter().copied().map(Source::Entry).collect();
    let mut winners = seeded_slots(&sources);
    let rounds = winners.len().ilog2();
    let masks = drop_masks(rounds);
    let mut builder = Builder::default();
    let mut bracket = LosersBracket::default();
    for column in 0..rounds {
        let outcomes = builder.round(Stage::Winners, column, &winners);
        winners = outcomes.winners;
        bracket.drop_losers(&mut builder, &outcomes.losers, masks[column as usize]);
    }
    let at = |column| Position { column, row: 0 };
    let (first, second) = builder.game(Stage::Final, winners[0], bracket.slots[0], at(rounds));
    // The winner of the final comes from the losers bracket, otherwise this game is not needed.
    builder.game(Stage::FinalReset, second, first, at(rounds + 1));
    Ok(builder.finish(1))
}

/// The entries with one defeat.
#[derive(Debug, Default)]
struct LosersBracket {
    slots: Vec<Source>,
    column: u32,
}

impl LosersBracket {
    /// The slots play each other until they are as many as the losers of a round of the winners bracket, then they
    /// play these losers.
    fn drop_losers(&mut self, builder: &mut Builder, losers: &[Source], mask: usize) {
        if self.slots.is_empty() {
            self.slots = losers.to_vec();
            return;
        }
        let slots = std::mem::take(&mut self.slots);
        let slots = if slots.len() > losers.len() { self.round(builder, &slots) } else { slots };
        let dropped = (0..slots.len()).map(|row| losers[row ^ mask]);
        let pairs: Vec<Source> =
            dropped.zip(&slots).flat_map(|(loser, slot)| [loser, *slot]).collect();
        self.slots = self.round(builder, &pairs);
    }

    /// Plays a round. A round without any game takes no column.
    fn round(&mut self, builder: &mut Builder, slots: &[Source]) -> Vec<Source> {
        let winners = builder.round(Stage::Losers, self.column, slots).winners;
        self.column += u32::from(
            winners.iter().zip(slots.chunks(2)).any(|(winner, pair)| !pair.contains(winner)),
        );
        winners
    }
}

/// For each round of the winners bracket, the number with which the rows of its losers are combined by exclusive or
/// before they drop into the losers bracket, so that rematches happen as late as possible.
///
/// By symmetry it is enough to look at the top game of each round. Those whom its loser has beaten in an earlier
/// round have dropped to the row `mask >> rounds between`, and merge with row `candidate` after as many further
/// rounds as it takes to shift the difference away.
fn drop_masks(rounds: u32) -> Vec<usize> {
    let mut masks: Vec<usize> = vec![0];
    for round in 1..rounds as usize {
        let bits = rounds as usize - round - 1;
        let cost = |candidate: usize| -> Vec<usize> {
            let met_after = |shift: usize| {
                let earlier = masks.iter().enumerate();
                let met = earlier.filter(|(before, mask)| {
                    candidate >> shift == **mask >> (round - before + shift)
                });
                // A recent opponent has had fewer games in which to be eliminated.
                met.map(|(before, _)| before + 1).sum()
            };
            (0..bits).map(met_after).collect()
        };
        let best = (0..1 << bits).rev().min_by_key(|candidate| cost(*candidate));
        masks.push(best.unwrap_or(0));
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn games(entries: usize) -> Vec<String> {
        let entries: Vec<usize> = (1..=entries).collect();
        let games = double_elimination(&entries).unwrap();
        let text = |game: &Game| {
            format!(
                "{} {}/{} {} {}",
                game.stage, game.round, game.rounds_left, game.home, game.away
            )
        };
        games.iter().map(text).collect()
    }

    #[test]
    fn four_entries_play_six_games_and_a_reset() {
        let expected = [
            "winners 1/1 entry:1 entry:4",
            "winners 1/1 entry:2 entry:3",
            "winners 2/0 winner:1 winner:2",
            "losers 1/1 loser:1 loser:2",
            "losers 2/0 loser:3 winner:4",
            "final 3/0 winner:3 winner:5",
            "final_reset 4/0 loser:6 winner:6",
        ];
        assert_eq!(games(4), expected);
    }

    #[test]
    fn two_entries_may_play_three_times() {
        let expected = [
            "winners 1/0 entry:1 entry:2",
            "final 2/0 winner:1 loser:1",
            "final_reset 3/0 loser:2 winner:2",
        ];
        assert_eq!(games(2), expected);
        assert_eq!(double_elimination(&[0]), Err(PairingError::TooFewEntries));
    }

    #[test]
    fn byes_leave_no_gaps_in_the_losers_bracket() {
        let losers: Vec<String> =
            games(5).into_iter().filter(|game| game.starts_with("losers")).collect();
        assert_eq!(losers.len(), 3);
        assert!(losers[0].starts_with("losers 1/2"), "{losers:?}");
    }

    #[test]
    fn losers_drop_far_from_those_whom_they_have_beaten() {
        assert_eq!(drop_masks(1), [0]);
        assert_eq!(drop_masks(3), [0, 1, 0]);
        assert_eq!(drop_masks(5), [0, 7, 1, 1, 0]);
    }
}
