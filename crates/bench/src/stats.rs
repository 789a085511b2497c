//! Measurements, and how several rounds become one number.

use std::time::Duration;

/// The result of one round: rate and latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measurement {
    pub(crate) per_second: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Measurement {
    /// From the latencies in microseconds of all operations that finished within a time.
    pub(crate) fn new(mut micros: Vec<u32>, within: Duration) -> Self {
        micros.sort_unstable();
        Self {
            per_second: micros.len() as f64 / within.as_secs_f64(),
            p50: percentile(&micros, 50),
            p99: percentile(&micros, 99),
        }
    }
}

/// A percentile of sorted times (nearest rank).
fn percentile(micros: &[u32], percent: usize) -> Duration {
    let last = micros.len().saturating_sub(1);
    let rank = (micros.len() * percent).div_ceil(100).saturating_sub(1).min(last);
    Duration::from_micros(micros.get(rank).copied().unwrap_or(0).into())
}

/// The rounds of one measurement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds(Vec<Measurement>);

impl Rounds {
    pub(crate) fn add(&mut self, measured: Measurement) {
        self.0.push(measured);
    }

    /// The median of each number by itself.
    pub(crate) fn median(&self) -> Measurement {
        let times = |of: fn(&Measurement) -> Duration| {
            Duration::from_secs_f64(median(self.0.iter().map(|m| of(m).as_secs_f64()).collect()))
        };
        Measurement {
            per_second: median(self.0.iter().map(|m| m.per_second).collect()),
            p50: times(|m| m.p50),
            p99: times(|m| m.p99),
        }
    }

    /// The ratio of the rates: the median of the ratios of the rounds, because both sides of a round ran
    /// under the same conditions.
    pub(crate) fn rate_ratio(&self, other: &Self) -> f64 {
        self.median_ratio(other, |own, other| own.per_second / other.per_second)
    }

    /// The ratio of the 99th percentiles, likewise.
    pub(crate) fn p99_ratio(&self, other: &Self) -> f64 {
        self.median_ratio(other, |own, other| own.p99.as_secs_f64() / other.p99.as_secs_f64())
    }

    fn median_ratio(&self, other: &Self, ratio: fn(&Measurement, &Measurement) -> f64) -> f64 {
        median(self.0.iter().zip(&other.0).map(|(own, other)| ratio(own, other)).collect())
    }
}

/// The middle value, or the mean of the two middle values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact() {
        let measured = Measurement::new((1..=100).rev().collect(), Duration::from_secs(2));
        assert_eq!(measured.p50, Duration::from_micros(50));
        assert_eq!(measured.p99, Duration::from_micros(99));
        assert!((measured.per_second - 50.0).abs() < 1e-9);
        assert_eq!(Measurement::new(vec![7], Duration::from_secs(1)).p99, Duration::from_micros(7));
        assert_eq!(Measurement::new(vec![], Duration::from_secs(1)).p99, Duration::ZERO);
    }

    #[test]
    fn ratio_is_the_median_of_the_rounds() {
        let rounds = |rates: [f64; 3]| {
            let one =
                |rate| Measurement { per_second: rate, p50: Duration::ZERO, p99: Duration::ZERO };
            Rounds(rates.map(one).to_vec())
        };
        // The machine was busy in the second round, for both sides.
        let (ours, baseline) = (rounds([50.0, 5.0, 60.0]), rounds([100.0, 10.0, 100.0]));
        assert!((ours.rate_ratio(&baseline) - 0.5).abs() < 1e-9);
        assert!((ours.median().per_second - 50.0).abs() < 1e-9);
    }

    #[test]
    fn median_of_two_is_their_mean() {
        assert!((median(vec![4.0, 1.0]) - 2.5).abs() < 1e-9);
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    }
}
