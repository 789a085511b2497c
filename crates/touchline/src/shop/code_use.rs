//! Whether a discount code can be used for an order, and what the orders before it in the same checkout take.

use std::collections::BTreeMap;

use kit::{Currency, Timestamp};
use store::Reader;

use super::Against;
use super::buyer::Known;
use super::discount::{self, Discount};
use super::price::{self, Item};
use crate::error::Result;
use crate::ids::{PersonId, ProductId, VariantId};

pub(super) const CODE_USED_UP: &str = "This code has reached its usage limit.";

/// What earlier orders of the same checkout take, while none of them is placed yet.
#[derive(Debug, Default)]
pub struct Earlier {
    taken: BTreeMap<(ProductId, Option<VariantId>), i64>,
    /// The buyers whose orders use the code.
    code_users: Vec<(Option<PersonId>, Option<String>)>,
}

impl Earlier {
    /// How many of a product or variant are taken.
    pub(super) fn taken(&self, key: (ProductId, Option<VariantId>)) -> i64 {
        self.taken.get(&key).copied().unwrap_or(0)
    }

    pub(super) fn take(&mut self, key: (ProductId, Option<VariantId>), quantity: i64) {
        *self.taken.entry(key).or_default() += quantity;
    }

    pub(super) fn use_code(&mut self, buyer: &Known) {
        self.code_users.push((buyer.person_id, buyer.email.clone()));
    }

    fn uses_by(&self, buyer: &Known) -> i64 {
        let same = |(person, email): &&(Option<PersonId>, Option<String>)| {
            *person == buyer.person_id && *email == buyer.email
        };
        i64::try_from(self.code_users.iter().filter(same).count()).unwrap_or(i64::MAX)
    }

    fn uses(&self) -> i64 {
        i64::try_from(self.code_users.len()).unwrap_or(i64::MAX)
    }
}

/// Whether a code is for this order, however often it was used.
pub(super) fn applicable(
    code: &Discount,
    now: Timestamp,
    (currency, items): (Currency, &[Item]),
    buyer: &Known,
    against: &mut Against,
) -> bool {
    let reducible = price::reducible(items);
    let why = if code.valid_from.is_some_and(|from| now < from) {
        "The code cannot be used yet."
    } else if code.valid_until.is_some_and(|until| now >= until) {
        "The code can no longer be used."
    } else if code.currency.is_some_and(|own| own != currency) {
        "The code is for another currency."
    } else if !items.iter().any(|item| item.reduced) {
        "This code is for another team's products."
    } else if code.least_subtotal.is_some_and(|least| reducible < least) {
        "The order is too small for the code."
    } else if code.most_uses_each.is_some() && buyer.person_id.is_none() && buyer.email.is_none() {
        "This code needs the buyer's email address."
    } else {
        return true;
    };
    against.invalid("/discount_code", "not_applicable", why);
    false
}

/// Whether the code can be used once more, in all and by this buyer.
pub(super) fn check_uses(
    db: &Reader<'_>,
    code: &Discount,
    buyer: &Known,
    earlier: &Earlier,
    against: &mut Against,
) -> Result<()> {
    if code.most_uses.is_some_and(|most| code.uses + earlier.uses() >= most) {
        against.state("/discount_code", "used_up", CODE_USED_UP);
        return Ok(());
    }
    let Some(most) = code.most_uses_each else { return Ok(()) };
    let used = discount::used_by(db, code.id, buyer.person_id, buyer.email.as_deref())?;
    if used + earlier.uses_by(buyer) >= most {
        let why = "The buyer has reached the usage limit of this code.";
        against.state("/discount_code", "used_up", why);
    }
    Ok(())
}
