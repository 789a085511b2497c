//! The one table: a line for everything measured, both databases beside each other.

use std::fmt;
use std::time::Duration;

use crate::figures::{Measured, Rounds};

/// Whether what was asked for is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Asked(bool),
    /// Nobody asked for this one; shown in brackets, for comparison.
    Shown(bool),
    Nothing,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked(true) => "yes",
            Self::Asked(false) => "**no**",
            Self::Shown(true) => "(yes)",
            Self::Shown(false) => "(no)",
            Self::Nothing => "",
        })
    }
}

/// One thing that was measured on one database.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) ask: &'static str,
    pub(crate) us: String,
    pub(crate) against: String,
    pub(crate) ratio: String,
    pub(crate) verdict: Verdict,
}

impl Row {
    /// A line of rates, ours and the other's.
    pub(crate) fn of_rates(name: impl Into<String>, ours: &Rounds, other: &Rounds) -> Self {
        let rate = ours.rate_against(other);
        let (ours, other) = (ours.median(), other.median());
        Self {
            name: name.into(),
            ask: "",
            us: shown(&ours),
            against: format!("{}, {}", per_second(&other), millis(other.p99)),
            ratio: format!("{rate:.2}"),
            verdict: Verdict::Nothing,
        }
    }
}

/// Rate, median and 99th percentile.
fn shown(measured: &Measured) -> String {
    let p50 = measured.p50.as_secs_f64() * 1e3;
    format!("{}, {p50:.2} / {}", per_second(measured), millis(measured.p99))
}

fn per_second(measured: &Measured) -> String {
    format!("{}/s", thousands(measured.per_second))
}

pub(crate) fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// A whole number with a comma after every three digits.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let comma = |(at, digit): (usize, char)| {
        let due = at > 0 && (digits.len() - at).is_multiple_of(3);
        [due.then_some(','), Some(digit)].into_iter().flatten()
    };
    digits.chars().enumerate().flat_map(comma).collect()
}

/// All rows in the order they came, those of the same name in one line.
#[derive(Debug, Default)]
pub(crate) struct Table {
    lines: Vec<(Option<Row>, Option<Row>)>,
}

impl Table {
    /// A row of a new name stands behind the row that came before it.
    pub(crate) fn add(&mut self, sqlite: bool, rows: Vec<Row>) {
        let mut next = self.lines.len();
        for row in rows {
            let known = self.lines.iter().position(|(one, other)| {
                one.as_ref().or(other.as_ref()).is_some_and(|known| known.name == row.name)
            });
            let at = known.unwrap_or_else(|| {
                self.lines.insert(next, (None, None));
                next
            });
            let (one, other) = &mut self.lines[at];
            *(if sqlite { one } else { other }) = Some(row);
            next = at + 1;
        }
    }

    /// How many asks were met, of how many.
    pub(crate) fn score(&self) -> (usize, usize) {
        let rows = self.lines.iter().flat_map(|(one, other)| [one, other]).flatten();
        let asked: Vec<_> = rows.filter(|row| matches!(row.verdict, Verdict::Asked(_))).collect();
        let met = asked.iter().filter(|row| row.verdict == Verdict::Asked(true));
        (met.count(), asked.len())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "| | ask | SQLite: rate, p50 / p99 | against | ratio | met \
             | PostgreSQL: rate, p50 / p99 | against | ratio | met |\n\
             |---|---|---|---|---|---|---|---|---|---|\n",
        )?;
        for (one, other) in &self.lines {
            let either = one.as_ref().or(other.as_ref());
            let name = either.map_or("", |row| row.name.as_str());
            write!(f, "| {name} | {} |", ask(one.as_ref(), other.as_ref()))?;
            for row in [one, other] {
                match row {
                    Some(row) => {
                        write!(
                            f,
                            " {} | {} | {} | {} |",
                            row.us, row.against, row.ratio, row.verdict
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

/// The ask, told apart where the databases are asked for different things.
fn ask(one: Option<&Row>, other: Option<&Row>) -> String {
    match (one, other) {
        (Some(one), Some(other)) if one.ask != other.ask => {
            format!("{}; PostgreSQL {}", one.ask, other.ask)
        }
        (Some(row), _) | (_, Some(row)) => row.ask.to_owned(),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        let shown = [0.4, 999.0, 1000.0, 43_465.0, 1_234_567.0].map(thousands);
        assert_eq!(shown, ["0", "999", "1,000", "43,465", "1,234,567"]);
    }

    #[test]
    fn rows_of_one_name_share_a_line() {
        let row = |name: &str, ask, met| Row {
            name: name.to_owned(),
            ask,
            us: "1/s".to_owned(),
            against: "2/s".to_owned(),
            ratio: "0.50".to_owned(),
            verdict: Verdict::Asked(met),
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
        assert_eq!(table.score(), (3, 4));
    }
}
