//! Placing an order: everything is checked, stock is taken and the order is written down, in one transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::Currency;
use store::{Reader, Tx};
use utoipa::ToSchema;

use super::buyer::{self, Known, NewBuyer, Seats};
use super::code_use::{self, CODE_USED_UP, Earlier};
use super::discount::{self, Discount};
use super::order::{Line, Order, Status, Stored};
use super::price::{self, Item, Sum};
use super::product::{self, Buyers, Stored as Product};
use super::variant::Variant;
use super::{Against, stock};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result, TakenExt};
use crate::ids::{ProductId, TeamId, VariantId};
use crate::metadata::Metadata;
use crate::money::{MOST, settings};
use crate::signals::Tell;
use crate::teams::team;

/// How many lines an order can have.
pub const LINES: usize = 100;
/// How many of a product one line can have.
pub const QUANTITY: i64 = 1000;

/// So many of a product.
#[derive(Debug, ToSchema)]
#[schema(as = NewOrderLine)]
pub struct NewLine {
    pub product_id: ProductId,
    /// Where the product has variants.
    pub variant_id: Option<VariantId>,
    #[schema(minimum = 1, maximum = 1000)]
    pub quantity: i64,
}

/// An order to be placed.
#[derive(Debug, ToSchema)]
pub struct NewOrder {
    /// The team that sells it; if left out, the one whose products are ordered.
    pub team_id: Option<TeamId>,
    /// Users who leave it out buy for themselves.
    pub buyer: Option<NewBuyer>,
    #[schema(min_items = 1, max_items = 100)]
    pub lines: Vec<NewLine>,
    /// The currency of the products; another one is refused.
    pub currency: Option<Currency>,
    #[schema(max_length = 40)]
    pub discount_code: Option<String>,
    #[schema(max_length = 1000)]
    pub note: Option<String>,
    #[schema(max_length = 120)]
    pub external_id: Option<String>,
    #[schema(required = false)]
    pub metadata: Metadata,
}

/// A line of which everything is known.
struct Chosen<'a> {
    position: usize,
    product: &'a Product,
    variant: Option<&'a Variant>,
    quantity: i64,
}

type Goods = BTreeMap<ProductId, (Product, Vec<Variant>)>;

/// Places an order. What costs nothing is paid at once.
pub fn place(tx: &Tx<'_>, reach: &Reach, mut new: NewOrder) -> Result<Order> {
    // If the order is refused, its number is given back with everything else.
    settings::next_order_ahead(tx)?;
    let goods = product::all(tx, new.lines.iter().map(|line| line.product_id).collect())?;
    let order = drafted(tx, reach, &goods, &mut new, &Earlier::default())?;
    take(tx, &order.chosen, order.code.as_ref())?;
    let rest = Said { note: new.note, external_id: new.external_id, metadata: new.metadata };
    write(tx, order, rest)
}

/// What an order would cost.
#[derive(Debug)]
pub struct Quote {
    pub team: Option<TeamId>,
    /// The buyer's name.
    pub buyer: String,
    pub code: Option<String>,
    pub currency: Currency,
    pub sum: Sum,
    /// What each line is called, its price and how many.
    pub lines: Vec<QuotedLine>,
}

/// A line of what would be ordered.
#[derive(Debug)]
pub struct QuotedLine {
    pub name: String,
    pub variant_name: Option<String>,
    pub unit_price: i64,
    pub quantity: i64,
}

/// What an order would cost if it were placed after the earlier orders of a checkout, which it then joins.
/// Nothing is taken or reserved.
pub fn quote(
    db: &Reader<'_>,
    reach: &Reach,
    mut new: NewOrder,
    earlier: &mut Earlier,
) -> Result<Quote> {
    let goods = product::all(db, new.lines.iter().map(|line| line.product_id).collect())?;
    let order = drafted(db, reach, &goods, &mut new, earlier)?;
    let mut against = Against::default();
    for line in &order.chosen {
        let wanted = line.quantity.saturating_add(earlier.taken(line.key()));
        if stock::left(line.product, line.variant).is_some_and(|left| left < wanted) {
            line.is_short(&mut against);
        }
    }
    against.finish()?;
    for line in &order.chosen {
        earlier.take(line.key(), line.quantity);
    }
    if order.code.is_some() {
        earlier.use_code(&order.buyer);
    }
    let lines = order.chosen.iter().map(|line| QuotedLine {
        name: line.product.name.clone(),
        variant_name: line.variant.map(|variant| variant.name.clone()),
        unit_price: line.unit_price(),
        quantity: line.quantity,
    });
    Ok(Quote {
        team: order.team,
        lines: lines.collect(),
        buyer: order.buyer.name,
        code: order.code.map(|code| code.code),
        currency: order.currency,
        sum: order.sum,
    })
}

/// Checks everything but what is left, and reckons what it costs.
fn drafted<'a>(
    db: &Reader<'_>,
    reach: &Reach,
    goods: &'a Goods,
    new: &mut NewOrder,
    earlier: &Earlier,
) -> Result<Draft<'a>> {
    let mut against = Against::default();
    let chosen = choose(db, reach, goods, new, &mut against);
    let team = seller(reach, &chosen, new.team_id, &mut against);
    match team.map(|team| team::playing(db, team)).transpose() {
        Err(error) if error.code == Code::NotFound => against.missing("/team_id"),
        found => drop(found?),
    }
    let buyer = buyer::find(db, reach, new.buyer.take(), &mut against)?;
    let code = new.discount_code.as_deref().map(|code| discount::with_code(db, code));
    let code = code.transpose()?.flatten();
    if new.discount_code.is_some() && code.is_none() {
        against.invalid("/discount_code", "not_found", "There is no such code.");
    }
    let Some(buyer) = buyer else {
        // Without a buyer there is a fault, so this fails.
        return against.finish().and(Err(Error::internal("nobody buys")));
    };
    allowed(db, &chosen, &buyer, &mut against)?;
    let items: Vec<_> = chosen.iter().map(|line| line.item(code.as_ref())).collect();
    let currency = chosen.first().map(|line| line.product.currency);
    if let Some((code, currency)) = code.as_ref().zip(currency)
        && code_use::applicable(code, db.now(), (currency, &items), &buyer, &mut against)
    {
        code_use::check_uses(db, code, &buyer, earlier, &mut against)?;
    }
    against.finish()?;
    buyer::check(reach, team, &buyer)?;
    let of_club = chosen.iter().find(|line| line.product.team_id.is_none());
    if let Some(line) = of_club.filter(|_| !buyer::may_buy_of_club(reach, &buyer)) {
        let why = "What the club sells is sold by those who look after the club.";
        let place = format!("/lines/{}/product_id", line.position);
        return Err(Error::new(Code::Forbidden, why).at(&place));
    }
    let currency = currency.ok_or_else(|| Error::internal("an empty order"))?;
    let sum = price::reckon(currency, &items, code.as_ref().map(Discount::off));
    if sum.total > MOST || sum.subtotal > MOST {
        let why = format!("An order can cost at most {MOST}.");
        against.invalid("/lines", "too_large", why);
        against.finish()?;
    }
    Ok(Draft { team, buyer, code, currency, sum, chosen })
}

/// What an order is made of.
struct Draft<'a> {
    team: Option<TeamId>,
    buyer: Known,
    code: Option<Discount>,
    currency: Currency,
    sum: Sum,
    chosen: Vec<Chosen<'a>>,
}

/// What is kept as it was said.
struct Said {
    note: Option<String>,
    external_id: Option<String>,
    metadata: Metadata,
}

impl Chosen<'_> {
    fn item(&self, code: Option<&Discount>) -> Item {
        Item {
            unit_price: self.unit_price(),
            quantity: self.quantity,
            tax_rate_bp: self.product.tax_rate_bp,
            tax_included: self.product.tax_included,
            reduced: code.is_some_and(|code| code.is_for(self.product.team_id)),
        }
    }

    /// What is taken from the stock.
    fn key(&self) -> (ProductId, Option<VariantId>) {
        (self.product.id, self.variant.map(|variant| variant.id))
    }

    /// Notes that there are not so many.
    fn is_short(&self, against: &mut Against) {
        let why = match stock::left(self.product, self.variant).unwrap_or(0) {
            0 => format!("{} is sold out.", self.product.name),
            left => format!("Only {left} of {} are left.", self.product.name),
        };
        against.state(format!("/lines/{}/quantity", self.position), "sold_out", why);
    }

    fn unit_price(&self) -> i64 {
        self.variant.and_then(|variant| variant.price).unwrap_or(self.product.price)
    }
}

/// Finds what the lines name, with everything that stands against it.
fn choose<'a>(
    db: &Reader<'_>,
    reach: &Reach,
    goods: &'a Goods,
    new: &NewOrder,
    against: &mut Against,
) -> Vec<Chosen<'a>> {
    let mut chosen: Vec<Chosen<'a>> = Vec::with_capacity(new.lines.len());
    let mut currency = new.currency;
    for (position, line) in new.lines.iter().enumerate() {
        let place = |member: &str| format!("/lines/{position}/{member}");
        let found = goods.get(&line.product_id).filter(|(product, _)| is_seen(reach, product));
        let Some((product, variants)) = found else {
            against.missing(place("product_id"));
            continue;
        };
        if *currency.get_or_insert(product.currency) != product.currency {
            let why = "Everything in an order is in one currency.";
            against.invalid(place("product_id"), "currency_differs", why);
        }
        if !product.is_on_sale(db.now()) {
            let why = format!("{} is not on sale now.", product.name);
            against.state(place("product_id"), "not_on_sale", why);
        }
        // Of all its variants together.
        let same = new.lines.iter().filter(|other| other.product_id == line.product_id);
        let wanted: i64 = same.map(|other| other.quantity).sum();
        if let Some(most) = product.most_per_order.filter(|most| wanted > *most) {
            let why = format!("One order can have at most {most} of it.");
            against.invalid(place("quantity"), "too_many", why);
        }
        let variant = variants.iter().find(|variant| Some(variant.id) == line.variant_id);
        match (line.variant_id, variant, variants.is_empty()) {
            (Some(_), None, _) => against.missing(place("variant_id")),
            (None, _, false) => {
                let why = "Choose one of the product's variants.";
                against.invalid(place("variant_id"), "required", why);
            }
            _ => {}
        }
        let twice = |known: &Chosen<'_>| {
            known.product.id == product.id
                && known.variant.map(|variant| variant.id) == line.variant_id
        };
        if chosen.iter().any(twice) {
            let why = "This stands in the order before; raise its quantity instead.";
            against.invalid(place("product_id"), "repeated", why);
        }
        chosen.push(Chosen { position, product, variant, quantity: line.quantity });
    }
    chosen
}

/// What the whole club sells is seen by all.
fn is_seen(reach: &Reach, product: &Product) -> bool {
    product.team_id.is_none_or(|team| reach.check(team).is_ok())
}

/// The team that sells: the one that is named, or the one of the products.
fn seller(
    reach: &Reach,
    chosen: &[Chosen<'_>],
    named: Option<TeamId>,
    against: &mut Against,
) -> Option<TeamId> {
    if named.is_some_and(|team| reach.check(team).is_err()) {
        against.missing("/team_id");
        return None;
    }
    let mut team = named;
    for line in chosen {
        let Some(own) = line.product.team_id else { continue };
        if *team.get_or_insert(own) != own {
            let place = format!("/lines/{}/product_id", line.position);
            let why = "One order has what one team sells, and what the club sells.";
            against.invalid(place, "team_differs", why);
        }
    }
    if team.is_none() && matches!(reach, Reach::Teams(_)) && !chosen.is_empty() {
        let why = "Say for which team; this key is narrowed to certain teams.";
        against.invalid("/team_id", "required", why);
    }
    team
}

/// Some products are not for everyone.
fn allowed(
    db: &Reader<'_>,
    chosen: &[Chosen<'_>],
    buyer: &Known,
    against: &mut Against,
) -> Result<()> {
    if chosen.iter().all(|line| line.product.buyers == Buyers::Everyone) {
        return Ok(());
    }
    let seats = Seats::of(db, buyer)?;
    for line in chosen.iter().filter(|line| !seats.may_buy(line.product)) {
        let place = format!("/lines/{}/product_id", line.position);
        let why = format!("{} is not sold to this buyer.", line.product.name);
        against.state(place, "not_for_buyer", why);
    }
    Ok(())
}

/// Takes what is ordered from the shelf, and uses the code. If anything is not there, nothing is taken.
fn take(tx: &Tx<'_>, chosen: &[Chosen<'_>], code: Option<&Discount>) -> Result<()> {
    let mut against = Against::default();
    for line in chosen {
        if !stock::take(tx, line.product, line.variant, line.quantity)? {
            line.is_short(&mut against);
        }
    }
    if let Some(code) = code
        && !discount::use_once(tx, code.id)?
    {
        against.state("/discount_code", "used_up", CODE_USED_UP);
    }
    against.finish()
}

/// Writes the order down and tells.
fn write(tx: &Tx<'_>, draft: Draft<'_>, said: Said) -> Result<Order> {
    let Draft { team, buyer, code, currency, sum, chosen } = draft;
    let (number, hold) = settings::next_order(tx)?;
    let free = sum.total == 0;
    let hold = hold.and_then(|minutes| u64::try_from(minutes).ok()).filter(|_| !free);
    let kept = Stored {
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
        note: said.note,
        currency,
        subtotal: sum.subtotal,
        discount: sum.discount,
        tax: sum.tax,
        total: sum.total,
        paid: 0,
        refunded: 0,
        status: Status::Placed,
        expires_at: hold.map(|minutes| tx.now().plus(Duration::from_secs(minutes * 60))),
        paid_at: None,
        fulfilled_at: None,
        cancelled_at: None,
        cancel_reason: None,
        external_id: said.external_id,
        metadata: said.metadata,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    insert(tx, &kept)?;
    let lines = lines(tx, &kept, &chosen, &sum)?;
    let order = Order::new(kept, lines);
    tx.tell("order.placed", &order.told())?;
    if !free {
        return Ok(order);
    }
    let paid = Stored { status: Status::Paid, paid_at: Some(tx.now()), ..order.kept.clone() };
    super::order::update(tx, "order.paid", &order, Order { kept: paid, ..order.clone() })
}

/// Only an id of another system can be taken; without one nobody need wait for the answer.
fn insert(tx: &Tx<'_>, kept: &Stored) -> Result<()> {
    if kept.external_id.is_none() {
        return Ok(tx.later(Stored::INSERT, &kept.bind())?);
    }
    let others = "Another order already has this external id.";
    let done = tx.run(Stored::INSERT, &kept.bind());
    done.taken("shop_order_account_id_external_id_key", "/external_id", others).map(drop)
}

fn lines(tx: &Tx<'_>, order: &Stored, chosen: &[Chosen<'_>], sum: &Sum) -> Result<Vec<Line>> {
    let mut lines = Vec::with_capacity(chosen.len());
    for ((position, line), priced) in (0i64..).zip(chosen).zip(&sum.lines) {
        let kept = Line {
            id: tx.new_id(),
            account_id: order.account_id,
            order_id: order.id,
            position,
            product_id: line.product.id,
            variant_id: line.variant.map(|variant| variant.id),
            name: line.product.name.clone(),
            variant_name: line.variant.map(|variant| variant.name.clone()),
            unit_price: line.unit_price(),
            quantity: line.quantity,
            discount: priced.discount,
            tax: priced.tax,
            tax_rate_bp: line.product.tax_rate_bp,
            tax_included: line.product.tax_included,
            total: priced.total,
            fulfilled: 0,
            returned: 0,
            restocked: 0,
            from_stock: stock::left(line.product, line.variant).is_some(),
            refunded: 0,
        };
        tx.later(Line::INSERT, &kept.bind())?;
        lines.push(kept);
    }
    Ok(lines)
}
