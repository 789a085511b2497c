//! The store: what a family can buy now, and at the desk what the chosen buyer can.

use askama::Template;
use axum::response::Response;
use kit::Zone;
use store::Reader;

use super::buying::{self, Counter, Typed, for_field, quantity_field};
use super::{Bought, Buyer, money, named, seller};
use crate::accounts::account;
use crate::accounts::permits::{Least, Needs};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::{PersonId, TeamId, UserId};
use crate::names::Names;
use crate::paging::{Order, Page};
use crate::roster::person;
use crate::roster::standing::{self, Standing};
use crate::shop::buyer::{self, Known, Seats};
use crate::shop::product::{self, Buyers, Product, ProductFilter, Status};
use crate::web::form::Faults;
use crate::web::page::Frame;
use crate::web::visitor::{Outcome, Visitor};

/// So many products are shown.
const MOST: i64 = 200;

/// Something one can choose: a product without variants, or a variant of one.
struct Choice {
    field: String,
    label: String,
    price: kit::Money,
    left: Option<i64>,
    quantity: String,
}

/// The quantities of a product for one person.
struct Block {
    /// The field that says for whom; empty at the desk, where the buyer is known.
    field: String,
    /// Who can get it.
    people: Vec<(PersonId, String)>,
    /// Who gets it, unless somebody else is chosen.
    chosen: String,
    choices: Vec<Choice>,
}

impl Block {
    fn new(
        product: &Product,
        number: usize,
        people: &[&Shopper],
        usual: Option<PersonId>,
        typed: &Typed,
    ) -> Self {
        let field =
            if people.is_empty() { String::new() } else { for_field(product.kept.id, number) };
        let chosen = match typed.whom(&field) {
            "" => usual.map(|person| person.to_string()).unwrap_or_default(),
            who => who.to_owned(),
        };
        let people = people.iter().map(|one| (one.id, one.name.clone())).collect();
        Self { field, people, chosen, choices: choices(product, number, typed) }
    }

    fn is_chosen(&self, person: &PersonId) -> bool {
        self.chosen == person.to_string()
    }
}

fn choices(product: &Product, block: usize, typed: &Typed) -> Vec<Choice> {
    let kept = &product.kept;
    let choice = |field: String, label: &str, price, left| Choice {
        quantity: typed.quantity(&field).to_owned(),
        field,
        label: label.to_owned(),
        price: money(price, kept.currency),
        left,
    };
    if product.variants.is_empty() {
        return vec![choice(quantity_field(kept.id, block, None), "", kept.price, kept.stock)];
    }
    let variants = product.variants.iter().map(|variant| {
        let field = quantity_field(kept.id, block, Some(variant.id));
        choice(field, &variant.name, variant.price.unwrap_or(kept.price), variant.stock)
    });
    variants.collect()
}

/// A product that can be bought.
struct Good {
    product: Product,
    blocks: Vec<Block>,
}

impl Good {
    /// A product at the desk.
    fn at_desk(product: Product, typed: &Typed) -> Self {
        let block = Block::new(&product, 0, &[], None, typed);
        Self { blocks: vec![block], product }
    }

    /// A product as a family sees it; `None` if nobody of them can buy it. What a team sells is offered once for each
    /// of them who is on the team, everything else once for whoever is on a team.
    fn for_family(product: Product, family: &[Shopper], typed: &Typed) -> Option<Self> {
        let buyers: Vec<_> = family.iter().filter(|one| one.seats.may_buy(&product.kept)).collect();
        let first = buyers.first()?.id;
        let team = product.kept.team_id;
        let on_team = buyers.iter().filter(|one| one.seats.is_on(team)).map(|one| one.id);
        let mut usual: Vec<_> = on_team.collect();
        if team.is_none() {
            usual.truncate(1);
        }
        if usual.is_empty() {
            usual.push(first);
        }
        let blocks = usual.into_iter().enumerate();
        let blocks = blocks
            .map(|(number, person)| Block::new(&product, number, &buyers, Some(person), typed));
        Some(Self { blocks: blocks.collect(), product })
    }
}

/// What one seller sells.
struct Stand {
    seller: String,
    goods: Vec<Good>,
}

/// Somebody of a family, and what they are on rosters.
struct Shopper {
    id: PersonId,
    name: String,
    seats: Seats,
}

/// Everything a page of the store shows.
struct Offer {
    /// The products of each seller.
    sellers: Vec<(String, Vec<Product>)>,
    family: Vec<Shopper>,
    /// At the desk: the name of the buyer.
    buyer: String,
    /// At the desk: what the buyer cannot buy, and why.
    unavailable: Vec<(String, String)>,
    zone: Zone,
}

#[derive(Template)]
#[template(path = "shop/shelf.html")]
struct ShelfPage {
    frame: Frame,
    counter: Counter,
    stands: Vec<Stand>,
    /// Whether the visitor or anybody they look after is on a roster.
    known: bool,
    buyer: String,
    unavailable: Vec<(String, String)>,
    typed: Typed,
    faults: Faults,
    /// Faults of fields that are not on the page any more.
    notes: Vec<String>,
    zone: Zone,
}

impl ShelfPage {
    fn is_desk(&self) -> bool {
        self.counter == Counter::Desk
    }
}

/// The reach of a user who buys: for their family, whatever they lead or manage.
pub(super) fn household(db: &Reader<'_>, user: UserId) -> Result<(Reach, Standing)> {
    let standing = standing::of(db, user)?;
    Ok((own_reach(&standing), standing))
}

/// The reach of somebody for what is their family's own business.
pub(super) fn own_reach(standing: &Standing) -> Reach {
    Standing { leads: Vec::new(), ..standing.clone() }.reach(Least::Family)
}

/// Everything that is on sale and within reach.
fn on_sale(db: &Reader<'_>, reach: &Reach) -> Result<Vec<Product>> {
    let filter =
        ProductFilter { status: Some(Status::Active), on_sale: Some(true), ..Default::default() };
    let page = Page { limit: MOST, order: Order::Asc, last: None };
    product::list(db, reach, &filter, &page)
}

/// These products by seller.
fn by_seller(names: &Names, mut products: Vec<Product>) -> Vec<(String, Vec<Product>)> {
    let mut sellers: Vec<(Option<TeamId>, Vec<Product>)> = Vec::new();
    products.sort_by_key(|product| product.kept.team_id);
    for product in products {
        let team = product.kept.team_id;
        match sellers.iter_mut().find(|(known, _)| *known == team) {
            Some((_, goods)) => goods.push(product),
            None => sellers.push((team, vec![product])),
        }
    }
    sellers.into_iter().map(|(team, goods)| (seller(names, team), goods)).collect()
}

fn family_offer(db: &Reader<'_>, user: UserId) -> Result<Offer> {
    let (reach, standing) = household(db, user)?;
    let mut family = Vec::new();
    for (id, name) in people(db, &standing)? {
        let known = Known { member_id: None, person_id: Some(id), name, email: None };
        let seats = Seats::of(db, &known)?;
        family.push(Shopper { id, name: known.name, seats });
    }
    let products = on_sale(db, &reach)?;
    let names = named(db, products.iter().map(|product| product.kept.team_id))?;
    let sellers = by_seller(&names, products);
    let zone = account::find(db)?.timezone;
    Ok(Offer { sellers, family, buyer: String::new(), unavailable: Vec::new(), zone })
}

fn desk_offer(db: &Reader<'_>, person: Option<PersonId>, name: String) -> Result<Offer> {
    let unknown = Known { member_id: None, person_id: None, name, email: None };
    let known = person.map(|person| buyer::called(db, person)).transpose()?.flatten();
    let known = known.unwrap_or(unknown);
    let seats = Seats::of(db, &known)?;
    let products = on_sale(db, &Reach::Everywhere)?;
    let names = named(db, products.iter().map(|product| product.kept.team_id))?;
    let (open, closed): (Vec<_>, Vec<_>) =
        products.into_iter().partition(|product| seats.may_buy(&product.kept));
    let unavailable = closed.into_iter().map(|product| {
        let why = sold_to(&names, &product);
        (product.kept.name, why)
    });
    Ok(Offer {
        unavailable: unavailable.collect(),
        sellers: by_seller(&names, open),
        family: Vec::new(),
        buyer: known.name,
        zone: account::find(db)?.timezone,
    })
}

/// Who can buy a product that is not for everybody.
fn sold_to(names: &Names, product: &Product) -> String {
    let team = product.kept.team_id.map(|team| names.or_id(&team.to_string()).to_owned());
    let team = team.unwrap_or_else(|| "a team".to_owned());
    match product.kept.buyers {
        Buyers::Staff => format!("Only for coaches and managers of {team}."),
        _ => format!("Only for members of {team} and their guardians."),
    }
}

/// The names of somebody's family, themselves first.
fn people(db: &Reader<'_>, standing: &Standing) -> Result<Vec<(PersonId, String)>> {
    let family = standing.family();
    let known = person::all(db, family.clone())?;
    let named = family
        .into_iter()
        .filter_map(|id| known.get(&id).map(|person| (id, person::display_name(person))));
    Ok(named.collect())
}

pub(super) async fn show_shelf<N: Needs>(
    visitor: &Visitor<N>,
    counter: Counter,
    typed: Typed,
    faults: Faults,
) -> Outcome<Response> {
    let user = visitor.visit.user;
    let (person, name) = (typed.buyer_id(), typed.name.clone());
    let look = move |db: &Reader<'_>| match counter {
        Counter::Own => family_offer(db, user),
        Counter::Desk => desk_offer(db, person, name),
    };
    let Offer { sellers, family, buyer, unavailable, zone } = visitor.read(look).await?;
    let good = |product: Product| match counter {
        Counter::Own => Good::for_family(product, &family, &typed),
        Counter::Desk => Some(Good::at_desk(product, &typed)),
    };
    let stands = sellers.into_iter().map(|(seller, goods)| Stand {
        seller,
        goods: goods.into_iter().filter_map(good).collect(),
    });
    let stands: Vec<_> = stands.filter(|stand| !stand.goods.is_empty()).collect();
    let notes = notes(&stands, &faults);
    let title = if counter == Counter::Desk { "New order" } else { "Store" };
    let code = super::status(&faults);
    let page = ShelfPage {
        frame: counter.frame(visitor, title),
        counter,
        stands,
        known: !family.is_empty(),
        buyer,
        unavailable,
        typed,
        faults,
        notes,
        zone,
    };
    super::show(code, &page)
}

/// The faults of fields that are not on the page any more.
fn notes(stands: &[Stand], faults: &Faults) -> Vec<String> {
    let blocks = || stands.iter().flat_map(|stand| &stand.goods).flat_map(|good| &good.blocks);
    let shown = |field: &str| {
        let about_product = field.starts_with("q-") || field.starts_with("for-");
        !about_product
            || blocks().any(|block| {
                block.field == field || block.choices.iter().any(|choice| choice.field == field)
            })
    };
    let missing = faults.all().filter(|(field, _)| !shown(field));
    missing.map(|(_, wrong)| wrong.to_owned()).collect()
}

pub(super) async fn show(visitor: Buyer) -> Outcome<Response> {
    show_shelf(&visitor, Counter::Own, Typed::default(), Faults::default()).await
}

pub(super) async fn order(Bought { visitor, form }: Bought) -> Outcome<Response> {
    buying::take(&visitor, &form, Counter::Own).await
}
