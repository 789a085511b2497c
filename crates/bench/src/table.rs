//! The result table: one line per measurement, with a column group per database.

use std::fmt;
use std::time::Duration;

use crate::stats::{Measurement, Rounds};

/// Whether a measurement meets its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetResult {
    Target(bool),
    /// No target of its own; compared for orientation and shown in parentheses.
    Reference(bool),
    NoTarget,
}

impl fmt::Display for TargetResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Target(true) => "yes",
            Self::Target(false) => "**no**",
            Self::Reference(true) => "(yes)",
            Self::Reference(false) => "(no)",
            Self::NoTarget => "",
        })
    }
}

/// One measurement on one database.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) target: &'static str,
    pub(crate) result: String,
    pub(crate) baseline: String,
    pub(crate) ratio: String,
    pub(crate) verdict: TargetResult,
}

impl Row {
    /// A row that compares two rates.
    pub(crate) fn compare_rates(name: impl Into<String>, ours: &Rounds, baseline: &Rounds) -> Self {
        let ratio = ours.rate_ratio(baseline);
        let (ours, baseline) = (ours.median(), baseline.median());
        Self {
            name: name.into(),
            target: "",
            result: format_measurement(&ours),
            baseline: format!("{}, {}", per_second(&baseline), millis(baseline.p99)),
            ratio: format!("{ratio:.2}"),
            verdict: TargetResult::NoTarget,
        }
    }
}

/// Rate, median and 99th percentile.
fn format_measurement(measured: &Measurement) -> String {
    let p50 = measured.p50.as_secs_f64() * 1e3;
    format!("{}, {p50:.2} / {}", per_second(measured), millis(measured.p99))
}

fn per_second(measured: &Measurement) -> String {
    format!("{}/s", thousands(measured.per_second))
}

pub(crate) fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// A whole number with a comma after every three digits.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let with_comma = |(index, digit): (usize, char)| {
        let needs_comma = index > 0 && (digits.len() - index).is_multiple_of(3);
        [needs_comma.then_some(','), Some(digit)].into_iter().flatten()
    };
    digits.chars().enumerate().flat_map(with_comma).collect()
}

/// All rows in order; rows with the same name share a line. Each line has the rows of SQLite and PostgreSQL.
#[derive(Debug, Default)]
pub(crate) struct Table {
    lines: Vec<(Option<Row>, Option<Row>)>,
}

impl Table {
    /// Adds rows. A row with a new name goes after the row before it.
    pub(crate) fn add(&mut self, sqlite: bool, rows: Vec<Row>) {
        let mut next = self.lines.len();
        for row in rows {
            let existing = self.lines.iter().position(|(one, other)| {
                one.as_ref().or(other.as_ref()).is_some_and(|line| line.name == row.name)
            });
            let index = existing.unwrap_or_else(|| {
                self.lines.insert(next, (None, None));
                next
            });
            let (one, other) = &mut self.lines[index];
            *(if sqlite { one } else { other }) = Some(row);
            next = index + 1;
        }
    }

    /// The number of targets met, and the number of targets.
    pub(crate) fn count_targets(&self) -> (usize, usize) {
        let rows = self.lines.iter().flat_map(|(one, other)| [one, other]).flatten();
        let targets: Vec<_> =
            rows.filter(|row| matches!(row.verdict, TargetResult::Target(_))).collect();
        let met = targets.iter().filter(|row| row.verdict == TargetResult::Target(true));
        (met.count(), targets.len())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "| Measurement | Target | SQLite: rate, p50 / p99 | Baseline | Ratio | Met \
             | PostgreSQL: rate, p50 / p99 | Baseline | Ratio | Met |\n\
             |---|---|---|---|---|---|---|---|---|---|\n",
        )?;
        for (one, other) in &self.lines {
            let either = one.as_ref().or(other.as_ref());
            let name = either.map_or("", |row| row.name.as_str());
            write!(f, "| {name} | {} |", target_text(one.as_ref(), other.as_ref()))?;
            for row in [one, other] {
                match row {
                    Some(row) => {
                        write!(
                            f,
                            " {} | {} | {} | {} |",
                            row.result, row.baseline, row.ratio, row.verdict
                        )?;
                    }
                    None => f.write_str(" | | | |")?,
                }
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

/// The target; both targets if the databases have different ones.
fn target_text(one: Option<&Row>, other: Option<&Row>) -> String {
    match (one, other) {
        (Some(one), Some(other)) if one.target != other.target => {
            format!("{}; PostgreSQL {}", one.target, other.target)
        }
        (Some(row), _) | (_, Some(row)) => row.target.to_owned(),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_separators() {
        let formatted = [0.4, 999.0, 1000.0, 43_465.0, 1_234_567.0].map(thousands);
        assert_eq!(formatted, ["0", "999", "1,000", "43,465", "1,234,567"]);
    }

    #[test]
    fn rows_with_the_same_name_share_a_line() {
        let row = |name: &str, target, met| Row {
            name: name.to_owned(),
            target,
            result: "1/s".to_owned(),
            baseline: "2/s".to_owned(),
            ratio: "0.50".to_owned(),
            verdict: TargetResult::Target(met),
        };
        let mut table = Table::default();
        table.add(true, vec![row("write", "≥ 20", true), row("memory", "", true)]);
        table.add(false, vec![row("write", "≥ 5", false), row("accounts", "≥ 1", true)]);
        let text = table.to_string();
        let lines: Vec<_> = text.lines().collect();
        let write =
            "| write | ≥ 20; PostgreSQL ≥ 5 | 1/s | 2/s | 0.50 | yes | 1/s | 2/s | 0.50 | **no** |";
        assert_eq!(lines[2], write);
        assert_eq!(lines[3], "| accounts | ≥ 1 | | | | | 1/s | 2/s | 0.50 | yes |");
        let columns = |line: &str| line.matches('|').count();
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])));
        assert!(lines[4].starts_with("| memory |"));
        assert_eq!(table.count_targets(), (3, 4));
    }
}
