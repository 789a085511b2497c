//! The games that a tie-breaker counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::results::{SideResult, Venue};
use super::rules::Scope;
use super::table::Table;

/// The entries that a tie-breaker compares. All slices are sorted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tie<'a> {
    /// The entries that are still level.
    pub(super) level: &'a [usize],
    /// The entries of the mini-league.
    pub(super) league: &'a [usize],
    /// How often a tie-breaker that is applied to one opponent or one more game at a time has failed to separate.
    pub(super) step: usize,
}

/// A scope whose opponents are known.
pub(super) enum Games<'a> {
    All,
    Against(Cow<'a, [usize]>),
    NotAgainst(&'a [usize]),
    /// Balanced games against these opponents.
    Balanced(&'a [usize]),
    Division,
    Conference,
    OtherDivisions,
    ConferenceTop {
        own: bool,
    },
    /// The last half of the games in the conference and this many more.
    LastHalf(usize),
}

impl<'a> Games<'a> {
    /// The games that count for a tie; `None` if the scope does not apply to the tie.
    pub(super) fn new(table: &Table<'_>, scope: Scope, tie: Tie<'a>) -> Option<Self> {
        Some(match scope {
            Scope::Overall => Self::All,
            Scope::HeadToHead => Self::Against(Cow::Borrowed(tie.league)),
            Scope::BalancedHeadToHead => Self::Balanced(tie.league),
            Scope::CommonOpponents => Self::Against(common_opponents(table, tie.level).into()),
            Scope::Division => Self::Division,
            Scope::SameDivision => {
                let division = table.entries[*tie.level.first()?].division?;
                let same = |i: &usize| table.entries[*i].division == Some(division);
                return tie.level.iter().all(same).then_some(Self::Division);
            }
            Scope::Conference => Self::Conference,
            Scope::OtherDivisions => Self::OtherDivisions,
            Scope::ConferenceTop => Self::ConferenceTop { own: true },
            Scope::OtherConferenceTop => Self::ConferenceTop { own: false },
            Scope::LastHalf => Self::LastHalf(tie.step),
            Scope::OutsideTie => Self::NotAgainst(tie.level),
            Scope::BestOutsideTie => {
                Self::Against(outside_by_rank(table, tie.level).into_iter().nth(tie.step)?.into())
            }
        })
    }

    /// The results of an entry in these games.
    pub(super) fn results_of<'t>(&self, table: &'t Table<'_>, entry: usize) -> Vec<&'t SideResult> {
        let sides = &table.results.sides[entry];
        let filter = |keep: &dyn Fn(usize) -> bool| {
            sides.iter().filter(|side| keep(side.opponent)).collect::<Vec<_>>()
        };
        let own = &table.entries[entry];
        match self {
            Self::All => sides.iter().collect(),
            Self::Against(opponents) => filter(&|o| opponents.binary_search(&o).is_ok()),
            Self::NotAgainst(opponents) => filter(&|o| opponents.binary_search(&o).is_err()),
            Self::Balanced(opponents) => balanced(filter(&|o| opponents.binary_search(&o).is_ok())),
            Self::Division => filter(&|o| same(own.division, table.entries[o].division)),
            Self::Conference => filter(&|o| same(own.conference, table.entries[o].conference)),
            Self::OtherDivisions => filter(&|o| {
                same(own.conference, table.entries[o].conference)
                    && !same(own.division, table.entries[o].division)
            }),
            Self::ConferenceTop { own: in_own } => filter(&|o| {
                same(own.conference, table.entries[o].conference) == *in_own
                    && table.conference_top[o]
            }),
            Self::LastHalf(more) => {
                last_half(filter(&|o| same(own.conference, table.entries[o].conference)), *more)
            }
        }
    }
}

/// How often a tie-breaker of this scope can be applied to a tie.
pub(super) fn steps(table: &Table<'_>, scope: Scope, level: &[usize]) -> usize {
    match scope {
        Scope::BestOutsideTie => outside_by_rank(table, level).len(),
        Scope::LastHalf => {
            let games = level.iter().map(|i| table.results.sides[*i].len()).max();
            games.map_or(1, |games| games / 2 + 1)
        }
        _ => 1,
    }
}

fn same(a: Option<u32>, b: Option<u32>) -> bool {
    a.is_some() && a == b
}

/// The opponents that all these entries have met, without the entries themselves.
fn common_opponents(table: &Table<'_>, entries: &[usize]) -> Vec<usize> {
    let met = |i: usize| {
        let mut opponents: Vec<_> =
            table.results.sides[i].iter().map(|side| side.opponent).collect();
        opponents.sort_unstable();
        opponents.dedup();
        opponents
    };
    let mut lists = entries.iter().map(|i| met(*i));
    let mut common = lists.next().unwrap_or_default();
    common.retain(|o| entries.binary_search(o).is_err());
    for list in lists {
        common.retain(|o| list.binary_search(o).is_ok());
    }
    common
}

/// The entries of the same table outside a tie, best first. Those that are level count as one opponent, because the order
/// among them may depend on this tie.
fn outside_by_rank(table: &Table<'_>, level: &[usize]) -> Vec<Vec<usize>> {
    let Some(first) = level.first() else { return Vec::new() };
    let group = table.entries[*first].group;
    let mut ranked = BTreeMap::<_, Vec<usize>>::new();
    for (i, entry) in table.entries.iter().enumerate() {
        if entry.group == group && !entry.withdrawn && level.binary_search(&i).is_err() {
            ranked.entry(std::cmp::Reverse(table.rank_values[i])).or_default().push(i);
        }
    }
    ranked.into_values().collect()
}

/// Leaves out the first game at the home of the side that had more home games of an uneven number.
fn balanced(mut sides: Vec<&SideResult>) -> Vec<&SideResult> {
    // The key is the same from both sides, so that both leave out the same game.
    sides.sort_by_key(|side| {
        let score = match side.venue {
            Venue::Away => (side.conceded, side.scored),
            _ => (side.scored, side.conceded),
        };
        (side.opponent, side.round, score)
    });
    let mut kept = Vec::with_capacity(sides.len());
    for games in sides.chunk_by(|a, b| a.opponent == b.opponent) {
        let count = |venue| games.iter().filter(|side| side.venue == venue).count();
        let more = match count(Venue::Home).cmp(&count(Venue::Away)) {
            std::cmp::Ordering::Greater => Some(Venue::Home),
            std::cmp::Ordering::Less => Some(Venue::Away),
            std::cmp::Ordering::Equal => None,
        };
        let odd = more.and_then(|venue| games.iter().position(|side| side.venue == venue));
        kept.extend(games.iter().enumerate().filter(|(i, _)| Some(*i) != odd).map(|(_, s)| *s));
    }
    kept
}

/// The last half of these games, rounded up, and this many more.
fn last_half(mut sides: Vec<&SideResult>, more: usize) -> Vec<&SideResult> {
    let count = sides.len().div_ceil(2).saturating_add(more);
    sides.sort_by_key(|side| {
        (std::cmp::Reverse(side.round), side.outcome, side.scored, side.conceded)
    });
    sides.truncate(count);
    sides
}
