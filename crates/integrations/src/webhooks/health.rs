//! The health of a webhook's receiver. Deliveries to an unhealthy receiver are paused, and when it has recovered, their
//! rate is increased step by step.

use std::time::Duration;

use kit::{Rng, Timestamp};
use store::row;

/// A receiver is unhealthy after this many failures in a row.
pub const UNHEALTHY_AFTER: i64 = 5;
/// The most deliveries to one webhook that are in flight at once.
const MAX_CONCURRENCY: u32 = 8;
/// How long deliveries to an unhealthy receiver are paused at first. The pause doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// The longest such pause.
const MAX_PAUSE: Duration = Duration::from_secs(300);
/// The longest pause of all deliveries that a receiver can ask for with `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);
/// The deliveries per second to a receiver that has just recovered. The rate doubles with each step.
const INITIAL_RATE: f64 = 10.0;
/// How long a step takes.
const RAMP_STEP: Duration = Duration::from_secs(10);
/// After this many steps the rate is not limited.
const RAMP_STEPS: u32 = 12;

row! {
    /// The health of a receiver.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Health {
        /// How many attempts failed in a row.
        pub failures: i64,
        pub failing_since: Option<Timestamp>,
        /// Deliveries are paused until then.
        pub paused_until: Option<Timestamp>,
        /// When the receiver last recovered, or the webhook was turned on.
        pub recovered_at: Option<Timestamp>,
    }
}

impl Health {
    /// Whether the receiver is unhealthy. Then there is one attempt at a time, to see whether it has recovered.
    pub fn is_unhealthy(&self) -> bool {
        self.failures >= UNHEALTHY_AFTER
    }

    /// Records a successful attempt.
    pub fn record_success(&mut self, now: Timestamp) {
        let recovered_at = if self.is_unhealthy() { Some(now) } else { self.recovered_at };
        *self = Self { recovered_at, ..Self::default() };
    }

    /// Records a failed attempt, with the delay that the receiver asked for, if it did.
    pub fn record_failure(&mut self, now: Timestamp, retry_after: Option<Duration>, rng: &Rng) {
        // Attempts that were already in flight when deliveries were paused do not count as further failures.
        let already_paused =
            self.is_unhealthy() && self.paused_until.is_some_and(|until| until > now);
        self.failures += i64::from(!already_paused);
        self.failing_since.get_or_insert(now);
        let doublings = u32::try_from(self.failures - UNHEALTHY_AFTER).ok();
        let pause = doublings.map(|count| (FIRST_PAUSE * 2_u32.pow(count.min(10))).min(MAX_PAUSE));
        let pause = pause.filter(|_| !already_paused).map(|pause| with_jitter(pause, rng));
        let pause = pause.max(retry_after.map(|delay| delay.min(MAX_RETRY_AFTER)));
        self.paused_until = pause.map(|pause| now.plus(pause)).max(self.paused_until);
    }

    /// How many attempts may be in flight at once.
    pub fn max_concurrency(&self, now: Timestamp) -> usize {
        let steps = self.steps_since_recovery(now);
        let limit = if self.is_unhealthy() {
            1
        } else {
            steps.map_or(MAX_CONCURRENCY, |steps| MAX_CONCURRENCY.min(1 << steps))
        };
        limit as usize
    }

    /// The minimum time between the starts of two attempts.
    pub fn min_interval(&self, now: Timestamp) -> Duration {
        let rate = |steps| INITIAL_RATE * f64::from(1_u32 << steps);
        self.steps_since_recovery(now)
            .map_or(Duration::ZERO, |steps| Duration::from_secs_f64(1.0 / rate(steps)))
    }

    /// How many steps ago the receiver recovered; `None` if the rate is no longer limited.
    fn steps_since_recovery(&self, now: Timestamp) -> Option<u32> {
        let since = now.micros() - self.recovered_at?.micros();
        let steps = u32::try_from(since / i64::try_from(RAMP_STEP.as_micros()).ok()?).unwrap_or(0);
        (steps < RAMP_STEPS).then_some(steps)
    }
}

/// Adds random jitter of up to 20 % in both directions, so that what failed together is not retried together.
pub fn with_jitter(delay: Duration, rng: &Rng) -> Duration {
    let per_mille = u32::try_from(800 + rng.below(401)).unwrap_or(1000);
    delay * per_mille / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unhealthy_receivers_are_paused_and_then_ramped_up() {
        let rng = Rng::system();
        let mut now = Timestamp::from_micros(1_000_000_000);
        let mut health = Health::default();
        for _ in 1..UNHEALTHY_AFTER {
            health.record_failure(now, None, &rng);
            assert!(!health.is_unhealthy() && health.paused_until.is_none());
            assert_eq!(health.max_concurrency(now), 8);
        }
        let mut pauses = Vec::new();
        for _ in 0..10 {
            health.record_failure(now, None, &rng);
            assert_eq!((health.is_unhealthy(), health.max_concurrency(now)), (true, 1));
            pauses.push((health.paused_until.unwrap().micros() - now.micros()) / 1_000_000);
            now = health.paused_until.unwrap();
        }
        assert!((4..=6).contains(&pauses[0]) && (240..=360).contains(&pauses[9]), "{pauses:?}");
        assert_eq!(health.failing_since, Some(Timestamp::from_micros(1_000_000_000)));

        health.record_success(now);
        assert_eq!((health.failing_since, health.paused_until), (None, None));
        let after = |seconds| now.plus(Duration::from_secs(seconds));
        assert_eq!((health.max_concurrency(now), health.min_interval(now).as_millis()), (1, 100));
        assert_eq!(
            (health.max_concurrency(after(25)), health.min_interval(after(25)).as_millis()),
            (4, 25)
        );
        assert_eq!(
            (health.max_concurrency(after(130)), health.min_interval(after(130))),
            (8, Duration::ZERO)
        );
    }

    #[test]
    fn simultaneous_failures_cause_only_one_pause() {
        let (rng, now) = (Rng::system(), Timestamp::from_micros(0));
        let mut health = Health::default();
        for _ in 0..UNHEALTHY_AFTER + 8 {
            health.record_failure(now, None, &rng);
        }
        assert_eq!(health.failures, UNHEALTHY_AFTER);
        assert!(health.paused_until <= Some(now.plus(FIRST_PAUSE * 6 / 5)), "{health:?}");
    }

    #[test]
    fn the_delay_a_receiver_asks_for_is_limited() {
        let (rng, now) = (Rng::system(), Timestamp::from_micros(0));
        let mut health = Health::default();
        health.record_failure(now, Some(Duration::from_secs(999_999_999)), &rng);
        assert_eq!(health.paused_until, Some(now.plus(MAX_RETRY_AFTER)));
    }
}
