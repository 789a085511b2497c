//! Which of the best entries of a rank, such as the best third-placed, takes which place in the knockout.

use std::collections::BTreeMap;

use super::assignment::cheapest_assignment;
use super::bracket::{meeting_column, meeting_cost};
use super::game::{Game, Position, Source};

/// Assigns entries to all [`Source::BestRanked`] whose rank has an order in `best_ranked`.
pub(super) fn assign_best_ranked(
    games: &[Game],
    group_ranks: &BTreeMap<u32, Vec<usize>>,
    best_ranked: &BTreeMap<u32, Vec<usize>>,
) -> BTreeMap<Source, usize> {
    let mut assigned = BTreeMap::new();
    for (&rank, entries) in best_ranked {
        let places = places(games, rank);
        let advancing = &entries[..entries.len().min(places.len())];
        let costs: Vec<Vec<i64>> = advancing
            .iter()
            .zip(0..)
            .map(|(&entry, order)| costs(games, group_of(group_ranks, entry), order, &places))
            .collect();
        for (place, entry) in cheapest_assignment(&costs).into_iter().zip(advancing) {
            assigned.insert(places[place].0, *entry);
        }
    }
    assigned
}

/// The sources of this rank in order, with the positions of their games.
fn places(games: &[Game], rank: u32) -> Vec<(Source, Option<Position>)> {
    let mut places = Vec::new();
    for game in games {
        for source in game.sources() {
            if matches!(source, Source::BestRanked { rank: other, .. } if other == rank) {
                places.push((source, game.position));
            }
        }
    }
    places.sort_unstable();
    places
}

fn group_of(group_ranks: &BTreeMap<u32, Vec<usize>>, entry: usize) -> Option<u32> {
    let mut groups = group_ranks.iter();
    groups.find(|(_, entries)| entries.contains(&entry)).map(|(group, _)| *group)
}

/// What it costs if an entry of this group takes each of the places.
fn costs(
    games: &[Game],
    group: Option<u32>,
    order: i64,
    places: &[(Source, Option<Position>)],
) -> Vec<i64> {
    let cost = |(index, (_, position)): (i64, &(Source, Option<Position>))| {
        let early = match (group, position) {
            (Some(group), Some(position)) => early_meetings(games, group, *position),
            _ => 0,
        };
        // Among assignments that are equally good otherwise, the best entry takes the first place. The sum of all
        // distances is less than 65536.
        (early << 16) + (index - order).abs()
    };
    (0..).zip(places).map(cost).collect()
}

/// What it costs if an entry of a group plays at this position, given where the others of its group are.
fn early_meetings(games: &[Game], group: u32, position: Position) -> i64 {
    let last_column = games.iter().filter_map(|game| game.position).map(|at| at.column).max();
    let mut cost = 0;
    for game in games {
        let Some(other) = game.position else { continue };
        for source in game.sources() {
            if matches!(source, Source::GroupRank { group: other, .. } if other == group) {
                let column = meeting_column(position, other);
                cost += meeting_cost(column, last_column.unwrap_or(0));
            }
        }
    }
    cost
}
