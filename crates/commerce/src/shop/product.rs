//! Products, sold by a team or by the club.

use std::collections::BTreeMap;

use kit::{string_enum, text};
use macros::inputs;

use super::api::products;
use super::variant::{self, NewVariant, Variant};
use crate::error::UniqueViolationExt;
use crate::money::settings;
use crate::prelude::*;
use crate::teams::team;

/// The error for a product with its own stock and with variants.
pub const WITH_VARIANTS: &str = mark!(
    "A product with variants has no stock of its own. Set the stock of each variant instead."
);

string_enum! {
    /// The status of a product or a variant.
    pub enum Status as ProductStatus {
        Active = "active",
        /// No longer sold; existing orders still refer to it.
        Archived = "archived",
    }
}

string_enum! {
    /// Who may buy a product.
    pub enum AvailableTo {
        /// Everybody who may place orders in the account.
        Everyone = "everyone",
        /// Members of the product's team and their guardians; for a product of the club, of any team.
        Members = "members",
        /// Coaches and managers of the product's team; for a product of the club, of any team.
        Staff = "staff",
    }
}
enum_column!(Status, AvailableTo);

record! {
    /// The product as it is stored.
    #[inputs(
        /// A new product.
        create(NewProduct, as = CreateProductRequest, check = products::check_new, extra(
            /// Variants such as sizes and colors.
            #[input(objects(100), default)]
            pub variants: Vec<NewVariant>,
        )),
        /// Changes to a product. Omitted fields stay unchanged; `null` clears a field. Existing orders do not change.
        update(ProductChange, as = UpdateProductRequest, check = products::check_change, extra(
            /// Replaces all variants. Those with an `id` are kept; existing variants missing from the list are archived.
            #[input(objects(100))]
            pub variants: Change<Vec<NewVariant>>,
        )),
    )]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = ProductRecord)]
    pub struct ProductRecord in product {
        /// Unique ID of the product.
        pub id: ProductId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Team that sells the product; `null` for the club.
        #[input(create_only, create = "Team that sells the product. Default: the club.")]
        pub team_id: Option<TeamId>,
        /// Name of the product.
        #[schema(examples("Home kit"))]
        #[input(line(120))]
        pub name: String,
        #[serde(skip)]
        #[derived(text::fold_case(&name))]
        pub name_folded: String,
        /// Description shown in the store.
        #[input(block(10_000))]
        pub description: Option<String>,
        /// Currency of the price; cannot be changed later.
        #[input(create_only, resolved, create = "Currency of the price. Default: the account's currency.")]
        pub currency: Currency,
        /// Price in minor units of the currency.
        #[schema(examples(2499))]
        #[input(number(0, 1_000_000_000_000))]
        pub price: i64,
        /// Tax rate in basis points: 2300 is 23%.
        #[schema(examples(2300))]
        #[input(number(0, 10_000), default, no_example,
            create = "Tax rate in basis points: 2300 is 23%. Default: 0.",
            update = "Tax rate in basis points: 2300 is 23%; `null` sets it to 0.")]
        pub tax_rate_bps: i64,
        /// Whether the price includes the tax; otherwise the tax is added to it.
        #[input(default = true, create = "Whether the price includes the tax. Default: `true`.",
            update = "Whether the price includes the tax; `null` sets it to `true`.")]
        pub tax_included: bool,
        /// Units in stock; `null` if the stock is not tracked or the product has variants.
        #[schema(minimum = 0)]
        #[input(number(0, 1_000_000_000),
            create = "Units in stock. Default: not tracked. Not allowed with variants, which have their own stock.",
            update = "New number of units in stock, regardless of sales since you read it; `null` stops tracking the stock.")]
        pub stock: Option<i64>,
        /// Start of the sale; `null` for no start.
        #[input(doc = "Start of the sale.")]
        pub on_sale_from: Option<Timestamp>,
        /// End of the sale, exclusive; `null` for no end.
        #[input(doc = "End of the sale, exclusive; must be after `on_sale_from`.")]
        pub on_sale_until: Option<Timestamp>,
        /// Who may buy the product: `everyone`, `members` (members of the team and their guardians) or `staff` (coaches
        /// and managers). For a product of the club, members and staff of any team.
        #[input(default = AvailableTo::Everyone, create = "Who may buy the product. Default: `everyone`.",
            update = "Who may buy the product; `null` sets it to `everyone`.")]
        pub available_to: AvailableTo,
        /// Maximum quantity in one order, all variants together; `null` for no limit.
        #[input(number(1, 1000),
            create = "Maximum quantity in one order, all variants together. Default: no limit.")]
        pub max_per_order: Option<i64>,
        /// Day on which the product can be picked up.
        #[schema(value_type = Option<String>, format = Date)]
        #[input]
        pub pickup_date: Option<Day>,
        /// Status of the product: `active`, or `archived` (it is no longer sold).
        #[value(Status::Active)]
        pub status: Status,
        /// ID of the product in another system, unique in the account.
        #[input(line(120))]
        pub external_id: Option<String>,
        /// Key-value pairs for your own use.
        #[input(default, update = "Replaces all metadata; `null` clears it.")]
        pub metadata: Metadata,
        /// When the product was created.
        pub created_at: Timestamp,
        /// When the product was last changed.
        pub updated_at: Timestamp,
        /// Version of the product; increases with every change, including stock changes.
        pub version: i64,
    }
}

/// A product of the store.
#[macros::object("product")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Product {
    #[serde(flatten)]
    pub record: ProductRecord,
    /// Variants such as sizes and colors. If there are any, an order must name one.
    pub variants: Vec<Variant>,
}

impl_resource!(Product by ProductId in record: Subject Versioned Paged);

impl ProductRecord {
    /// Whether the product is on sale at a point in time.
    pub fn is_on_sale(&self, now: Timestamp) -> bool {
        self.status == Status::Active
            && self.on_sale_from.is_none_or(|from| from <= now)
            && self.on_sale_until.is_none_or(|until| now < until)
    }
}

/// Creates a product.
pub fn create(tx: &Tx<'_>, access: &TeamAccess, mut new: NewProduct) -> Result<Product> {
    let mut violations = Violations::default();
    match new.team_id {
        Some(team) => drop(team::find_referenced(tx, access, team, &mut violations)?),
        None => check_may_manage(access, None).map_err(|error| error.at("/team_id"))?,
    }
    let currency = match new.currency {
        Some(currency) => currency,
        None => settings::load(tx)?.currency,
    };
    let variants = std::mem::take(&mut new.variants);
    let record = new.into_record(tx, currency);
    let variants = variant::resolve(tx, record.id, &[], variants, &mut violations);
    let product = Product { record, variants };
    validate(&product, &mut violations)?;
    map_external_id_conflict(tx.execute(ProductRecord::INSERT, &product.record.bind()))?;
    variant::replace(tx, &[], &product.variants)?;
    tx.publish("product.created", &product)?;
    Ok(product)
}

/// A product that the caller may see: from their teams or from the club.
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: ProductId) -> Result<Product> {
    let product = load_all(db, vec![id])?.remove(&id).ok_or_else(Error::not_found)?;
    if let Some(team) = product.record.team_id {
        access.check(team)?;
    }
    Ok(product)
}

/// These products with their variants, without checking access.
pub(super) fn load_all(
    db: &Reader<'_>,
    ids: Vec<ProductId>,
) -> Result<BTreeMap<ProductId, Product>> {
    let text = sql!(ProductRecord::SELECT, " where account_id = :account and id in (:ids)");
    let products = with_variants(db, db.all(text, bind! { ids })?)?.into_iter();
    Ok(products.map(|product| (product.record.id, product)).collect())
}

/// Adds the variants to these products.
pub(super) fn with_variants(db: &Reader<'_>, records: Vec<ProductRecord>) -> Result<Vec<Product>> {
    // A product with its own stock has no variants, so this often saves a query.
    let without_stock = records.iter().filter(|record| record.stock.is_none());
    let variants = variant::find_by_products(db, without_stock.map(|record| record.id).collect())?;
    let with_variants = |record: ProductRecord| {
        let own = variants.iter().filter(|variant| variant.product_id == record.id);
        Product { variants: own.cloned().collect(), record }
    };
    Ok(records.into_iter().map(with_variants).collect())
}

/// Changes a product. If nothing changes, the version stays the same and no notification is published.
pub fn change(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: ProductId,
    expected: &IfMatch,
    mut change: ProductChange,
) -> Result<Product> {
    let before = find_managed(tx, access, id, expected)?;
    if before.record.status == Status::Archived {
        return Err(Error::invalid_state("An archived product cannot be changed."));
    }
    let mut violations = Violations::default();
    let variants = match std::mem::take(&mut change.variants) {
        Change::Keep => before.variants.clone(),
        replacement => {
            let requested = replacement.apply(None).unwrap_or_default();
            variant::resolve(tx, id, &before.variants, requested, &mut violations)
        }
    };
    let record = before.record.apply(change);
    let after = Product { record, variants };
    validate(&after, &mut violations)?;
    if after == before {
        return Ok(before);
    }
    update(tx, "product.updated", &before, after)
}

/// Archives a product: it can no longer be ordered. Existing orders do not change.
pub fn archive(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: ProductId,
    expected: &IfMatch,
) -> Result<Product> {
    let before = find_managed(tx, access, id, expected)?;
    if before.record.status == Status::Archived {
        return Err(Error::invalid_state("The product is already archived."));
    }
    let mut after = before.clone();
    after.record.status = Status::Archived;
    update(tx, "product.archived", &before, after)
}

/// A product that the caller may change.
fn find_managed(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: ProductId,
    expected: &IfMatch,
) -> Result<Product> {
    let found = find(tx, access, id).and_then(|product| {
        check_may_manage(access, product.record.team_id)?;
        Ok(product)
    });
    expected.check(found)
}

/// Coaches and managers manage their team's products. Products of the club require access to all teams.
fn check_may_manage(access: &TeamAccess, team: Option<TeamId>) -> Result<()> {
    match (team, access) {
        (Some(team), _) => access.check(team),
        (None, TeamAccess::AllTeams) => Ok(()),
        (None, TeamAccess::Teams(_)) => {
            let detail =
                "This API key is restricted to certain teams, so `team_id` must be one of them.";
            Err(Error::new(Code::Forbidden, detail))
        }
        (None, TeamAccess::User(_)) => Err(Error::forbidden()),
    }
}

/// Checks the rules that span several fields.
fn validate(product: &Product, violations: &mut Violations) -> Result<()> {
    let Product { record, variants } = product;
    if record.on_sale_from.zip(record.on_sale_until).is_some_and(|(from, until)| until <= from) {
        let detail = "The sale must end after it starts.";
        violations.invalid("/on_sale_until", "too_early", detail);
    }
    if record.stock.is_some() && !variants.is_empty() {
        violations.invalid("/stock", "with_variants", WITH_VARIANTS);
    }
    violations.finish()
}

fn update(tx: &Tx<'_>, event: &'static str, before: &Product, after: Product) -> Result<Product> {
    let version = before.record.version + 1;
    let record = ProductRecord { updated_at: tx.now(), version, ..after.record };
    let after = Product { record, ..after };
    map_external_id_conflict(tx.execute(ProductRecord::UPDATE, &after.record.bind()))?;
    variant::replace(tx, &before.variants, &after.variants)?;
    tx.publish_change(event, before, &after)?;
    Ok(after)
}

fn map_external_id_conflict(result: store::Result<u64>) -> Result<u64> {
    let detail = "Another product already has this external ID.";
    result.on_unique_violation("product_account_id_external_id_key", "/external_id", detail)
}
