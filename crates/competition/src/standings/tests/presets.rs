//! The presets.

use kit::string_enum::StringEnum;

use super::*;
use crate::standings::{PRESETS, Restart, RulesError};

#[test]
fn presets_have_unique_keys_and_valid_rules() {
    for (i, preset) in PRESETS.iter().enumerate() {
        assert_eq!(preset.rules().check(), Ok(()), "{}", preset.key);
        assert!(PRESETS[..i].iter().all(|other| other.key != preset.key), "{}", preset.key);
    }
    assert_eq!(preset("unknown"), None);
}

#[test]
fn presets_have_the_restart_mode_of_the_competition() {
    let restart = |key| preset(key).unwrap().restart;
    for key in ["uefa-euro", "fifa-wc-2026"] {
        assert_eq!(restart(key), Restart::Block);
    }
    for key in ["fiba", "euroleague", "wfdf", "nba"] {
        assert_eq!(restart(key), Restart::Each);
    }
    for key in ["rwc", "mls", "nfl"] {
        assert_eq!(restart(key), Restart::Top);
    }
    assert_eq!(restart("ehf"), Restart::None);
}

#[test]
fn names_are_those_of_the_api() {
    assert_eq!(Metric::parse("points_for"), Some(Metric::PointsFor));
    assert_eq!(Metric::parse("goals"), None);
    assert_eq!(Scope::parse("head_to_head"), Some(Scope::HeadToHead));
    assert_eq!(Restart::choices(), "block, each, top, none");
}

#[test]
fn rules_without_meaning_are_rejected() {
    let check = |breaker: TieBreaker| rules(vec![breaker]).check();
    let withdrawn = overall(Metric::Withdrawn);
    assert_eq!(check(withdrawn), Err(RulesError::NotATieBreaker(Metric::Withdrawn)));
    let cap = TieBreaker { cap: Some(0), ..overall(Metric::Difference) };
    assert_eq!(check(cap), Err(RulesError::Cap(Metric::Difference)));
    let cap = TieBreaker { cap: Some(3), ..overall(Metric::Wins) };
    assert_eq!(check(cap), Err(RulesError::Cap(Metric::Wins)));
    let lots = head_to_head(Metric::Lots);
    assert_eq!(check(lots), Err(RulesError::Scope(Metric::Lots, Scope::HeadToHead)));
    let all = overall(Metric::BeatAll);
    assert_eq!(check(all), Err(RulesError::Scope(Metric::BeatAll, Scope::Overall)));
    let rank_by = Rules { rank_by: Metric::Difference, ..rules(vec![]) };
    assert_eq!(rank_by.check(), Err(RulesError::RankBy(Metric::Difference)));
    let many = rules(vec![overall(Metric::Wins); 41]);
    assert_eq!(many.check(), Err(RulesError::TooManyTieBreakers));
}
