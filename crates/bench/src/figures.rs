//! What was measured, and how rounds become one number.

use std::time::Duration;

/// One round: what was finished, and how long it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Measured {
    /// From the microseconds that each one took.
    pub(crate) fn new(mut micros: Vec<u32>, within: Duration) -> Self {
        micros.sort_unstable();
        Self {
            per_second: micros.len() as f64 / within.as_secs_f64(),
            p50: share(&micros, 50),
            p99: share(&micros, 99),
        }
    }
}

/// The time that so many in a hundred did not exceed, of sorted times.
fn share(micros: &[u32], percent: usize) -> Duration {
    let last = micros.len().saturating_sub(1);
    let rank = (micros.len() * percent).div_ceil(100).saturating_sub(1).min(last);
    Duration::from_micros(micros.get(rank).copied().unwrap_or(0).into())
}

/// Several rounds of one thing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds(Vec<Measured>);

impl Rounds {
    pub(crate) fn add(&mut self, measured: Measured) {
        self.0.push(measured);
    }

    /// The medians, each of its own.
    pub(crate) fn median(&self) -> Measured {
        let times = |of: fn(&Measured) -> Duration| {
            Duration::from_secs_f64(median(self.0.iter().map(|m| of(m).as_secs_f64()).collect()))
        };
        Measured {
            per_second: median(self.0.iter().map(|m| m.per_second).collect()),
            p50: times(|m| m.p50),
            p99: times(|m| m.p99),
        }
    }

    /// How many times the other's rate this is: the median over the rounds, since the two of one
    /// round ran on the same machine in the same mood.
    pub(crate) fn rate_against(&self, other: &Self) -> f64 {
        self.against(other, |own, other| own.per_second / other.per_second)
    }

    /// How many times the other's 99th percentile this is.
    pub(crate) fn p99_against(&self, other: &Self) -> f64 {
        self.against(other, |own, other| own.p99.as_secs_f64() / other.p99.as_secs_f64())
    }

    fn against(&self, other: &Self, ratio: fn(&Measured, &Measured) -> f64) -> f64 {
        median(self.0.iter().zip(&other.0).map(|(own, other)| ratio(own, other)).collect())
    }
}

/// The middle one, or halfway between the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        many if many % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        let measured = Measured::new((1..=100).rev().collect(), Duration::from_secs(2));
        assert_eq!(measured.p50, Duration::from_micros(50));
        assert_eq!(measured.p99, Duration::from_micros(99));
        assert!((measured.per_second - 50.0).abs() < 1e-9);
        assert_eq!(Measured::new(vec![7], Duration::from_secs(1)).p99, Duration::from_micros(7));
        assert_eq!(Measured::new(vec![], Duration::from_secs(1)).p99, Duration::ZERO);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let rounds = |rates: [f64; 3]| {
            let one =
                |rate| Measured { per_second: rate, p50: Duration::ZERO, p99: Duration::ZERO };
            Rounds(rates.map(one).to_vec())
        };
        // The machine was busy in the second round, for both of them.
        let (ours, ceiling) = (rounds([50.0, 5.0, 60.0]), rounds([100.0, 10.0, 100.0]));
        assert!((ours.rate_against(&ceiling) - 0.5).abs() < 1e-9);
        assert!((ours.median().per_second - 50.0).abs() < 1e-9);
    }

    #[test]
    fn a_median_of_two_lies_between() {
        assert!((median(vec![4.0, 1.0]) - 2.5).abs() < 1e-9);
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    }
}
