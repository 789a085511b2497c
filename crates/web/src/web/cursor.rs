//! Pagination cursors, authenticated so that they cannot be forged or used with another list.
//!
//! A cursor contains the sort key of the last row of a page. Its message authentication code (MAC) covers the
//! account, the list, the filters and the order, so that it is valid only for the list it came from. The limit
//! may change.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use kit::Id;
use sha2::Sha256;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::prelude::*;
use crate::web::query::{FromQuery, Params};

/// The length of the truncated MAC, in bytes.
const MAC_LENGTH: usize = 16;
/// The maximum length of a cursor. A longer one is rejected without decoding it.
const MAX_LENGTH: usize = 1500;

/// A sort key that can be encoded in a cursor.
pub trait SortKey: Sized {
    fn to_bytes(&self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl<K> SortKey for Id<K> {
    fn to_bytes(&self) -> Vec<u8> {
        self.bits().to_be_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self::from_bits(u128::from_be_bytes(bytes)))
    }
}

impl SortKey for i64 {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::from_be_bytes)
    }
}

/// For lists that are sorted by time, and by id where times are equal.
impl<K> SortKey for (Timestamp, Id<K>) {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.0.micros().to_be_bytes()[..], &self.1.to_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (time, id) = bytes.split_first_chunk::<8>()?;
        let time = Timestamp::from_micros(i64::from_be_bytes(*time));
        Some((time, Id::from_bytes(id)?))
    }
}

/// For lists that are sorted by name, and by id where names are equal.
impl<K> SortKey for (String, Id<K>) {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.1.to_bytes(), self.0.as_bytes()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (id, name) = bytes.split_at_checked(16)?;
        Some((String::from_utf8(name.to_vec()).ok()?, Id::from_bytes(id)?))
    }
}

/// The secret key that authenticates cursors. All nodes of an installation share it.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl CursorKey {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    fn mac(&self, list: &List<'_>, sort_key: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC accepts keys of any length");
        mac.update(&list.account.bits().to_be_bytes());
        for part in [list.route.as_bytes(), list.filters.as_bytes(), sort_key] {
            // The length keeps bytes from moving between parts.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.update(&[list.order as u8]);
        mac
    }

    /// The cursor of the page that follows the row with this sort key.
    pub fn encode<P: SortKey>(&self, list: &List<'_>, sort_key: &P) -> String {
        let mut bytes = sort_key.to_bytes();
        let mac = self.mac(list, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac[..MAC_LENGTH]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The sort key in a cursor, if the cursor was created for this list.
    pub fn decode<P: SortKey>(&self, list: &List<'_>, cursor: &str) -> Result<P> {
        let invalid = || {
            let detail =
                "The cursor is not valid for this list. Send it with the same filters and order.";
            Error::new(Code::InvalidCursor, detail).at_parameter("cursor")
        };
        let bytes = Some(cursor)
            .filter(|cursor| cursor.len() <= MAX_LENGTH)
            .and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok())
            .filter(|bytes| bytes.len() > MAC_LENGTH)
            .ok_or_else(invalid)?;
        let (sort_key, mac) = bytes.split_at(bytes.len() - MAC_LENGTH);
        self.mac(list, sort_key).verify_truncated_left(mac).map_err(|_| invalid())?;
        P::from_bytes(sort_key).ok_or_else(invalid)
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

/// The paging parameters of a query, together with the filters of the list.
#[derive(Debug)]
pub struct Paging<F> {
    pub limit: i64,
    pub order: Order,
    pub cursor: Option<String>,
    pub filter: F,
}

/// The parameters of every list, as the OpenAPI document describes them.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the parameters are used")]
struct PagingParams {
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u8>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    order: Option<Order>,
}

impl<F: FromQuery + IntoParams> IntoParams for Paging<F> {
    fn into_params(location: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut params = PagingParams::into_params(&location);
        for param in &mut params {
            match param.name.as_str() {
                "limit" => {
                    let text =
                        format!("Number of {} per page. Default: {DEFAULT_LIMIT}.", F::ITEMS);
                    param.description = Some(text);
                }
                "order" => {
                    param.description = Some(format!("Sort order. Default: `{}`.", F::ORDER));
                }
                _ => {}
            }
        }
        params.extend(F::into_params(location));
        params
    }
}

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 100;

impl<F: FromQuery> FromQuery for Paging<F> {
    fn read(params: &mut Params) -> Self {
        Self {
            limit: params.number("limit", 1, MAX_LIMIT).unwrap_or(DEFAULT_LIMIT),
            order: params.enum_value("order").unwrap_or(F::ORDER),
            cursor: params.take("cursor"),
            filter: F::read(params),
        }
    }
}

impl<F> Paging<F> {
    /// The requested page. Decodes the cursor.
    pub fn page<P: SortKey>(&self, key: &CursorKey, list: &List<'_>) -> Result<Page<P>> {
        let previous = self.cursor.as_deref().map(|text| key.decode(list, text)).transpose()?;
        Ok(Page { limit: self.limit, order: self.order, last: previous })
    }
}

/// The query without the paging parameters, in canonical form. A cursor is bound to it.
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
        fn a_cursor_round_trips(bits: u128, key: [u8; 32], filters in "[a-z=&]{0,20}") {
            let (key, id) = (CursorKey::new(key), TeamId::from_bits(bits));
            let cursor = key.encode(&list(&filters), &id);
            prop_assert_eq!(key.decode::<TeamId>(&list(&filters), &cursor).unwrap(), id);
        }

        #[test]
        fn a_flipped_bit_is_detected(bits: u128, at in 0usize..32, bit in 0u8..8) {
            let (key, list) = (CursorKey::new([7; 32]), list(""));
            let cursor = key.encode(&list, &TeamId::from_bits(bits));
            let mut bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap();
            bytes[at] ^= 1 << bit;
            prop_assert!(key.decode::<TeamId>(&list, &URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }

        #[test]
        fn arbitrary_text_is_rejected(text in "\\PC{0,80}") {
            prop_assert!(CursorKey::new([7; 32]).decode::<TeamId>(&list(""), &text).is_err());
        }
    }

    #[test]
    fn a_cursor_is_valid_only_for_its_own_list() {
        let key = CursorKey::new([7; 32]);
        let own = list("sport=soccer");
        let cursor = key.encode(&own, &TeamId::from_bits(5));
        let others = [
            List { account: AccountId::from_bits(2), ..own },
            List { route: "/events", ..own },
            List { filters: "sport=rugby", ..own },
            List { order: Order::Desc, ..own },
        ];
        assert!(others.iter().all(|other| key.decode::<TeamId>(other, &cursor).is_err()));
        assert!(CursorKey::new([8; 32]).decode::<TeamId>(&own, &cursor).is_err());
        assert_eq!(filters("b=2&limit=5&a=1&cursor=x&order=asc"), "a=1&b=2");
    }
}
