//! Ids: 128 bits in `UUIDv7` layout, displayed as a prefix such as `team_` and 26 characters of Crockford's base32.
//!
//! The bits start with the millisecond of creation, so ids sort by age and a list in order of creation needs no
//! second sort column. The ids of an [`IdGenerator`] always increase.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Rng, Timestamp};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ENCODED_LEN: usize = 26;

/// The kind of object that an id belongs to.
pub trait Kind {
    /// The part of the id before the underscore.
    const PREFIX: &'static str;
    /// The name of the schema in the OpenAPI description.
    const NAME: &'static str;
}

/// The id of a `K`. Ids of different kinds are different types, so they cannot be mixed up.
pub struct Id<K> {
    bits: u128,
    kind: PhantomData<fn() -> K>,
}

impl<K> Id<K> {
    /// The smallest possible id. A list in ascending order starts after it.
    pub const MIN: Self = Self::from_bits(0);
    /// The greatest possible id. A list in descending order starts before it.
    pub const MAX: Self = Self::from_bits(u128::MAX);

    /// Creates an id from its bits.
    pub const fn from_bits(bits: u128) -> Self {
        Self { bits, kind: PhantomData }
    }

    /// Creates an id from its timestamp in milliseconds and the content of its two random fields. Uses 74 bits of
    /// `free`: the lowest 62, and the twelve above the lowest 64.
    pub const fn from_parts(millis: u64, free: u128) -> Self {
        Self::from_bits(layout(millis, free))
    }

    /// The timestamp of the id, in milliseconds since 1970.
    pub const fn millis(self) -> u64 {
        (self.bits >> 80) as u64
    }

    /// The bits, as stored in the database.
    pub const fn bits(self) -> u128 {
        self.bits
    }
}

impl<K: Kind> Id<K> {
    /// Encodes the bits in base32, most significant digit first.
    fn encode(self) -> [u8; ENCODED_LEN] {
        let mut digits = [0; ENCODED_LEN];
        for (index, digit) in digits.iter_mut().rev().enumerate() {
            *digit = ALPHABET[(self.bits >> (5 * index)) as usize & 31];
        }
        digits
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.encode();
        let digits = std::str::from_utf8(&digits).expect("the alphabet is ASCII");
        f.write_str(K::PREFIX)?;
        f.write_str("_")?;
        f.write_str(digits)
    }
}

impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not an id of the expected kind.
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
        let digits = text
            .strip_prefix(K::PREFIX)
            .and_then(|rest| rest.strip_prefix('_'))
            .filter(|digits| digits.len() == ENCODED_LEN)
            .ok_or(NotAnId)?;
        let mut bits: u128 = 0;
        for digit in digits.bytes() {
            let value = ALPHABET.iter().position(|other| *other == digit).ok_or(NotAnId)?;
            // 26 digits hold 130 bits, two more than an id has: the first digit may only use three of its five bits.
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
            .description(Some(format!("{}: `{}_` and 26 characters.", title::<K>(), K::PREFIX)))
            .pattern(Some(format!("^{}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$", K::PREFIX)))
            .examples([format!("{}_01kbm2x5q8f7vr0n3hd9tzc4wy", K::PREFIX)])
            .into()
    }
}

/// The name of an id type in words: `Away date ID`.
fn title<K: Kind>() -> String {
    let name = K::NAME.strip_suffix("Id").unwrap_or(K::NAME);
    let mut words = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !words.is_empty() {
            words.push(' ');
            words.push(character.to_ascii_lowercase());
        } else {
            words.push(character);
        }
    }
    words + " ID"
}

impl<K: Kind> utoipa::ToSchema for Id<K> {
    fn name() -> std::borrow::Cow<'static, str> {
        K::NAME.into()
    }
}

// Implemented manually because a derive would require the same traits of `K`.
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

/// Generates the ids of one process, each greater than the one before.
#[derive(Debug, Default)]
pub struct IdGenerator {
    last: Mutex<u128>,
}

impl IdGenerator {
    /// Generates an id. Ids increase even if the clock stops or is set back.
    pub fn generate<K>(&self, now: Timestamp, rng: &Rng) -> Id<K> {
        let random = u128::from_le_bytes(rng.bytes());
        let next = layout(now.millis(), random);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = if next >> 80 > *last >> 80 { next } else { successor(*last, random) };
        Id::from_bits(*last)
    }
}

/// The `UUIDv7` layout: 48 bits of milliseconds, version 7, 12 random bits, variant, 62 random bits.
const fn layout(millis: u64, random: u128) -> u128 {
    let random_a = random >> 64 & 0xfff;
    let random_b = random & ((1 << 62) - 1);
    (millis as u128 & 0xffff_ffff_ffff) << 80 | 7 << 76 | random_a << 64 | 2 << 62 | random_b
}

/// The next id within the same millisecond: adds a random number to the 74 random bits, so adjacent ids cannot be
/// guessed.
fn successor(last: u128, random: u128) -> u128 {
    let tail = (last >> 64 & 0xfff) << 62 | last & ((1 << 62) - 1);
    let sum = tail + 1 + (random & 0xffff_ffff);
    let millis = (last >> 80) + (sum >> 74);
    layout(millis as u64, (sum >> 62 & 0xfff) << 64 | sum & ((1 << 62) - 1))
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
        fn an_id_survives_a_round_trip_through_text(bits: u128) {
            let id = Id::<Team>::from_bits(bits);
            prop_assert_eq!(id.to_string().parse::<Id<Team>>(), Ok(id));
            prop_assert_eq!(id.to_string().len(), "team_".len() + 26);
        }

        #[test]
        fn ids_and_their_texts_sort_alike(a: u128, b: u128) {
            let (a, b) = (Id::<Team>::from_bits(a), Id::<Team>::from_bits(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn only_the_canonical_text_is_accepted(text in "\\PC{0,40}") {
            if let Ok(id) = text.parse::<Id<Team>>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }

        #[test]
        fn ids_increase_even_if_the_clock_is_set_back(steps in prop::collection::vec(-5000i64..5000, 1..200)) {
            let (generator, rng) = (IdGenerator::default(), crate::Rng::seeded(7));
            let mut now = 1_800_000_000_000_000i64;
            let mut last = Id::<Team>::MIN;
            for step in steps {
                now += step * 100;
                let id = generator.generate(Timestamp::from_micros(now), &rng);
                prop_assert!(id > last);
                prop_assert_eq!((id.bits() >> 76) & 0xf, 7);
                prop_assert_eq!((id.bits() >> 62) & 0b11, 2);
                last = id;
            }
        }
    }

    #[test]
    fn another_kind_or_case_is_rejected() {
        let id = Id::<Team>::from_bits(42).to_string();
        assert_eq!(id.parse::<Id<Event>>(), Err(NotAnId));
        assert_eq!(id.to_uppercase().parse::<Id<Team>>(), Err(NotAnId));
        assert_eq!(format!("team_8{}", "0".repeat(25)).parse::<Id<Team>>(), Err(NotAnId));
    }
}
