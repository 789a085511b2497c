//! Single elimination, with optional games for those who lost.

use super::bracket::{Builder, Outcomes, seeded_slots};
use super::game::{Game, PairingError, Position, Source, Stage};

/// Additional games of a single elimination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BracketOptions {
    /// The losers of the semi-finals play for third place.
    pub third_place: bool,
    /// Who loses the first game plays on in a second bracket.
    pub consolation: bool,
}

/// The games of a single elimination. `entries` are in the order of their seeds, best first. If their number is not a
/// power of two, the best seeds have byes, which are not games.
pub fn single_elimination(
    entries: &[usize],
    options: BracketOptions,
) -> Result<Vec<Game>, PairingError> {
    if entries.len() < 2 {
        return Err(PairingError::TooFewEntries);
    }
    let sources: Vec<Source> = entries.iter().copied().map(Source::Entry).collect();
    Ok(elimination_games(&seeded_slots(&sources), options, 1))
}

/// The games of a bracket with these slots, whose number is a power of two and at least two.
pub(super) fn elimination_games(
    slots: &[Source],
    options: BracketOptions,
    first_number: u32,
) -> Vec<Game> {
    let mut builder = Builder::default();
    let mut rounds: Vec<Outcomes> = Vec::new();
    for column in 0..slots.len().ilog2() {
        let slots = rounds.last().map_or(slots, |round| &round.winners);
        let stage = if slots.len() == 2 { Stage::Final } else { Stage::Knockout };
        let round = builder.round(stage, column, slots);
        rounds.push(round);
    }
    if options.third_place
        && let [.., semi_finals, _] = &rounds[..]
        && let [home, away] = semi_finals.losers[..]
        && away != Source::Bye
        && home != Source::Bye
    {
        let column = rounds.len() as u32 - 1;
        builder.game(Stage::ThirdPlace, home, away, Position { column, row: 1 });
    }
    if options.consolation {
        let slots = seeded_slots(&consolation_entries(&rounds, options));
        add_consolation(&mut builder, slots);
    }
    builder.finish(first_number)
}

/// The losers of the first round. The loser of a second-round game joins them if that game may have been its first,
/// because one side had a bye; unless it is a semi-final whose loser plays for third place, or the final. The late
/// ones come first, so that they have the byes.
fn consolation_entries(rounds: &[Outcomes], options: BracketOptions) -> Vec<Source> {
    let third_place_round = if options.third_place { rounds.len().checked_sub(2) } else { None };
    let losers = |round: usize| match rounds.get(round) {
        Some(round_outcomes) if third_place_round != Some(round) => &round_outcomes.losers[..],
        _ => &[],
    };
    let last_round = rounds.len() - 1;
    let second = if last_round > 1 { losers(1) } else { &[] };
    let first: &[Source] = if last_round > 0 { &rounds[0].losers } else { &[] };
    let late = second.iter().zip(first.chunks(2)).filter(|(_, pair)| pair.contains(&Source::Bye));
    let late = late.map(|(loser, _)| *loser);
    let first = if third_place_round == Some(0) { &[] } else { first };
    late.chain(first.iter().copied()).filter(|source| *source != Source::Bye).collect()
}

fn add_consolation(builder: &mut Builder, mut slots: Vec<Source>) {
    let mut column = 0;
    while slots.len() > 1 {
        slots = builder.round(Stage::Consolation, column, &slots).winners;
        column += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn games(entries: usize, third_place: bool, consolation: bool) -> Vec<String> {
        let entries: Vec<usize> = (1..=entries).collect();
        let options = BracketOptions { third_place, consolation };
        let games = single_elimination(&entries, options).unwrap();
        let text = |game: &Game| {
            format!(
                "{} {}/{} {} {}",
                game.stage, game.round, game.rounds_left, game.home, game.away
            )
        };
        games.iter().map(text).collect()
    }

    #[test]
    fn the_best_seeds_have_byes() {
        let expected = [
            "knockout 1/2 entry:4 entry:5",
            "knockout 1/2 entry:3 entry:6",
            "knockout 2/1 entry:1 winner:1",
            "knockout 2/1 entry:2 winner:2",
            "third_place 3/0 loser:3 loser:4",
            "final 3/0 winner:3 winner:4",
        ];
        assert_eq!(games(6, true, false), expected);
    }

    #[test]
    fn two_entries_play_one_final() {
        assert_eq!(games(2, true, true), ["final 1/0 entry:1 entry:2"]);
        let error = single_elimination(&[0], BracketOptions::default());
        assert_eq!(error, Err(PairingError::TooFewEntries));
    }

    #[test]
    fn three_entries_have_no_game_for_third_place() {
        let expected = ["knockout 1/1 entry:2 entry:3", "final 2/0 entry:1 winner:1"];
        assert_eq!(games(3, true, true), expected);
    }

    #[test]
    fn losers_of_their_first_game_play_on() {
        assert_eq!(
            games(8, false, true)[4..7],
            [
                "knockout 2/1 winner:1 winner:2",
                "knockout 2/1 winner:3 winner:4",
                "consolation 1/1 loser:1 loser:4",
            ]
        );
        assert_eq!(games(4, false, true)[2], "consolation 1/0 loser:1 loser:2");
        assert_eq!(games(4, true, true)[2], "third_place 2/0 loser:1 loser:2");
        // The loser of game 2 had a bye.
        assert_eq!(
            games(5, false, true)[3..],
            [
                "consolation 1/1 loser:3 loser:1",
                "consolation 2/0 loser:2 winner:4",
                "final 3/0 winner:2 winner:3",
            ]
        );
    }
}
