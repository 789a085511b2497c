//! The form that buys: what was typed, the checkout it means, what that would cost, and placing it.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use store::{Reader, Tx};

use super::sheet::{self, Sheet};
use super::shelf::{household, show_shelf};
use super::{desk, do_once, is_fault, made, money, named, seller};
use crate::accounts::permits::Needs;
use crate::accounts::rights::Reach;
use crate::ids::{PersonId, ProductId, VariantId};
use crate::shop::api::discounts::CODE;
use crate::shop::api::orders::{NOTE, buyer, line};
use crate::shop::checkout::{self, Checkout, CheckoutLine};
use crate::shop::placing::{LINES, NewLine, Quote};
use crate::web::fields::{Fields, FromBody};
use crate::web::form::{Faults, Form};
use crate::web::once::{new_nonce, nonce};
use crate::web::page::{Frame, Section};
use crate::web::visitor::{Outcome, Visitor, see_other};

/// Who sells: families buy for themselves, admins sell to anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Own,
    Desk,
}

impl Counter {
    pub(super) fn address(self) -> &'static str {
        match self {
            Self::Own => "/store",
            Self::Desk => "/admin/orders/new",
        }
    }

    /// The page after these orders were placed: the order, or the list if there are several.
    fn placed(self, ids: &str) -> String {
        let list = match self {
            Self::Own => "/store/orders",
            Self::Desk => "/admin/orders",
        };
        match ids.split_once(',') {
            None => format!("{list}/{ids}?done=placed"),
            Some(_) => format!("{list}?done=placed"),
        }
    }

    pub(super) fn frame<N: Needs>(self, visitor: &Visitor<N>, title: &'static str) -> Frame {
        match self {
            Self::Own => visitor.frame(title, Section::Shelf),
            Self::Desk => visitor.frame(title, Section::Orders),
        }
    }
}

/// The field that says for whom a block of a product is.
pub(super) fn for_field(product: ProductId, block: usize) -> String {
    match block {
        0 => format!("for-{product}"),
        block => format!("for-{product}-{block}"),
    }
}

/// The field for the quantity of a product, or of one of its variants. A product is shown in several blocks where
/// several people of a family can get it.
pub(super) fn quantity_field(
    product: ProductId,
    block: usize,
    variant: Option<VariantId>,
) -> String {
    let block = if block == 0 { String::new() } else { format!("-{block}") };
    let variant = variant.map(|variant| format!("-{variant}")).unwrap_or_default();
    format!("q-{product}{block}{variant}")
}

/// So many of something, as it was typed.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) field: String,
    product: ProductId,
    block: usize,
    variant: Option<VariantId>,
    pub(super) quantity: String,
}

impl Wish {
    /// What a field of the form asks for.
    fn read(field: &str, typed: &str) -> Option<Self> {
        let mut steps = field.strip_prefix("q-")?.split('-').peekable();
        let product = steps.next()?.parse().ok()?;
        let block = steps.peek().and_then(|step| step.parse().ok());
        if block.is_some() {
            steps.next();
        }
        let variant = steps.next().map(str::parse).transpose().ok()?;
        let quantity = typed.trim().to_owned();
        let block = block.unwrap_or(0);
        let wish = Self { field: field.to_owned(), product, block, variant, quantity };
        steps.next().is_none().then_some(wish)
    }
}

/// What was typed.
#[derive(Debug, Default)]
pub(super) struct Typed {
    pub(super) wishes: Vec<Wish>,
    /// For whom each block is, by its field.
    pub(super) for_whom: Vec<(String, String)>,
    /// At the desk: a person of the club.
    pub(super) buyer: String,
    /// At the desk: somebody who is on no roster.
    pub(super) name: String,
    pub(super) email: String,
    pub(super) code: String,
    pub(super) note: String,
    /// The total of each order that was shown, in minor units.
    totals: String,
}

impl Typed {
    pub(super) fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        let wishes = form.beginning("q-").filter_map(|(field, typed)| Wish::read(field, typed));
        let for_whom =
            form.beginning("for-").map(|(field, who)| (field.to_owned(), who.to_owned()));
        Self {
            wishes: wishes.filter(|wish| !matches!(wish.quantity.as_str(), "" | "0")).collect(),
            for_whom: for_whom.collect(),
            buyer: text("buyer"),
            name: text("name"),
            email: text("email"),
            code: text("discount_code"),
            note: text("note"),
            totals: text("total"),
        }
    }

    /// Everything but who buys, for a form that asks for the buyer.
    pub(super) fn hidden(&self) -> Vec<(&str, &str)> {
        let wishes = self.wishes.iter().map(|wish| (wish.field.as_str(), wish.quantity.as_str()));
        let whom = self.for_whom.iter().map(|(field, who)| (field.as_str(), who.as_str()));
        let rest = [("discount_code", self.code.as_str()), ("note", self.note.as_str())];
        wishes.chain(whom).chain(rest).filter(|(_, value)| !value.is_empty()).collect()
    }

    /// What was typed into a field for a quantity.
    pub(super) fn quantity(&self, field: &str) -> &str {
        let wish = self.wishes.iter().find(|wish| wish.field == field);
        wish.map_or("", |wish| wish.quantity.as_str())
    }

    /// Who was chosen in a field; empty if nobody was.
    pub(super) fn whom(&self, field: &str) -> &str {
        self.for_whom.iter().find(|(known, _)| known == field).map_or("", |(_, who)| who.as_str())
    }

    /// The person who buys at the desk.
    pub(super) fn buyer_id(&self) -> Option<PersonId> {
        self.buyer.parse().ok()
    }

    /// Whether somebody at the desk was named, in a form that an order takes.
    pub(super) fn has_buyer(&self) -> bool {
        self.buyer_id().is_some() || (!self.name.is_empty() && !self.has_odd_email())
    }

    /// Whether the buyer's email address is not one.
    pub(super) fn has_odd_email(&self) -> bool {
        !self.email.is_empty() && !kit::contact::is_email(&self.email)
    }

    /// The checkout that is meant, or everything that is wrong.
    pub(super) fn checkout(&self, counter: Counter) -> Result<Checkout, Faults> {
        let mut sheet = Sheet::default();
        let mut lines = Vec::new();
        for wish in &self.wishes {
            let quantity = sheet::whole(&wish.quantity).unwrap_or_else(|wrong| {
                sheet.faults.add(&wish.field, wrong);
                // The line stays in its place, where faults of others are told.
                1
            });
            lines.push(json!({
                "product_id": wish.product.to_string(),
                "variant_id": wish.variant.map(|variant| variant.to_string()),
                "quantity": quantity,
                "buyer": self.buyer(counter, wish),
            }));
        }
        if self.wishes.is_empty() {
            sheet.faults.add("", "Enter a quantity for at least one product.");
        }
        sheet.set("lines", lines);
        sheet.text("discount_code", &self.code);
        sheet.text("note", &self.note);
        sheet.finish().map_err(|faults| self.at_fields(&faults, counter))
    }

    fn buyer(&self, counter: Counter, wish: &Wish) -> serde_json::Value {
        match counter {
            Counter::Own => {
                json!({ "person_id": self.whom(&for_field(wish.product, wish.block)) })
            }
            Counter::Desk if self.buyer_id().is_some() => json!({ "person_id": self.buyer }),
            Counter::Desk => {
                let email = Some(&self.email).filter(|email| !email.is_empty());
                json!({ "name": self.name, "email": email })
            }
        }
    }

    /// The faults of lines at the fields in which these were typed.
    fn at_fields(&self, faults: &Faults, counter: Counter) -> Faults {
        let mut own = Faults::default();
        for (place, wrong) in faults.all() {
            let mut steps = place.splitn(3, '-');
            let line = match (steps.next(), steps.next()) {
                (Some("lines"), Some(number)) => number.parse::<usize>().ok(),
                _ => None,
            };
            let wish = line.and_then(|line| self.wishes.get(line));
            let about_buyer = steps.next().is_some_and(|rest| rest.starts_with("buyer"));
            let field = match wish {
                None => place.to_owned(),
                Some(_) if about_buyer && counter == Counter::Desk => "buyer".to_owned(),
                Some(wish) if about_buyer => for_field(wish.product, wish.block),
                Some(wish) => wish.field.clone(),
            };
            own.add(&field, wrong);
        }
        own
    }
}

impl FromBody for Checkout {
    fn read(fields: &mut Fields) -> Self {
        let lines = fields.objects("lines", LINES, |fields| {
            let buyer = buyer(fields).unwrap_or_default();
            let NewLine { product_id, variant_id, quantity } = line(fields)?;
            Some(CheckoutLine { buyer, product_id, variant_id, quantity })
        });
        let lines = fields.required("lines", lines).unwrap_or_default();
        Self {
            lines: lines.into_iter().flatten().collect(),
            discount_code: fields.line("discount_code", CODE).apply(None),
            note: fields.block("note", NOTE).apply(None),
        }
    }
}

/// An order as it would be placed.
struct Planned {
    quote: Quote,
    seller: String,
}

impl Planned {
    /// What each line costs and what is taken off it.
    fn lines(
        &self,
    ) -> impl Iterator<Item = (&crate::shop::placing::QuotedLine, kit::Money, kit::Money)> {
        let currency = self.quote.currency;
        self.quote.lines.iter().zip(&self.quote.sum.lines).map(move |(line, priced)| {
            (line, money(priced.discount, currency), money(priced.total, currency))
        })
    }
}

#[derive(Template)]
#[template(path = "shop/check.html")]
struct CheckPage {
    frame: Frame,
    counter: Counter,
    orders: Vec<Planned>,
    /// What all orders cost together, by currency.
    sums: Vec<kit::Money>,
    totals: String,
    typed: Typed,
    nonce: String,
}

/// Takes the form of a counter: chooses the buyer, shows the total, changes something, or places the orders.
pub(super) async fn take<N: Needs>(
    visitor: &Visitor<N>,
    form: &Form,
    counter: Counter,
) -> Outcome<Response> {
    let typed = Typed::read(form);
    let step = form.text("step");
    if counter == Counter::Desk && (matches!(step, "find" | "buyer") || !typed.has_buyer()) {
        return desk::choose_buyer(visitor, form, typed).await;
    }
    if matches!(step, "change" | "choose") {
        return show_shelf(visitor, counter, typed, Faults::default()).await;
    }
    let checkout = match typed.checkout(counter) {
        Ok(checkout) => checkout,
        Err(faults) => return show_shelf(visitor, counter, typed, faults).await,
    };
    let user = visitor.visit.user;
    let reach = move |db: &Reader<'_>| match counter {
        Counter::Own => household(db, user).map(|(reach, _)| reach),
        Counter::Desk => Ok(Reach::Everywhere),
    };
    let refused = if step == "place" {
        let (nonce, shown) = (nonce(form)?, totals(&typed.totals));
        let place = move |tx: &Tx<'_>| {
            let orders = checkout::place(tx, &reach(tx)?, &checkout, &shown)?;
            let ids: Vec<_> = orders.iter().map(|order| order.kept.id.to_string()).collect();
            Ok(ids.join(","))
        };
        match do_once(visitor, nonce, place).await.map(made) {
            Ok(ids) => return Ok(see_other(&counter.placed(&ids))),
            Err(error) => error,
        }
    } else {
        let look = move |db: &Reader<'_>| {
            let quotes = checkout::quote(db, &reach(db)?, &checkout)?;
            let names = named(db, quotes.iter().map(|quote| quote.team))?;
            let planned = quotes.into_iter().map(|quote| {
                let seller = seller(&names, quote.team);
                Planned { quote, seller }
            });
            Ok(planned.collect())
        };
        match visitor.read(look).await {
            Ok(orders) => return check(visitor, counter, orders, typed),
            Err(error) => error,
        }
    };
    if !is_fault(&refused) {
        return Err(refused.into());
    }
    let faults = typed.at_fields(&super::placed(&refused), counter);
    show_shelf(visitor, counter, typed, faults).await
}

/// The totals that the page before showed.
fn totals(typed: &str) -> Vec<i64> {
    typed.split(',').filter_map(|total| total.parse().ok()).collect()
}

/// Shows what it would cost, before it is ordered.
fn check<N: Needs>(
    visitor: &Visitor<N>,
    counter: Counter,
    orders: Vec<Planned>,
    typed: Typed,
) -> Outcome<Response> {
    let mut sums: Vec<kit::Money> = Vec::new();
    for Planned { quote, .. } in &orders {
        match sums.iter_mut().find(|sum| sum.currency == quote.currency) {
            Some(sum) => sum.minor += quote.sum.total,
            None => sums.push(money(quote.sum.total, quote.currency)),
        }
    }
    let totals: Vec<_> = orders.iter().map(|order| order.quote.sum.total.to_string()).collect();
    let page = CheckPage {
        frame: counter.frame(visitor, "Check your order"),
        counter,
        orders,
        sums,
        totals: totals.join(","),
        typed,
        nonce: new_nonce(visitor.app()),
    };
    super::show(StatusCode::OK, &page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_names_what_is_wanted() {
        let (product, variant) = (ProductId::from_bits(7), VariantId::from_bits(9));
        for block in [0, 2] {
            for variant in [None, Some(variant)] {
                let field = quantity_field(product, block, variant);
                let wish = Wish::read(&field, " 2 ").unwrap();
                assert_eq!(
                    (wish.product, wish.block, wish.variant, wish.quantity.as_str()),
                    (product, block, variant, "2")
                );
            }
        }
        let odd = [
            "q-".to_owned(),
            "q-x".to_owned(),
            "name".to_owned(),
            format!("q-{variant}"),
            format!("q-{product}-x"),
            format!("q-{product}-1-{variant}-2"),
        ];
        for odd in odd {
            assert!(Wish::read(&odd, "1").is_none(), "{odd}");
        }
    }

    #[test]
    fn faults_of_lines_are_shown_where_the_lines_were_typed() {
        let (one, two, three) =
            (ProductId::from_bits(7), ProductId::from_bits(8), ProductId::from_bits(9));
        let query =
            format!("q-{one}=0&q-{two}=many&q-{three}=3&for-{two}=nobody&for-{three}=nobody");
        let typed = Typed::read(&Form::parse(query.as_bytes()).unwrap());
        let mut faults = Faults::default();
        faults.add("lines-1-quantity", "Sold out.");
        let at = typed.at_fields(&faults, Counter::Own);
        assert_eq!(at.at(&format!("q-{three}")), "Sold out.");
        let wrong = typed.checkout(Counter::Own).unwrap_err();
        assert!(!wrong.at(&format!("q-{two}")).is_empty(), "{wrong:?}");
        assert!(!wrong.at(&format!("for-{three}")).is_empty(), "{wrong:?}");
        assert!(wrong.at(&format!("q-{three}")).is_empty(), "{wrong:?}");
        let none = Typed::default().checkout(Counter::Own).unwrap_err();
        assert!(!none.general().is_empty());
    }
}
