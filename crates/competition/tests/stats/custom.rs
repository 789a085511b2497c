//! Statistics that an account defines.

use competition::stats::formula::FormulaProblem;
use competition::stats::{
    Catalogue, CustomProblem, CustomStatistic, Format, Kind, MAX_CUSTOM, ReferenceProblem, Scope,
    Side, Sport,
};

use crate::season;

fn custom(key: &str, formula: &str) -> CustomStatistic {
    CustomStatistic {
        key: key.to_owned(),
        name: format!("Name of {key}"),
        abbreviation: "X".to_owned(),
        group: "field".to_owned(),
        kind: Kind::Game,
        formula: Some(formula.to_owned()),
        format: Format::Number,
        precision: 2,
        higher_is_better: true,
    }
}

fn soccer(list: &[CustomStatistic]) -> Result<Catalogue, Vec<(usize, CustomProblem)>> {
    Catalogue::of(Sport::Soccer)
        .with_custom(list)
        .map_err(|faults| faults.into_iter().map(|fault| (fault.index, fault.problem)).collect())
}

/// The only problem of the list.
fn problem(list: &[CustomStatistic]) -> (usize, CustomProblem) {
    let mut problems = soccer(list).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

fn reference(position: usize, problem: ReferenceProblem) -> CustomProblem {
    CustomProblem::Reference { position, problem }
}

#[test]
fn formulas_use_built_in_and_custom_statistics_in_any_order() {
    let mut nutmegs = custom("NUTMEGS", "");
    nutmegs.kind = Kind::Entered;
    nutmegs.formula = None;
    let list = [
        custom("FUN_GP", "FUN / GP"),
        custom("FUN", "PTS + 3 * NUTMEGS + MATCH_MINUTES"),
        nutmegs,
        custom("PER_SHOT", "if(SH >= 3, G / SH, null)"),
    ];
    let catalogue = soccer(&list).unwrap();
    let values = season(&catalogue, Side::Member, &["G 1, NUTMEGS 2", "A 1, SH 2"]);
    assert_eq!(values["FUN"], Some(3.0 + 6.0 + 90.0));
    assert_eq!(values["FUN_GP"], Some(49.5));
    assert_eq!(values["PER_SHOT"], None);
    assert!(catalogue.get("FUN").unwrap().custom);
    assert!(!catalogue.get("PTS").unwrap().custom);
    // The catalogue of other accounts is the same as before.
    assert!(Catalogue::of(Sport::Soccer).get("FUN").is_none());
}

#[test]
fn times_can_be_as_long_as_built_in_ones() {
    let mut bench = custom("BENCH", "");
    (bench.kind, bench.formula, bench.format) = (Kind::Entered, None, Format::Time);
    let catalogue = soccer(&[bench]).unwrap();
    let range = |key| catalogue.get(key).unwrap().range;
    assert_eq!(range("BENCH"), range("SECONDS"));
}

#[test]
fn the_scope_is_that_of_the_keys() {
    let catalogue = soccer(&[custom("CK_GP", "CK / GP"), custom("G_MIN", "G / SECONDS")]).unwrap();
    assert_eq!(catalogue.get("CK_GP").unwrap().scope, Scope::Team);
    assert_eq!(catalogue.get("G_MIN").unwrap().scope, Scope::Member);
    let values = season(&catalogue, Side::Team, &["CK 7", "CK 4"]);
    assert_eq!(values["CK_GP"], Some(5.5));
    assert!(!season(&catalogue, Side::Member, &["G 1"]).contains_key("CK_GP"));
}

#[test]
fn unknown_keys_are_errors_with_a_position() {
    let unknown = ReferenceProblem::UnknownKey("XYZ".into());
    assert_eq!(problem(&[custom("FUN", "G + XYZ")]), (0, reference(4, unknown)));
}

#[test]
fn syntax_errors_have_a_position() {
    let (index, problem) = problem(&[custom("OK", "G"), custom("FUN", "G + (A")]);
    assert_eq!((index, problem.position()), (1, Some(6)));
    let CustomProblem::Syntax(fault) = problem else { panic!("{problem:?}") };
    assert_eq!(fault.problem, FormulaProblem::UnexpectedEnd);
}

#[test]
fn cycles_are_errors_with_their_path() {
    let cycle =
        |path: &[&str]| ReferenceProblem::Cycle(path.iter().map(|key| (*key).to_owned()).collect());
    let own = problem(&[custom("X", "1 + X")]);
    assert_eq!(own, (0, reference(4, cycle(&["X", "X"]))));
    let list = [custom("X", "G + Y"), custom("Y", "Z * 2"), custom("Z", "min(G, X)")];
    assert_eq!(problem(&list), (2, reference(7, cycle(&["Z", "X", "Y", "Z"]))));
    assert_eq!(
        problem(&list).1.to_string(),
        "The formula depends on itself: Z → X → Y → Z. (position 7)"
    );
}

#[test]
fn a_statistic_that_needs_a_cycle_is_not_in_it() {
    let list = [custom("V", "X"), custom("X", "Y"), custom("Y", "X")];
    let (index, problem) = problem(&list);
    assert_eq!(index, 2);
    let CustomProblem::Reference { problem: ReferenceProblem::Cycle(path), .. } = problem else {
        panic!("{problem:?}")
    };
    assert_eq!(path, ["Y", "X", "Y"]);
}

#[test]
fn a_game_has_no_statistics_of_a_season() {
    let season = ReferenceProblem::SeasonInGame("G_GP".into());
    assert_eq!(problem(&[custom("FUN", "2 * G_GP")]), (0, reference(4, season)));
    let mut list = [custom("FUN", "2 * G_GP")];
    list[0].kind = Kind::Season;
    assert!(soccer(&list).is_ok());
}

#[test]
fn members_and_teams_do_not_mix() {
    let mixed = ReferenceProblem::MixedScopes("CK".into());
    assert_eq!(problem(&[custom("FUN", "SECONDS + CK")]), (0, reference(10, mixed)));
}

#[test]
fn fields_are_checked() {
    let changed = |change: fn(&mut CustomStatistic)| {
        let mut statistic = custom("FUN", "G");
        change(&mut statistic);
        problem(&[statistic]).1
    };
    assert_eq!(changed(|s| s.key = "fun".into()), CustomProblem::InvalidKey);
    assert_eq!(changed(|s| s.key = "1".into()), CustomProblem::InvalidKey);
    assert_eq!(changed(|s| s.key = "X".repeat(25)), CustomProblem::InvalidKey);
    assert_eq!(changed(|s| s.key = "G".into()), CustomProblem::BuiltInKey);
    assert_eq!(changed(|s| s.key = "PTS".into()), CustomProblem::BuiltInKey);
    assert_eq!(changed(|s| s.key = "MATCH_MINUTES".into()), CustomProblem::SettingKey);
    assert_eq!(changed(|s| s.name = " ".into()), CustomProblem::InvalidName);
    assert_eq!(changed(|s| s.name = "x".repeat(61)), CustomProblem::InvalidName);
    assert_eq!(changed(|s| s.abbreviation = String::new()), CustomProblem::InvalidAbbreviation);
    assert_eq!(changed(|s| s.group = "batting".into()), CustomProblem::UnknownGroup);
    assert_eq!(changed(|s| s.precision = 7), CustomProblem::PrecisionTooLarge);
    assert_eq!(changed(|s| s.formula = None), CustomProblem::FormulaRequired);
    assert_eq!(changed(|s| s.kind = Kind::Entered), CustomProblem::FormulaNotAllowed);
    let twice = [custom("FUN", "G"), custom("FUN", "A")];
    assert_eq!(problem(&twice), (1, CustomProblem::DuplicateKey));
}

#[test]
fn chains_are_long_but_bounded() {
    let chain = |length: usize| -> Vec<CustomStatistic> {
        let formula = |number: usize| match number {
            0 => "G + 10".to_owned(),
            _ => format!("C{} * C{}", number - 1, number - 1),
        };
        (0..length).rev().map(|number| custom(&format!("C{number}"), &formula(number))).collect()
    };
    let catalogue = soccer(&chain(MAX_CUSTOM)).unwrap();
    let values = season(&catalogue, Side::Member, &["G 0"]);
    assert_eq!(values["C3"], Some(1e8));
    // 10^512 is not a number that can be shown.
    assert_eq!(values["C9"], None);
    assert_eq!(values["C99"], None);
    assert_eq!(problem(&chain(MAX_CUSTOM + 1)), (MAX_CUSTOM, CustomProblem::TooMany));
}

#[test]
fn all_faulty_statistics_are_reported() {
    let list = [custom("V", "G +"), custom("g", "G"), custom("X", "G")];
    assert_eq!(soccer(&list).unwrap_err().len(), 2);
    let list = [custom("V", "UNKNOWN"), custom("X", "OTHER + G"), custom("U", "G")];
    assert_eq!(soccer(&list).unwrap_err().len(), 2);
}
