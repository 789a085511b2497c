//! The values of metrics in each scope.

use super::*;
use crate::standings::Details;

/// The values of the entries of the last tie, in their order. No result has points.
fn values_of(breaker: TieBreaker, entries: &[Entry], games: &[Game]) -> String {
    let mut rules = Rules::new(PointRules::new(0, 0, 0), vec![breaker]);
    rules.top_places = 1;
    let rows = standings(&rules, entries, games);
    let explanations = rows.iter().rev().filter_map(|row| row.explanation.as_ref());
    let mut values = explanations.map(|why| why.values.to_vec()).find(|v| !v.is_empty()).unwrap();
    values.sort_by_key(|(entry, _)| *entry);
    values.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(" ")
}

fn of_all_games(metric: Metric, text: &str) -> String {
    values_of(overall(metric), &entries(3), &games(text))
}

#[test]
fn metrics_count_all_games() {
    let text = "0-1 3:0, 1-2 2:2, 2-0 1:4, 1-0 0:1";
    let value = |metric| of_all_games(metric, text);
    assert_eq!(value(Metric::Wins), "3 0 0");
    assert_eq!(value(Metric::Losses), "0 2 1");
    assert_eq!(value(Metric::Played), "3 3 2");
    assert_eq!(value(Metric::WinPercentage), "1 0.167 0.250");
    assert_eq!(value(Metric::Difference), "7 -4 -3");
    assert_eq!(value(Metric::PointsFor), "8 2 3");
    assert_eq!(value(Metric::PointsAgainst), "1 6 6");
    assert_eq!(value(Metric::Ratio), "8 0.333 0.500");
    assert_eq!(value(Metric::Shutouts), "2 0 0");
    assert_eq!(value(Metric::AwayWins), "2 0 0");
    assert_eq!(value(Metric::AwayPointsFor), "5 0 2");
    assert_eq!(value(Metric::AwayDifference), "4 -3 0");
    assert_eq!(value(Metric::HomePointsFor), "3 2 1");
    assert_eq!(value(Metric::HomeDifference), "3 -1 -3");
    assert_eq!(value(Metric::RatioSum), "8 1 1.250");
}

#[test]
fn metrics_weigh_opponents() {
    let text = "0-1 3:0, 1-2 2:2, 2-0 1:4, 1-0 0:1";
    let value = |metric| of_all_games(metric, text);
    assert_eq!(value(Metric::OpponentsDifference), "-11 11 3");
    assert_eq!(value(Metric::OpponentsPointsFor), "7 19 10");
    // 0 beat 1 twice (half a win in three games) and 2 (half a win in two games).
    assert_eq!(value(Metric::StrengthOfVictory), "0.188 0 0");
    assert_eq!(value(Metric::StrengthOfSchedule), "0.188 0.813 0.583");
    // First in both; third and second; second in both, as 1 and 2 conceded as much.
    assert_eq!(value(Metric::CombinedRank), "2 5 4");
}

#[test]
fn a_neutral_venue_is_neither_home_nor_away() {
    let mut played = games("0-1 3:0, 1-2 2:2, 2-0 1:4");
    played[2].neutral = true;
    let away = overall(Metric::AwayPointsFor);
    assert_eq!(values_of(away, &entries(3), &played), "0 0 2");
}

#[test]
fn scopes_limit_the_opponents() {
    // Divisions 1 and 2 are conference 1, division 3 is conference 2.
    let mut entries = entries(5);
    for (entry, (division, conference)) in
        entries.iter_mut().zip([(1, 1), (1, 1), (2, 1), (3, 2), (3, 2)])
    {
        (entry.division, entry.conference) = (Some(division), Some(conference));
    }
    // The best of each conference are 0 and 3. The others are level.
    for best in [0, 3] {
        entries[best].adjustment = Points::new(1);
    }
    let played = games("0-1 1:0, 0-2 2:0, 1-2 4:0, 0-3 8:0, 1-3 16:0, 2-4 32:0, 4-3 64:0");
    let value = |scope| values_of(TieBreaker::new(Metric::Difference, scope), &entries, &played);
    assert_eq!(value(Scope::Overall), "19 26 32");
    assert_eq!(value(Scope::HeadToHead), "4 28 -32");
    assert_eq!(value(Scope::Division), "-1 0 64");
    assert_eq!(value(Scope::Conference), "3 -6 64");
    assert_eq!(value(Scope::OtherDivisions), "4 -6 0");
    assert_eq!(value(Scope::ConferenceTop), "-1 -2 64");
    assert_eq!(value(Scope::OtherConferenceTop), "16 0 0");
    assert_eq!(value(Scope::OutsideTie), "15 -2 64");
    assert_eq!(value(Scope::BestOutsideTie), "15 -2 64");
}

#[test]
fn details_are_added_up() {
    let details = |tries, set_points, balls, wickets| Details {
        tries,
        set_points,
        balls,
        wickets,
        fair_play: -tries,
    };
    let mut played = games("0-1 1:1, 0-1 1:1");
    played[0].details = Pair::new(details(4, 75, 120, 2), details(1, 60, 120, 10));
    played[1].details = Pair::new(details(2, 75, 120, 4), details(2, 40, 60, 5));
    let value = |metric| values_of(overall(metric), &entries(2), &played);
    assert_eq!(value(Metric::Tries), "6 3");
    assert_eq!(value(Metric::TryDifference), "3 -3");
    assert_eq!(value(Metric::SetPointRatio), "1.500 0.667");
    assert_eq!(value(Metric::WicketsPerBall), "0.083 0.025");
    assert_eq!(value(Metric::FairPlay), "-6 -3");
}

#[test]
fn a_team_that_beat_or_lost_to_all_others_is_found() {
    let text = "0-1 1:0, 0-1 1:0, 1-0 1:0, 0-2 1:0, 1-2 1:0";
    let value = |metric| values_of(head_to_head(metric), &entries(3), &games(text));
    assert_eq!(value(Metric::BeatAll), "1 0 0");
    assert_eq!(value(Metric::LostToAll), "0 0 1");
}
