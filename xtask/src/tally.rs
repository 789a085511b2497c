//! How many checks passed and failed, read from what the runners say at their end.

use std::fmt;
use std::ops::AddAssign;

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

impl Tally {
    /// One check that passed or failed as a whole.
    pub(crate) fn one(ok: bool) -> Self {
        Self { passed: u32::from(ok), failed: u32::from(!ok) }
    }

    /// Reads `Summary [ 1.2s] 9 tests run: 7 passed (1 slow), 1 failed, 1 timed out, 3 skipped`.
    pub(crate) fn of_nextest(lines: &[String]) -> Self {
        let mut tally = Self::default();
        for line in lines.iter().map(|line| plain(line)) {
            if let Some((head, counts)) = line.split_once(" run: ")
                && head.trim_start().starts_with("Summary")
            {
                let bad = count(counts, "failed") + count(counts, "timed") + count(counts, "exec");
                tally = Self { passed: count(counts, "passed"), failed: bad };
            }
        }
        tally
    }

    /// Adds up every `test result: ok. 7 passed; 1 failed; 0 ignored; ...`.
    pub(crate) fn of_cargo_test(lines: &[String]) -> Self {
        let mut tally = Self::default();
        for line in lines.iter().map(|line| plain(line)) {
            if let Some(counts) = line.strip_prefix("test result: ") {
                let counts = counts.replace(';', ",");
                tally +=
                    Self { passed: count(&counts, "passed"), failed: count(&counts, "failed") };
            }
        }
        tally
    }

    /// Reads the `pass 4`, `fail 0` and `cancelled 0` at the end of Node's test report.
    pub(crate) fn of_node(lines: &[String]) -> Self {
        let mut tally = Self::default();
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [_, what, number] = words[..]
                && let Ok(number) = number.parse::<u32>()
            {
                match what {
                    "pass" => tally.passed += number,
                    "fail" | "cancelled" => tally.failed += number,
                    _ => {}
                }
            }
        }
        tally
    }

    /// A runner that broke before it could count has failed too.
    pub(crate) fn ended(self, ok: bool) -> Self {
        if ok || self.failed > 0 { self } else { Self { failed: 1, ..self } }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// The number in front of a word. What stands in parentheses repeats what was counted already.
fn count(counts: &str, word: &str) -> u32 {
    let words: Vec<&str> = counts.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let found = words.windows(2).find(|pair| pair[1] == word && !pair[0].starts_with('('));
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

/// The line without the escape sequences that colour it.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn nextest_is_understood_in_colour_and_in_trouble() {
        let good = "\u{1b}[32;1m     Summary\u{1b}[0m [   0.003s] \u{1b}[1m4\u{1b}[0m tests run: \
                    \u{1b}[1m4\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m skipped";
        assert_eq!(Tally::of_nextest(&lines(good)), Tally { passed: 4, failed: 0 });
        let bad = "  Summary [ 9.1s] 8/9 tests run: 5 passed (2 slow, 1 leaky), 2 failed, \
                   1 timed out, 3 skipped";
        assert_eq!(Tally::of_nextest(&lines(bad)), Tally { passed: 5, failed: 3 });
    }

    #[test]
    fn cargo_test_is_added_up() {
        let said = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(Tally::of_cargo_test(&lines(said)), Tally { passed: 4, failed: 2 });
    }

    #[test]
    fn node_is_understood() {
        let said = "ℹ tests 5\nℹ pass 3\nℹ fail 1\nℹ cancelled 1\nℹ duration_ms 12.5";
        assert_eq!(Tally::of_node(&lines(said)), Tally { passed: 3, failed: 2 });
    }

    #[test]
    fn a_runner_that_breaks_has_failed() {
        assert_eq!(Tally::default().ended(false), Tally { passed: 0, failed: 1 });
        assert_eq!(Tally { passed: 2, failed: 1 }.ended(false), Tally { passed: 2, failed: 1 });
    }
}
