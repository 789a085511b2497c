//! The built-in catalogues.

use std::collections::BTreeSet;

use competition::stats::formula::is_key;
use competition::stats::{Catalogue, Kind, Scope, SettingFault, Sport};
use kit::string_enum::StringEnum;

fn catalogues() -> impl Iterator<Item = &'static Catalogue> {
    Sport::ALL.iter().map(|(sport, _)| Catalogue::of(*sport))
}

#[test]
fn every_sport_has_a_catalogue() {
    for (sport, _) in Sport::ALL {
        assert_eq!(Catalogue::of(*sport).sport(), *sport);
        assert_eq!(sport.definition().sport, *sport);
    }
    assert_eq!(Sport::ALL.len(), 17);
}

#[test]
fn keys_are_unique_and_valid() {
    for catalogue in catalogues() {
        let sport = catalogue.sport();
        let mut keys = BTreeSet::new();
        let settings = catalogue.definition().settings.iter().map(|setting| setting.key);
        let statistics = catalogue.statistics().iter().map(|statistic| statistic.key.as_ref());
        for key in settings.chain(statistics) {
            assert!(is_key(key), "{sport} {key}");
            assert!(keys.insert(key), "{sport} {key} twice");
        }
        assert!(keys.contains("GP"), "{sport}");
    }
}

#[test]
fn texts_are_short_and_plain() {
    for statistic in catalogues().flat_map(Catalogue::statistics) {
        let (name, abbreviation) = (statistic.name.as_ref(), statistic.abbreviation.as_ref());
        assert!(name.len() <= 50 && name.starts_with(char::is_uppercase), "{name}");
        assert!(!name.ends_with('.') && !name.contains("  "), "{name}");
        assert!(abbreviation.len() <= 9 && !abbreviation.contains('_'), "{abbreviation}");
    }
}

#[test]
fn names_are_unique_within_a_group() {
    for catalogue in catalogues() {
        let mut names = BTreeSet::new();
        for statistic in catalogue.statistics() {
            let name = (&statistic.group, &statistic.name);
            assert!(names.insert(name), "{} {name:?}", catalogue.sport());
        }
    }
}

#[test]
fn formulas_belong_to_calculated_statistics() {
    for statistic in catalogues().flat_map(Catalogue::statistics) {
        let entered = statistic.kind == Kind::Entered;
        assert_eq!(statistic.formula.is_none(), entered, "{}", statistic.key);
        assert!(statistic.range.0 <= 0 && statistic.range.1 >= 1);
    }
}

#[test]
fn groups_have_entered_columns_and_known_positions() {
    for catalogue in catalogues() {
        let definition = catalogue.definition();
        let codes: Vec<&str> = definition.positions.iter().map(|(code, _)| *code).collect();
        for group in definition.groups {
            assert!(!group.columns.is_empty(), "{}", group.key);
            for key in group.columns {
                let statistic = catalogue.get(key).unwrap();
                assert!(statistic.is_entered(), "{} {key}", catalogue.sport());
                let of_team = definition.group(&statistic.group).unwrap().key == "team";
                assert_eq!(of_team, group.key == "team");
            }
            assert!(group.positions.iter().all(|code| codes.contains(code)), "{}", group.key);
            assert!(catalogue.statistics().iter().any(|statistic| statistic.group == group.key));
        }
    }
}

#[test]
fn minimums_are_of_statistics_of_members() {
    for catalogue in catalogues() {
        for statistic in catalogue.statistics() {
            if let Some(minimum) = statistic.minimum {
                let needed = catalogue.get(minimum.key).unwrap();
                assert_ne!(needed.scope, Scope::Team);
                assert!(minimum.per_team_game > 0.0);
            }
        }
    }
}

#[test]
fn the_scope_of_a_formula_is_that_of_its_keys() {
    let scope = |sport, key| Catalogue::of(sport).get(key).unwrap().scope;
    assert_eq!(scope(Sport::IceHockey, "PP_PCT"), Scope::Team);
    assert_eq!(scope(Sport::IceHockey, "GAA"), Scope::Both);
    assert_eq!(scope(Sport::Soccer, "G_90"), Scope::Member);
    assert_eq!(scope(Sport::Basketball, "DD"), Scope::Member);
    assert_eq!(scope(Sport::Basketball, "FG_PCT"), Scope::Both);
}

#[test]
fn settings_have_defaults_and_limits() {
    for catalogue in catalogues() {
        for (setting, value) in catalogue.default_settings().iter() {
            assert!((setting.min..=setting.max).contains(&value), "{}", setting.key);
        }
    }
    let mut settings = Catalogue::of(Sport::Baseball).default_settings();
    assert_eq!(settings.get("GAME_INNINGS"), Some(9.0));
    assert_eq!(settings.set("GAME_INNINGS", 6.0), Ok(()));
    assert_eq!(settings.get("GAME_INNINGS"), Some(6.0));
    let out_of_range = Err(SettingFault::OutOfRange { min: 1.0, max: 15.0 });
    assert_eq!(settings.set("GAME_INNINGS", 0.0), out_of_range);
    assert_eq!(settings.set("GAME_INNINGS", f64::NAN), out_of_range);
    assert_eq!(settings.set("GAME_MINUTES", 60.0), Err(SettingFault::UnknownKey));
}
