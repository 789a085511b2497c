//! Stock levels. They never drop below zero, however many orders are placed at the same time.

use super::product::ProductRecord;
use super::variant::Variant;
use crate::prelude::*;

/// Units in stock; `None` if the stock is not tracked.
pub fn available(product: &ProductRecord, variant: Option<&Variant>) -> Option<i64> {
    variant.map_or(product.stock, |variant| variant.stock)
}

/// Removes units from the stock; returns `false` if there are not enough. The stock read earlier in this job is still
/// current because jobs of one account never overlap. As a safeguard, the schema rejects a negative stock.
pub fn decrement(
    tx: &Tx<'_>,
    product: &ProductRecord,
    variant: Option<&Variant>,
    count: i64,
) -> Result<bool> {
    match available(product, variant) {
        None => Ok(true),
        Some(left) if left < count => Ok(false),
        Some(_) => {
            let variant = variant.map(|variant| variant.id);
            adjust(tx, product.id, variant, -count).map(|()| true)
        }
    }
}

/// Returns units to the stock; a negative number removes them. Does nothing if the stock is no longer tracked.
pub fn adjust(
    tx: &Tx<'_>,
    product: ProductId,
    variant: Option<VariantId>,
    count: i64,
) -> Result<()> {
    let Some(variant) = variant else {
        return Ok(tx.execute_deferred(
            "update product set stock = stock + :count, updated_at = :now, version = version + 1
             where account_id = :account and id = :product and stock is not null",
            bind! { product, count },
        )?);
    };
    tx.execute_deferred(
        "update variant set stock = stock + :count
         where account_id = :account and id = :variant and stock is not null",
        bind! { variant, count },
    )?;
    // The product shows the stock of its variants.
    Ok(tx.execute_deferred(
        "update product set updated_at = :now, version = version + 1
         where account_id = :account and id = :product",
        bind! { product },
    )?)
}
