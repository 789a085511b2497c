//! Ids: 128 bits in `UUIDv7` layout, shown as `team_` and 26 characters of Crockford's base32.
//!
//! The bits start with the millisecond of creation, so ids sort by age and a page in order of
//! creation needs no second column. An [`IdMaker`] never makes a smaller id than the one before.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Dice, Timestamp};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LETTERS: usize = 26;

/// What an id belongs to; its prefix tells kinds apart wherever an id is written down.
pub trait Kind {
    /// The word before the underscore.
    const PREFIX: &'static str;
    /// What an id of this kind is called in the API's description.
    const NAME: &'static str;
}

/// The id of a `K`. Ids of different kinds cannot be mixed up: it would not compile.
pub struct Id<K> {
    bits: u128,
    kind: PhantomData<fn() -> K>,
}

impl<K> Id<K> {
    /// The smallest id there can be: a page in ascending order starts after it.
    pub const LEAST: Self = Self::from_bits(0);
    /// The greatest id there can be: a page in descending order starts before it.
    pub const GREATEST: Self = Self::from_bits(u128::MAX);

    /// The id with these bits, as they came from the database.
    pub const fn from_bits(bits: u128) -> Self {
        Self { bits, kind: PhantomData }
    }

    /// The id of this millisecond with these 74 bits in its two free fields, twelve of them above the lowest 64.
    pub const fn laid_out(millis: u64, free: u128) -> Self {
        Self::from_bits(layout(millis, free))
    }

    /// The millisecond it was made in, or says it was.
    pub const fn millis(self) -> u64 {
        (self.bits >> 80) as u64
    }

    /// The bits, as the database keeps them.
    pub const fn bits(self) -> u128 {
        self.bits
    }
}

impl<K: Kind> Id<K> {
    /// Twenty-six lower-case letters and digits, most significant first.
    fn letters(self) -> [u8; LETTERS] {
        let mut letters = [0; LETTERS];
        for (place, letter) in letters.iter_mut().rev().enumerate() {
            *letter = ALPHABET[(self.bits >> (5 * place)) as usize & 31];
        }
        letters
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self.letters();
        let letters = std::str::from_utf8(&letters).expect("the alphabet is ASCII");
        f.write_str(K::PREFIX)?;
        f.write_str("_")?;
        f.write_str(letters)
    }
}

impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not an id of the kind that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnId;

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an id of this kind")
    }
}

impl<K: Kind> FromStr for Id<K> {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let letters = text
            .strip_prefix(K::PREFIX)
            .and_then(|rest| rest.strip_prefix('_'))
            .filter(|letters| letters.len() == LETTERS)
            .ok_or(NotAnId)?;
        let mut bits: u128 = 0;
        for letter in letters.bytes() {
            let value = ALPHABET.iter().position(|known| *known == letter).ok_or(NotAnId)?;
            // 26 letters hold 130 bits: the first one may only use three of its five.
            if bits >> 123 != 0 {
                return Err(NotAnId);
            }
            bits = bits << 5 | value as u128;
        }
        Ok(Self::from_bits(bits))
    }
}

impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl<K: Kind> utoipa::PartialSchema for Id<K> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some(format!("^{}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$", K::PREFIX)))
            .examples([format!("{}_01kbm2x5q8f7vr0n3hd9tzc4wy", K::PREFIX)])
            .into()
    }
}

impl<K: Kind> utoipa::ToSchema for Id<K> {
    fn name() -> std::borrow::Cow<'static, str> {
        K::NAME.into()
    }
}

// Written out because a derive would ask the kind itself to be copyable, ordered and so on.
impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bits.cmp(&other.bits)
    }
}
impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

/// Makes the ids of one process, each greater than the one before.
#[derive(Debug, Default)]
pub struct IdMaker {
    last: Mutex<u128>,
}

impl IdMaker {
    /// A new id. When the clock stands still or is set back, ids still rise.
    pub fn make<K>(&self, now: Timestamp, dice: &Dice) -> Id<K> {
        let random = u128::from_le_bytes(dice.bytes());
        let fresh = layout(now.millis(), random);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = if fresh >> 80 > *last >> 80 { fresh } else { successor(*last, random) };
        Id::from_bits(*last)
    }
}

/// The `UUIDv7` layout: 48 bits of milliseconds, version 7, 12 random bits, variant, 62 random bits.
const fn layout(millis: u64, random: u128) -> u128 {
    let random_a = random >> 64 & 0xfff;
    let random_b = random & ((1 << 62) - 1);
    (millis as u128 & 0xffff_ffff_ffff) << 80 | 7 << 76 | random_a << 64 | 2 << 62 | random_b
}

/// The next id within the same millisecond: the 74 random bits raised by a random step, so that
/// neighbours still cannot be guessed.
fn successor(last: u128, random: u128) -> u128 {
    let tail = (last >> 64 & 0xfff) << 62 | last & ((1 << 62) - 1);
    let raised = tail + 1 + (random & 0xffff_ffff);
    let millis = (last >> 80) + (raised >> 74);
    layout(millis as u64, (raised >> 62 & 0xfff) << 64 | raised & ((1 << 62) - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Team;
    impl Kind for Team {
        const PREFIX: &'static str = "team";
        const NAME: &'static str = "TeamId";
    }
    struct Event;
    impl Kind for Event {
        const PREFIX: &'static str = "evt";
        const NAME: &'static str = "EventId";
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(bits: u128) {
            let id = Id::<Team>::from_bits(bits);
            prop_assert_eq!(id.to_string().parse::<Id<Team>>(), Ok(id));
            prop_assert_eq!(id.to_string().len(), "team_".len() + 26);
        }

        #[test]
        fn text_order_is_age_order(a: u128, b: u128) {
            let (a, b) = (Id::<Team>::from_bits(a), Id::<Team>::from_bits(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn any_other_text_is_refused(text in "\\PC{0,40}") {
            if let Ok(id) = text.parse::<Id<Team>>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }

        #[test]
        fn ids_rise_whatever_the_clock_does(steps in prop::collection::vec(-5000i64..5000, 1..200)) {
            let (maker, dice) = (IdMaker::default(), Dice::seeded(7));
            let mut now = 1_800_000_000_000_000i64;
            let mut last = Id::<Team>::LEAST;
            for step in steps {
                now += step * 100;
                let id = maker.make(Timestamp::from_micros(now), &dice);
                prop_assert!(id > last);
                prop_assert_eq!((id.bits() >> 76) & 0xf, 7);
                prop_assert_eq!((id.bits() >> 62) & 0b11, 2);
                last = id;
            }
        }
    }

    #[test]
    fn another_kind_or_case_is_refused() {
        let id = Id::<Team>::from_bits(42).to_string();
        assert_eq!(id.parse::<Id<Event>>(), Err(NotAnId));
        assert_eq!(id.to_uppercase().parse::<Id<Team>>(), Err(NotAnId));
        assert_eq!(format!("team_8{}", "0".repeat(25)).parse::<Id<Team>>(), Err(NotAnId));
    }
}
