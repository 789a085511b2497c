//! Competitions of association football.

use super::super::number::Points;
use super::super::rules::{
    BonusRules, Metric, MultiTeam, PointRules, Restart, Rules, TieBreaker, Unfinished,
};
use super::{capped, head_to_head, only_two, overall, per_game};

/// Three points for a win; a forfeit counts 3–0 (unverified).
pub(super) fn three_points(tie_breakers: Vec<TieBreaker>) -> Rules {
    Rules { forfeit_score: 3, ..Rules::new(PointRules::new(3, 1, 0), tie_breakers) }
}

pub(super) fn fifa_wc_2026() -> Rules {
    let list = vec![
        head_to_head(Metric::Points),
        head_to_head(Metric::Difference),
        head_to_head(Metric::PointsFor),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        overall(Metric::FairPlay),
        overall(Metric::Ranking),
        overall(Metric::Lots),
    ];
    Rules { restart: Restart::Block, ..three_points(list) }
}

pub(super) fn fifa_wc_2010() -> Rules {
    three_points(vec![
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        head_to_head(Metric::Points),
        head_to_head(Metric::Difference),
        head_to_head(Metric::PointsFor),
        overall(Metric::FairPlay),
        overall(Metric::Lots),
    ])
}

pub(super) fn uefa_euro() -> Rules {
    let list = vec![
        head_to_head(Metric::Points),
        head_to_head(Metric::Difference),
        head_to_head(Metric::PointsFor),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        // A shoot-out between two teams that are level after their game in the last round (unverified).
        only_two(overall(Metric::PlayOff)),
        overall(Metric::Wins),
        overall(Metric::FairPlay),
        overall(Metric::Ranking),
        overall(Metric::Lots),
    ];
    Rules { restart: Restart::Block, ..three_points(list) }
}

pub(super) fn afcon() -> Rules {
    let mut rules = uefa_euro();
    rules.tie_breakers.truncate(5);
    rules.tie_breakers.push(overall(Metric::Lots));
    rules
}

pub(super) fn ucl_league_phase() -> Rules {
    three_points(vec![
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        overall(Metric::AwayPointsFor),
        overall(Metric::Wins),
        overall(Metric::AwayWins),
        overall(Metric::OpponentsPoints),
        overall(Metric::OpponentsDifference),
        overall(Metric::OpponentsPointsFor),
        overall(Metric::FairPlay),
        overall(Metric::Coefficient),
    ])
}

/// The title, places in European competitions, and relegation. The number of European places varies by season.
const DECISIVE_PLACES: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 17];

pub(super) fn premier_league() -> Rules {
    let decisive = |breaker| TieBreaker { places: DECISIVE_PLACES.to_vec(), ..breaker };
    three_points(vec![
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        decisive(head_to_head(Metric::Points)),
        decisive(head_to_head(Metric::AwayPointsFor)),
        decisive(overall(Metric::PlayOff)),
    ])
}

pub(super) fn laliga() -> Rules {
    // In two games, the sign of the difference is that of the points.
    let two = vec![
        head_to_head(Metric::Difference),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        overall(Metric::FairPlay),
        overall(Metric::PlayOff), // unverified
    ];
    let mut multi = two.clone();
    multi.insert(0, head_to_head(Metric::Points));
    Rules {
        multi_tie_breakers: Some(multi),
        restart: Restart::Each, // unverified
        unfinished: Unfinished::Skip,
        ..three_points(two)
    }
}

pub(super) fn serie_a() -> Rules {
    // Two teams level for the title or for the last place above relegation play off.
    let play_off = TieBreaker { places: vec![1, 17], ..only_two(overall(Metric::PlayOff)) };
    three_points(vec![
        play_off,
        head_to_head(Metric::Points),
        head_to_head(Metric::Difference),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        overall(Metric::Lots),
    ])
}

pub(super) fn bundesliga() -> Rules {
    let list = vec![
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        head_to_head(Metric::Difference),
        head_to_head(Metric::AwayPointsFor),
        overall(Metric::AwayPointsFor),
        overall(Metric::PlayOff),
    ];
    Rules { unfinished: Unfinished::Share, ..three_points(list) }
}

pub(super) fn ligue_1_2017() -> Rules {
    three_points(vec![
        overall(Metric::Difference),
        head_to_head(Metric::Points),
        head_to_head(Metric::Difference),
        head_to_head(Metric::PointsFor),
        head_to_head(Metric::AwayPointsFor),
        overall(Metric::PointsFor),
        overall(Metric::AwayPointsFor),
        overall(Metric::FairPlay),
        overall(Metric::Lots),
    ])
}

pub(super) fn ligue_1_2025() -> Rules {
    three_points(vec![
        overall(Metric::Difference),
        head_to_head(Metric::Points),
        head_to_head(Metric::Difference),
        overall(Metric::PointsFor),
        overall(Metric::Wins),
        overall(Metric::AwayWins),
        overall(Metric::FairPlay),
        overall(Metric::Lots),
    ])
}

pub(super) fn mls() -> Rules {
    let list = vec![
        overall(Metric::Wins),
        overall(Metric::Difference),
        overall(Metric::PointsFor),
        per_game(overall(Metric::FairPlay)),
        overall(Metric::AwayDifference),
        overall(Metric::AwayPointsFor),
        overall(Metric::HomeDifference),
        overall(Metric::HomePointsFor),
        overall(Metric::Lots),
    ];
    Rules { restart: Restart::Top, ..three_points(list) }
}

fn youth_tie_breakers(cap: u32) -> Vec<TieBreaker> {
    vec![
        head_to_head(Metric::Points),
        capped(Metric::Difference, cap),
        overall(Metric::PointsAgainst),
        capped(Metric::PointsFor, cap),
        overall(Metric::Shutouts),
        // Kicks from the penalty mark.
        overall(Metric::PlayOff),
        overall(Metric::Lots),
    ]
}

/// Events limit the difference to 3, 4 or 5, and vary the order.
pub(super) fn us_youth() -> Rules {
    Rules { multi_team: MultiTeam::Skip, ..three_points(youth_tie_breakers(4)) }
}

pub(super) fn us_youth_10_point() -> Rules {
    // A forfeit is worth the most points that a 3–0 win can have: 6, 3 for goals and 1 for the shutout (unverified).
    let points = PointRules { forfeit_win: Points::new(10), ..PointRules::new(6, 3, 0) };
    Rules {
        bonus: BonusRules { goals: 3, shutout: true, ..BonusRules::default() },
        multi_team: MultiTeam::Skip,
        forfeit_score: 3,
        ..Rules::new(points, youth_tie_breakers(5))
    }
}
