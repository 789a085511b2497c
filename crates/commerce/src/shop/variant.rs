//! Variants of a product, such as sizes and colors, each with its own stock and optionally its own price.

use std::collections::BTreeSet;

use kit::text;
use macros::input;

use super::product::Status;
use crate::prelude::*;

/// Maximum number of variants of a product.
pub const MAX_VARIANTS: usize = 100;

record! {
    /// A variant of a product, such as a size or color.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = ProductVariant)]
    pub struct Variant in variant {
        /// Unique ID of the variant.
        pub id: VariantId,
        #[serde(skip)]
        pub account_id: AccountId,
        #[serde(skip)]
        pub product_id: ProductId,
        #[serde(skip)]
        pub position: i64,
        /// Name of the variant, unique within the product.
        #[schema(examples("M"), max_length = 60)]
        pub name: String,
        /// Price in minor units of the product's currency; `null` for the product's price.
        #[schema(minimum = 0, maximum = 1_000_000_000_000i64)]
        pub price: Option<i64>,
        /// Units in stock; `null` if the stock is not tracked.
        #[schema(minimum = 0)]
        pub stock: Option<i64>,
        #[serde(skip)]
        pub status: Status,
    }
}

/// A variant to create, or to change if `id` is set. When changing, omitted fields stay unchanged.
#[input(as = ProductVariantInput)]
pub struct NewVariant {
    /// ID of an existing variant to keep or change.
    pub id: Option<VariantId>,
    /// Name of the variant, unique within the product; required without `id`.
    #[schema(examples("M"), value_type = Option<String>)]
    #[input(line(60), non_null)]
    pub name: Option<String>,
    /// Price in minor units; `null` for the product's price.
    #[input(number(0, 1_000_000_000_000))]
    pub price: Change<i64>,
    /// Units in stock; `null` if the stock is not tracked.
    #[input(number(0, 1_000_000_000))]
    pub stock: Change<i64>,
}

/// The active variants of these products, by product and position.
pub fn find_by_products(db: &Reader<'_>, products: Vec<ProductId>) -> Result<Vec<Variant>> {
    if products.is_empty() {
        return Ok(Vec::new());
    }
    Ok(db.all(
        sql!(
            Variant::SELECT,
            " where account_id = :account and product_id in (:products) and status = 'active'
              order by product_id, position"
        ),
        bind! { products },
    )?)
}

/// Builds the new list of variants of a product without saving it.
pub(super) fn resolve(
    tx: &Tx<'_>,
    product_id: ProductId,
    before: &[Variant],
    requested: Vec<NewVariant>,
    violations: &mut Violations,
) -> Vec<Variant> {
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    let mut after = Vec::with_capacity(requested.len());
    for (position, new) in (0i64..).zip(requested) {
        let pointer = format!("/variants/{position}");
        let existing = new.id.and_then(|id| before.iter().find(|variant| variant.id == id));
        if new.id.is_some() && existing.is_none() {
            violations.not_found(format!("{pointer}/id"));
            continue;
        }
        let Some(name) = new.name.or_else(|| existing.map(|variant| variant.name.clone())) else {
            let detail = "`name` is required for a new variant.";
            violations.invalid(format!("{pointer}/name"), "required", detail);
            continue;
        };
        if !names.insert(text::fold_case(&name)) {
            let detail = "Another variant already has this name.";
            violations.invalid(format!("{pointer}/name"), "repeated", detail);
        }
        if existing.is_some_and(|variant| !ids.insert(variant.id)) {
            let detail = "This variant appears more than once.";
            violations.invalid(format!("{pointer}/id"), "repeated", detail);
        }
        after.push(Variant {
            id: existing.map_or_else(|| tx.new_id(), |variant| variant.id),
            account_id: tx.account(),
            product_id,
            position,
            name,
            price: new.price.apply(existing.and_then(|variant| variant.price)),
            stock: new.stock.apply(existing.and_then(|variant| variant.stock)),
            status: Status::Active,
        });
    }
    after
}

/// Saves the new list of variants of a product. Variants missing from it are archived.
pub(super) fn replace(tx: &Tx<'_>, before: &[Variant], after: &[Variant]) -> Result<()> {
    for variant in after {
        match before.iter().find(|existing| existing.id == variant.id) {
            None => tx.execute_deferred(Variant::INSERT, &variant.bind())?,
            Some(existing) if existing != variant => update(tx, variant)?,
            Some(_) => {}
        }
    }
    let removed = before.iter().filter(|old| after.iter().all(|variant| variant.id != old.id));
    for variant in removed {
        update(tx, &Variant { status: Status::Archived, ..variant.clone() })?;
    }
    Ok(())
}

fn update(tx: &Tx<'_>, variant: &Variant) -> Result<()> {
    Ok(tx.execute_deferred(Variant::UPDATE, &variant.bind())?)
}
