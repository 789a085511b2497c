//! Placing an order: validation, stock and insertion in one transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use macros::input;

use super::api::orders;
use super::buyer::{self, NewBuyer, ResolvedBuyer, TeamMemberships};
use super::code_use::{self, CODE_USED_UP, PendingUsage};
use super::discount::{self, Discount};
use super::order::{Line, Order, OrderRecord, Status};
use super::price::{self, Item, LinePrice, OrderPrice};
use super::product::{self, AvailableTo, Product, ProductRecord};
use super::stock;
use super::variant::Variant;
use crate::error::UniqueViolationExt;
use crate::money::{MAX_AMOUNT, settings};
use crate::prelude::*;
use crate::teams::team;

/// Maximum number of lines in an order.
pub const MAX_LINES: usize = 100;

/// A line of a new order.
#[input(as = OrderLineInput)]
#[derive(Clone, Copy)]
pub struct NewLine {
    /// Product to order.
    pub product_id: ProductId,
    /// Variant to order; required if the product has variants.
    pub variant_id: Option<VariantId>,
    /// Number of units to order.
    #[input(number(1, 1000))]
    pub quantity: i64,
}

/// A new order.
#[input(as = CreateOrderRequest, check = orders::check_lines)]
pub struct NewOrder {
    /// Team that sells the products. Default: the team of the ordered products.
    pub team_id: Option<TeamId>,
    /// Buyer of the order. Default: the signed-in user. Required for API keys.
    #[input(object)]
    pub buyer: Option<NewBuyer>,
    /// Lines of the order. Each product and variant can appear once.
    #[schema(min_items = 1)]
    #[input(objects(100))]
    pub lines: Vec<NewLine>,
    /// Expected currency; must match the currency of all products.
    pub currency: Option<Currency>,
    /// Discount code to apply, case-insensitive.
    #[input(line(40))]
    pub discount_code: Option<String>,
    /// Note from the buyer.
    #[input(block(1000))]
    pub note: Option<String>,
    /// ID of the order in another system, unique in the account.
    #[input(line(120))]
    pub external_id: Option<String>,
    /// Key-value pairs for your own use.
    #[input(default)]
    pub metadata: Metadata,
}

/// A line with its product and variant looked up.
struct ResolvedLine<'a> {
    position: usize,
    product: &'a ProductRecord,
    variant: Option<&'a Variant>,
    quantity: i64,
}

type ProductMap = BTreeMap<ProductId, Product>;

/// Places an order. A free order is paid immediately.
pub fn place(tx: &Tx<'_>, access: &TeamAccess, mut new: NewOrder) -> Result<Order> {
    // If the order is rejected, the rollback releases its number too.
    settings::prefetch_next_order(tx)?;
    let products = product::load_all(tx, new.lines.iter().map(|line| line.product_id).collect())?;
    let draft = draft(tx, access, &products, &mut new, &PendingUsage::default())?;
    reserve(tx, &draft.lines, draft.code.as_ref())?;
    insert_order(tx, draft, new)
}

/// A preview of an order with its price.
#[derive(Debug)]
pub struct Quote {
    pub team: Option<TeamId>,
    /// The buyer's name.
    pub buyer: String,
    pub code: Option<String>,
    pub currency: Currency,
    pub price: OrderPrice,
    /// The lines. They have no ids yet.
    pub lines: Vec<Line>,
}

/// Prices an order as if it were placed after the earlier orders of a checkout, and adds its usage to `pending`.
/// Nothing is written or reserved.
pub fn quote(
    db: &Reader<'_>,
    access: &TeamAccess,
    mut new: NewOrder,
    pending: &mut PendingUsage,
) -> Result<Quote> {
    let products = product::load_all(db, new.lines.iter().map(|line| line.product_id).collect())?;
    let draft = draft(db, access, &products, &mut new, pending)?;
    let mut violations = Violations::default();
    for line in &draft.lines {
        let needed = line.quantity.saturating_add(pending.reserved(line.stock_key()));
        if stock::available(line.product, line.variant).is_some_and(|stock| stock < needed) {
            line.add_sold_out(&mut violations);
        }
    }
    violations.finish()?;
    for line in &draft.lines {
        pending.reserve(line.stock_key(), line.quantity);
    }
    if draft.code.is_some() {
        pending.add_code_use(&draft.buyer);
    }
    let lines = draft.lines.iter().zip(&draft.price.lines);
    let ids = (LineId::MIN, OrderId::MIN);
    Ok(Quote {
        team: draft.team,
        lines: lines.map(|(line, price)| line.record(db, ids, price)).collect(),
        buyer: draft.buyer.name,
        code: draft.code.map(|code| code.code),
        currency: draft.currency,
        price: draft.price,
    })
}

/// Validates an order, except for stock, and calculates its price.
fn draft<'a>(
    db: &Reader<'_>,
    access: &TeamAccess,
    products: &'a ProductMap,
    new: &mut NewOrder,
    pending: &PendingUsage,
) -> Result<Draft<'a>> {
    let mut violations = Violations::default();
    let lines = resolve_lines(db, access, products, new, &mut violations);
    let team = resolve_seller(access, &lines, new.team_id, &mut violations);
    if let Some(team) = team {
        let accessible = buyer::check_seller(access, team);
        let found = accessible.and_then(|()| team::find_active(db, team));
        violations.collect_reference("/team_id", found)?;
    }
    let buyer = buyer::resolve(db, access, new.buyer.take(), &mut violations)?;
    let code = new.discount_code.as_deref().map(|code| discount::find_active_by_code(db, code));
    let code = code.transpose()?.flatten();
    if new.discount_code.is_some() && code.is_none() {
        violations.invalid("/discount_code", "not_found", "This discount code does not exist.");
    }
    let Some(buyer) = buyer else {
        // A missing buyer always adds a violation, so `finish` fails.
        return violations.finish().and(Err(Error::internal("an order without a buyer")));
    };
    check_eligibility(db, &lines, &buyer, &mut violations)?;
    let items: Vec<_> = lines.iter().map(|line| line.item(code.as_ref())).collect();
    let currency = lines.first().map(|line| line.product.currency);
    if let Some((code, currency)) = code.as_ref().zip(currency)
        && code_use::check_applicable(code, db.now(), (currency, &items), &buyer, &mut violations)
    {
        code_use::check_uses(db, code, &buyer, pending, &mut violations)?;
    }
    violations.finish()?;
    buyer::check_may_order_for(access, team, &buyer)?;
    let club_line = lines.iter().find(|line| line.product.team_id.is_none());
    if let Some(line) = club_line.filter(|_| !buyer::may_buy_club_products(access, &buyer)) {
        let detail = "Only admins can order the club's products for people outside their family.";
        let pointer = format!("/lines/{}/product_id", line.position);
        return Err(Error::new(Code::Forbidden, detail).at(&pointer));
    }
    let currency = currency.ok_or_else(|| Error::internal("an empty order"))?;
    let price = price::calculate(currency, &items, code.as_ref().map(Discount::reduction));
    if price.total > MAX_AMOUNT || price.subtotal > MAX_AMOUNT {
        let detail = message!("The order total must not exceed {max}.", max = MAX_AMOUNT);
        violations.invalid("/lines", "too_large", detail);
        violations.finish()?;
    }
    Ok(Draft { team, buyer, code, currency, price, lines })
}

/// A validated order that is not placed yet.
struct Draft<'a> {
    team: Option<TeamId>,
    buyer: ResolvedBuyer,
    code: Option<Discount>,
    currency: Currency,
    price: OrderPrice,
    lines: Vec<ResolvedLine<'a>>,
}

impl ResolvedLine<'_> {
    fn item(&self, code: Option<&Discount>) -> Item {
        Item {
            unit_price: self.unit_price(),
            quantity: self.quantity,
            tax_rate_bps: self.product.tax_rate_bps,
            tax_included: self.product.tax_included,
            discountable: code.is_some_and(|code| code.applies_to(self.product.team_id)),
        }
    }

    /// The line as it is stored.
    fn record(&self, db: &Reader<'_>, ids: (LineId, OrderId), price: &LinePrice) -> Line {
        Line {
            id: ids.0,
            account_id: db.account(),
            order_id: ids.1,
            position: i64::try_from(self.position).unwrap_or(i64::MAX),
            product_id: self.product.id,
            variant_id: self.variant.map(|variant| variant.id),
            name: self.product.name.clone(),
            variant_name: self.variant.map(|variant| variant.name.clone()),
            unit_price: self.unit_price(),
            quantity: self.quantity,
            discount: price.discount,
            tax: price.tax,
            tax_rate_bps: self.product.tax_rate_bps,
            tax_included: self.product.tax_included,
            total: price.total,
            fulfilled: 0,
            returned: 0,
            restocked: 0,
            from_stock: stock::available(self.product, self.variant).is_some(),
            refunded: 0,
        }
    }

    /// The product or variant whose stock the line uses.
    fn stock_key(&self) -> (ProductId, Option<VariantId>) {
        (self.product.id, self.variant.map(|variant| variant.id))
    }

    /// Adds a violation because the stock is too low.
    fn add_sold_out(&self, violations: &mut Violations) {
        let detail = match stock::available(self.product, self.variant).unwrap_or(0) {
            0 => message!("{product} is sold out.", product = self.product.name),
            left => message!(
                "Only {left} of {product} left in stock.",
                left,
                product = self.product.name
            ),
        };
        violations.conflict(format!("/lines/{}/quantity", self.position), "sold_out", detail);
    }

    fn unit_price(&self) -> i64 {
        self.variant.and_then(|variant| variant.price).unwrap_or(self.product.price)
    }
}

/// Looks up the products and variants of the lines and collects violations.
fn resolve_lines<'a>(
    db: &Reader<'_>,
    access: &TeamAccess,
    products: &'a ProductMap,
    new: &NewOrder,
    violations: &mut Violations,
) -> Vec<ResolvedLine<'a>> {
    let mut resolved: Vec<ResolvedLine<'a>> = Vec::with_capacity(new.lines.len());
    let mut currency = new.currency;
    for (position, line) in new.lines.iter().enumerate() {
        let pointer = |field: &str| format!("/lines/{position}/{field}");
        let found = products.get(&line.product_id);
        let visible = found.filter(|product| is_visible(access, &product.record));
        let Some(Product { record: product, variants }) = visible else {
            violations.not_found(pointer("product_id"));
            continue;
        };
        if *currency.get_or_insert(product.currency) != product.currency {
            let detail = "All products of an order must have the same currency.";
            violations.invalid(pointer("product_id"), "currency_differs", detail);
        }
        if !product.is_on_sale(db.now()) {
            let detail = message!("{product} is not on sale now.", product = product.name);
            violations.conflict(pointer("product_id"), "not_on_sale", detail);
        }
        // The limit applies to all variants of a product together.
        let same_product = new.lines.iter().filter(|other| other.product_id == line.product_id);
        let ordered: i64 = same_product.map(|other| other.quantity).sum();
        if let Some(max) = product.max_per_order.filter(|max| ordered > *max) {
            let detail = message!("An order can contain at most {max} of this product.", max);
            violations.invalid(pointer("quantity"), "too_many", detail);
        }
        let variant = variants.iter().find(|variant| Some(variant.id) == line.variant_id);
        match (line.variant_id, variant, variants.is_empty()) {
            (Some(_), None, _) => violations.not_found(pointer("variant_id")),
            (None, _, false) => {
                let detail = "Choose a variant of this product.";
                violations.invalid(pointer("variant_id"), "required", detail);
            }
            _ => {}
        }
        let is_same = |other: &ResolvedLine<'_>| {
            other.product.id == product.id
                && other.variant.map(|variant| variant.id) == line.variant_id
        };
        if resolved.iter().any(is_same) {
            let detail = "An earlier line already has this product. Increase its quantity instead.";
            violations.invalid(pointer("product_id"), "repeated", detail);
        }
        resolved.push(ResolvedLine { position, product, variant, quantity: line.quantity });
    }
    resolved
}

/// Products of the club are visible to everybody.
fn is_visible(access: &TeamAccess, product: &ProductRecord) -> bool {
    product.team_id.is_none_or(|team| access.check(team).is_ok())
}

/// The team that sells: the requested one, or the team of the products.
fn resolve_seller(
    access: &TeamAccess,
    lines: &[ResolvedLine<'_>],
    requested: Option<TeamId>,
    violations: &mut Violations,
) -> Option<TeamId> {
    if requested.is_some_and(|team| access.check(team).is_err()) {
        violations.not_found("/team_id");
        return None;
    }
    let mut team = requested;
    for line in lines {
        let Some(own) = line.product.team_id else { continue };
        if *team.get_or_insert(own) != own {
            let pointer = format!("/lines/{}/product_id", line.position);
            let detail =
                "An order can contain products of one team and of the club, but not of two teams.";
            violations.invalid(pointer, "team_differs", detail);
        }
    }
    if team.is_none() && matches!(access, TeamAccess::Teams(_)) && !lines.is_empty() {
        let detail = "`team_id` is required because this key is restricted to certain teams.";
        violations.invalid("/team_id", "required", detail);
    }
    team
}

/// Checks that the buyer may buy the products that are not for everyone.
fn check_eligibility(
    db: &Reader<'_>,
    lines: &[ResolvedLine<'_>],
    buyer: &ResolvedBuyer,
    violations: &mut Violations,
) -> Result<()> {
    if lines.iter().all(|line| line.product.available_to == AvailableTo::Everyone) {
        return Ok(());
    }
    let memberships = TeamMemberships::load(db, buyer)?;
    for line in lines.iter().filter(|line| !memberships.may_buy(line.product)) {
        let pointer = format!("/lines/{}/product_id", line.position);
        let product = &line.product.name;
        let detail = message!("{product} is not available to this buyer.", product);
        violations.conflict(pointer, "not_for_buyer", detail);
    }
    Ok(())
}

/// Removes the ordered units from the stock and counts the use of the code. If anything is unavailable, this fails and
/// the transaction is rolled back.
fn reserve(tx: &Tx<'_>, lines: &[ResolvedLine<'_>], code: Option<&Discount>) -> Result<()> {
    let mut violations = Violations::default();
    for line in lines {
        if !stock::decrement(tx, line.product, line.variant, line.quantity)? {
            line.add_sold_out(&mut violations);
        }
    }
    if let Some(code) = code
        && !discount::redeem(tx, code.id)?
    {
        violations.conflict("/discount_code", "limit_reached", CODE_USED_UP);
    }
    violations.finish()
}

/// Inserts the order and publishes `order.placed`. Note, external id and metadata are stored as sent.
fn insert_order(tx: &Tx<'_>, draft: Draft<'_>, new: NewOrder) -> Result<Order> {
    let Draft { team, buyer, code, currency, price, lines: resolved } = draft;
    let (number, ttl_minutes) = settings::next_order(tx)?;
    let free = price.total == 0;
    let ttl_minutes = ttl_minutes.and_then(|minutes| u64::try_from(minutes).ok()).filter(|_| !free);
    let record = OrderRecord {
        id: tx.new_id(),
        account_id: tx.account(),
        number,
        team_id: team,
        buyer_member_id: buyer.member_id,
        buyer_person_id: buyer.person_id,
        buyer_name: buyer.name,
        buyer_email: buyer.email,
        discount_id: code.as_ref().map(|code| code.id),
        discount_code: code.map(|code| code.code),
        note: new.note,
        currency,
        subtotal: price.subtotal,
        discount: price.discount,
        tax: price.tax,
        total: price.total,
        paid: 0,
        refunded: 0,
        status: Status::Placed,
        expires_at: ttl_minutes.map(|minutes| tx.now().plus(Duration::from_secs(minutes * 60))),
        paid_at: None,
        fulfilled_at: None,
        cancelled_at: None,
        cancel_reason: None,
        external_id: new.external_id,
        metadata: new.metadata,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    insert_record(tx, &record)?;
    let lines = insert_lines(tx, &record, &resolved, &price)?;
    let order = Order::new(record, lines);
    tx.publish("order.placed", &order.snapshot())?;
    if !free {
        return Ok(order);
    }
    let paid =
        OrderRecord { status: Status::Paid, paid_at: Some(tx.now()), ..order.record.clone() };
    super::order::update(tx, "order.paid", &order, Order { record: paid, ..order.clone() })
}

/// Inserts the order. Only an external id can conflict; without one, the result of the statement is not awaited.
fn insert_record(tx: &Tx<'_>, record: &OrderRecord) -> Result<()> {
    if record.external_id.is_none() {
        return Ok(tx.execute_deferred(OrderRecord::INSERT, &record.bind())?);
    }
    let detail = "Another order already has this external ID.";
    let result = tx.execute(OrderRecord::INSERT, &record.bind());
    result
        .on_unique_violation("shop_order_account_id_external_id_key", "/external_id", detail)
        .map(drop)
}

fn insert_lines(
    tx: &Tx<'_>,
    order: &OrderRecord,
    resolved: &[ResolvedLine<'_>],
    price: &OrderPrice,
) -> Result<Vec<Line>> {
    let lines = resolved.iter().zip(&price.lines).map(|(line, price)| {
        let record = line.record(tx, (tx.new_id(), order.id), price);
        tx.execute_deferred(Line::INSERT, &record.bind())?;
        Ok(record)
    });
    lines.collect()
}
