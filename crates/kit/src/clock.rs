//! The clock, handed in from outside so that a test can move it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Timestamp;

/// What time it is, and how much of it has passed.
#[derive(Clone)]
pub struct Clock(Arc<dyn Tell>);

trait Tell: Send + Sync {
    fn now(&self) -> Timestamp;
    fn elapsed(&self) -> Duration;
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Arc::new(System(Instant::now())))
    }

    /// The wall clock. It may be set forward or back by an operator.
    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// Time since some fixed moment; never goes back, whatever happens to the wall clock.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

struct System(Instant);

impl Tell for System {
    #[expect(clippy::disallowed_methods, reason = "this is the place the time comes from")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that stands still until it is moved by hand.
#[derive(Clone, Debug)]
pub struct HandClock(Arc<Hands>);

#[derive(Debug)]
struct Hands {
    wall: AtomicI64,
    passed: AtomicI64,
}

impl HandClock {
    /// A clock that shows this moment.
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(Hands { wall: start.micros().into(), passed: 0.into() }))
    }

    /// The clock as the service takes it.
    pub fn clock(&self) -> Clock {
        Clock(self.0.clone())
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        let micros = i64::try_from(time.as_micros()).expect("a test passes sensible times");
        self.0.wall.fetch_add(micros, Ordering::SeqCst);
        self.0.passed.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets the wall clock forward or back without time passing, as an operator might.
    pub fn step(&self, seconds: i64) {
        self.0.wall.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Tell for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.wall.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.passed.load(Ordering::SeqCst).unsigned_abs())
    }
}
