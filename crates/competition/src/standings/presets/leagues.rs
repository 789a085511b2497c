//! Competitions of other sports.

use super::super::number::Points;
use super::super::rules::{
    BonusRules, Metric, PointRules, Restart, Rules, Scope, TieBreaker, Unfinished, Withdrawal,
};
use super::sports::{by_win_percentage, rugby_bonus};
use super::{head_to_head, only_two, overall, per_game};

fn win_percentage(scope: Scope) -> TieBreaker {
    TieBreaker::new(Metric::WinPercentage, scope)
}

pub(super) fn nhl() -> Rules {
    let points = PointRules { overtime_loss: Points::new(1), ..PointRules::new(2, 1, 0) };
    let list = |head_to_head| {
        vec![
            overall(Metric::Played),
            overall(Metric::RegulationWins),
            overall(Metric::RegulationOvertimeWins),
            overall(Metric::Wins),
            head_to_head,
            overall(Metric::Difference),
            overall(Metric::PointsFor),
        ]
    };
    let balanced = TieBreaker::new(Metric::Points, Scope::BalancedHeadToHead);
    Rules {
        multi_tie_breakers: Some(list(per_game(balanced.clone()))),
        shootout_goal: true,
        ..Rules::new(points, list(balanced))
    }
}

pub(super) fn iihf() -> Rules {
    let points = PointRules {
        overtime_win: Points::new(2),
        overtime_loss: Points::new(1),
        ..PointRules::new(3, 1, 0)
    };
    let outside = |metric| TieBreaker::new(metric, Scope::BestOutsideTie);
    let multi = vec![
        head_to_head(Metric::Points),
        head_to_head(Metric::Difference),
        head_to_head(Metric::PointsFor),
        outside(Metric::Points),
        outside(Metric::Difference),
        outside(Metric::PointsFor),
        overall(Metric::Seed),
        overall(Metric::Lots),
    ];
    let two = vec![head_to_head(Metric::Points), overall(Metric::Seed), overall(Metric::Lots)];
    Rules {
        multi_tie_breakers: Some(multi),
        restart: Restart::Each,
        shootout_goal: true,
        forfeit_score: 5, // unverified
        ..Rules::new(points, two)
    }
}

pub(super) fn nba() -> Rules {
    let two = vec![
        win_percentage(Scope::HeadToHead),
        overall(Metric::DivisionWinner),
        win_percentage(Scope::SameDivision),
        win_percentage(Scope::Conference),
        win_percentage(Scope::ConferenceTop),
        win_percentage(Scope::OtherConferenceTop),
        overall(Metric::Difference),
        overall(Metric::Lots),
    ];
    let multi = vec![
        overall(Metric::DivisionWinner),
        win_percentage(Scope::HeadToHead),
        win_percentage(Scope::SameDivision),
        win_percentage(Scope::Conference),
        win_percentage(Scope::ConferenceTop),
        overall(Metric::Difference),
        overall(Metric::Lots),
    ];
    Rules {
        multi_tie_breakers: Some(multi),
        restart: Restart::Each,
        top_places: 10,
        forfeit_score: 20,
        ..by_win_percentage(two)
    }
}

pub(super) fn fiba() -> Rules {
    let points = PointRules { forfeit_loss: Points::ZERO, ..PointRules::new(2, 1, 1) };
    let list = vec![
        head_to_head(Metric::Wins),
        head_to_head(Metric::Difference),
        head_to_head(Metric::PointsFor),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        overall(Metric::Lots),
    ];
    Rules {
        restart: Restart::Each,
        unfinished: Unfinished::Share,
        forfeit_score: 20, // unverified
        ..Rules::new(points, list)
    }
}

pub(super) fn euroleague() -> Rules {
    let list = vec![
        head_to_head(Metric::Wins),
        head_to_head(Metric::Difference),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        overall(Metric::RatioSum),
        overall(Metric::Lots),
    ];
    Rules {
        rank_by: Metric::Wins,
        restart: Restart::Each,
        ignore_overtime_scores: true,
        forfeit_score: 20,
        ..Rules::new(PointRules::new(2, 1, 1), list)
    }
}

pub(super) fn mlb() -> Rules {
    let two = vec![
        win_percentage(Scope::HeadToHead),
        win_percentage(Scope::Division),
        win_percentage(Scope::OtherDivisions),
        win_percentage(Scope::LastHalf),
        overall(Metric::Lots),
    ];
    let mut multi = two.clone();
    multi.insert(0, head_to_head(Metric::BeatAll));
    Rules {
        multi_tie_breakers: Some(multi),
        restart: Restart::Each,
        forfeit_score: 9, // unverified
        ..by_win_percentage(two)
    }
}

/// What both lists of the NFL end with.
fn nfl_strength() -> [TieBreaker; 4] {
    [
        overall(Metric::StrengthOfVictory),
        overall(Metric::StrengthOfSchedule),
        TieBreaker::new(Metric::CombinedRank, Scope::Conference),
        overall(Metric::CombinedRank),
    ]
}

pub(super) fn nfl() -> Rules {
    let mut list = vec![
        win_percentage(Scope::HeadToHead),
        win_percentage(Scope::SameDivision),
        win_percentage(Scope::CommonOpponents),
        win_percentage(Scope::Conference),
    ];
    list.extend(nfl_strength());
    list.extend([
        TieBreaker::new(Metric::Difference, Scope::CommonOpponents),
        overall(Metric::Difference),
        overall(Metric::TryDifference),
        overall(Metric::Lots),
    ]);
    Rules { restart: Restart::Top, ..by_win_percentage(list) }
}

/// Clubs of several divisions. Only the best of each division is compared with the others. Partly unverified.
pub(super) fn nfl_wild_card() -> Rules {
    let common = TieBreaker { min_games: 4, ..win_percentage(Scope::CommonOpponents) };
    let mut list = vec![
        overall(Metric::BestOfDivision),
        only_two(win_percentage(Scope::HeadToHead)),
        head_to_head(Metric::BeatAll),
        head_to_head(Metric::LostToAll),
        win_percentage(Scope::Conference),
        common,
    ];
    list.extend(nfl_strength());
    list.extend([
        TieBreaker::new(Metric::Difference, Scope::Conference),
        overall(Metric::Difference),
        overall(Metric::TryDifference),
        overall(Metric::Lots),
    ]);
    Rules {
        restart: Restart::Top,
        division_rules: Some(Box::new(nfl())),
        ..by_win_percentage(list)
    }
}

pub(super) fn fivb() -> Rules {
    // A win in the fifth set is worth two points, and a loss one.
    let points = PointRules {
        overtime_win: Points::new(2),
        overtime_loss: Points::new(1),
        ..PointRules::new(3, 0, 0)
    };
    let list = vec![
        overall(Metric::Points),
        overall(Metric::Ratio),
        overall(Metric::SetPointRatio),
        head_to_head(Metric::Wins),
        head_to_head(Metric::Points),
        head_to_head(Metric::Ratio),
        head_to_head(Metric::SetPointRatio),
        overall(Metric::Lots),
    ];
    Rules {
        rank_by: Metric::Wins,
        restart: Restart::Block,
        overtime_margin: 1,
        forfeit_score: 3,
        ..Rules::new(points, list)
    }
}

pub(super) fn rwc() -> Rules {
    let list = vec![
        // The winner of their match, whatever the bonus points. Not for three or more (unverified).
        only_two(head_to_head(Metric::Wins)),
        overall(Metric::Difference),
        overall(Metric::TryDifference),
        overall(Metric::PointsFor),
        overall(Metric::Tries),
        overall(Metric::Ranking),
        overall(Metric::Lots),
    ];
    Rules {
        bonus: rugby_bonus(),
        restart: Restart::Top,
        ..Rules::new(PointRules::new(4, 2, 0), list)
    }
}

pub(super) fn six_nations() -> Rules {
    let list = vec![overall(Metric::Difference), overall(Metric::Tries)];
    Rules {
        bonus: BonusRules { all_wins: 3, ..rugby_bonus() },
        ..Rules::new(PointRules::new(4, 2, 0), list)
    }
}

pub(super) fn afl() -> Rules {
    let list = vec![
        overall(Metric::Ratio),
        head_to_head(Metric::Points),
        head_to_head(Metric::Ratio),
        overall(Metric::Lots), // unverified
    ];
    Rules::new(PointRules::new(4, 2, 0), list)
}

pub(super) fn ipl() -> Rules {
    Rules::new(
        PointRules::new(2, 1, 0),
        vec![
            overall(Metric::Wins),
            overall(Metric::NetRunRate),
            overall(Metric::WicketsPerBall),
            overall(Metric::Lots),
        ],
    )
}

pub(super) fn ehf() -> Rules {
    let list = vec![
        head_to_head(Metric::Points),
        head_to_head(Metric::Difference),
        head_to_head(Metric::PointsFor),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        overall(Metric::Lots),
    ];
    Rules {
        unfinished: Unfinished::Skip,
        forfeit_score: 10, // unverified
        ..Rules::new(PointRules::new(2, 1, 0), list)
    }
}

pub(super) fn fih() -> Rules {
    let list = vec![
        overall(Metric::Wins),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        head_to_head(Metric::Points),
        overall(Metric::PlayOff),
    ];
    Rules { forfeit_score: 5, ..Rules::new(PointRules::new(3, 1, 0), list) } // score unverified
}

pub(super) fn wfdf() -> Rules {
    let common = |metric| TieBreaker::new(metric, Scope::CommonOpponents);
    let list = vec![
        head_to_head(Metric::Wins),
        overall(Metric::Forfeits),
        head_to_head(Metric::Difference),
        common(Metric::Difference),
        per_game(head_to_head(Metric::PointsFor)),
        per_game(common(Metric::PointsFor)),
        overall(Metric::Lots),
    ];
    Rules {
        rank_by: Metric::Wins,
        restart: Restart::Each,
        ..Rules::new(PointRules::new(2, 1, 0), list)
    }
}

pub(super) fn usau() -> Rules {
    let list = vec![
        head_to_head(Metric::Wins),
        head_to_head(Metric::Difference),
        TieBreaker::new(Metric::Difference, Scope::OutsideTie),
        overall(Metric::PointsFor),
        overall(Metric::Lots),
    ];
    Rules {
        rank_by: Metric::Wins,
        restart: Restart::Each, // unverified
        ..Rules::new(PointRules::new(2, 1, 0), list)
    }
}

/// The usual order of tie-breakers (unverified): organizers choose their own.
pub(super) fn swiss() -> Rules {
    let points = PointRules { draw: Points::HALF, ..PointRules::new(1, 0, 0) };
    let list = vec![
        TieBreaker { all_met: true, ..head_to_head(Metric::Points) },
        overall(Metric::BuchholzCut1),
        overall(Metric::Buchholz),
        overall(Metric::SonnebornBerger),
        overall(Metric::Wins),
        overall(Metric::Lots),
    ];
    Rules { withdrawal: Withdrawal::Award, ..Rules::new(points, list) }
}
