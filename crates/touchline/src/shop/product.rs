//! The product: what a team or the whole club sells.

use std::collections::BTreeMap;

use kit::{Change, Currency, Day, Timestamp, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::Against;
use super::variant::{self, NewVariant, Variant};
use crate::accounts::rights::Reach;
use crate::error::{Error, Result, TakenExt};
use crate::expected::{Expected, Versioned};
use crate::ids::{AccountId, ProductId, TeamId};
use crate::metadata::Metadata;
use crate::money::settings;
use crate::paging::{Order, Page, Paged};
use crate::signals::{Subject, Tell};
use crate::teams::team;

words! {
    /// Whether a product is sold.
    pub enum Status as ProductStatus {
        Active = "active",
        /// It is no longer sold; orders still name it.
        Archived = "archived",
    }
}

words! {
    /// Who may buy a product.
    pub enum Buyers {
        /// Everybody who may order in the account.
        Everyone = "everyone",
        /// Those on the product's team and their guardians; without a team, those of any.
        Members = "members",
        /// Those who coach or manage the product's team; without a team, any.
        Staff = "staff",
    }
}
word_column!(Status, Buyers);

record! {
    /// What is kept of a product.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = ProductRecord)]
    pub struct Stored in product {
        pub id: ProductId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// The team that sells it; `null`: the club.
        pub team_id: Option<TeamId>,
        #[schema(examples("Home kit"), max_length = 120)]
        pub name: String,
        #[serde(skip)]
        pub name_folded: String,
        #[schema(max_length = 10000)]
        pub description: Option<String>,
        pub currency: Currency,
        /// In minor units of the currency.
        #[schema(examples(2499), minimum = 0, maximum = 1_000_000_000_000i64)]
        pub price: i64,
        /// In basis points: 2300 is 23 %.
        #[schema(examples(2300), minimum = 0, maximum = 10000)]
        pub tax_rate_bp: i64,
        /// Whether the price contains the tax; otherwise it comes on top.
        pub tax_included: bool,
        /// How many are left, where there are no variants; `null`: without limit.
        #[schema(minimum = 0)]
        pub stock: Option<i64>,
        pub on_sale_from: Option<Timestamp>,
        pub on_sale_until: Option<Timestamp>,
        pub buyers: Buyers,
        /// How many one order can have; `null`: as many as there are.
        #[schema(minimum = 1, maximum = 1000)]
        pub most_per_order: Option<i64>,
        /// When it can be picked up.
        #[schema(value_type = Option<String>, format = Date)]
        pub pick_up_on: Option<Day>,
        pub status: Status,
        /// The product's id in another system, unique in the account.
        #[schema(max_length = 120)]
        pub external_id: Option<String>,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change, and whenever stock is taken or put back.
        pub version: i64,
    }
}

/// Something that can be bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "object", rename = "product")]
pub struct Product {
    #[serde(flatten)]
    pub kept: Stored,
    /// Sizes, colours; where there are any, an order names one.
    pub variants: Vec<Variant>,
}

impl Subject for Product {
    fn subject(&self) -> String {
        self.kept.id.to_string()
    }
}

impl Versioned for Product {
    fn version(&self) -> i64 {
        self.kept.version
    }
}

impl Paged for Product {
    type Place = ProductId;

    fn place(&self) -> ProductId {
        self.kept.id
    }
}

/// A product to be sold.
#[derive(Debug, ToSchema)]
pub struct NewProduct {
    /// The team that sells it; the club if left out.
    pub team_id: Option<TeamId>,
    #[schema(examples("Home kit"), min_length = 1, max_length = 120)]
    pub name: String,
    #[schema(max_length = 10000)]
    pub description: Option<String>,
    /// The account's currency if left out.
    pub currency: Option<Currency>,
    #[schema(examples(2499), minimum = 0, maximum = 1_000_000_000_000i64)]
    pub price: i64,
    /// 0 if left out.
    #[schema(required = false, minimum = 0, maximum = 10000)]
    pub tax_rate_bp: i64,
    /// `true` if left out.
    #[schema(required = false)]
    pub tax_included: bool,
    #[schema(required = false, max_items = 100)]
    pub variants: Vec<NewVariant>,
    /// Only without variants, which have stocks of their own.
    #[schema(minimum = 0, maximum = 1_000_000_000)]
    pub stock: Option<i64>,
    pub on_sale_from: Option<Timestamp>,
    pub on_sale_until: Option<Timestamp>,
    /// `everyone` if left out.
    #[schema(required = false)]
    pub buyers: Buyers,
    #[schema(minimum = 1, maximum = 1000)]
    pub most_per_order: Option<i64>,
    #[schema(value_type = Option<String>, format = Date)]
    pub pick_up_on: Option<Day>,
    #[schema(max_length = 120)]
    pub external_id: Option<String>,
    #[schema(required = false)]
    pub metadata: Metadata,
}

/// What is to be changed: members that are left out stay, `null` clears. What was ordered stays as it was.
#[derive(Debug, ToSchema)]
pub struct ProductChange {
    #[schema(value_type = Option<String>, min_length = 1, max_length = 120)]
    pub name: Option<String>,
    #[schema(value_type = Option<String>, max_length = 10000)]
    pub description: Change<String>,
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000_000i64)]
    pub price: Option<i64>,
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 10000)]
    pub tax_rate_bp: Change<i64>,
    #[schema(value_type = Option<bool>)]
    pub tax_included: Change<bool>,
    /// Replaces all variants: those with an `id` stay, those that are left out are archived.
    #[schema(value_type = Option<Vec<NewVariant>>, max_items = 100)]
    pub variants: Change<Vec<NewVariant>>,
    /// How many there are from now on, whatever was sold in the meantime.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000)]
    pub stock: Change<i64>,
    #[schema(value_type = Option<Timestamp>)]
    pub on_sale_from: Change<Timestamp>,
    #[schema(value_type = Option<Timestamp>)]
    pub on_sale_until: Change<Timestamp>,
    #[schema(value_type = Option<Buyers>)]
    pub buyers: Change<Buyers>,
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 1000)]
    pub most_per_order: Change<i64>,
    #[schema(value_type = Option<String>, format = Date)]
    pub pick_up_on: Change<Day>,
    #[schema(value_type = Option<String>, max_length = 120)]
    pub external_id: Change<String>,
    /// Replaces all pairs; `null` clears them.
    #[schema(value_type = Option<Metadata>)]
    pub metadata: Change<Metadata>,
}

/// Which products to list.
#[derive(Debug, Default)]
pub struct ProductFilter {
    pub team_id: Option<TeamId>,
    /// `None` is every status.
    pub status: Option<Status>,
    /// Whether it is sold now.
    pub on_sale: Option<bool>,
    pub external_id: Option<String>,
    /// Part of the name, whatever its case.
    pub q: Option<String>,
}

impl Stored {
    /// Whether it is sold at a moment.
    pub fn is_on_sale(&self, now: Timestamp) -> bool {
        self.status == Status::Active
            && self.on_sale_from.is_none_or(|from| from <= now)
            && self.on_sale_until.is_none_or(|until| now < until)
    }
}

/// Offers a product.
pub fn create(tx: &Tx<'_>, reach: &Reach, new: NewProduct) -> Result<Product> {
    managed(reach, new.team_id).map_err(|error| error.at("/team_id"))?;
    if let Some(team) = new.team_id {
        team::playing(tx, team).map_err(|error| error.at("/team_id"))?;
    }
    let currency = match new.currency {
        Some(currency) => currency,
        None => settings::of(tx)?.currency,
    };
    let kept = Stored {
        id: tx.new_id(),
        account_id: tx.account(),
        team_id: new.team_id,
        name_folded: text::folded(&new.name),
        name: new.name,
        description: new.description,
        currency,
        price: new.price,
        tax_rate_bp: new.tax_rate_bp,
        tax_included: new.tax_included,
        stock: new.stock,
        on_sale_from: new.on_sale_from,
        on_sale_until: new.on_sale_until,
        buyers: new.buyers,
        most_per_order: new.most_per_order,
        pick_up_on: new.pick_up_on,
        status: Status::Active,
        external_id: new.external_id,
        metadata: new.metadata,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    let mut against = Against::default();
    let variants = variant::planned(tx, kept.id, &[], new.variants, &mut against);
    let product = Product { kept, variants };
    whole(&product, &mut against)?;
    unique(tx.run(Stored::INSERT, &product.kept.bind()))?;
    variant::replace(tx, &[], &product.variants)?;
    tx.tell("product.created", &product)?;
    Ok(product)
}

/// One product that the caller may see: their teams' and the club's.
pub fn find(db: &Reader<'_>, reach: &Reach, id: ProductId) -> Result<Product> {
    let kept: Stored =
        db.one(sql!(Stored::SELECT, " where account_id = :account and id = :id"), bind! { id })?;
    if let Some(team) = kept.team_id {
        reach.check(team)?;
    }
    let variants = variant::of(db, vec![id])?;
    Ok(Product { kept, variants })
}

/// These products with their variants, whoever may see them.
pub(super) fn all(
    db: &Reader<'_>,
    ids: Vec<ProductId>,
) -> Result<BTreeMap<ProductId, (Stored, Vec<Variant>)>> {
    let kept: Vec<Stored> = db.all(
        sql!(Stored::SELECT, " where account_id = :account and id in (:ids)"),
        bind! { ids },
    )?;
    // What has a stock of its own has no variants: mostly there is nothing more to look up.
    let sized: Vec<_> =
        kept.iter().filter(|kept| kept.stock.is_none()).map(|kept| kept.id).collect();
    let mut found: BTreeMap<_, _> =
        kept.into_iter().map(|kept| (kept.id, (kept, Vec::new()))).collect();
    let variants = if sized.is_empty() { Vec::new() } else { variant::of(db, sized)? };
    for variant in variants {
        if let Some((_, variants)) = found.get_mut(&variant.product_id) {
            variants.push(variant);
        }
    }
    Ok(found)
}

/// A page of products, in order of creation.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &ProductFilter,
    page: &Page<ProductId>,
) -> Result<Vec<Product>> {
    let ProductFilter { team_id, status, on_sale, external_id, .. } = filter;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let after = page.after(ProductId::LEAST, ProductId::GREATEST);
    let limit = page.fetch();
    let (narrowed, teams) = reach.narrowing();
    let text = match page.order {
        Order::Asc => sql!(Stored::SELECT, FILTER, " and id > :after order by id limit :limit"),
        Order::Desc => {
            sql!(Stored::SELECT, FILTER, " and id < :after order by id desc limit :limit")
        }
    };
    let bound =
        bind! { after, limit, team_id, status, on_sale, external_id, pattern, narrowed, teams };
    let kept: Vec<Stored> = db.all(text, bound)?;
    let variants = variant::of(db, kept.iter().map(|kept| kept.id).collect())?;
    let shown = |kept: Stored| {
        let own = variants.iter().filter(|variant| variant.product_id == kept.id);
        Product { variants: own.cloned().collect(), kept }
    };
    Ok(kept.into_iter().map(shown).collect())
}

const FILTER: &str = "
    where account_id = :account
      and (not cast(:narrowed as boolean) or team_id is null or team_id in (:teams))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (cast(:status as text) is null or status = :status)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\')
      and (cast(:on_sale as boolean) is null or cast(:on_sale as boolean) = (
              status = 'active' and (on_sale_from is null or on_sale_from <= :now)
              and (on_sale_until is null or on_sale_until > :now)))";

/// Changes a product. A change that changes nothing leaves the version as it is and tells nobody.
pub fn change(
    tx: &Tx<'_>,
    reach: &Reach,
    id: ProductId,
    expected: &Expected,
    change: ProductChange,
) -> Result<Product> {
    let before = owned(tx, reach, id, expected)?;
    if before.kept.status == Status::Archived {
        return Err(Error::invalid_state("An archived product cannot be changed."));
    }
    let was = before.kept.clone();
    let name = change.name.unwrap_or_else(|| was.name.clone());
    let mut against = Against::default();
    let variants = match change.variants {
        Change::Keep => before.variants.clone(),
        said => {
            let wanted = said.apply(None).unwrap_or_default();
            variant::planned(tx, id, &before.variants, wanted, &mut against)
        }
    };
    let kept = Stored {
        name_folded: text::folded(&name),
        name,
        description: change.description.apply(was.description.clone()),
        price: change.price.unwrap_or(was.price),
        tax_rate_bp: change.tax_rate_bp.apply_or(was.tax_rate_bp, 0),
        tax_included: change.tax_included.apply_or(was.tax_included, true),
        stock: change.stock.apply(was.stock),
        on_sale_from: change.on_sale_from.apply(was.on_sale_from),
        on_sale_until: change.on_sale_until.apply(was.on_sale_until),
        buyers: change.buyers.apply_or(was.buyers, Buyers::Everyone),
        most_per_order: change.most_per_order.apply(was.most_per_order),
        pick_up_on: change.pick_up_on.apply(was.pick_up_on),
        external_id: change.external_id.apply(was.external_id.clone()),
        metadata: change.metadata.apply_or(was.metadata.clone(), Metadata::default()),
        ..was
    };
    let after = Product { kept, variants };
    whole(&after, &mut against)?;
    if after == before {
        return Ok(before);
    }
    update(tx, "product.updated", &before, after)
}

/// Archives a product: it is sold no longer; what was ordered stays.
pub fn archive(tx: &Tx<'_>, reach: &Reach, id: ProductId, expected: &Expected) -> Result<Product> {
    let before = owned(tx, reach, id, expected)?;
    if before.kept.status == Status::Archived {
        return Err(Error::invalid_state("The product is already archived."));
    }
    let mut after = before.clone();
    after.kept.status = Status::Archived;
    update(tx, "product.archived", &before, after)
}

/// A product that the caller may change.
fn owned(tx: &Tx<'_>, reach: &Reach, id: ProductId, expected: &Expected) -> Result<Product> {
    let found = find(tx, reach, id).and_then(|product| {
        managed(reach, product.kept.team_id)?;
        Ok(product)
    });
    expected.check(found)
}

/// Those who lead a team sell what is its own; what the whole club sells is for those who reach all of it.
fn managed(reach: &Reach, team: Option<TeamId>) -> Result<()> {
    match (team, reach) {
        (Some(team), _) => reach.check(team),
        (None, Reach::Everywhere) => Ok(()),
        (None, _) => Err(Error::forbidden()),
    }
}

/// What must hold of a product as a whole.
fn whole(product: &Product, against: &mut Against) -> Result<()> {
    let Product { kept, variants } = product;
    if kept.on_sale_from.zip(kept.on_sale_until).is_some_and(|(from, until)| until <= from) {
        let why = "The sale must end after it begins.";
        against.invalid("/on_sale_until", "too_early", why);
    }
    if kept.stock.is_some() && !variants.is_empty() {
        let why = "Where there are variants, they have the stock; send null here.";
        against.invalid("/stock", "with_variants", why);
    }
    against.finish()
}

fn update(tx: &Tx<'_>, news: &'static str, before: &Product, after: Product) -> Result<Product> {
    let version = before.kept.version + 1;
    let kept = Stored { updated_at: tx.now(), version, ..after.kept };
    let after = Product { kept, ..after };
    unique(tx.run(
        "update product set name = :name, name_folded = :name_folded, description = :description,
             price = :price, tax_rate_bp = :tax_rate_bp, tax_included = :tax_included,
             stock = :stock, on_sale_from = :on_sale_from, on_sale_until = :on_sale_until,
             buyers = :buyers, most_per_order = :most_per_order, pick_up_on = :pick_up_on,
             status = :status, external_id = :external_id, metadata = :metadata,
             updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.kept.bind(),
    ))?;
    variant::replace(tx, &before.variants, &after.variants)?;
    tx.tell_change(news, before, &after)?;
    Ok(after)
}

fn unique(done: store::Result<u64>) -> Result<u64> {
    let others = "Another product already has this external id.";
    done.taken("product_account_id_external_id_key", "/external_id", others)
}
