//! Perfect matchings of graphs, with Edmonds' blossom algorithm.

/// A graph and a matching of the vertices that have not been removed from it. Every change keeps the matching perfect.
#[derive(Debug)]
pub(super) struct Matching<'a> {
    /// Whether two vertices may be matched. Symmetric.
    allowed: &'a [Vec<bool>],
    /// Vertices that are part of the graph; the others have been removed.
    present: Vec<bool>,
    mate: Vec<Option<usize>>,
}

impl<'a> Matching<'a> {
    /// Finds a perfect matching, if the graph has one.
    pub(super) fn perfect(allowed: &'a [Vec<bool>]) -> Option<Self> {
        let count = allowed.len();
        let vertices: Vec<usize> = (0..count).collect();
        let mut matching = Self { allowed, present: vec![true; count], mate: vec![None; count] };
        (matching.grow(&vertices) == 0).then_some(matching)
    }

    /// The number of vertices that are unmatched in the largest matching of some vertices of the graph.
    pub(super) fn count_unmatched(&self, vertices: &[usize]) -> usize {
        let count = self.allowed.len();
        let mut part =
            Self { allowed: self.allowed, present: vec![false; count], mate: vec![None; count] };
        for vertex in vertices {
            part.present[*vertex] = true;
        }
        part.grow(vertices)
    }

    /// Makes the matching of these vertices as large as possible. Returns the number of unmatched vertices.
    fn grow(&mut self, vertices: &[usize]) -> usize {
        for (index, &one) in vertices.iter().enumerate() {
            let is_free =
                |other: &&usize| self.mate[**other].is_none() && self.allowed[one][**other];
            if self.mate[one].is_none()
                && let Some(&other) = vertices[index..].iter().find(is_free)
            {
                self.mate[one] = Some(other);
                self.mate[other] = Some(one);
            }
        }
        // A vertex for which no path is found once stays without a mate (Berge).
        vertices
            .iter()
            .filter(|vertex| self.mate[**vertex].is_none() && !self.augment(**vertex))
            .count()
    }

    /// Removes two vertices that are matched with each other for good. Changes nothing and returns false if they may
    /// not be, or if the others would have no perfect matching.
    pub(super) fn remove_pair(&mut self, one: usize, other: usize) -> bool {
        if !self.present[one] || !self.present[other] || !self.allowed[one][other] {
            return false;
        }
        let former = (self.mate[one], self.mate[other]);
        let before = self.mate.clone();
        for vertex in [Some(one), Some(other), former.0, former.1].into_iter().flatten() {
            self.mate[vertex] = None;
        }
        self.present[one] = false;
        self.present[other] = false;
        // Their former mates are the only vertices without a mate. They are joined by one path, if there is any.
        let complete =
            former.0 == Some(other) || former.0.is_none_or(|vertex| self.augment(vertex));
        if !complete {
            self.mate = before;
            self.present[one] = true;
            self.present[other] = true;
        }
        complete
    }

    /// Matches a vertex without a mate by a path to another one, if there is such a path.
    fn augment(&mut self, root: usize) -> bool {
        let Some((end, parent)) = Search::new(self, root).run() else { return false };
        let mut vertex = Some(end);
        while let Some(current) = vertex {
            let Some(before) = parent[current] else { break };
            vertex = self.mate[before];
            self.mate[current] = Some(before);
            self.mate[before] = Some(current);
        }
        true
    }
}

/// A breadth-first search for an alternating path. A cycle of odd length, a blossom, is treated as one vertex, its
/// base.
struct Search<'a> {
    graph: &'a Matching<'a>,
    root: usize,
    /// Vertices at an even distance from the root, in the order of discovery.
    queue: Vec<usize>,
    is_even: Vec<bool>,
    /// For a vertex at an odd distance, the vertex before it. Also for vertices of blossoms, in both directions.
    parent: Vec<Option<usize>>,
    base: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Matching<'a>, root: usize) -> Self {
        let count = graph.mate.len();
        let mut is_even = vec![false; count];
        is_even[root] = true;
        let base = (0..count).collect();
        Self { graph, root, queue: vec![root], is_even, parent: vec![None; count], base }
    }

    /// Returns the end of the path, and the parents that lead back to the root.
    fn run(mut self) -> Option<(usize, Vec<Option<usize>>)> {
        let mut next = 0;
        while let Some(&vertex) = self.queue.get(next) {
            next += 1;
            for other in 0..self.base.len() {
                if self.visit(vertex, other) {
                    return Some((other, self.parent));
                }
            }
        }
        None
    }

    /// Follows an edge from an even vertex. Returns true if the other end has no mate.
    fn visit(&mut self, vertex: usize, other: usize) -> bool {
        let graph = self.graph;
        let usable = graph.allowed[vertex][other] && graph.present[other];
        if !usable || self.base[vertex] == self.base[other] || graph.mate[vertex] == Some(other) {
            return false;
        }
        if self.is_even[other] {
            self.contract(vertex, other);
        } else if self.parent[other].is_none() {
            self.parent[other] = Some(vertex);
            match graph.mate[other] {
                None => return true,
                Some(mate) => self.add_even(mate),
            }
        }
        false
    }

    fn add_even(&mut self, vertex: usize) {
        if !std::mem::replace(&mut self.is_even[vertex], true) {
            self.queue.push(vertex);
        }
    }

    /// Contracts the blossom that an edge between two even vertices closes.
    fn contract(&mut self, one: usize, other: usize) {
        let base = self.common_base(one, other);
        let mut in_blossom = vec![false; self.base.len()];
        self.mark_path(one, base, other, &mut in_blossom);
        self.mark_path(other, base, one, &mut in_blossom);
        for vertex in 0..self.base.len() {
            if in_blossom[self.base[vertex]] {
                self.base[vertex] = base;
                self.add_even(vertex);
            }
        }
    }

    /// The base at which the paths of two even vertices to the root join.
    fn common_base(&self, one: usize, other: usize) -> usize {
        let mut on_path = vec![false; self.base.len()];
        let mut vertex = self.base[one];
        loop {
            on_path[vertex] = true;
            if vertex == self.root {
                break;
            }
            vertex = self.base_before(vertex);
        }
        let mut vertex = self.base[other];
        while !on_path[vertex] {
            vertex = self.base_before(vertex);
        }
        vertex
    }

    /// The base of the even vertex before this base, which is not that of the root.
    fn base_before(&self, base: usize) -> usize {
        let before = self.graph.mate[base].and_then(|mate| self.parent[mate]);
        before.map_or(self.base[self.root], |vertex| self.base[vertex])
    }

    fn mark_path(&mut self, start: usize, base: usize, end: usize, in_blossom: &mut [bool]) {
        let (mut vertex, mut child) = (start, end);
        while self.base[vertex] != base {
            let Some(mate) = self.graph.mate[vertex] else { return };
            in_blossom[self.base[vertex]] = true;
            in_blossom[self.base[mate]] = true;
            self.parent[vertex] = Some(child);
            let Some(before) = self.parent[mate] else { return };
            (child, vertex) = (mate, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn graph(count: usize, edges: &[bool]) -> Vec<Vec<bool>> {
        let edge = |one: usize, other: usize| {
            let (upper, lower) = (one.max(other), one.min(other));
            one != other && edges[upper * (upper - 1) / 2 + lower]
        };
        (0..count).map(|one| (0..count).map(|other| edge(one, other)).collect()).collect()
    }

    /// Whether the vertices that are not in `used` have a perfect matching.
    fn matches_by_trying_all(allowed: &[Vec<bool>], used: &mut Vec<bool>) -> bool {
        let Some(one) = used.iter().position(|used| !used) else { return true };
        used[one] = true;
        let found = (0..used.len()).any(|other| {
            if used[other] || !allowed[one][other] {
                return false;
            }
            used[other] = true;
            let found = matches_by_trying_all(allowed, used);
            used[other] = false;
            found
        });
        used[one] = false;
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_matching_is_found_if_there_is_one(
            half in 1..=5usize,
            edges in prop::collection::vec(prop::bool::weighted(0.3), 45),
            pair in (0..10usize, 0..10usize),
        ) {
            let allowed = graph(half * 2, &edges);
            let mut used = vec![false; half * 2];
            let matching = Matching::perfect(&allowed);
            prop_assert_eq!(matching.is_some(), matches_by_trying_all(&allowed, &mut used));
            let (one, other) = (pair.0 % (half * 2), pair.1 % (half * 2));
            if let Some(mut matching) = matching {
                for (vertex, mate) in matching.mate.iter().enumerate() {
                    let mate = mate.unwrap();
                    prop_assert!(allowed[vertex][mate] && matching.mate[mate] == Some(vertex));
                }
                let others: Vec<usize> = (0..half * 2).filter(|v| *v != one && *v != other).collect();
                used[one] = true;
                used[other] = true;
                let perfect = one != other && matches_by_trying_all(&allowed, &mut used);
                prop_assert_eq!(matching.count_unmatched(&others) == 0, perfect);
                let possible = allowed[one][other] && matches_by_trying_all(&allowed, &mut used);
                prop_assert_eq!(matching.remove_pair(one, other), possible);
            }
        }
    }

    #[test]
    fn removed_vertices_are_not_matched_again() {
        let allowed = graph(4, &[true; 6]);
        let mut matching = Matching::perfect(&allowed).unwrap();
        assert!(matching.remove_pair(0, 3));
        assert!(!matching.remove_pair(0, 1));
        assert!(matching.remove_pair(1, 2));
    }
}
