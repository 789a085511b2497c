//! Exact numbers: points to a hundredth, and ratios.

use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// Points of the table, exact to a hundredth: chess awards half points.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Points(i64);

impl Points {
    pub const ZERO: Self = Self(0);
    pub const HALF: Self = Self(50);

    /// Whole points.
    pub const fn new(points: i32) -> Self {
        Self(points as i64 * 100)
    }

    /// Points in hundredths. The range of `i32` keeps sums over any number of games within `i64`.
    pub const fn from_hundredths(hundredths: i32) -> Self {
        Self(hundredths as i64)
    }

    pub const fn hundredths(self) -> i64 {
        self.0
    }

    pub fn to_f64(self) -> f64 {
        self.0 as f64 / 100.0
    }
}

impl Add for Points {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Points {
    fn sum<I: Iterator<Item = Self>>(points: I) -> Self {
        points.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, hundredths) = (self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100);
        match hundredths {
            0 => write!(f, "{sign}{whole}"),
            _ if hundredths % 10 == 0 => write!(f, "{sign}{whole}.{}", hundredths / 10),
            _ => write!(f, "{sign}{whole}.{hundredths:02}"),
        }
    }
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What a tie-breaker compares: an exact fraction, or infinite (a ratio with nothing conceded).
#[derive(Clone, Copy)]
pub struct Value {
    numerator: i128,
    /// Positive, or 0 if the value is infinite.
    denominator: i128,
}

impl Value {
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };

    pub fn integer(number: impl Into<i128>) -> Self {
        Self { numerator: number.into(), denominator: 1 }
    }

    /// A fraction. It is 0 if both are 0, as the ratio of an entry without games.
    pub fn ratio(numerator: impl Into<i128>, denominator: impl Into<i128>) -> Self {
        let (numerator, denominator) = (numerator.into(), denominator.into());
        match (numerator, denominator) {
            (0, 0) => Self::ZERO,
            (n, 0) => Self { numerator: n.signum(), denominator: 0 },
            (n, d) if d < 0 => {
                Self { numerator: n.saturating_neg(), denominator: d.saturating_neg() }
            }
            (n, d) => Self { numerator: n, denominator: d },
        }
    }

    /// The value, if it is a whole number.
    pub fn to_integer(self) -> Option<i128> {
        (self.denominator != 0 && self.numerator % self.denominator == 0)
            .then(|| self.numerator / self.denominator)
    }

    /// The nearest floating-point number; `None` if the value is infinite.
    pub fn to_f64(self) -> Option<f64> {
        (self.denominator != 0).then(|| self.numerator as f64 / self.denominator as f64)
    }
}

impl From<Points> for Value {
    fn from(points: Points) -> Self {
        Self::ratio(points.0, 100)
    }
}

impl Ord for Value {
    /// Compares the whole parts, then the reciprocals of the remainders (Euclid's algorithm), so that no product can
    /// exceed the range.
    fn cmp(&self, other: &Self) -> Ordering {
        let (mut a, mut b) = (*self, *other);
        loop {
            if a.denominator == 0 || b.denominator == 0 {
                return a.infinity().cmp(&b.infinity());
            }
            let wholes =
                (a.numerator.div_euclid(a.denominator), b.numerator.div_euclid(b.denominator));
            if wholes.0 != wholes.1 {
                return wholes.0.cmp(&wholes.1);
            }
            let remainders =
                (a.numerator.rem_euclid(a.denominator), b.numerator.rem_euclid(b.denominator));
            if remainders.0 == 0 || remainders.1 == 0 {
                return remainders.0.cmp(&remainders.1);
            }
            // a < b exactly if 1/b < 1/a.
            (a, b) = (
                Self { numerator: b.denominator, denominator: remainders.1 },
                Self { numerator: a.denominator, denominator: remainders.0 },
            );
        }
    }
}

impl Value {
    /// The sign of an infinite value, 0 for a finite one.
    fn infinity(self) -> i128 {
        if self.denominator == 0 { self.numerator } else { 0 }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

impl fmt::Display for Value {
    /// A whole number, or three decimal places, with halves rounded away from zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.numerator < 0 { "-" } else { "" };
        if let Some(number) = self.to_integer() {
            return write!(f, "{number}");
        }
        let (numerator, denominator) =
            (self.numerator.unsigned_abs(), self.denominator.unsigned_abs());
        let doubled = (numerator % denominator.max(1)).checked_mul(2000);
        match (denominator, doubled.and_then(|d| d.checked_add(denominator))) {
            (0, _) => write!(f, "{sign}∞"),
            (_, Some(doubled)) => {
                let thousandths = doubled / denominator / 2;
                let whole = numerator / denominator + thousandths / 1000;
                write!(f, "{sign}{whole}.{:03}", thousandths % 1000)
            }
            // Beyond the range of exact arithmetic.
            (_, None) => write!(f, "{sign}{:.3}", numerator as f64 / denominator as f64),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
