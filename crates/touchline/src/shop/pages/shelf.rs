//! The shelf: what one may buy now, what it would cost, and placing the order.

use std::borrow::Borrow;

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Zone;
use serde_json::json;
use store::{Reader, Tx};

use super::sheet::{self, Sheet};
use super::{Bought, Buyer, do_once, is_fault, made, money, named, seller};
use crate::accounts::account;
use crate::accounts::permits::{Least, Needs};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result};
use crate::ids::{PersonId, ProductId, UserId, VariantId};
use crate::paging::{Order, Page};
use crate::roster::person;
use crate::roster::standing::{self, Standing};
use crate::shop::buyer::{Known, Seats};
use crate::shop::placing::{self, NewOrder, Quote};
use crate::shop::price::Priced;
use crate::shop::product::{self, Product, ProductFilter, Status};
use crate::web::form::{Faults, Form};
use crate::web::once::{new_nonce, nonce};
use crate::web::page::{Frame, Section};
use crate::web::visitor::{Outcome, Visitor, see_other};

/// So many products stand on the shelf.
const MOST: i64 = 200;
const CHANGED: &str =
    "The price has changed since you looked. Look at the total again before you order.";

/// Who sells over which counter: families help themselves, and those who run the store sell to anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Own,
    Desk,
}

impl Counter {
    fn address(self) -> &'static str {
        match self {
            Self::Own => "/store",
            Self::Desk => "/admin/orders/new",
        }
    }

    /// The page of an order that was placed here.
    fn placed(self, id: &str) -> String {
        match self {
            Self::Own => format!("/store/orders/{id}?done=placed"),
            Self::Desk => format!("/admin/orders/{id}?done=placed"),
        }
    }

    fn frame<N: Needs>(self, visitor: &Visitor<N>, title: &'static str) -> Frame {
        match self {
            Self::Own => visitor.frame(title, Section::Shelf),
            Self::Desk => visitor.frame(title, Section::Orders),
        }
    }
}

/// So many of something, as it was typed: the field names what.
#[derive(Debug, Clone)]
struct Wish {
    field: String,
    product: ProductId,
    variant: Option<VariantId>,
    quantity: String,
}

impl Wish {
    /// What a field of the form asks for.
    fn read(field: &str, typed: &str) -> Option<Self> {
        let mut ids = field.strip_prefix("q-")?.splitn(2, '-');
        let product = ids.next()?.parse().ok()?;
        let variant = ids.next().map(str::parse).transpose().ok()?;
        let quantity = typed.trim().to_owned();
        Some(Self { field: field.to_owned(), product, variant, quantity })
    }
}

/// What was typed.
#[derive(Debug, Default)]
pub(super) struct Typed {
    wishes: Vec<Wish>,
    pub(super) buyer: String,
    pub(super) name: String,
    pub(super) email: String,
    pub(super) code: String,
    pub(super) note: String,
    /// The total that was shown, in minor units.
    total: String,
}

impl Typed {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        let wishes = form.beginning("q-").filter_map(|(field, typed)| Wish::read(field, typed));
        Self {
            wishes: wishes.filter(|wish| !matches!(wish.quantity.as_str(), "" | "0")).collect(),
            buyer: text("buyer"),
            name: text("name"),
            email: text("email"),
            code: text("discount_code"),
            note: text("note"),
            total: text("total"),
        }
    }

    /// What was typed into a field for a quantity.
    fn quantity(&self, field: &str) -> &str {
        let wish = self.wishes.iter().find(|wish| wish.field == field);
        wish.map_or("", |wish| wish.quantity.as_str())
    }

    fn is_for(&self, person: &PersonId) -> bool {
        self.buyer == person.to_string()
    }

    /// The order that is meant, or everything that is wrong.
    fn order(&self, counter: Counter) -> std::result::Result<NewOrder, Faults> {
        let mut sheet = Sheet::default();
        let mut lines = Vec::new();
        for wish in &self.wishes {
            match sheet::whole(&wish.quantity) {
                Err(wrong) => sheet.faults.add(&wish.field, wrong),
                Ok(quantity) => lines.push(json!({
                    "product_id": wish.product.to_string(),
                    "variant_id": wish.variant.map(|variant| variant.to_string()),
                    "quantity": quantity,
                })),
            }
        }
        if self.wishes.is_empty() {
            sheet.faults.add("", "Say how many of what you want.");
        }
        sheet.set("lines", lines);
        let buyer = match counter {
            Counter::Own => json!({ "person_id": self.buyer }),
            Counter::Desk => {
                if self.name.is_empty() {
                    sheet.faults.add("buyer-name", "Say who buys it.");
                }
                let email = Some(&self.email).filter(|email| !email.is_empty());
                json!({ "name": self.name, "email": email })
            }
        };
        sheet.set("buyer", buyer);
        sheet.text("discount_code", &self.code);
        sheet.text("note", &self.note);
        sheet.finish().map_err(|faults| self.at_fields(&faults))
    }

    /// The faults of lines at the fields in which these were typed.
    fn at_fields(&self, faults: &Faults) -> Faults {
        let mut own = Faults::default();
        for (place, wrong) in faults.all() {
            let mut steps = place.split('-');
            let line = match (steps.next(), steps.next()) {
                (Some("lines"), Some(number)) => number.parse::<usize>().ok(),
                _ => None,
            };
            let field = line.and_then(|line| self.wishes.get(line)).map(|wish| wish.field.as_str());
            own.add(field.unwrap_or(place), wrong);
        }
        own
    }
}

/// Something one can choose: a product without sizes, or a size of one.
struct Choice {
    field: String,
    label: String,
    price: kit::Money,
    left: Option<i64>,
    quantity: String,
}

/// A product on the shelf.
struct Good {
    product: Product,
    choices: Vec<Choice>,
}

impl Good {
    fn new(product: Product, typed: &Typed) -> Self {
        let kept = &product.kept;
        let choice = |field: String, label: &str, price, left| Choice {
            quantity: typed.quantity(&field).to_owned(),
            field,
            label: label.to_owned(),
            price: money(price, kept.currency),
            left,
        };
        let choices = if product.variants.is_empty() {
            vec![choice(format!("q-{}", kept.id), "", kept.price, kept.stock)]
        } else {
            let sizes = product.variants.iter().map(|variant| {
                let field = format!("q-{}-{}", kept.id, variant.id);
                choice(field, &variant.name, variant.price.unwrap_or(kept.price), variant.stock)
            });
            sizes.collect()
        };
        Self { product, choices }
    }
}

/// What one seller sells.
struct Stand {
    seller: String,
    goods: Vec<Good>,
}

#[derive(Template)]
#[template(path = "shop/shelf.html")]
struct ShelfPage {
    frame: Frame,
    counter: Counter,
    stands: Vec<Stand>,
    people: Vec<(PersonId, String)>,
    typed: Typed,
    faults: Faults,
    /// Faults at what does not stand on the page any more.
    notes: Vec<String>,
    zone: Zone,
}

impl ShelfPage {
    fn is_desk(&self) -> bool {
        self.counter == Counter::Desk
    }
}

#[derive(Template)]
#[template(path = "shop/check.html")]
struct CheckPage {
    frame: Frame,
    counter: Counter,
    quote: Quote,
    seller: String,
    typed: Typed,
    nonce: String,
}

impl CheckPage {
    /// What a line costs.
    fn total(&self, place: impl Borrow<usize>) -> kit::Money {
        self.of_line(*place.borrow(), |line| line.total)
    }

    /// What is taken off a line.
    fn discount(&self, place: impl Borrow<usize>) -> kit::Money {
        self.of_line(*place.borrow(), |line| line.discount)
    }

    fn of_line(&self, place: usize, of: fn(&Priced) -> i64) -> kit::Money {
        money(self.quote.sum.lines.get(place).map_or(0, of), self.quote.currency)
    }
}

/// Where a user stands when they buy: for their family, whatever they lead or look after.
fn household(db: &Reader<'_>, user: UserId) -> Result<(Reach, Standing)> {
    let standing = standing::of(db, user)?;
    Ok((own_reach(&standing), standing))
}

/// The reach of somebody for what is their family's own business.
pub(super) fn own_reach(standing: &Standing) -> Reach {
    Standing { leads: Vec::new(), ..standing.clone() }.reach(Least::Family)
}

/// What stands on the shelf for these people; at the desk, everything that is on sale.
fn shelf(
    db: &Reader<'_>,
    reach: &Reach,
    people: &[(PersonId, String)],
    counter: Counter,
) -> Result<Vec<(String, Vec<Product>)>> {
    let filter =
        ProductFilter { status: Some(Status::Active), on_sale: Some(true), ..Default::default() };
    let page = Page { limit: MOST, order: Order::Asc, last: None };
    let mut found = product::list(db, reach, &filter, &page)?;
    if counter == Counter::Own {
        let mut seats = Vec::new();
        for (person, name) in people {
            let known = Known {
                member_id: None,
                person_id: Some(*person),
                name: name.clone(),
                email: None,
            };
            seats.push(Seats::of(db, &known)?);
        }
        found.retain(|product| seats.iter().any(|seats| seats.may_buy(&product.kept)));
    }
    let names = named(db, found.iter().map(|product| product.kept.team_id))?;
    let mut stands: Vec<(String, Vec<Product>)> = Vec::new();
    found.sort_by_key(|product| product.kept.team_id);
    for product in found {
        let seller = seller(&names, product.kept.team_id);
        match stands.iter_mut().find(|(known, _)| *known == seller) {
            Some((_, goods)) => goods.push(product),
            None => stands.push((seller, vec![product])),
        }
    }
    Ok(stands)
}

/// The names of somebody's family, themselves first.
fn names(db: &Reader<'_>, standing: &Standing) -> Result<Vec<(PersonId, String)>> {
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
    let look = move |db: &Reader<'_>| {
        let zone = account::find(db)?.timezone;
        if counter == Counter::Desk {
            return Ok((shelf(db, &Reach::Everywhere, &[], counter)?, Vec::new(), zone));
        }
        let (reach, standing) = household(db, user)?;
        let people = names(db, &standing)?;
        Ok((shelf(db, &reach, &people, counter)?, people, zone))
    };
    let (found, people, zone) = visitor.read(look).await?;
    let good = |product: Product| Good::new(product, &typed);
    let stands: Vec<_> = found
        .into_iter()
        .map(|(seller, goods)| Stand { seller, goods: goods.into_iter().map(good).collect() })
        .collect();
    let code = super::status(&faults);
    let shown = |field: &str| {
        let mut choices =
            stands.iter().flat_map(|stand| &stand.goods).flat_map(|good| &good.choices);
        !field.starts_with("q-") || choices.any(|choice| choice.field == field)
    };
    let notes = faults.all().filter(|(field, _)| !shown(field)).map(|(_, wrong)| wrong.to_owned());
    let notes = notes.collect();
    let title = if counter == Counter::Desk { "New order" } else { "Store" };
    let frame = counter.frame(visitor, title);
    let page = ShelfPage { frame, counter, stands, people, typed, faults, notes, zone };
    super::show(code, &page)
}

pub(super) async fn show_empty<N: Needs>(
    visitor: &Visitor<N>,
    counter: Counter,
) -> Outcome<Response> {
    show_shelf(visitor, counter, Typed::default(), Faults::default()).await
}

pub(super) async fn show(visitor: Buyer) -> Outcome<Response> {
    show_empty(&visitor, Counter::Own).await
}

pub(super) async fn order(Bought { visitor, form }: Bought) -> Outcome<Response> {
    take(&visitor, &form, Counter::Own).await
}

/// Takes the form of a counter: to look at the total, to change something, or to order.
pub(super) async fn take<N: Needs>(
    visitor: &Visitor<N>,
    form: &Form,
    counter: Counter,
) -> Outcome<Response> {
    let typed = Typed::read(form);
    if form.text("step") == "change" {
        return show_shelf(visitor, counter, typed, Faults::default()).await;
    }
    let new = match typed.order(counter) {
        Ok(new) => new,
        Err(faults) => return show_shelf(visitor, counter, typed, faults).await,
    };
    let user = visitor.visit.user;
    let reach = move |db: &Reader<'_>| match counter {
        Counter::Own => household(db, user).map(|(reach, _)| reach),
        Counter::Desk => Ok(Reach::Everywhere),
    };
    let refused = if form.text("step") == "place" {
        let (nonce, total) = (nonce(form)?, typed.total.clone());
        let place = move |tx: &Tx<'_>| {
            let order = placing::place(tx, &reach(tx)?, new)?;
            if order.kept.total.to_string() != total {
                return Err(Error::new(Code::Conflict, CHANGED));
            }
            Ok(order.kept.id.to_string())
        };
        match do_once(visitor, nonce, place).await.map(made) {
            Ok(id) => return Ok(see_other(&counter.placed(&id))),
            Err(error) => error,
        }
    } else {
        let look = move |db: &Reader<'_>| {
            let quote = placing::quote(db, &reach(db)?, new)?;
            let names = named(db, std::iter::once(quote.team))?;
            let seller = seller(&names, quote.team);
            Ok((quote, seller))
        };
        match visitor.read(look).await {
            Ok((quote, seller)) => return check(visitor, counter, quote, seller, typed),
            Err(error) => error,
        }
    };
    if !is_fault(&refused) {
        return Err(refused.into());
    }
    let faults = typed.at_fields(&super::placed(&refused));
    show_shelf(visitor, counter, typed, faults).await
}

/// Shows what it would cost, before it is ordered.
fn check<N: Needs>(
    visitor: &Visitor<N>,
    counter: Counter,
    quote: Quote,
    seller: String,
    typed: Typed,
) -> Outcome<Response> {
    let frame = counter.frame(visitor, "Check your order");
    let nonce = new_nonce(visitor.app());
    super::show(StatusCode::OK, &CheckPage { frame, counter, quote, seller, typed, nonce })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_names_what_is_wanted() {
        let (product, variant) = (ProductId::from_bits(7), VariantId::from_bits(9));
        let wish = Wish::read(&format!("q-{product}-{variant}"), " 2 ").unwrap();
        assert_eq!(
            (wish.product, wish.variant, wish.quantity.as_str()),
            (product, Some(variant), "2")
        );
        assert_eq!(Wish::read(&format!("q-{product}"), "").unwrap().variant, None);
        for odd in ["q-", "q-x", "name", &format!("q-{variant}"), &format!("q-{product}-x")] {
            assert!(Wish::read(odd, "1").is_none(), "{odd}");
        }
    }

    #[test]
    fn faults_of_lines_stand_where_the_lines_were_typed() {
        let (one, two) = (ProductId::from_bits(7), ProductId::from_bits(8));
        let query = format!("q-{one}=0&q-{two}=3&buyer=nobody");
        let typed = Typed::read(&Form::parse(query.as_bytes()).unwrap());
        let mut faults = Faults::default();
        faults.add("lines-0-quantity", "Sold out.");
        assert_eq!(typed.at_fields(&faults).at(&format!("q-{two}")), "Sold out.");
        let wrong = typed.order(Counter::Own).unwrap_err();
        assert!(!wrong.at("buyer-person_id").is_empty(), "{wrong:?}");
        let none = Typed::default().order(Counter::Own).unwrap_err();
        assert!(!none.general().is_empty());
    }
}
