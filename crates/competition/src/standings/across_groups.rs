//! Comparison of entries of several groups, such as the best third-placed teams.

use super::input::{Entry, Game};
use super::rules::{Restart, Rules, Scope};
use super::table::{Row, Table};

/// Ranks the entries at a position of their groups (3 for the third-placed), by tie-breakers over all games only. Groups
/// with fewer entries are left out.
///
/// Sums are compared even if some groups have played fewer games.
pub fn best_across_groups(
    rules: &Rules,
    entries: &[Entry],
    games: &[Game],
    position: usize,
) -> Vec<Row> {
    let table = Table::new(rules, entries, games);
    let row_at = |members: Vec<usize>| {
        let index = position.checked_sub(1)?;
        table.rows(rules, &members).get(index).map(|row| row.entry)
    };
    let mut members: Vec<usize> = table.groups().filter_map(row_at).collect();
    members.sort_unstable();
    let is_overall = |scope| scope == Scope::Overall;
    let across = Rules {
        tie_breakers: rules
            .tie_breakers
            .iter()
            .filter(|breaker| is_overall(breaker.scope) && breaker.places.is_empty())
            .cloned()
            .collect(),
        multi_tie_breakers: None,
        restart: Restart::None,
        ..rules.clone()
    };
    table.rows(&across, &members)
}
