//! The knockout after groups.

use super::assignment::cheapest_assignment;
use super::bracket::{meeting_column, meeting_cost, seed_order};
use super::elimination::{BracketOptions, elimination_games};
use super::game::{Game, PairingError, Position, Source};

/// Who advances from the groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qualifiers {
    /// The first entries of every group.
    pub per_group: u32,
    /// The best of the entries at the next rank, such as the four best third-placed.
    pub best: u32,
}

impl Qualifiers {
    /// The first two of every group, or only the first if a group has just two entries. The best third-placed of
    /// groups of four or more complete the bracket, if there are enough of them.
    pub fn usual(group_sizes: &[usize]) -> Self {
        let two = group_sizes.len() == 1 || group_sizes.iter().all(|size| *size >= 3);
        let per_group: u32 = if two { 2 } else { 1 };
        let count = group_sizes.len() * per_group as usize;
        let missing = count.next_power_of_two() - count;
        let candidates = group_sizes.iter().filter(|size| **size > per_group as usize + 1).count();
        Self { per_group, best: if missing <= candidates { missing as u32 } else { 0 } }
    }

    fn check(self, group_sizes: &[usize]) -> Result<(), PairingError> {
        let per_group = self.per_group as usize;
        let candidates = group_sizes.iter().filter(|size| **size > per_group).count();
        if group_sizes.iter().any(|size| *size < per_group) || candidates < self.best as usize {
            return Err(PairingError::TooManyQualifiers);
        }
        if group_sizes.len() * per_group + (self.best as usize) < 2 {
            return Err(PairingError::TooFewQualifiers);
        }
        Ok(())
    }
}

/// The games of the knockout after groups of these sizes.
///
/// Winners of groups are the best seeds and have the byes, if any. The others are placed so that entries of the same
/// group meet as late as possible, and the winner of a group meets the second of its neighbor: A1–B2, B1–A2, C1–D2,
/// D1–C2.
pub fn knockout(
    group_sizes: &[usize],
    qualifiers: Qualifiers,
    options: BracketOptions,
    first_number: u32,
) -> Result<Vec<Game>, PairingError> {
    qualifiers.check(group_sizes)?;
    let groups = group_sizes.len();
    let count = groups * qualifiers.per_group as usize + qualifiers.best as usize;
    let order = seed_order(count);
    let mut row_of_seed = vec![0; order.len()];
    for (row, seed) in order.iter().enumerate() {
        row_of_seed[*seed] = row;
    }
    let mut slots = vec![Source::Bye; order.len()];
    for rank in 1..=qualifiers.per_group {
        let first_seed = groups * (rank as usize - 1);
        let rows = &row_of_seed[first_seed..first_seed + groups];
        // The winner of group A is the first seed, and so on.
        let columns = if rank == 1 {
            (0..groups).collect()
        } else {
            cheapest_assignment(&costs(&slots, rows))
        };
        for (group, column) in (0..).zip(columns) {
            slots[rows[column]] = Source::GroupRank { group, rank };
        }
    }
    let best_rows = &row_of_seed[count - qualifiers.best as usize..count];
    for (place, row) in (1..).zip(best_rows) {
        slots[*row] = Source::BestRanked { rank: qualifiers.per_group + 1, place };
    }
    Ok(elimination_games(&slots, options, first_number))
}

/// What it costs to place an entry of each group in each of these rows.
fn costs(slots: &[Source], rows: &[usize]) -> Vec<Vec<i64>> {
    let last_column = slots.len().ilog2().saturating_sub(1);
    let position = |row: usize| Position { column: 0, row: row as u32 / 2 };
    let group_of = |source: &Source| match source {
        Source::GroupRank { group, .. } => Some(*group),
        _ => None,
    };
    let cost = |group: u32, row: usize| -> i64 {
        let same_group = slots.iter().enumerate().filter(|(_, slot)| group_of(slot) == Some(group));
        let meetings = same_group.map(|(other, _)| meeting_column(position(row), position(other)));
        let early: i64 = meetings.map(|column| meeting_cost(column, last_column)).sum();
        // Neighbors are A and B, C and D, and so on.
        let meets_neighbor = group_of(&slots[row ^ 1]) == Some(group ^ 1);
        early * 2 + i64::from(!meets_neighbor)
    };
    (0..rows.len() as u32).map(|group| rows.iter().map(|row| cost(group, *row)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_round(group_sizes: &[usize], per_group: u32, best: u32) -> Vec<String> {
        let qualifiers = Qualifiers { per_group, best };
        let games = knockout(group_sizes, qualifiers, BracketOptions::default(), 25).unwrap();
        assert_eq!(games[0].number, 25);
        let first = games.iter().filter(|game| game.round == 1);
        first.map(|game| format!("{} {}", game.home, game.away).replace("group:", "")).collect()
    }

    #[test]
    fn winners_meet_seconds_of_the_neighboring_group() {
        assert_eq!(first_round(&[4; 2], 2, 0), ["A:1 B:2", "B:1 A:2"]);
        assert_eq!(first_round(&[4; 4], 2, 0), ["A:1 B:2", "D:1 C:2", "B:1 A:2", "C:1 D:2"]);
        let eight = first_round(&[4; 8], 2, 0);
        assert_eq!(eight[..4], ["A:1 B:2", "H:1 G:2", "D:1 C:2", "E:1 F:2"]);
    }

    #[test]
    fn winners_have_the_byes() {
        assert_eq!(first_round(&[4, 4, 3], 2, 0), ["B:2 C:2", "C:1 A:2"]);
        assert_eq!(first_round(&[4; 3], 1, 0), ["B:1 C:1"]);
        assert_eq!(first_round(&[3], 2, 0), ["A:1 A:2"]);
    }

    #[test]
    fn the_best_third_placed_complete_the_bracket() {
        let games = first_round(&[4; 6], 2, 4);
        assert_eq!(games.len(), 8);
        let thirds = games.iter().filter(|game| game.contains("best:3:")).count();
        assert_eq!(thirds, 4, "{games:?}");
    }

    #[test]
    fn the_usual_qualifiers_fill_the_bracket() {
        let usual = |groups: &[usize]| {
            let qualifiers = Qualifiers::usual(groups);
            (qualifiers.per_group, qualifiers.best)
        };
        assert_eq!(usual(&[4; 8]), (2, 0));
        assert_eq!(usual(&[4; 12]), (2, 8));
        assert_eq!(usual(&[4; 6]), (2, 4));
        assert_eq!(usual(&[4; 5]), (2, 0));
        assert_eq!(usual(&[3; 3]), (2, 0));
        assert_eq!(usual(&[2; 4]), (1, 0));
        assert_eq!(usual(&[2]), (2, 0));
    }

    #[test]
    fn impossible_qualifiers_are_refused() {
        let result = |groups: &[usize], per_group, best| {
            knockout(groups, Qualifiers { per_group, best }, BracketOptions::default(), 1)
        };
        assert_eq!(result(&[4, 2], 3, 0), Err(PairingError::TooManyQualifiers));
        assert_eq!(result(&[4, 2], 2, 2), Err(PairingError::TooManyQualifiers));
        assert_eq!(result(&[4], 1, 0), Err(PairingError::TooFewQualifiers));
        assert_eq!(result(&[], 2, 0), Err(PairingError::TooFewQualifiers));
        assert!(result(&[4, 4], 0, 2).is_ok());
    }
}
