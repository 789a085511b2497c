//! How a webhook's receiver has been doing, and how it is therefore treated: left in peace while it is ill,
//! and not overrun when it is well again.

use std::time::Duration;

use kit::{Dice, Timestamp};
use store::row;

/// After so many failures in a row a receiver is taken to be ill.
pub const ILL: i64 = 5;
/// How many deliveries to one webhook are under way at once.
const AT_ONCE: u32 = 8;
/// How long an ill receiver is left in peace at first; twice as long each time.
const REST: Duration = Duration::from_secs(5);
/// And at most.
const LONGEST_REST: Duration = Duration::from_secs(300);
/// As long as a receiver can ask to be left in peace altogether.
const ASKED_REST: Duration = Duration::from_secs(3600);
/// A receiver that is well again is given this many a second at first, and twice as many after each step.
const FIRST_PACE: f64 = 10.0;
const STEP: Duration = Duration::from_secs(10);
/// After so many steps it gets what there is.
const STEPS: u32 = 12;

row! {
    /// How a receiver has been doing.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Health {
        /// How many attempts failed in a row.
        pub failures: i64,
        pub failing_since: Option<Timestamp>,
        /// Nothing is sent until then.
        pub resting_until: Option<Timestamp>,
        /// When it was well again after an illness.
        pub recovered_at: Option<Timestamp>,
    }
}

impl Health {
    /// Whether the receiver is ill: then one attempt at a time shows whether it still is.
    pub fn ill(&self) -> bool {
        self.failures >= ILL
    }

    /// An attempt went well.
    pub fn succeeded(&mut self, now: Timestamp) {
        let recovered_at = if self.ill() { Some(now) } else { self.recovered_at };
        *self = Self { recovered_at, ..Self::default() };
    }

    /// An attempt failed; the receiver may have asked to be left in peace for a while.
    pub fn failed(&mut self, now: Timestamp, asked: Option<Duration>, dice: &Dice) {
        // What was under way when the receiver fell ill says nothing new.
        let known = self.ill() && self.resting_until.is_some_and(|until| until > now);
        self.failures += i64::from(!known);
        self.failing_since.get_or_insert(now);
        let beyond = u32::try_from(self.failures - ILL).ok();
        let rest = beyond.map(|more| (REST * 2_u32.pow(more.min(10))).min(LONGEST_REST));
        let rest = rest.filter(|_| !known).map(|rest| spread(rest, dice));
        let rest = rest.max(asked.map(|time| time.min(ASKED_REST)));
        self.resting_until = rest.map(|rest| now.plus(rest)).max(self.resting_until);
    }

    /// How many attempts may be under way at once.
    pub fn at_once(&self, now: Timestamp) -> usize {
        let steps = self.steps(now);
        let many =
            if self.ill() { 1 } else { steps.map_or(AT_ONCE, |steps| AT_ONCE.min(1 << steps)) };
        many as usize
    }

    /// How long to wait between two attempts.
    pub fn pause(&self, now: Timestamp) -> Duration {
        let pace = |steps| FIRST_PACE * f64::from(1_u32 << steps);
        self.steps(now).map_or(Duration::ZERO, |steps| Duration::from_secs_f64(1.0 / pace(steps)))
    }

    /// How many steps ago the receiver was well again; `None` if that is long ago.
    fn steps(&self, now: Timestamp) -> Option<u32> {
        let since = now.micros() - self.recovered_at?.micros();
        let steps = u32::try_from(since / i64::try_from(STEP.as_micros()).ok()?).unwrap_or(0);
        (steps < STEPS).then_some(steps)
    }
}

/// A fifth more or less, so that what failed together does not come back together.
pub fn spread(time: Duration, dice: &Dice) -> Duration {
    let per_mille = u32::try_from(800 + dice.below(401)).unwrap_or(1000);
    time * per_mille / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ill_receiver_is_left_in_peace_and_then_not_overrun() {
        let dice = Dice::system();
        let mut now = Timestamp::from_micros(1_000_000_000);
        let mut health = Health::default();
        for _ in 1..ILL {
            health.failed(now, None, &dice);
            assert!(!health.ill() && health.resting_until.is_none());
            assert_eq!(health.at_once(now), 8);
        }
        let mut rests = Vec::new();
        for _ in 0..10 {
            health.failed(now, None, &dice);
            assert_eq!((health.ill(), health.at_once(now)), (true, 1));
            rests.push((health.resting_until.unwrap().micros() - now.micros()) / 1_000_000);
            now = health.resting_until.unwrap();
        }
        assert!((4..=6).contains(&rests[0]) && (240..=360).contains(&rests[9]), "{rests:?}");
        assert_eq!(health.failing_since, Some(Timestamp::from_micros(1_000_000_000)));

        health.succeeded(now);
        assert_eq!((health.failing_since, health.resting_until), (None, None));
        let after = |seconds| now.plus(Duration::from_secs(seconds));
        assert_eq!((health.at_once(now), health.pause(now).as_millis()), (1, 100));
        assert_eq!((health.at_once(after(25)), health.pause(after(25)).as_millis()), (4, 25));
        assert_eq!((health.at_once(after(130)), health.pause(after(130))), (8, Duration::ZERO));
    }

    #[test]
    fn what_fails_together_is_one_reason_to_rest() {
        let (dice, now) = (Dice::system(), Timestamp::from_micros(0));
        let mut health = Health::default();
        for _ in 0..ILL + 8 {
            health.failed(now, None, &dice);
        }
        assert_eq!(health.failures, ILL);
        assert!(health.resting_until <= Some(now.plus(REST * 6 / 5)), "{health:?}");
    }

    #[test]
    fn a_receiver_may_ask_for_peace_but_not_for_ever() {
        let (dice, now) = (Dice::system(), Timestamp::from_micros(0));
        let mut health = Health::default();
        health.failed(now, Some(Duration::from_secs(999_999_999)), &dice);
        assert_eq!(health.resting_until, Some(now.plus(ASKED_REST)));
    }
}
