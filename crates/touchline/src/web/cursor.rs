//! Cursors: where the next page begins, sealed so that nobody can forge or misplace one.
//!
//! A cursor carries the sort values of the last row shown. Its seal covers the account, the list, the
//! filters and the order, so it fits exactly the list it came from. The number of rows is free.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use kit::{Id, Timestamp};
use sha2::Sha256;

use crate::error::{Code, Error, Result};
use crate::ids::AccountId;
use crate::paging::{Order, Page};
use crate::web::query::{FromQuery, Params};

/// How many bytes of the seal are kept.
const SEAL: usize = 16;
/// No cursor of ours is longer; a longer one is not even decoded.
const LONGEST: usize = 200;

/// Sort values that fit into a cursor.
pub trait Place: Sized {
    fn to_bytes(&self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl<K> Place for Id<K> {
    fn to_bytes(&self) -> Vec<u8> {
        self.bits().to_be_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self::from_bits(u128::from_be_bytes(bytes)))
    }
}

impl Place for i64 {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::from_be_bytes)
    }
}

/// A list that is ordered by time, and by id where times are the same.
impl<K> Place for (Timestamp, Id<K>) {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.0.micros().to_be_bytes()[..], &self.1.to_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (time, id) = bytes.split_first_chunk::<8>()?;
        let time = Timestamp::from_micros(i64::from_be_bytes(*time));
        Some((time, Id::from_bytes(id)?))
    }
}

/// The key that seals cursors; all nodes of an installation share it.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl CursorKey {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    fn seal(&self, list: &List<'_>, place: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length fits");
        mac.update(&list.account.bits().to_be_bytes());
        for part in [list.route.as_bytes(), list.filters.as_bytes(), place] {
            // With its length, so that nothing can move from one part to the next.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.update(&[list.order as u8]);
        mac
    }

    /// The cursor for the page after this place.
    pub fn cursor<P: Place>(&self, list: &List<'_>, place: &P) -> String {
        let mut bytes = place.to_bytes();
        let seal = self.seal(list, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&seal[..SEAL]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place a cursor stands for, if it was made for this list.
    pub fn place<P: Place>(&self, list: &List<'_>, cursor: &str) -> Result<P> {
        let refused =
            || Error::new(Code::InvalidCursor, "The cursor does not belong to this list.");
        let bytes = Some(cursor)
            .filter(|cursor| cursor.len() <= LONGEST)
            .and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok())
            .filter(|bytes| bytes.len() > SEAL)
            .ok_or_else(refused)?;
        let (place, seal) = bytes.split_at(bytes.len() - SEAL);
        self.seal(list, place).verify_truncated_left(seal).map_err(|_| refused())?;
        P::from_bytes(place).ok_or_else(refused)
    }
}

/// The list that a cursor belongs to.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    pub account: AccountId,
    pub route: &'a str,
    pub filters: &'a str,
    pub order: Order,
}

/// The paging parameters of a query, beside the filters of the list.
#[derive(Debug)]
pub struct Paging<F> {
    pub limit: i64,
    pub order: Order,
    pub cursor: Option<String>,
    pub filter: F,
}

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 100;

impl<F: FromQuery> FromQuery for Paging<F> {
    fn read(params: &mut Params) -> Self {
        Self {
            limit: params.number("limit", 1, MAX_LIMIT).unwrap_or(DEFAULT_LIMIT),
            order: params.word("order").unwrap_or(F::ORDER),
            cursor: params.take("cursor"),
            filter: F::read(params),
        }
    }
}

impl<F> Paging<F> {
    /// The page, once its cursor has been opened.
    pub fn page<P: Place>(&self, key: &CursorKey, list: &List<'_>) -> Result<Page<P>> {
        let place = self.cursor.as_deref().map(|cursor| key.place(list, cursor)).transpose()?;
        Ok(Page { limit: self.limit, order: self.order, last: place })
    }
}

/// The query without what may change from page to page: what a cursor is bound to.
pub fn filters(query: &str) -> String {
    let mut pairs: Vec<_> = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| !matches!(name.as_ref(), "cursor" | "limit" | "order"))
        .collect();
    pairs.sort();
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::TeamId;

    fn list(filters: &str) -> List<'_> {
        List { account: AccountId::from_bits(1), route: "/teams", filters, order: Order::Asc }
    }

    proptest! {
        #[test]
        fn a_cursor_leads_back_to_its_place(bits: u128, key: [u8; 32], filters in "[a-z=&]{0,20}") {
            let (key, place) = (CursorKey::new(key), TeamId::from_bits(bits));
            let cursor = key.cursor(&list(&filters), &place);
            prop_assert_eq!(key.place::<TeamId>(&list(&filters), &cursor).unwrap(), place);
        }

        #[test]
        fn a_flipped_bit_is_noticed(bits: u128, at in 0usize..32, bit in 0u8..8) {
            let (key, list) = (CursorKey::new([7; 32]), list(""));
            let cursor = key.cursor(&list, &TeamId::from_bits(bits));
            let mut bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap();
            bytes[at] ^= 1 << bit;
            prop_assert!(key.place::<TeamId>(&list, &URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }

        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,80}") {
            prop_assert!(CursorKey::new([7; 32]).place::<TeamId>(&list(""), &text).is_err());
        }
    }

    #[test]
    fn a_cursor_fits_its_own_list_only() {
        let key = CursorKey::new([7; 32]);
        let own = list("sport=soccer");
        let cursor = key.cursor(&own, &TeamId::from_bits(5));
        let others = [
            List { account: AccountId::from_bits(2), ..own },
            List { route: "/events", ..own },
            List { filters: "sport=rugby", ..own },
            List { order: Order::Desc, ..own },
        ];
        assert!(others.iter().all(|other| key.place::<TeamId>(other, &cursor).is_err()));
        assert!(CursorKey::new([8; 32]).place::<TeamId>(&own, &cursor).is_err());
        assert_eq!(filters("b=2&limit=5&a=1&cursor=x&order=asc"), "a=1&b=2");
    }
}
