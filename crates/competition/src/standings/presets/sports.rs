//! Common rules of each sport.

use super::super::number::Points;
use super::super::rules::{BonusRules, Metric, PointRules, Restart, Rules, Scope, TieBreaker};
use super::football::three_points;
use super::{head_to_head, overall, per_game};

/// Ranked by the percentage of wins.
pub(super) fn by_win_percentage(tie_breakers: Vec<TieBreaker>) -> Rules {
    Rules { rank_by: Metric::WinPercentage, ..Rules::new(PointRules::new(2, 1, 0), tie_breakers) }
}

fn difference_and_scored() -> Vec<TieBreaker> {
    vec![
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        head_to_head(Metric::Points),
        overall(Metric::Lots),
    ]
}

pub(super) fn soccer() -> Rules {
    three_points(difference_and_scored())
}

pub(super) fn two_points_a_win() -> Rules {
    Rules::new(PointRules::new(2, 1, 0), difference_and_scored())
}

pub(super) fn ice_hockey() -> Rules {
    let points = PointRules { overtime_loss: Points::new(1), ..PointRules::new(2, 1, 0) };
    Rules { shootout_goal: true, ..Rules::new(points, difference_and_scored()) }
}

pub(super) fn basketball() -> Rules {
    Rules {
        forfeit_score: 20,
        ..by_win_percentage(vec![
            per_game(overall(Metric::Difference)),
            overall(Metric::PointsFor),
            head_to_head(Metric::WinPercentage),
            overall(Metric::Lots),
        ])
    }
}

pub(super) fn baseball() -> Rules {
    by_win_percentage(vec![
        head_to_head(Metric::WinPercentage),
        overall(Metric::Difference),
        overall(Metric::PointsAgainst),
        overall(Metric::Lots),
    ])
}

pub(super) fn american_football() -> Rules {
    by_win_percentage(vec![
        head_to_head(Metric::WinPercentage),
        TieBreaker::new(Metric::WinPercentage, Scope::SameDivision),
        TieBreaker::new(Metric::WinPercentage, Scope::CommonOpponents),
        overall(Metric::Difference),
        overall(Metric::Lots),
    ])
}

pub(super) fn rugby() -> Rules {
    let list = vec![
        overall(Metric::Difference),
        overall(Metric::TryDifference),
        overall(Metric::PointsFor),
        head_to_head(Metric::Wins),
        overall(Metric::Lots),
    ];
    Rules { bonus: rugby_bonus(), ..Rules::new(PointRules::new(4, 2, 0), list) }
}

pub(super) fn rugby_bonus() -> BonusRules {
    BonusRules { tries: 4, losing_margin: 7, ..BonusRules::default() }
}

fn racket_sport(loss: i32, win: i32) -> Rules {
    let points = PointRules { forfeit_loss: Points::ZERO, ..PointRules::new(win, loss, loss) };
    let list = vec![
        head_to_head(Metric::Points),
        head_to_head(Metric::Ratio),
        overall(Metric::Ratio),
        overall(Metric::SetPointRatio),
        overall(Metric::Lots),
    ];
    Rules { restart: Restart::Each, ..Rules::new(points, list) }
}

pub(super) fn tennis() -> Rules {
    racket_sport(1, 2)
}

pub(super) fn table_tennis() -> Rules {
    racket_sport(1, 3)
}

/// A round-robin tournament.
pub(super) fn chess() -> Rules {
    let points = PointRules { draw: Points::HALF, ..PointRules::new(1, 0, 0) };
    let list = vec![
        head_to_head(Metric::Points),
        overall(Metric::SonnebornBerger),
        overall(Metric::Wins),
        overall(Metric::Lots),
    ];
    Rules::new(points, list)
}

pub(super) fn other() -> Rules {
    by_win_percentage(vec![
        head_to_head(Metric::WinPercentage),
        overall(Metric::Difference),
        overall(Metric::Lots),
    ])
}
