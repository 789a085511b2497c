//! In which order statistics are calculated.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use super::definition::{Kind, Scope};
use super::formula::Formula;
use super::statistic::Statistic;

/// What the formulas of a catalogue need.
#[derive(Debug, Clone, Default)]
pub(super) struct Dependencies {
    /// Indices of the calculated statistics; each is after those that its formula needs.
    pub(super) order: Vec<usize>,
    /// Per statistic, the indices of the entered statistics from which it is calculated. For an
    /// entered statistic, itself.
    pub(super) inputs: Vec<BTreeSet<usize>>,
}

/// Why a formula does not fit into the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatisticFault {
    /// Key of the statistic.
    pub(super) key: String,
    /// Byte offset in its formula.
    pub(super) position: usize,
    /// What is wrong there.
    pub(super) problem: ReferenceProblem,
}

/// What is wrong with a key in a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceProblem {
    /// No statistic or setting has this key.
    UnknownKey(String),
    /// The value depends on itself. The path starts and ends with the same key.
    Cycle(Vec<String>),
    /// A statistic of a game needs one that only a season has.
    SeasonInGame(String),
    /// The formula needs a statistic that only members have, and one that only the team has.
    MixedScopes(String),
}

impl fmt::Display for ReferenceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey(key) => write!(f, "There is no statistic {key:?}."),
            Self::Cycle(path) => write!(f, "The formula depends on itself: {}.", path.join(" → ")),
            Self::SeasonInGame(key) => {
                write!(f, "{key:?} is calculated only for a season, not for a game.")
            }
            Self::MixedScopes(key) => write!(
                f,
                "{key:?} cannot be combined with the other keys: some are only of members, some \
                 only of the team."
            ),
        }
    }
}

/// A statistic that a formula needs, and where its key is.
type Needed = (usize, usize);

impl Dependencies {
    /// Orders the statistics, and narrows the scope of each to that of what it needs.
    pub(super) fn resolve(
        statistics: &mut [Statistic],
        index: &HashMap<String, usize>,
        is_setting: &dyn Fn(&str) -> bool,
    ) -> Result<Self, Vec<StatisticFault>> {
        let needed = needed(statistics, index, is_setting)?;
        let mut search = Search {
            statistics,
            needed: &needed,
            state: vec![State::New; needed.len()],
            path: Vec::new(),
            order: Vec::new(),
            faults: Vec::new(),
        };
        for start in 0..needed.len() {
            search.visit(start);
        }
        let Search { order, mut faults, .. } = search;
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut inputs = vec![BTreeSet::new(); needed.len()];
        for &current in &order {
            for &(other, position) in &needed[current] {
                let set = inputs[other].clone();
                inputs[current].extend(set);
                if let Err(problem) = check_reference(statistics, current, other) {
                    let key = statistics[current].key.to_string();
                    faults.push(StatisticFault { key, position, problem });
                }
            }
            if statistics[current].is_entered() {
                inputs[current].insert(current);
            }
        }
        let order = order.into_iter().filter(|index| !statistics[*index].is_entered()).collect();
        if faults.is_empty() { Ok(Self { order, inputs }) } else { Err(faults) }
    }
}

/// Per statistic, the statistics in its formula.
fn needed(
    statistics: &[Statistic],
    index: &HashMap<String, usize>,
    is_setting: &dyn Fn(&str) -> bool,
) -> Result<Vec<Vec<Needed>>, Vec<StatisticFault>> {
    let mut faults = Vec::new();
    let mut needed = Vec::new();
    for statistic in statistics {
        let mut list = Vec::new();
        for reference in statistic.formula.iter().flat_map(Formula::references) {
            match index.get(&reference.key) {
                Some(other) => list.push((*other, reference.position)),
                None if is_setting(&reference.key) => {}
                None => faults.push(StatisticFault {
                    key: statistic.key.to_string(),
                    position: reference.position,
                    problem: ReferenceProblem::UnknownKey(reference.key.clone()),
                }),
            }
        }
        needed.push(list);
    }
    if faults.is_empty() { Ok(needed) } else { Err(faults) }
}

/// Checks that `current` can use `other`, and narrows its scope.
fn check_reference(
    statistics: &mut [Statistic],
    current: usize,
    other: usize,
) -> Result<(), ReferenceProblem> {
    let (kind, scope, key) =
        (statistics[other].kind, statistics[other].scope, statistics[other].key.to_string());
    let statistic = &mut statistics[current];
    if statistic.kind == Kind::Game && kind == Kind::Season {
        return Err(ReferenceProblem::SeasonInGame(key));
    }
    match (statistic.scope, scope) {
        (_, Scope::Both) => {}
        (Scope::Both, _) => statistic.scope = scope,
        (own, scope) if own == scope => {}
        _ => return Err(ReferenceProblem::MixedScopes(key)),
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    OnPath,
    Done,
}

/// A depth-first search. Catalogues have a few hundred statistics, so recursion is safe.
struct Search<'a> {
    statistics: &'a [Statistic],
    needed: &'a [Vec<Needed>],
    state: Vec<State>,
    path: Vec<usize>,
    order: Vec<usize>,
    faults: Vec<StatisticFault>,
}

impl Search<'_> {
    fn visit(&mut self, current: usize) {
        if self.state[current] != State::New {
            return;
        }
        self.state[current] = State::OnPath;
        self.path.push(current);
        for &(other, position) in &self.needed[current] {
            if self.state[other] == State::OnPath {
                self.report_cycle(current, other, position);
            } else {
                self.visit(other);
            }
        }
        self.path.pop();
        self.state[current] = State::Done;
        self.order.push(current);
    }

    /// Reports that `current`, the end of the path, needs `other`, which is on the path.
    fn report_cycle(&mut self, current: usize, other: usize, position: usize) {
        let start = self.path.iter().position(|index| *index == other).unwrap_or_default();
        let key = |index: usize| self.statistics[index].key.to_string();
        let mut keys = vec![key(current)];
        keys.extend(self.path[start..].iter().map(|index| key(*index)));
        let problem = ReferenceProblem::Cycle(keys);
        self.faults.push(StatisticFault { key: key(current), position, problem });
    }
}
