//! Checks whether a discount code can be used for an order, counting other orders of the same checkout.

use std::collections::BTreeMap;

use super::buyer::ResolvedBuyer;
use super::discount::{self, Discount};
use super::price::{self, Item};
use crate::prelude::*;

pub(super) const CODE_USED_UP: &str = mark!("This code has reached its usage limit.");

/// Stock and code uses of earlier orders in the same checkout that are not placed yet.
#[derive(Debug, Default)]
pub struct PendingUsage {
    reserved: BTreeMap<(ProductId, Option<VariantId>), i64>,
    /// Buyers whose orders use the code: person id and email address.
    code_users: Vec<(Option<PersonId>, Option<String>)>,
}

impl PendingUsage {
    /// Units of a product or variant that earlier orders take.
    pub(super) fn reserved(&self, key: (ProductId, Option<VariantId>)) -> i64 {
        self.reserved.get(&key).copied().unwrap_or(0)
    }

    pub(super) fn reserve(&mut self, key: (ProductId, Option<VariantId>), quantity: i64) {
        *self.reserved.entry(key).or_default() += quantity;
    }

    pub(super) fn add_code_use(&mut self, buyer: &ResolvedBuyer) {
        self.code_users.push((buyer.person_id, buyer.email.clone()));
    }

    fn code_uses_by(&self, buyer: &ResolvedBuyer) -> i64 {
        let same = |(person, email): &&(Option<PersonId>, Option<String>)| {
            *person == buyer.person_id && *email == buyer.email
        };
        i64::try_from(self.code_users.iter().filter(same).count()).unwrap_or(i64::MAX)
    }

    fn code_uses(&self) -> i64 {
        i64::try_from(self.code_users.len()).unwrap_or(i64::MAX)
    }
}

/// Whether a code can be used for this order, without regard to its usage limits.
pub(super) fn check_applicable(
    code: &Discount,
    now: Timestamp,
    (currency, items): (Currency, &[Item]),
    buyer: &ResolvedBuyer,
    violations: &mut Violations,
) -> bool {
    let subtotal = price::discountable_subtotal(items);
    let detail = if code.valid_from.is_some_and(|from| now < from) {
        "This code is not valid yet."
    } else if code.valid_until.is_some_and(|until| now >= until) {
        "This code has expired."
    } else if code.currency.is_some_and(|own| own != currency) {
        "This code is for another currency."
    } else if !items.iter().any(|item| item.discountable) {
        "This code is for another team's products."
    } else if code.min_subtotal.is_some_and(|min| subtotal < min) {
        "The order is too small for this code. Order more, or remove the code."
    } else if code.max_uses_per_buyer.is_some()
        && buyer.person_id.is_none()
        && buyer.email.is_none()
    {
        "This code needs the buyer's email address."
    } else {
        return true;
    };
    violations.invalid("/discount_code", "not_applicable", detail);
    false
}

/// Checks the usage limits of the code: in total and for this buyer.
pub(super) fn check_uses(
    db: &Reader<'_>,
    code: &Discount,
    buyer: &ResolvedBuyer,
    pending: &PendingUsage,
    violations: &mut Violations,
) -> Result<()> {
    if code.max_uses.is_some_and(|max| code.use_count + pending.code_uses() >= max) {
        violations.conflict("/discount_code", "limit_reached", CODE_USED_UP);
        return Ok(());
    }
    let Some(max) = code.max_uses_per_buyer else { return Ok(()) };
    let used = discount::count_uses_by(db, code.id, buyer.person_id, buyer.email.as_deref())?;
    if used + pending.code_uses_by(buyer) >= max {
        let detail = "The buyer has reached the usage limit of this code.";
        violations.conflict("/discount_code", "limit_reached", detail);
    }
    Ok(())
}
