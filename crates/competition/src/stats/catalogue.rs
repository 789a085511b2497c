//! Catalogues: all statistics of a sport, with those of the account.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use kit::string_enum::StringEnum;

use super::definition::{RuleRow, ScoreRow, Severity, SportDefinition};
use super::dependencies::{Dependencies, StatisticFault};
use super::formula::{Formula, FormulaFault};
use super::settings::Settings;
use super::sport::Sport;
use super::statistic::Statistic;

/// The statistics of a sport. The formulas have no unknown keys and no cycles.
#[derive(Debug, Clone)]
pub struct Catalogue {
    sport: &'static SportDefinition,
    statistics: Vec<Statistic>,
    index: HashMap<String, usize>,
    dependencies: Dependencies,
    rules: Vec<Rule>,
    scored: Option<ScoreRule>,
    conceded: Option<ScoreRule>,
}

/// A formula that must be true for the values of a box score.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) formula: Formula,
    pub(super) severity: Severity,
    pub(super) only_team: bool,
}

/// A formula whose value is the score.
#[derive(Debug, Clone)]
pub(super) struct ScoreRule {
    pub(super) formula: Formula,
    pub(super) more: Severity,
}

static BUILT_IN: LazyLock<Vec<Catalogue>> = LazyLock::new(|| {
    Sport::ALL.iter().map(|(sport, _)| Catalogue::build(sport.definition())).collect()
});

impl Catalogue {
    /// The built-in statistics of a sport.
    pub fn of(sport: Sport) -> &'static Self {
        // `ALL` has the variants in the order of their declaration.
        &BUILT_IN[sport as usize]
    }

    fn build(sport: &'static SportDefinition) -> Self {
        let statistics = sport
            .groups
            .iter()
            .flat_map(|group| group.rows.iter().map(|row| Statistic::built_in(group, row)))
            .collect::<Result<Vec<_>, _>>()
            .expect("tests parse all built-in formulas");
        let rules = sport.rules.iter().map(Rule::parse).collect::<Result<_, _>>();
        let score = |row: Option<ScoreRow>| row.as_ref().map(ScoreRule::parse).transpose();
        let mut catalogue = Self {
            sport,
            statistics: Vec::new(),
            index: HashMap::new(),
            dependencies: Dependencies::default(),
            rules: rules.expect("tests parse all rules"),
            scored: score(sport.scored).expect("tests parse all rules"),
            conceded: score(sport.conceded).expect("tests parse all rules"),
        };
        catalogue.add(statistics).expect("tests build all catalogues");
        catalogue
    }

    /// Adds statistics, whose keys are new, and decides in which order all are calculated.
    pub(super) fn add(&mut self, added: Vec<Statistic>) -> Result<(), Vec<StatisticFault>> {
        for statistic in added {
            self.index.insert(statistic.key.to_string(), self.statistics.len());
            self.statistics.push(statistic);
        }
        let sport = self.sport;
        let is_setting = |key: &str| sport.setting(key).is_some();
        self.dependencies = Dependencies::resolve(&mut self.statistics, &self.index, &is_setting)?;
        Ok(())
    }

    /// The sport.
    pub fn sport(&self) -> Sport {
        self.sport.sport
    }

    /// What is built in for the sport: positions, periods, settings and groups.
    pub fn definition(&self) -> &'static SportDefinition {
        self.sport
    }

    /// All statistics, in the order in which they are shown.
    pub fn statistics(&self) -> &[Statistic] {
        &self.statistics
    }

    /// The statistic with this key.
    pub fn get(&self, key: &str) -> Option<&Statistic> {
        self.index.get(key).map(|index| &self.statistics[*index])
    }

    /// The settings of the sport, with their defaults.
    pub fn default_settings(&self) -> Settings {
        Settings::new(self.sport.settings)
    }

    pub(super) fn index_of(&self, key: &str) -> Option<usize> {
        self.index.get(key).copied()
    }

    /// Indices of the calculated statistics; each is after those that its formula needs.
    pub(super) fn order(&self) -> &[usize] {
        &self.dependencies.order
    }

    /// Indices of the entered statistics from which this one is calculated.
    pub(super) fn inputs(&self, index: usize) -> &BTreeSet<usize> {
        &self.dependencies.inputs[index]
    }

    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(super) fn scored(&self) -> Option<&ScoreRule> {
        self.scored.as_ref()
    }

    pub(super) fn conceded(&self) -> Option<&ScoreRule> {
        self.conceded.as_ref()
    }
}

impl Rule {
    fn parse(row: &RuleRow) -> Result<Self, FormulaFault> {
        let RuleRow { severity, only_team, .. } = *row;
        Ok(Self { formula: Formula::parse(row.formula)?, severity, only_team })
    }
}

impl ScoreRule {
    fn parse(row: &ScoreRow) -> Result<Self, FormulaFault> {
        Ok(Self { formula: Formula::parse(row.formula)?, more: row.more })
    }
}

#[cfg(test)]
mod tests {
    use kit::string_enum::StringEnum;

    use super::{Catalogue, Formula, Rule, Sport};
    use crate::stats::Scope;

    /// Whose statistics the formula needs. A rule with an unknown key would never be broken.
    fn scopes(catalogue: &Catalogue, formula: &Formula) -> Vec<Scope> {
        let statistic = |key: &str| match catalogue.get(key) {
            Some(statistic) => Some(statistic.scope),
            None if catalogue.definition().setting(key).is_some() => None,
            None => panic!("{key} of {}", catalogue.sport()),
        };
        formula.references().iter().filter_map(|reference| statistic(&reference.key)).collect()
    }

    #[test]
    fn rules_are_about_members_or_the_team() {
        for (sport, _) in Sport::ALL {
            let catalogue = Catalogue::of(*sport);
            assert!(catalogue.rules().len() >= 3, "{sport}");
            for Rule { formula, only_team, .. } in catalogue.rules() {
                let scopes = scopes(catalogue, formula);
                let other = if *only_team || scopes.contains(&Scope::Team) {
                    Scope::Member
                } else {
                    Scope::Team
                };
                assert!(!scopes.contains(&other), "{}", formula.text());
            }
        }
    }

    #[test]
    fn scores_are_those_of_the_team() {
        for (sport, _) in Sport::ALL {
            let catalogue = Catalogue::of(*sport);
            for rule in catalogue.scored().into_iter().chain(catalogue.conceded()) {
                assert!(!scopes(catalogue, &rule.formula).contains(&Scope::Member), "{sport}");
            }
        }
    }

    /// Rules are true if nothing happened, so that a box score of zeros can be saved.
    #[test]
    fn zeros_break_no_rule() {
        for (sport, _) in Sport::ALL {
            let catalogue = Catalogue::of(*sport);
            let settings = catalogue.default_settings();
            for rule in catalogue.rules() {
                let zero = |key: &str| Some(settings.get(key).unwrap_or(0.0));
                assert_eq!(rule.formula.evaluate(&zero), Some(1.0), "{}", rule.formula.text());
            }
        }
    }
}
