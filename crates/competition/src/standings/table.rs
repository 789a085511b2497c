//! The rows of a table.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::input::{Entry, Game};
use super::number::{Points, Value};
use super::results::{Results, Totals};
use super::rules::{Metric, Rules};
use super::swiss::SwissScores;
use super::ties::{self, Explanation, Placement};

/// An entry in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Index of the entry.
    pub entry: usize,
    pub group: Option<u32>,
    /// 1 for the best of the group. Entries with the same rank are followed by a gap: 1, 2, 2, 4.
    pub rank: u32,
    /// Another entry has the same rank, because no rule separates them.
    pub shared_rank: bool,
    pub played: u32,
    /// All wins, including those in overtime and shootouts.
    pub wins: u32,
    pub draws: u32,
    /// All losses, including those in overtime and shootouts.
    pub losses: u32,
    pub overtime_wins: u32,
    pub overtime_losses: u32,
    pub points_for: i64,
    pub points_against: i64,
    pub difference: i64,
    /// Points of games and byes, with bonus points and the adjustment.
    pub points: Points,
    pub adjustment: Points,
    /// What ranks entries before any tie-breaker; see [`Rules::rank_by`].
    pub rank_value: Value,
    pub withdrawn: bool,
    /// What separates the row from the row above; `None` if [`rank_value`](Self::rank_value) alone does.
    pub explanation: Option<Explanation>,
    /// A tie-breaker that may still change the rank: games of the tie are to be played, or a value is to be entered.
    pub pending: Option<Metric>,
}

/// The entries of a competition with all that tie-breakers compare.
#[derive(Debug)]
pub(super) struct Table<'a> {
    pub(super) entries: &'a [Entry],
    pub(super) results: Results,
    pub(super) rank_values: Vec<Value>,
    /// The rank of each entry in its division; 0 if no tie-breaker needs it.
    pub(super) division_ranks: Vec<u32>,
    pub(super) conference_top: Vec<bool>,
    pub(super) swiss: SwissScores,
}

impl<'a> Table<'a> {
    pub(super) fn new(rules: &Rules, entries: &'a [Entry], games: &[Game]) -> Self {
        let results = Results::new(rules, entries, games);
        let rank_values: Vec<_> = results.totals.iter().map(|t| rank_value(rules, t)).collect();
        let mut table = Self {
            entries,
            conference_top: conference_top(rules, entries, &rank_values),
            swiss: SwissScores::new(rules, entries, &results),
            division_ranks: vec![0; entries.len()],
            rank_values,
            results,
        };
        table.division_ranks = table.rank_divisions(rules);
        table
    }

    /// The rank of each entry in its division. While it is computed, the tie-breakers that compare it separate nobody.
    fn rank_divisions(&self, rules: &Rules) -> Vec<u32> {
        let needs_division =
            |metric| matches!(metric, Metric::DivisionWinner | Metric::BestOfDivision);
        let mut ranks = vec![0; self.entries.len()];
        if !rules.all_tie_breakers().any(|breaker| needs_division(breaker.metric)) {
            return ranks;
        }
        let mut divisions = BTreeMap::<_, Vec<usize>>::new();
        for (i, entry) in self.entries.iter().enumerate() {
            if let Some(division) = entry.division {
                divisions.entry(division).or_default().push(i);
            }
        }
        let division_rules = rules.division_rules.as_deref().unwrap_or(rules);
        for members in divisions.values() {
            for (place, rank) in ranked(&ties::place(self, division_rules, members)) {
                ranks[place.entry] = rank;
            }
        }
        ranks
    }

    /// Ranks these entries and returns their rows, best first.
    pub(super) fn rows(&self, rules: &Rules, members: &[usize]) -> Vec<Row> {
        let placements = ties::place(self, rules, members);
        let next_is_level = placements.iter().skip(1).map(|next| next.is_level_with_above);
        ranked(&placements)
            .zip(next_is_level.chain([false]))
            .map(|((placement, rank), next_is_level)| Row {
                rank,
                shared_rank: placement.is_level_with_above || next_is_level,
                explanation: placement.explanation.clone(),
                pending: placement.pending,
                ..self.unranked_row(placement.entry)
            })
            .collect()
    }

    fn unranked_row(&self, entry: usize) -> Row {
        let totals = &self.results.totals[entry];
        Row {
            entry,
            group: self.entries[entry].group,
            rank: 0,
            shared_rank: false,
            played: totals.played,
            wins: totals.wins,
            draws: totals.draws,
            losses: totals.losses,
            overtime_wins: totals.overtime_wins,
            overtime_losses: totals.overtime_losses,
            points_for: totals.scored,
            points_against: totals.conceded,
            difference: totals.scored - totals.conceded,
            points: totals.points,
            adjustment: self.entries[entry].adjustment,
            rank_value: self.rank_values[entry],
            withdrawn: self.entries[entry].withdrawn,
            explanation: None,
            pending: None,
        }
    }

    /// The entries of each group.
    pub(super) fn groups(&self) -> impl Iterator<Item = Vec<usize>> {
        let mut groups = BTreeMap::<_, Vec<usize>>::new();
        for (i, entry) in self.entries.iter().enumerate() {
            groups.entry(entry.group).or_default().push(i);
        }
        groups.into_values()
    }
}

/// Placements with their ranks.
fn ranked(placements: &[Placement]) -> impl Iterator<Item = (&Placement, u32)> {
    let mut rank = 0;
    (1..).zip(placements).map(move |(position, placement)| {
        if !placement.is_level_with_above {
            rank = position;
        }
        (placement, rank)
    })
}

fn rank_value(rules: &Rules, totals: &Totals) -> Value {
    match rules.rank_by {
        Metric::Wins => Value::integer(totals.wins),
        Metric::WinPercentage => {
            let halves = 2 * i128::from(totals.wins) + i128::from(totals.draws);
            Value::ratio(halves, 2 * i128::from(totals.played))
        }
        _ => totals.points.into(),
    }
}

/// Whether each entry is among the best of its conference, or level with the last of them.
fn conference_top(rules: &Rules, entries: &[Entry], values: &[Value]) -> Vec<bool> {
    let mut conferences = BTreeMap::<_, Vec<Value>>::new();
    for (entry, value) in entries.iter().zip(values) {
        conferences.entry(entry.conference).or_default().push(*value);
    }
    for values in conferences.values_mut() {
        values.sort_by_key(|value| Reverse(*value));
        values.truncate(rules.top_places as usize);
    }
    entries
        .iter()
        .zip(values)
        .map(|(entry, value)| {
            conferences[&entry.conference].last().is_some_and(|last| value >= last)
        })
        .collect()
}

/// Ranks the entries of each group. The rows of a group are best first, and the groups in the order of their numbers.
pub fn standings(rules: &Rules, entries: &[Entry], games: &[Game]) -> Vec<Row> {
    let table = Table::new(rules, entries, games);
    table.groups().flat_map(|members| table.rows(rules, &members)).collect()
}
