//! The games that count, seen from each side, with their points.

use super::input::{Decided, Details, Entry, Game, GameState, Pair, Side};
use super::number::Points;
use super::rules::{Rules, Withdrawal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Win,
    Draw,
    Loss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Venue {
    Home,
    Away,
    Neutral,
}

/// A game that counts, seen from one side.
#[derive(Debug, Clone)]
pub(super) struct SideResult {
    pub(super) opponent: usize,
    pub(super) round: u32,
    pub(super) venue: Venue,
    pub(super) outcome: Outcome,
    pub(super) decided: Decided,
    /// The side that forfeited the game, if any, is this one.
    pub(super) own_forfeit: bool,
    /// One of the sides forfeited the game.
    pub(super) is_forfeit: bool,
    pub(super) points: Points,
    pub(super) scored: i64,
    pub(super) conceded: i64,
    pub(super) own: Details,
    pub(super) other: Details,
}

/// What an entry has achieved in all its games.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub(super) played: u32,
    pub(super) wins: u32,
    pub(super) draws: u32,
    pub(super) losses: u32,
    pub(super) overtime_wins: u32,
    pub(super) overtime_losses: u32,
    pub(super) scored: i64,
    pub(super) conceded: i64,
    /// Points of games and byes, with bonus points and adjustments.
    pub(super) points: Points,
}

/// The results of all entries.
#[derive(Debug)]
pub(super) struct Results {
    /// For each entry, its games that count.
    pub(super) sides: Vec<Vec<SideResult>>,
    /// For each entry, the opponents of its games to be played.
    pub(super) open: Vec<Vec<usize>>,
    pub(super) totals: Vec<Totals>,
}

impl Results {
    pub(super) fn new(rules: &Rules, entries: &[Entry], games: &[Game]) -> Self {
        let mut results = Self {
            sides: vec![Vec::new(); entries.len()],
            open: vec![Vec::new(); entries.len()],
            totals: Vec::new(),
        };
        for game in games {
            results.add_game(rules, entries, game);
        }
        results.totals = (0..entries.len()).map(|i| results.totals_of(i, rules, entries)).collect();
        results
    }

    fn add_game(&mut self, rules: &Rules, entries: &[Entry], game: &Game) {
        let (Some(home), Some(away)) = (entries.get(game.home), entries.get(game.away)) else {
            return;
        };
        if game.home == game.away || game.state == GameState::Annulled {
            return;
        }
        let mut forfeited_by = game.forfeited_by;
        let mut is_final =
            game.state == GameState::Final && (game.score.is_some() || game.forfeited_by.is_some());
        if home.withdrawn || away.withdrawn {
            if rules.withdrawal == Withdrawal::Annul {
                return;
            }
            if !is_final {
                forfeited_by = match (home.withdrawn, away.withdrawn) {
                    (true, true) => return,
                    (true, false) => Some(Side::Home),
                    _ => Some(Side::Away),
                };
                is_final = true;
            }
        }
        if is_final {
            let (home, away) = side_results(rules, game, forfeited_by);
            self.sides[game.home].push(home);
            self.sides[game.away].push(away);
        } else {
            self.open[game.home].push(game.away);
            self.open[game.away].push(game.home);
        }
    }

    fn totals_of(&self, entry: usize, rules: &Rules, entries: &[Entry]) -> Totals {
        let mut totals = Totals { points: entries[entry].adjustment, ..Totals::default() };
        for side in &self.sides[entry] {
            let overtime = u32::from(side.decided != Decided::Regulation);
            totals.played += 1;
            match side.outcome {
                Outcome::Win => {
                    totals.wins += 1;
                    totals.overtime_wins += overtime;
                }
                Outcome::Draw => totals.draws += 1,
                Outcome::Loss => {
                    totals.losses += 1;
                    totals.overtime_losses += overtime;
                }
            }
            totals.scored += side.scored;
            totals.conceded += side.conceded;
            totals.points = totals.points + side.points;
        }
        for bye in &entries[entry].byes {
            totals.points = totals.points + bye.points.unwrap_or(rules.points.bye);
        }
        if rules.bonus.all_wins > 0 && self.has_won_all(entry, entries) {
            totals.points = totals.points + small_points(rules.bonus.all_wins);
        }
        totals
    }

    fn has_won_all(&self, entry: usize, entries: &[Entry]) -> bool {
        let sides = &self.sides[entry];
        let group = entries[entry].group;
        self.open[entry].is_empty()
            && !sides.is_empty()
            && sides.iter().all(|side| side.outcome == Outcome::Win)
            && entries.iter().enumerate().all(|(other, o)| {
                other == entry
                    || o.group != group
                    || o.withdrawn
                    || sides.iter().any(|side| side.opponent == other)
            })
    }
}

/// The outcome and the score that count, before points.
struct CountedResult {
    home: Outcome,
    decided: Decided,
    score: Pair<i64>,
}

fn counted_result(rules: &Rules, game: &Game, forfeited_by: Option<Side>) -> CountedResult {
    let score = game.score.map(|score| Pair::new(i64::from(score.home), i64::from(score.away)));
    if let Some(side) = forfeited_by {
        return forfeit_result(rules, score, side);
    }
    let score = score.unwrap_or_default();
    let mut margin = score.home - score.away;
    let mut decided = game.decided;
    if margin == 0 {
        margin = game.shootout.map_or(0, |s| i64::from(s.home) - i64::from(s.away));
        if margin != 0 {
            decided = Decided::Shootout;
        }
    } else if margin.abs() <= i64::from(rules.overtime_margin) && decided == Decided::Regulation {
        decided = Decided::Overtime;
    }
    let home = match margin {
        0 => Outcome::Draw,
        1.. => Outcome::Win,
        _ => Outcome::Loss,
    };
    CountedResult { home, decided, score: counted_score(rules, game, score, home) }
}

/// The score that counts as points for and against.
fn counted_score(rules: &Rules, game: &Game, score: Pair<i64>, home: Outcome) -> Pair<i64> {
    if let (true, Some(regulation)) = (rules.ignore_overtime_scores, game.regulation_score)
        && game.decided != Decided::Regulation
    {
        return Pair::new(i64::from(regulation.home), i64::from(regulation.away));
    }
    if rules.shootout_goal && score.home == score.away {
        return Pair::new(
            score.home + i64::from(home == Outcome::Win),
            score.away + i64::from(home == Outcome::Loss),
        );
    }
    score
}

fn forfeit_result(rules: &Rules, score: Option<Pair<i64>>, forfeited_by: Side) -> CountedResult {
    let awarded = i64::from(rules.forfeit_score);
    let (home, default) = match forfeited_by {
        Side::Home => (Outcome::Loss, Pair::new(0, awarded)),
        Side::Away => (Outcome::Win, Pair::new(awarded, 0)),
    };
    let score = score
        .filter(|score| match forfeited_by {
            Side::Home => score.home < score.away,
            Side::Away => score.home > score.away,
        })
        .unwrap_or(default);
    CountedResult { home, decided: Decided::Regulation, score }
}

fn side_results(
    rules: &Rules,
    game: &Game,
    forfeited_by: Option<Side>,
) -> (SideResult, SideResult) {
    let counted = counted_result(rules, game, forfeited_by);
    let away_outcome = match counted.home {
        Outcome::Win => Outcome::Loss,
        Outcome::Draw => Outcome::Draw,
        Outcome::Loss => Outcome::Win,
    };
    let side = |side: Side, outcome, scored, conceded, own: Details, other| {
        let mut result = SideResult {
            opponent: if side == Side::Home { game.away } else { game.home },
            round: game.round,
            venue: match side {
                _ if game.neutral => Venue::Neutral,
                Side::Home => Venue::Home,
                Side::Away => Venue::Away,
            },
            outcome,
            decided: counted.decided,
            own_forfeit: forfeited_by == Some(side),
            is_forfeit: forfeited_by.is_some(),
            points: Points::ZERO,
            scored,
            conceded,
            own,
            other,
        };
        let bonus = game.bonus.map(|b| if side == Side::Home { b.home } else { b.away });
        result.points =
            result_points(rules, &result) + bonus.unwrap_or_else(|| bonus_points(rules, &result));
        result
    };
    let (score, details) = (counted.score, game.details);
    (
        side(Side::Home, counted.home, score.home, score.away, details.home, details.away),
        side(Side::Away, away_outcome, score.away, score.home, details.away, details.home),
    )
}

fn result_points(rules: &Rules, side: &SideResult) -> Points {
    let overtime = side.decided != Decided::Regulation;
    let points = &rules.points;
    match side.outcome {
        Outcome::Win if side.is_forfeit => points.forfeit_win,
        Outcome::Loss if side.is_forfeit => points.forfeit_loss,
        Outcome::Win if overtime => points.overtime_win,
        Outcome::Loss if overtime => points.overtime_loss,
        Outcome::Win => points.win,
        Outcome::Draw => points.draw,
        Outcome::Loss => points.loss,
    }
}

/// Bonus points by the rules. A forfeited game has none.
fn bonus_points(rules: &Rules, side: &SideResult) -> Points {
    if side.is_forfeit {
        return Points::ZERO;
    }
    let bonus = &rules.bonus;
    let mut count = 0;
    if bonus.tries > 0 && i64::from(side.own.tries) >= i64::from(bonus.tries) {
        count += 1;
    }
    if side.outcome == Outcome::Loss
        && side.conceded - side.scored <= i64::from(bonus.losing_margin)
    {
        count += 1;
    }
    if bonus.shutout && side.conceded == 0 {
        count += 1;
    }
    let goals = side.scored.clamp(0, i64::from(bonus.goals));
    small_points(count) + small_points(u32::try_from(goals).unwrap_or(u32::MAX))
}

fn small_points(points: u32) -> Points {
    Points::new(i32::try_from(points).unwrap_or(i32::MAX))
}
