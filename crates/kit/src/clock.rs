//! The clock. It is passed as a dependency, so tests can control it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Timestamp;

/// A source of wall-clock time and of monotonic time.
#[derive(Clone)]
pub struct Clock(Arc<dyn TimeSource>);

trait TimeSource: Send + Sync {
    fn now(&self) -> Timestamp;
    fn elapsed(&self) -> Duration;
}

impl Clock {
    /// The system clock.
    pub fn system() -> Self {
        Self(Arc::new(SystemClock(Instant::now())))
    }

    /// The wall-clock time. It jumps if somebody sets the clock.
    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// The monotonic time since a fixed moment. It never goes back.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

struct SystemClock(Instant);

impl TimeSource for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the system time")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock for tests that only moves when it is advanced.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<ManualTime>);

#[derive(Debug)]
struct ManualTime {
    wall: AtomicI64,
    monotonic: AtomicI64,
}

impl ManualClock {
    /// Creates a clock that starts at this time.
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(ManualTime { wall: start.micros().into(), monotonic: 0.into() }))
    }

    /// Returns a handle to this clock.
    pub fn clock(&self) -> Clock {
        Clock(self.0.clone())
    }

    /// Advances wall-clock time and monotonic time.
    pub fn advance(&self, time: Duration) {
        let micros = i64::try_from(time.as_micros()).expect("tests use short durations");
        self.0.wall.fetch_add(micros, Ordering::SeqCst);
        self.0.monotonic.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets the wall clock forward or back, without advancing the monotonic time.
    pub fn adjust_wall_clock(&self, seconds: i64) {
        self.0.wall.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl TimeSource for ManualTime {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.wall.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.monotonic.load(Ordering::SeqCst).unsigned_abs())
    }
}
