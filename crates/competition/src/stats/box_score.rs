//! Box scores: the recorded values of a game, and checks that find mistakes in them.

use std::collections::BTreeMap;
use std::fmt;

use super::Catalogue;
use super::catalogue::{Rule, ScoreRule};
use super::definition::{Aggregate, Scope, Severity};
use super::settings::Settings;
use super::statistic::Side;
use super::totals::{Evaluation, GAMES_PLAYED, Line, Span};

/// Values as they were sent: not necessarily whole, nor of known statistics.
pub type Values = BTreeMap<String, f64>;

/// The values of a game, before they are checked.
#[derive(Debug, Clone, Default)]
pub struct BoxScore {
    /// The values of each member.
    pub members: Vec<Values>,
    /// The values of the team that are not, or not only, sums of its members' values.
    pub team: Values,
}

/// The final score of a game.
#[derive(Debug, Clone, Copy)]
pub struct Score {
    /// What the team scored.
    pub scored: i64,
    /// What the opponent scored.
    pub conceded: i64,
}

/// The result of checking a box score.
#[derive(Debug, Clone)]
pub struct CheckedBoxScore {
    /// What is wrong or unlikely. Errors come first.
    pub issues: Vec<Issue>,
    /// The valid values of each member.
    pub members: Vec<Line>,
    /// The valid values of the team.
    pub team: Line,
}

impl CheckedBoxScore {
    /// Whether the box score can be saved.
    pub fn is_valid(&self) -> bool {
        self.issues.iter().all(|issue| issue.severity == Severity::Warning)
    }
}

/// Something in a box score that is wrong or unlikely.
#[derive(Debug, Clone, PartialEq)]
pub struct Issue {
    /// Whether the box score can be saved.
    pub severity: Severity,
    /// Whose value it is.
    pub subject: Subject,
    /// Key of the statistic. The first of its formula, if a formula is about several.
    pub statistic: String,
    /// What is wrong.
    pub problem: Problem,
}

/// Whose values an issue is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The member at this index of the box score.
    Member(usize),
    /// The team.
    Team,
}

/// What is wrong with a value of a box score.
#[derive(Debug, Clone, PartialEq)]
pub enum Problem {
    /// The sport has no statistic with this key.
    UnknownKey,
    /// The statistic is calculated, so it cannot be entered.
    Calculated,
    /// The statistic cannot be entered for a member, or for the team.
    WrongScope(Scope),
    /// The value has a fraction, or is not a number.
    NotWhole,
    /// The value is too small.
    TooSmall {
        /// The smallest value.
        min: i64,
    },
    /// The value is too large.
    TooLarge {
        /// The largest value.
        max: i64,
    },
    /// Several values contradict each other.
    Rule {
        /// The formula that should be true, such as `FGM <= FGA`.
        formula: String,
        /// The values of its keys.
        values: Vec<(String, f64)>,
    },
    /// The team has another value than its members together.
    MembersDiffer {
        /// The members' value.
        members: i64,
        /// The team's value.
        team: i64,
    },
    /// The score of the game is another one than that of the box score.
    ScoreDiffers {
        /// Whether it is the score of the opponent.
        conceded: bool,
        /// Formula of the score in the box score.
        formula: String,
        /// Its value.
        total: f64,
        /// The score of the game.
        score: i64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey => f.write_str("unknown statistic"),
            Self::Calculated => f.write_str("calculated, cannot be entered"),
            Self::WrongScope(scope) => write!(f, "only of {scope}"),
            Self::NotWhole => f.write_str("not a whole number"),
            Self::TooSmall { min } => write!(f, "less than {min}"),
            Self::TooLarge { max } => write!(f, "more than {max}"),
            Self::Rule { formula, values } => {
                write!(f, "not {formula}:")?;
                values.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
            }
            Self::MembersDiffer { members, team } => write!(f, "members {members}, team {team}"),
            Self::ScoreDiffers { formula, total, score, .. } => {
                write!(f, "{formula} is {total}, the score {score}")
            }
        }
    }
}

/// Applies changes to stored values. `None` removes a value; values without a change stay.
pub fn merge(values: &mut Values, changes: &BTreeMap<String, Option<f64>>) {
    for (key, change) in changes {
        match change {
            Some(value) => values.insert(key.clone(), *value),
            None => values.remove(key),
        };
    }
}

impl Catalogue {
    /// Checks a box score. `score` is that of a game that has ended on the field; without it, for
    /// example while the game is in progress or after a forfeit, the score is not compared.
    pub fn check(
        &self,
        settings: &Settings,
        box_score: &BoxScore,
        score: Option<Score>,
    ) -> CheckedBoxScore {
        let mut check = Check { catalogue: self, settings, issues: Vec::new() };
        let members: Vec<Line> = box_score
            .members
            .iter()
            .enumerate()
            .map(|(index, values)| check.line(Subject::Member(index), values))
            .collect();
        let team = check.line(Subject::Team, &box_score.team);
        for (index, line) in members.iter().enumerate() {
            check.rules(Subject::Member(index), line, |rule| !rule.only_team);
        }
        check.totals(&members, &team, score);
        let mut issues = check.issues;
        issues.sort_by_key(|issue| issue.severity == Severity::Warning);
        CheckedBoxScore { issues, members, team }
    }
}

struct Check<'a> {
    catalogue: &'a Catalogue,
    settings: &'a Settings,
    issues: Vec<Issue>,
}

impl Check<'_> {
    fn report(&mut self, severity: Severity, subject: Subject, key: &str, problem: Problem) {
        self.issues.push(Issue { severity, subject, statistic: key.to_owned(), problem });
    }

    /// The valid values.
    fn line(&mut self, subject: Subject, values: &Values) -> Line {
        let mut line = Line::new();
        for (key, value) in values {
            match self.value(subject, key, *value) {
                Ok(value) => {
                    line.insert(key.clone(), value);
                }
                Err(problem) => self.report(Severity::Error, subject, key, problem),
            }
        }
        line
    }

    fn value(&self, subject: Subject, key: &str, value: f64) -> Result<i64, Problem> {
        let statistic = self.catalogue.get(key).ok_or(Problem::UnknownKey)?;
        if !statistic.is_entered() {
            return Err(Problem::Calculated);
        }
        if !statistic.applies_to(subject.side()) {
            return Err(Problem::WrongScope(statistic.scope));
        }
        let (min, max) = statistic.range_of(subject.side());
        if value.fract() != 0.0 {
            // Also true of infinity and what is not a number.
            Err(Problem::NotWhole)
        } else if value < min as f64 {
            Err(Problem::TooSmall { min })
        } else if value > max as f64 {
            Err(Problem::TooLarge { max })
        } else {
            Ok(value as i64)
        }
    }

    /// Checks the rules for which all values are known.
    fn rules(&mut self, subject: Subject, line: &Line, applies: impl Fn(&Rule) -> bool) {
        let catalogue = self.catalogue;
        let evaluation =
            Evaluation::new(catalogue, self.settings, subject.side(), Span::Game, line);
        for rule in catalogue.rules().iter().filter(|rule| applies(rule)) {
            let value = |key: &str| match catalogue.index_of(key) {
                Some(index) if catalogue.statistics()[index].is_entered() => {
                    line.get(key).map(|value| *value as f64)
                }
                Some(index) => evaluation.value(index),
                None => self.settings.get(key),
            };
            if rule.formula.evaluate(&value) == Some(0.0) {
                let keys = rule.formula.references().iter().map(|reference| &reference.key);
                let values: Vec<(String, f64)> =
                    keys.filter_map(|key| Some((key.clone(), value(key)?))).collect();
                let key = values.first().map(|(key, _)| key.clone()).unwrap_or_default();
                let problem = Problem::Rule { formula: rule.formula.text().to_owned(), values };
                self.report(rule.severity, subject, &key, problem);
            }
        }
    }

    /// Checks the team's values, those of all members together, and the score.
    fn totals(&mut self, members: &[Line], team: &Line, score: Option<Score>) {
        let catalogue = self.catalogue;
        let sums = catalogue.member_sums(members);
        for (key, value) in team.iter().filter(|(key, _)| *key != GAMES_PLAYED) {
            let added =
                catalogue.get(key).is_some_and(|found| found.over_members == Aggregate::Sum);
            if let Some(sum) = sums.get(key).filter(|sum| added && *sum != value) {
                let problem = Problem::MembersDiffer { members: *sum, team: *value };
                self.report(Severity::Warning, Subject::Team, key, problem);
            }
        }
        let line = catalogue.team_line(members, team);
        // The sums of members follow the rules that each member follows, unless the team has values
        // of its own.
        let has_own_value = |rule: &Rule| {
            rule.formula.references().iter().any(|reference| team.contains_key(&reference.key))
        };
        self.rules(Subject::Team, &line, |rule| rule.only_team || has_own_value(rule));
        if let Some(score) = score {
            self.score(&line, catalogue.scored(), false, score.scored);
            self.score(&line, catalogue.conceded(), true, score.conceded);
        }
    }

    /// Compares the score with the values of the team, if any of them was recorded.
    fn score(&mut self, line: &Line, rule: Option<&ScoreRule>, conceded: bool, score: i64) {
        let Some(ScoreRule { formula, more }) = rule else { return };
        let evaluation =
            Evaluation::new(self.catalogue, self.settings, Side::Team, Span::Game, line);
        let mut keys = formula.references().iter().map(|reference| reference.key.as_str());
        let recorded = |key: &str| {
            self.catalogue.index_of(key).is_some_and(|index| evaluation.value(index).is_some())
        };
        let Some(key) = keys.find(|key| recorded(key)) else { return };
        let Some(total) = evaluation.evaluate(formula) else { return };
        let difference = total - score as f64;
        if difference != 0.0 {
            let severity = if difference > 0.0 { *more } else { Severity::Warning };
            let formula = formula.text().to_owned();
            let problem = Problem::ScoreDiffers { conceded, formula, total, score };
            self.report(severity, Subject::Team, key, problem);
        }
    }
}

impl Subject {
    fn side(self) -> Side {
        match self {
            Self::Member(_) => Side::Member,
            Self::Team => Side::Team,
        }
    }
}
