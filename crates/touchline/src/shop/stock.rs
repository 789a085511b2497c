//! The shelf: what is taken from it and put back. Whatever happens at once, it never holds less than nothing.

use store::{Tx, bind};

use super::product::Stored;
use super::variant::Variant;
use crate::error::Result;
use crate::ids::{ProductId, VariantId};

/// How many are left; `None`: they are not counted.
pub fn left(product: &Stored, variant: Option<&Variant>) -> Option<i64> {
    variant.map_or(product.stock, |variant| variant.stock)
}

/// Takes so many from the shelf; `false` if there are not so many. What was read in this job still holds, since jobs of
/// an account never overlap; if it did not, the schema would refuse a shelf with less than nothing.
pub fn take(tx: &Tx<'_>, product: &Stored, variant: Option<&Variant>, count: i64) -> Result<bool> {
    match left(product, variant) {
        None => return Ok(true),
        Some(left) if left < count => return Ok(false),
        Some(_) => {}
    }
    let Some(variant) = variant else {
        tx.later(
            "update product set stock = stock - :count, updated_at = :now, version = version + 1
             where account_id = :account and id = :id",
            bind! { id: product.id, count },
        )?;
        return Ok(true);
    };
    tx.later(
        "update variant set stock = stock - :count
         where account_id = :account and id = :id",
        bind! { id: variant.id, count },
    )?;
    raise(tx, product.id)?;
    Ok(true)
}

/// Puts so many back on the shelf. Where they are not counted any more, there is nothing to do.
pub fn put_back(
    tx: &Tx<'_>,
    product: ProductId,
    variant: Option<VariantId>,
    count: i64,
) -> Result<()> {
    let Some(variant) = variant else {
        return Ok(tx.later(
            "update product set stock = stock + :count, updated_at = :now, version = version + 1
             where account_id = :account and id = :product and stock is not null",
            bind! { product, count },
        )?);
    };
    tx.later(
        "update variant set stock = stock + :count
         where account_id = :account and id = :variant and stock is not null",
        bind! { variant, count },
    )?;
    raise(tx, product)
}

/// A product shows what is left of its variants.
fn raise(tx: &Tx<'_>, product: ProductId) -> Result<()> {
    Ok(tx.later(
        "update product set updated_at = :now, version = version + 1
         where account_id = :account and id = :product",
        bind! { product },
    )?)
}
