//! Ties: applying tie-breakers in order, and what follows once one has separated some entries.

use std::cmp::Reverse;
use std::sync::Arc;

use super::measure::{Obstacle, measure};
use super::number::Value;
use super::rules::{Direction, Metric, MultiTeam, Restart, Rules, Scope, TieBreaker, Unfinished};
use super::scope::{Tie, steps};
use super::table::Table;

/// What separates an entry from the entry above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The tie-breaker; `None` if no rule separates the entries, which then share a rank.
    pub rule: Option<Metric>,
    /// The games that the tie-breaker counts; `None` without a rule.
    pub scope: Option<Scope>,
    /// The entries of the tie, including this one: the mini-league of a head-to-head tie-breaker, otherwise the entries
    /// that were level before the tie-breaker.
    pub with: Arc<[usize]>,
    /// The values of the entries that were level before the tie-breaker, best first.
    pub values: Arc<[(usize, Value)]>,
}

/// The place of an entry, after those above it.
#[derive(Debug)]
pub(super) struct Placement {
    pub(super) entry: usize,
    pub(super) is_level_with_above: bool,
    pub(super) explanation: Option<Explanation>,
    pub(super) pending: Option<Metric>,
}

/// Ranks these entries, best first. `members` is sorted.
pub(super) fn place(table: &Table<'_>, rules: &Rules, members: &[usize]) -> Vec<Placement> {
    let mut resolver = Resolver {
        table,
        rules,
        placements: Vec::with_capacity(members.len()),
        pending: vec![None; table.entries.len()],
    };
    let key = |i: &usize| (table.entries[*i].withdrawn, Reverse(table.rank_values[*i]));
    let mut sorted = members.to_vec();
    sorted.sort_by_key(key);
    for level in sorted.chunk_by(|a, b| key(a) == key(b)) {
        let explanation = resolver.explain_withdrawal(level[0], members);
        resolver.resolve(level.to_vec(), explanation);
    }
    for placement in &mut resolver.placements {
        placement.pending = resolver.pending[placement.entry];
    }
    resolver.placements
}

/// Entries that are level, and what separates them from the entry above.
type Class = (Vec<usize>, Option<Explanation>);

/// Entries to be separated by the tie-breakers from an index on.
struct UnresolvedTie {
    level: Vec<usize>,
    from: usize,
    /// Use the list for three or more entries.
    multi: bool,
    /// The mini-league of earlier head-to-head tie-breakers.
    league: Option<Arc<[usize]>>,
    explanation: Option<Explanation>,
}

impl UnresolvedTie {
    fn start(level: Vec<usize>, explanation: Option<Explanation>) -> Self {
        Self { multi: level.len() > 2, from: 0, league: None, level, explanation }
    }
}

/// The classes into which tie-breakers have separated a tie.
struct Split {
    classes: Vec<Class>,
    /// The tie-breakers that were applied together.
    stage: std::ops::Range<usize>,
    league: Option<Arc<[usize]>>,
}

struct Resolver<'t> {
    table: &'t Table<'t>,
    rules: &'t Rules,
    placements: Vec<Placement>,
    pending: Vec<Option<Metric>>,
}

impl Resolver<'_> {
    fn resolve(&mut self, level: Vec<usize>, explanation: Option<Explanation>) {
        if self.rules.restart == Restart::Top {
            return self.resolve_from_top(level, explanation);
        }
        // A stack instead of recursion: each restart may separate a single entry only.
        let mut stack = vec![UnresolvedTie::start(level, explanation)];
        while let Some(mut tie) = stack.pop() {
            let Some(split) = self.split(&tie) else {
                self.place_level(&tie.level, tie.explanation);
                continue;
            };
            let first_explanation = tie.explanation.take();
            let mut next: Vec<UnresolvedTie> = split
                .classes
                .into_iter()
                .map(|(level, explanation)| match self.rules.restart {
                    Restart::Each => UnresolvedTie::start(level, explanation),
                    Restart::Block => {
                        let is_block = self.list(&tie)[split.stage.start].scope.is_head_to_head();
                        let from = if is_block { split.stage.start } else { split.stage.end };
                        UnresolvedTie { level, from, multi: tie.multi, league: None, explanation }
                    }
                    Restart::None | Restart::Top => UnresolvedTie {
                        level,
                        from: split.stage.end,
                        multi: tie.multi,
                        league: split.league.clone(),
                        explanation,
                    },
                })
                .collect();
            next[0].explanation = first_explanation;
            stack.extend(next.into_iter().rev());
        }
    }

    /// Places the best entry, then restarts for all others.
    fn resolve_from_top(&mut self, level: Vec<usize>, explanation: Option<Explanation>) {
        let mut rest: Vec<Class> = vec![(level, explanation)];
        while !rest.is_empty() {
            let mut level: Vec<usize> = rest.iter().flat_map(|(level, _)| level.clone()).collect();
            level.sort_unstable();
            let mut below = Vec::new();
            loop {
                let tie = UnresolvedTie::start(level.clone(), None);
                let Some(mut split) = self.split(&tie) else { break };
                below.extend(split.classes.split_off(1));
                level = split.classes.swap_remove(0).0;
            }
            // Entries that share the place may have been separated from the entry above by different rules. The first of
            // them counts, and its entries are listed first.
            let is_placed = |class: &Class| class.0.iter().any(|entry| level.contains(entry));
            let first_class = rest.into_iter().find(is_placed).unwrap_or_default();
            level.sort_by_key(|entry| !first_class.0.contains(entry));
            let explanation = first_class.1;
            self.place_level(&level, explanation);
            rest = below;
        }
    }

    /// Places entries that no tie-breaker separates.
    fn place_level(&mut self, level: &[usize], mut explanation: Option<Explanation>) {
        let unresolved = (level.len() > 1).then(|| Explanation {
            rule: None,
            scope: None,
            with: level.into(),
            values: Arc::default(),
        });
        for (i, &entry) in level.iter().enumerate() {
            self.placements.push(Placement {
                entry,
                is_level_with_above: i > 0,
                explanation: if i == 0 { explanation.take() } else { unresolved.clone() },
                pending: None,
            });
        }
    }

    fn list(&self, tie: &UnresolvedTie) -> &[TieBreaker] {
        self.rules.tie_breakers_for(tie.multi)
    }

    /// Applies tie-breakers until one separates some entries. Returns `None` if none does.
    fn split(&mut self, tie: &UnresolvedTie) -> Option<Split> {
        if tie.level.len() < 2 {
            return None;
        }
        let list = self.rules.tie_breakers_for(tie.multi);
        let mut league = tie.league.clone();
        let mut not_entered = None;
        let mut start = tie.from;
        while start < list.len() {
            let end = self.stage_end(list, start);
            if list[start].scope.is_head_to_head() && self.applies(&list[start], &tie.level) {
                let members = league.clone().unwrap_or_else(|| tie.level.as_slice().into());
                if self.has_open_games(&members) {
                    self.set_pending(&tie.level, list[start].metric);
                    match self.rules.unfinished {
                        Unfinished::Apply => {}
                        Unfinished::Share => return None,
                        Unfinished::Skip => {
                            start = end;
                            continue;
                        }
                    }
                }
            }
            let stage = start..end;
            match self.apply_stage(&list[stage.clone()], &tie.level, &mut league) {
                Ok(Some(classes)) => return Some(Split { classes, stage, league }),
                Ok(None) => {}
                Err(metric) if !list[start].places.is_empty() => {
                    self.set_pending(&tie.level, metric);
                }
                Err(metric) => not_entered = not_entered.or(Some(metric)),
            }
            start = end;
        }
        if let Some(metric) = not_entered {
            self.set_pending(&tie.level, metric);
        }
        None
    }

    /// The end of the tie-breakers that are applied together.
    fn stage_end(&self, list: &[TieBreaker], start: usize) -> usize {
        let scope = list[start].scope;
        let is_block = self.rules.restart == Restart::Block && scope.is_head_to_head();
        if !is_block && scope != Scope::BestOutsideTie {
            return start + 1;
        }
        let same = |breaker: &&TieBreaker| {
            breaker.scope == scope || (is_block && breaker.scope.is_head_to_head())
        };
        start + list[start..].iter().take_while(same).count()
    }

    /// Applies tie-breakers of one stage. Returns the metric of a value that has to be entered as the error.
    fn apply_stage(
        &self,
        stage: &[TieBreaker],
        level: &[usize],
        league: &mut Option<Arc<[usize]>>,
    ) -> Result<Option<Vec<Class>>, Metric> {
        if self.rules.restart == Restart::Block && stage[0].scope.is_head_to_head() {
            return self.apply_block(stage, level);
        }
        for step in 0..steps(self.table, stage[0].scope, level) {
            for breaker in stage.iter().filter(|breaker| self.applies(breaker, level)) {
                if let Some(classes) = self.apply(breaker, level, step, league)? {
                    return Ok(Some(classes));
                }
            }
        }
        Ok(None)
    }

    /// Applies head-to-head tie-breakers one after the other to one mini-league.
    fn apply_block(
        &self,
        block: &[TieBreaker],
        members: &[usize],
    ) -> Result<Option<Vec<Class>>, Metric> {
        let mut league = Some(members.into());
        let mut classes: Vec<Class> = vec![(members.to_vec(), None)];
        for breaker in block.iter().filter(|breaker| self.applies(breaker, members)) {
            let mut next = Vec::with_capacity(classes.len());
            for (level, explanation) in classes {
                match self.apply(breaker, &level, 0, &mut league)? {
                    Some(mut split) => {
                        split[0].1 = explanation;
                        next.extend(split);
                    }
                    None => next.push((level, explanation)),
                }
            }
            classes = next;
        }
        Ok((classes.len() > 1).then_some(classes))
    }

    /// Applies a tie-breaker. Returns `None` if it separates nobody.
    fn apply(
        &self,
        breaker: &TieBreaker,
        level: &[usize],
        step: usize,
        league: &mut Option<Arc<[usize]>>,
    ) -> Result<Option<Vec<Class>>, Metric> {
        if level.len() < 2 {
            return Ok(None);
        }
        let is_head_to_head = breaker.scope.is_head_to_head();
        let members = match league {
            Some(league) if is_head_to_head && !breaker.only_two => league.clone(),
            _ => level.into(),
        };
        let tie = Tie { level, league: &members, step };
        let values = match measure(self.table, breaker, tie) {
            Ok(values) => values,
            Err(Obstacle::NotApplicable) => return Ok(None),
            Err(Obstacle::NotEntered) => return Err(breaker.metric),
        };
        if is_head_to_head && league.is_none() {
            *league = Some(members.clone());
        }
        Ok(classes(breaker, level, members, &values))
    }

    /// Whether a tie-breaker applies to a tie of this size at these places.
    fn applies(&self, breaker: &TieBreaker, level: &[usize]) -> bool {
        if breaker.only_two && level.len() != 2 {
            return false;
        }
        if breaker.scope.is_head_to_head()
            && level.len() > 2
            && self.rules.multi_team == MultiTeam::Skip
        {
            return false;
        }
        let above = self.placements.len();
        let places = above + 1..above + level.len();
        breaker.places.is_empty()
            || breaker.places.iter().any(|place| places.contains(&(*place as usize)))
    }

    fn has_open_games(&self, members: &[usize]) -> bool {
        members.iter().any(|i| {
            let open = &self.table.results.open[*i];
            open.iter().any(|opponent| members.binary_search(opponent).is_ok())
        })
    }

    fn set_pending(&mut self, level: &[usize], metric: Metric) {
        for i in level {
            self.pending[*i].get_or_insert(metric);
        }
    }

    /// Explains the place of the first entry that withdrew, unless the entry above has a better value anyway.
    fn explain_withdrawal(&self, entry: usize, members: &[usize]) -> Option<Explanation> {
        let above = self.placements.last()?.entry;
        let is_withdrawn = |entry: usize| self.table.entries[entry].withdrawn;
        let is_better = self.table.rank_values[above] > self.table.rank_values[entry];
        (is_withdrawn(entry) && !is_withdrawn(above) && !is_better).then(|| {
            let mut values: Vec<(usize, Value)> = members
                .iter()
                .map(|i| (*i, Value::integer(i128::from(is_withdrawn(*i)))))
                .collect();
            values.sort_by_key(|(_, value)| *value);
            Explanation {
                rule: Some(Metric::Withdrawn),
                scope: Some(Scope::Overall),
                with: members.into(),
                values: values.into(),
            }
        })
    }
}

/// The classes of entries with the same value, best first; `None` if all are level.
fn classes(
    breaker: &TieBreaker,
    level: &[usize],
    with: Arc<[usize]>,
    values: &[Value],
) -> Option<Vec<Class>> {
    let mut ranked: Vec<(usize, Value)> =
        level.iter().copied().zip(values.iter().copied()).collect();
    match breaker.direction {
        Direction::Ascending => ranked.sort_by_key(|(_, value)| *value),
        Direction::Descending => ranked.sort_by_key(|(_, value)| Reverse(*value)),
    }
    if ranked.first()?.1 == ranked.last()?.1 {
        return None;
    }
    let explanation = Explanation {
        rule: Some(breaker.metric),
        scope: Some(breaker.scope),
        with,
        values: ranked.as_slice().into(),
    };
    let entries = |class: &[(usize, Value)]| class.iter().map(|(entry, _)| *entry).collect();
    let classes = ranked.chunk_by(|a, b| a.1 == b.1).enumerate();
    Some(classes.map(|(i, class)| (entries(class), (i > 0).then(|| explanation.clone()))).collect())
}
