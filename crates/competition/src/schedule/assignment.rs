//! The assignment of workers to jobs with the smallest total cost.

/// For each row, the column assigned to it, so that the sum of `costs[row][column]` is the smallest possible. There
/// are at least as many columns as rows.
///
/// The Hungarian algorithm with potentials and shortest augmenting paths: rows are added one by one, and each time
/// the assignment stays optimal for the rows so far. Takes `rows² · columns` steps.
pub(super) fn cheapest_assignment(costs: &[Vec<i64>]) -> Vec<usize> {
    let columns = costs.first().map_or(0, Vec::len);
    let mut state = Assignment {
        costs,
        row_potential: vec![0; costs.len()],
        column_potential: vec![0; columns],
        row_of: vec![None; columns],
    };
    for row in 0..costs.len() {
        state.add_row(row);
    }
    let mut column_of = vec![0; costs.len()];
    for (column, row) in state.row_of.iter().enumerate() {
        if let Some(row) = row {
            column_of[*row] = column;
        }
    }
    column_of
}

struct Assignment<'a> {
    costs: &'a [Vec<i64>],
    /// `costs[row][column]` is at least `row_potential[row] + column_potential[column]`, and equal if they are
    /// assigned to each other.
    row_potential: Vec<i64>,
    column_potential: Vec<i64>,
    row_of: Vec<Option<usize>>,
}

impl Assignment<'_> {
    fn add_row(&mut self, row: usize) {
        let columns = self.row_of.len();
        let mut slack = vec![i64::MAX; columns];
        let mut previous: Vec<Option<usize>> = vec![None; columns];
        let mut visited = vec![false; columns];
        let (mut current_row, mut current) = (row, None);
        let free = loop {
            let unvisited = || (0..columns).filter(|column| !visited[*column]);
            for column in unvisited() {
                let potential = self.row_potential[current_row] + self.column_potential[column];
                let reduced = self.costs[current_row][column] - potential;
                if reduced < slack[column] {
                    slack[column] = reduced;
                    previous[column] = current;
                }
            }
            let next = unvisited().min_by_key(|column| slack[*column]);
            let next = next.expect("there are at least as many columns as rows");
            let step = slack[next];
            unvisited().for_each(|column| slack[column] -= step);
            self.shift_potentials(row, &visited, step);
            match self.row_of[next] {
                None => break next,
                Some(assigned) => current_row = assigned,
            }
            visited[next] = true;
            current = Some(next);
        };
        self.assign_along_path(row, free, &previous);
    }

    fn shift_potentials(&mut self, row: usize, visited: &[bool], step: i64) {
        self.row_potential[row] += step;
        for (column, _) in visited.iter().enumerate().filter(|(_, visited)| **visited) {
            self.column_potential[column] -= step;
            if let Some(assigned) = self.row_of[column] {
                self.row_potential[assigned] += step;
            }
        }
    }

    fn assign_along_path(&mut self, row: usize, free: usize, previous: &[Option<usize>]) {
        let mut column = free;
        while let Some(before) = previous[column] {
            self.row_of[column] = self.row_of[before];
            column = before;
        }
        self.row_of[column] = Some(row);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cheapest_by_trying_all(costs: &[Vec<i64>], used: &mut Vec<usize>) -> i64 {
        let Some(row) = costs.get(used.len()) else { return 0 };
        let mut best = i64::MAX;
        for (column, cost) in row.iter().enumerate() {
            if !used.contains(&column) {
                used.push(column);
                best = best.min(cost + cheapest_by_trying_all(costs, used));
                used.pop();
            }
        }
        best
    }

    proptest! {
        #[test]
        fn no_assignment_is_cheaper(
            costs in (1..=5usize, 0..=2usize).prop_flat_map(|(rows, more)| {
                prop::collection::vec(prop::collection::vec(0..20i64, rows + more), rows)
            }),
        ) {
            let columns = cheapest_assignment(&costs);
            let total: i64 = columns.iter().zip(&costs).map(|(column, row)| row[*column]).sum();
            prop_assert_eq!(total, cheapest_by_trying_all(&costs, &mut Vec::new()));
            let distinct: std::collections::BTreeSet<_> = columns.iter().collect();
            prop_assert_eq!(distinct.len(), costs.len());
        }
    }

    #[test]
    fn nothing_is_assigned_to_nothing() {
        assert_eq!(cheapest_assignment(&[]), [0; 0]);
    }
}
