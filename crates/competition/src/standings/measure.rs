//! The values of the entries of a tie that a tie-breaker compares.

use super::input::Decided;
use super::number::Value;
use super::results::{Outcome, SideResult, Venue};
use super::rules::{Metric, Scope, TieBreaker};
use super::scope::{Games, Tie};
use super::table::Table;

/// Why a tie-breaker cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The tie-breaker does not apply to this tie.
    NotApplicable,
    /// A value that has to be entered is missing.
    NotEntered,
}

/// The values of the entries that are level, in their order.
pub(super) fn measure(
    table: &Table<'_>,
    breaker: &TieBreaker,
    tie: Tie<'_>,
) -> Result<Vec<Value>, Obstacle> {
    if breaker.all_met && !have_all_met(table, tie.level) {
        return Err(Obstacle::NotApplicable);
    }
    if breaker.metric.is_external() {
        let values = tie.level.iter().map(|i| external(table, breaker.metric, *i));
        return values.collect::<Option<_>>().ok_or(Obstacle::NotEntered);
    }
    let games = Games::new(table, breaker.scope, tie).ok_or(Obstacle::NotApplicable)?;
    let mut values = Vec::with_capacity(tie.level.len());
    for &entry in tie.level {
        let sides = games.results_of(table, entry);
        if sides.len() < breaker.min_games as usize {
            return Err(Obstacle::NotApplicable);
        }
        values.push(value(table, breaker, tie, entry, &sides));
    }
    Ok(values)
}

fn have_all_met(table: &Table<'_>, entries: &[usize]) -> bool {
    entries.iter().all(|i| {
        let met = |o: &usize| table.results.sides[*i].iter().any(|side| side.opponent == *o);
        entries.iter().all(|o| o == i || met(o))
    })
}

fn external(table: &Table<'_>, metric: Metric, entry: usize) -> Option<Value> {
    let external = &table.entries[entry].external;
    match metric {
        Metric::Spirit => external.spirit,
        Metric::Rating => external.rating,
        Metric::Coefficient => external.coefficient,
        Metric::Ranking => external.ranking,
        Metric::Seed => external.seed,
        Metric::PlayOff => external.play_off,
        Metric::Lots => external.lots,
        _ => None,
    }
    .map(Value::integer)
}

/// The value of an entry in these games.
fn value(
    table: &Table<'_>,
    breaker: &TieBreaker,
    tie: Tie<'_>,
    entry: usize,
    sides: &[&SideResult],
) -> Value {
    match breaker.metric {
        Metric::WinPercentage => win_percentage(sides),
        Metric::Ratio => Value::ratio(sum(sides, |s| s.scored), sum(sides, |s| s.conceded)),
        Metric::RatioSum => ratio_sum(sides),
        Metric::SetPointRatio => {
            Value::ratio(detail(sides, |s| s.own.set_points), detail(sides, |s| s.other.set_points))
        }
        Metric::NetRunRate => net_run_rate(sides),
        Metric::WicketsPerBall => {
            Value::ratio(detail(sides, |s| s.other.wickets), detail(sides, |s| s.other.balls))
        }
        Metric::BeatAll => beats_all(tie.league, entry, sides, Outcome::Win),
        Metric::LostToAll => beats_all(tie.league, entry, sides, Outcome::Loss),
        Metric::OpponentsPoints => {
            Value::ratio(sum(sides, |s| table.results.totals[s.opponent].points.hundredths()), 100)
        }
        Metric::OpponentsDifference => Value::integer(sum(sides, |s| {
            let totals = &table.results.totals[s.opponent];
            totals.scored - totals.conceded
        })),
        Metric::OpponentsPointsFor => {
            Value::integer(sum(sides, |s| table.results.totals[s.opponent].scored))
        }
        Metric::StrengthOfVictory => strength(table, sides, |s| s.outcome == Outcome::Win),
        Metric::StrengthOfSchedule => strength(table, sides, |_| true),
        Metric::CombinedRank => combined_rank(table, breaker.scope, entry),
        Metric::DivisionWinner => Value::integer(i128::from(table.division_ranks[entry] == 1)),
        Metric::BestOfDivision => best_of_division(table, tie.level, entry),
        Metric::Buchholz => table.swiss.buchholz(entry, 0, 0),
        Metric::BuchholzCut1 => table.swiss.buchholz(entry, 1, 0),
        Metric::MedianBuchholz => table.swiss.buchholz(entry, 1, 1),
        Metric::SonnebornBerger => table.swiss.sonneborn_berger(entry),
        Metric::Withdrawn => Value::integer(i128::from(table.entries[entry].withdrawn)),
        metric => {
            let unit = if metric == Metric::Points { 100 } else { 1 };
            let total = sum(sides, |s| term(metric, s, breaker.cap))
                + extra(table, metric, breaker.scope, entry);
            let games = if breaker.per_game { sides.len().max(1) as i128 } else { 1 };
            Value::ratio(total, unit * games)
        }
    }
}

/// What a game adds to the sum of a metric.
fn term(metric: Metric, side: &SideResult, cap: Option<u32>) -> i64 {
    let cap = cap.map_or(i64::MAX, i64::from);
    let win = side.outcome == Outcome::Win;
    let (home, away) = (side.venue == Venue::Home, side.venue == Venue::Away);
    let difference = side.scored - side.conceded;
    match metric {
        Metric::Points => side.points.hundredths(),
        Metric::Wins => i64::from(win),
        Metric::Losses => i64::from(side.outcome == Outcome::Loss),
        Metric::RegulationWins => i64::from(win && side.decided == Decided::Regulation),
        Metric::RegulationOvertimeWins => i64::from(win && side.decided != Decided::Shootout),
        Metric::Played => 1,
        Metric::Difference => difference.clamp(-cap, cap),
        Metric::PointsFor => side.scored.min(cap),
        Metric::PointsAgainst => side.conceded.min(cap),
        Metric::Shutouts => i64::from(side.conceded == 0),
        Metric::AwayWins => i64::from(win && away),
        Metric::AwayPointsFor if away => side.scored,
        Metric::AwayDifference if away => difference,
        Metric::HomePointsFor if home => side.scored,
        Metric::HomeDifference if home => difference,
        Metric::Tries => i64::from(side.own.tries),
        Metric::TryDifference => i64::from(side.own.tries) - i64::from(side.other.tries),
        Metric::Forfeits => i64::from(side.own_forfeit),
        Metric::FairPlay => i64::from(side.own.fair_play),
        _ => 0,
    }
}

/// What counts over all games without being part of one: adjustments, byes and conduct points of the whole competition.
fn extra(table: &Table<'_>, metric: Metric, scope: Scope, entry: usize) -> i128 {
    match (metric, scope) {
        (Metric::Points, Scope::Overall) => {
            let games = sum(&table.results.sides[entry], |side| side.points.hundredths());
            i128::from(table.results.totals[entry].points.hundredths()) - games
        }
        (Metric::FairPlay, Scope::Overall) => {
            table.entries[entry].external.fair_play.unwrap_or(0).into()
        }
        _ => 0,
    }
}

fn sum<S: std::borrow::Borrow<SideResult>>(sides: &[S], term: impl Fn(&SideResult) -> i64) -> i128 {
    sides.iter().map(|side| i128::from(term(side.borrow()))).sum()
}

fn detail(sides: &[&SideResult], term: impl Fn(&SideResult) -> i32) -> i128 {
    sum(sides, |side| i64::from(term(side)))
}

fn win_percentage(sides: &[&SideResult]) -> Value {
    let halves = sum(sides, |side| match side.outcome {
        Outcome::Win => 2,
        Outcome::Draw => 1,
        Outcome::Loss => 0,
    });
    Value::ratio(halves, 2 * sides.len() as i128)
}

/// The sum of the ratios of all games, each rounded down to a billionth: exact sums have denominators without bound.
fn ratio_sum(sides: &[&SideResult]) -> Value {
    const UNIT: i128 = 1_000_000_000;
    let ratio = |side: &&SideResult| match i128::from(side.conceded) {
        0 => i128::from(side.scored) * UNIT,
        conceded => (i128::from(side.scored) * UNIT).div_euclid(conceded),
    };
    Value::ratio(sides.iter().map(ratio).sum::<i128>(), UNIT)
}

fn net_run_rate(sides: &[&SideResult]) -> Value {
    let runs = (sum(sides, |s| s.scored), sum(sides, |s| s.conceded));
    let balls = (detail(sides, |s| s.own.balls).max(1), detail(sides, |s| s.other.balls).max(1));
    // Six balls are an over.
    let numerator =
        runs.0.saturating_mul(6 * balls.1).saturating_sub(runs.1.saturating_mul(6 * balls.0));
    Value::ratio(numerator, balls.0.saturating_mul(balls.1))
}

/// 1 if the entry has this outcome more often than its opposite against every other entry of the mini-league.
fn beats_all(league: &[usize], entry: usize, sides: &[&SideResult], outcome: Outcome) -> Value {
    let beats = |opponent: &usize| {
        let games = sides.iter().filter(|side| side.opponent == *opponent);
        let balance = games.map(|side| match side.outcome {
            Outcome::Draw => 0,
            other if other == outcome => 1,
            _ => -1,
        });
        balance.sum::<i64>() > 0
    };
    let all = league.iter().filter(|other| **other != entry).all(beats);
    Value::integer(i128::from(all))
}

/// The win percentage of the opponents in these games. An opponent counts once for each game.
fn strength(
    table: &Table<'_>,
    sides: &[&SideResult],
    counts: impl Fn(&SideResult) -> bool,
) -> Value {
    let opponents =
        sides.iter().filter(|side| counts(side)).map(|s| &table.results.totals[s.opponent]);
    let (halves, games) = opponents.fold((0, 0), |(halves, games), totals| {
        (
            halves + 2 * i128::from(totals.wins) + i128::from(totals.draws),
            games + 2 * i128::from(totals.played),
        )
    });
    Value::ratio(halves, games)
}

fn combined_rank(table: &Table<'_>, scope: Scope, entry: usize) -> Value {
    let conference = table.entries[entry].conference;
    let own = &table.results.totals[entry];
    let mut rank = 2;
    for (i, other) in table.entries.iter().enumerate() {
        if scope != Scope::Conference || other.conference == conference {
            let totals = &table.results.totals[i];
            rank +=
                i128::from(totals.scored > own.scored) + i128::from(totals.conceded < own.conceded);
        }
    }
    Value::integer(rank)
}

fn best_of_division(table: &Table<'_>, level: &[usize], entry: usize) -> Value {
    let division = table.entries[entry].division;
    let is_above = |other: &usize| {
        division.is_some()
            && table.entries[*other].division == division
            && table.division_ranks[*other] < table.division_ranks[entry]
    };
    Value::integer(i128::from(!level.iter().any(is_above)))
}
