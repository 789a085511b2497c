//! Variants: the sizes and colours of a product, each with its own stock and, if it differs, its own price.

use std::collections::BTreeSet;

use kit::{Change, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::Against;
use crate::error::Result;
use crate::ids::{AccountId, ProductId, VariantId};

/// How many variants a product can have.
pub const MOST: usize = 100;

words! {
    /// Whether a variant is offered.
    pub enum Status as VariantStatus {
        Active = "active",
        /// It is no longer offered; orders still name it.
        Archived = "archived",
    }
}
word_column!(Status);

record! {
    /// A size or colour of a product.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Variant in variant {
        pub id: VariantId,
        #[serde(skip)]
        pub account_id: AccountId,
        #[serde(skip)]
        pub product_id: ProductId,
        #[serde(skip)]
        pub position: i64,
        #[schema(examples("M"), max_length = 60)]
        pub name: String,
        /// `null`: the product's price.
        #[schema(minimum = 0, maximum = 1_000_000_000_000i64)]
        pub price: Option<i64>,
        /// How many are left; `null`: without limit.
        #[schema(minimum = 0)]
        pub stock: Option<i64>,
        #[serde(skip)]
        pub status: Status,
    }
}

/// A variant as it is to be. With `id` it is one that is there, and members that are left out stay.
#[derive(Debug, ToSchema)]
pub struct NewVariant {
    pub id: Option<VariantId>,
    /// Required without `id`.
    #[schema(examples("M"), min_length = 1, max_length = 60)]
    pub name: Option<String>,
    /// `null`: the product's price.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000_000i64)]
    pub price: Change<i64>,
    /// `null`: without limit.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000)]
    pub stock: Change<i64>,
}

/// The variants of these products that are offered, in their order.
pub fn of(db: &Reader<'_>, products: Vec<ProductId>) -> Result<Vec<Variant>> {
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

/// The variants that a product is to have, without changing anything yet.
pub(super) fn planned(
    tx: &Tx<'_>,
    product_id: ProductId,
    before: &[Variant],
    wanted: Vec<NewVariant>,
    against: &mut Against,
) -> Vec<Variant> {
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    let mut after = Vec::with_capacity(wanted.len());
    for (position, new) in (0i64..).zip(wanted) {
        let place = format!("/variants/{position}");
        let known = new.id.and_then(|id| before.iter().find(|known| known.id == id));
        if new.id.is_some() && known.is_none() {
            against.missing(format!("{place}/id"));
            continue;
        }
        let Some(name) = new.name.or_else(|| known.map(|known| known.name.clone())) else {
            against.invalid(format!("{place}/name"), "required", "This member is required.");
            continue;
        };
        if !names.insert(text::folded(&name)) {
            let why = "Another variant already has this name.";
            against.invalid(format!("{place}/name"), "repeated", why);
        }
        if known.is_some_and(|known| !ids.insert(known.id)) {
            let why = "This stands in the list before.";
            against.invalid(format!("{place}/id"), "repeated", why);
        }
        after.push(Variant {
            id: known.map_or_else(|| tx.new_id(), |known| known.id),
            account_id: tx.account(),
            product_id,
            position,
            name,
            price: new.price.apply(known.and_then(|known| known.price)),
            stock: new.stock.apply(known.and_then(|known| known.stock)),
            status: Status::Active,
        });
    }
    after
}

/// Makes these the variants of a product. Those that are left out are archived.
pub(super) fn replace(tx: &Tx<'_>, before: &[Variant], after: &[Variant]) -> Result<()> {
    for variant in after {
        match before.iter().find(|known| known.id == variant.id) {
            None => tx.later(Variant::INSERT, &variant.bind())?,
            Some(known) if known != variant => update(tx, variant)?,
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|known| after.iter().all(|variant| variant.id != known.id));
    for variant in gone {
        update(tx, &Variant { status: Status::Archived, ..variant.clone() })?;
    }
    Ok(())
}

fn update(tx: &Tx<'_>, variant: &Variant) -> Result<()> {
    Ok(tx.later(
        "update variant set position = :position, name = :name, price = :price, stock = :stock,
             status = :status
         where account_id = :account and id = :id",
        &variant.bind(),
    )?)
}
