//! Numbers of passed and failed tests, parsed from the output of the test runners.

use std::fmt;
use std::ops::AddAssign;

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct TestCounts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

impl TestCounts {
    /// The result of a single check.
    pub(crate) fn single(ok: bool) -> Self {
        Self { passed: u32::from(ok), failed: u32::from(!ok) }
    }

    /// Parses `Summary [ 1.2s] 9 tests run: 7 passed (1 slow), 1 failed, 1 timed out, 3 skipped`.
    pub(crate) fn parse_nextest(lines: &[String]) -> Self {
        let mut total = Self::default();
        for line in lines.iter().map(|line| strip_ansi(line)) {
            if let Some((head, counts)) = line.split_once(" run: ")
                && head.trim_start().starts_with("Summary")
            {
                let failed =
                    count(counts, "failed") + count(counts, "timed") + count(counts, "exec");
                total = Self { passed: count(counts, "passed"), failed };
            }
        }
        total
    }

    /// Adds up every `test result: ok. 7 passed; 1 failed; 0 ignored; ...`.
    pub(crate) fn parse_cargo_test(lines: &[String]) -> Self {
        let mut total = Self::default();
        for line in lines.iter().map(|line| strip_ansi(line)) {
            if let Some(counts) = line.strip_prefix("test result: ") {
                let counts = counts.replace(';', ",");
                total +=
                    Self { passed: count(&counts, "passed"), failed: count(&counts, "failed") };
            }
        }
        total
    }

    /// Parses the `pass 4`, `fail 0` and `cancelled 0` at the end of Node's test report.
    pub(crate) fn parse_node(lines: &[String]) -> Self {
        let mut total = Self::default();
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [_, result, number] = words[..]
                && let Ok(number) = number.parse::<u32>()
            {
                match result {
                    "pass" => total.passed += number,
                    "fail" | "cancelled" => total.failed += number,
                    _ => {}
                }
            }
        }
        total
    }

    /// Counts one failure if the runner failed without reporting any.
    pub(crate) fn with_exit_status(self, ok: bool) -> Self {
        if ok || self.failed > 0 { self } else { Self { failed: 1, ..self } }
    }
}

impl AddAssign for TestCounts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for TestCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// The number before a word. Numbers in parentheses are part of another count, so they are skipped.
fn count(counts: &str, word: &str) -> u32 {
    let words: Vec<&str> = counts.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let pair = words.windows(2).find(|pair| pair[1] == word && !pair[0].starts_with('('));
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

/// The tests that took longest, with their seconds: `PASS [   0.406s] ( 324/2097) touchline::it cards::…`.
pub(crate) fn slowest(lines: &[String], count: usize) -> Vec<(f64, String)> {
    let parse = |line: &String| {
        let line = strip_ansi(line);
        let (status, rest) = line.trim_start().split_once(" [")?;
        let (seconds, rest) = rest.split_once("s] ")?;
        let name = rest.rsplit_once(") ").map_or(rest, |(_, name)| name);
        let seconds = seconds.trim().parse().ok()?;
        matches!(status, "PASS" | "FAIL").then(|| (seconds, name.to_owned()))
    };
    let mut tests: Vec<(f64, String)> = lines.iter().filter_map(parse).collect();
    tests.sort_by(|a, b| b.0.total_cmp(&a.0));
    tests.truncate(count);
    tests
}

/// The line without ANSI color codes.
fn strip_ansi(line: &str) -> String {
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
    fn parses_nextest_with_colors_and_failures() {
        let passing = "\u{1b}[32;1m     Summary\u{1b}[0m [   0.003s] \u{1b}[1m4\u{1b}[0m tests run: \
                    \u{1b}[1m4\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m skipped";
        assert_eq!(TestCounts::parse_nextest(&lines(passing)), TestCounts { passed: 4, failed: 0 });
        let failing = "  Summary [ 9.1s] 8/9 tests run: 5 passed (2 slow, 1 leaky), 2 failed, \
                   1 timed out, 3 skipped";
        assert_eq!(TestCounts::parse_nextest(&lines(failing)), TestCounts { passed: 5, failed: 3 });
    }

    #[test]
    fn finds_the_slowest_tests() {
        let output =
            "  PASS [   0.4s] ( 1/3) a::it fast\n  PASS [  12.5s] ( 2/3) a::it slow\n  START x";
        assert_eq!(slowest(&lines(output), 1), [(12.5, "a::it slow".to_owned())]);
    }

    #[test]
    fn sums_results_of_cargo_test() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(
            TestCounts::parse_cargo_test(&lines(output)),
            TestCounts { passed: 4, failed: 2 }
        );
    }

    #[test]
    fn parses_node() {
        let output = "ℹ tests 5\nℹ pass 3\nℹ fail 1\nℹ cancelled 1\nℹ duration_ms 12.5";
        assert_eq!(TestCounts::parse_node(&lines(output)), TestCounts { passed: 3, failed: 2 });
    }

    #[test]
    fn runner_that_fails_without_counts_is_a_failure() {
        assert_eq!(
            TestCounts::default().with_exit_status(false),
            TestCounts { passed: 0, failed: 1 }
        );
        assert_eq!(
            TestCounts { passed: 2, failed: 1 }.with_exit_status(false),
            TestCounts { passed: 2, failed: 1 }
        );
    }
}
