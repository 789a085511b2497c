//! The order form: parsing, review of the prices, and placing the orders.

use super::storefront::{family_access, render_storefront};
use super::{
    is_form_error, map_faults, money, run_once, seller_name, staff_order, submitted_id, team_names,
};
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::shop::api::discounts::MAX_CODE_LENGTH;
use crate::shop::api::orders::MAX_NOTE_LENGTH;
use crate::shop::buyer::NewBuyer;
use crate::shop::checkout::{self, Checkout, CheckoutLine};
use crate::shop::placing::{MAX_LINES, NewLine, Quote};
use crate::web::form::parse_number;
use crate::web::prelude::*;

/// Who fills in the form: families order for themselves, admins order for anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderChannel {
    SelfService,
    Staff,
}

impl OrderChannel {
    pub(super) fn form_path(self) -> &'static str {
        match self {
            Self::SelfService => "/store",
            Self::Staff => "/admin/orders/new",
        }
    }

    /// The page to redirect to after placing these orders: the order, or the list if there are several.
    fn redirect_path(self, ids: &str) -> String {
        let list = match self {
            Self::SelfService => "/store/orders",
            Self::Staff => "/admin/orders",
        };
        match ids.split_once(',') {
            None => format!("{list}/{ids}?done=placed"),
            Some(_) => format!("{list}?done=placed"),
        }
    }

    pub(super) fn frame<N: Permission>(self, visitor: &Visitor<N>, title: &'static str) -> Frame {
        match self {
            Self::SelfService => visitor.frame(title, Section::MyStore),
            Self::Staff => visitor.frame(title, Section::Orders),
        }
    }
}

/// The name of the field that selects the person for a block of a product.
pub(super) fn person_field(product: ProductId, block: usize) -> String {
    match block {
        0 => format!("for-{product}"),
        block => format!("for-{product}-{block}"),
    }
}

/// The name of the quantity field of a product or variant. A product has several blocks if several people of a family
/// can order it.
pub(super) fn quantity_field(
    product: ProductId,
    block: usize,
    variant: Option<VariantId>,
) -> String {
    let block = if block == 0 { String::new() } else { format!("-{block}") };
    let variant = variant.map(|variant| format!("-{variant}")).unwrap_or_default();
    format!("q-{product}{block}{variant}")
}

/// A product or variant with the entered quantity.
#[derive(Debug, Clone)]
pub(super) struct RequestedItem {
    pub(super) field: String,
    product: ProductId,
    block: usize,
    variant: Option<VariantId>,
    pub(super) quantity: String,
}

impl RequestedItem {
    /// Parses a quantity field; `None` if the name of the field is not valid.
    fn read(field: &str, input: &str) -> Option<Self> {
        let mut segments = field.strip_prefix("q-")?.split('-').peekable();
        let product = segments.next()?.parse().ok()?;
        let block = segments.peek().and_then(|segment| segment.parse().ok());
        if block.is_some() {
            segments.next();
        }
        let variant = segments.next().map(str::parse).transpose().ok()?;
        let quantity = input.trim().to_owned();
        let block = block.unwrap_or(0);
        let item = Self { field: field.to_owned(), product, block, variant, quantity };
        segments.next().is_none().then_some(item)
    }
}

/// The form as submitted.
#[derive(Debug, Default)]
pub(super) struct CheckoutForm {
    pub(super) items: Vec<RequestedItem>,
    /// The person selected for each block, by field name.
    pub(super) people: Vec<(String, String)>,
    /// Staff orders: ID of the person who buys.
    pub(super) buyer: String,
    /// Staff orders: name of a buyer who is not on a roster.
    pub(super) name: String,
    pub(super) email: String,
    pub(super) code: String,
    pub(super) note: String,
    /// The totals of the orders on the review page, in minor units, separated by commas.
    totals: String,
}

impl CheckoutForm {
    pub(super) fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        let items =
            form.with_prefix("q-").filter_map(|(field, input)| RequestedItem::read(field, input));
        let people =
            form.with_prefix("for-").map(|(field, person)| (field.to_owned(), person.to_owned()));
        Self {
            items: items.filter(|item| !matches!(item.quantity.as_str(), "" | "0")).collect(),
            people: people.collect(),
            buyer: text("buyer"),
            name: text("name"),
            email: text("email"),
            code: text("discount_code"),
            note: text("note"),
            totals: text("total"),
        }
    }

    /// Hidden fields for everything except the buyer.
    pub(super) fn hidden_fields(&self) -> Vec<(&str, &str)> {
        let items = self.items.iter().map(|item| (item.field.as_str(), item.quantity.as_str()));
        let people = self.people.iter().map(|(field, person)| (field.as_str(), person.as_str()));
        let other = [("discount_code", self.code.as_str()), ("note", self.note.as_str())];
        items.chain(people).chain(other).filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The input of a quantity field.
    pub(super) fn quantity(&self, field: &str) -> &str {
        let item = self.items.iter().find(|item| item.field == field);
        item.map_or("", |item| item.quantity.as_str())
    }

    /// The person selected in a field; empty if there is none.
    pub(super) fn person_for(&self, field: &str) -> &str {
        let selected = self.people.iter().find(|(name, _)| name == field);
        selected.map_or("", |(_, person)| person.as_str())
    }

    /// The person who buys, in a staff order.
    pub(super) fn buyer_id(&self) -> Option<PersonId> {
        self.buyer.parse().ok()
    }

    /// Whether a staff order has a valid buyer.
    pub(super) fn has_buyer(&self) -> bool {
        self.buyer_id().is_some() || (!self.name.is_empty() && !self.has_invalid_email())
    }

    /// Whether the buyer's email address is not valid.
    pub(super) fn has_invalid_email(&self) -> bool {
        !self.email.is_empty() && !kit::contact::is_email(&self.email)
    }

    /// The checkout this form requests, or all its errors.
    pub(super) fn checkout(&self, channel: OrderChannel) -> Result<Checkout, Faults> {
        let mut faults = Faults::default();
        let mut lines = Vec::new();
        for item in &self.items {
            let quantity = parse_number(&item.quantity).unwrap_or_else(|message| {
                faults.add(&item.field, message);
                // Keeps the line, so that the indexes in the errors of other lines stay correct.
                1
            });
            lines.push(json!({
                "product_id": item.product.to_string(),
                "variant_id": item.variant.map(|variant| variant.to_string()),
                "quantity": quantity,
                "buyer": self.buyer_body(channel, item),
            }));
        }
        if self.items.is_empty() {
            faults.add("", t!("Enter a quantity for at least one product."));
        }
        let optional =
            |text: &str| Some(text.replace("\r\n", "\n")).filter(|text| !text.is_empty());
        let (code, note) = (optional(&self.code), optional(&self.note));
        let body = json!({ "lines": lines, "discount_code": code, "note": note });
        match Fields::read(body) {
            Ok(checkout) if faults.is_empty() => return Ok(checkout),
            Ok(_) => {}
            Err(error) => faults.add_all(&map_faults(&error)),
        }
        Err(self.map_to_fields(&faults, channel))
    }

    fn buyer_body(&self, channel: OrderChannel, item: &RequestedItem) -> serde_json::Value {
        match channel {
            OrderChannel::SelfService => {
                json!({ "person_id": self.person_for(&person_field(item.product, item.block)) })
            }
            OrderChannel::Staff if self.buyer_id().is_some() => json!({ "person_id": self.buyer }),
            OrderChannel::Staff => {
                let email = Some(&self.email).filter(|email| !email.is_empty());
                json!({ "name": self.name, "email": email })
            }
        }
    }

    /// Maps errors of lines to the form fields of these lines.
    fn map_to_fields(&self, faults: &Faults, channel: OrderChannel) -> Faults {
        let mut mapped = Faults::default();
        for (name, message) in faults.all() {
            let mut segments = name.splitn(3, '-');
            let line = match (segments.next(), segments.next()) {
                (Some("lines"), Some(number)) => number.parse::<usize>().ok(),
                _ => None,
            };
            let item = line.and_then(|line| self.items.get(line));
            let about_buyer = segments.next().is_some_and(|rest| rest.starts_with("buyer"));
            let field = match item {
                None => name.to_owned(),
                Some(_) if about_buyer && channel == OrderChannel::Staff => "buyer".to_owned(),
                Some(item) if about_buyer => person_field(item.product, item.block),
                Some(item) => item.field.clone(),
            };
            mapped.add(&field, message);
        }
        mapped
    }
}

impl FromBody for Checkout {
    fn read(fields: &mut Fields) -> Self {
        let lines = fields.objects("lines", MAX_LINES, |fields| {
            let buyer = fields.object("buyer", NewBuyer::read).apply(None).unwrap_or_default();
            let NewLine { product_id, variant_id, quantity } = NewLine::read(fields);
            CheckoutLine { buyer, product_id, variant_id, quantity }
        });
        Self {
            lines: fields.required("lines", lines).unwrap_or_default(),
            discount_code: fields.line("discount_code", MAX_CODE_LENGTH).apply(None),
            note: fields.block("note", MAX_NOTE_LENGTH).apply(None),
        }
    }
}

/// An order on the review page.
struct OrderPreview {
    quote: Quote,
    seller: String,
}

impl OrderPreview {
    /// The lines with their discounts and totals.
    fn lines(
        &self,
    ) -> impl Iterator<Item = (&crate::shop::placing::QuotedLine, kit::Money, kit::Money)> {
        let currency = self.quote.currency;
        self.quote.lines.iter().zip(&self.quote.price.lines).map(move |(line, price)| {
            (line, money(price.discount, currency), money(price.total, currency))
        })
    }
}

#[derive(Template)]
#[template(path = "shop/review.html")]
struct ReviewPage {
    frame: Frame,
    channel: OrderChannel,
    orders: Vec<OrderPreview>,
    /// The totals of all orders together, by currency.
    sums: Vec<kit::Money>,
    totals: String,
    input: CheckoutForm,
    nonce: String,
}

impl ReviewPage {
    fn sum_text(&self) -> String {
        let locale = Locale::current_or_english();
        format::list(locale, self.sums.iter().map(|sum| format::money(locale, *sum)))
    }
}

/// Handles the form by its `step`: choose the buyer, review the total, change the order, or place it.
pub(super) async fn handle_form<N: Permission>(
    visitor: &Visitor<N>,
    form: &Form,
    channel: OrderChannel,
) -> PageResult<Response> {
    let input = CheckoutForm::read(form);
    let step = form.text("step");
    if channel == OrderChannel::Staff && (matches!(step, "find" | "buyer") || !input.has_buyer()) {
        return staff_order::choose_buyer(visitor, form, input).await;
    }
    if matches!(step, "change" | "choose") {
        return render_storefront(visitor, channel, input, Faults::default()).await;
    }
    let checkout = match input.checkout(channel) {
        Ok(checkout) => checkout,
        Err(faults) => return render_storefront(visitor, channel, input, faults).await,
    };
    let user = visitor.visit.user;
    let access = move |db: &Reader<'_>| match channel {
        OrderChannel::SelfService => family_access(db, user).map(|(access, _)| access),
        OrderChannel::Staff => Ok(TeamAccess::AllTeams),
    };
    let error = if step == "place" {
        let (nonce, expected_totals) = (parse_nonce(form)?, parse_totals(&input.totals));
        let place = move |tx: &Tx<'_>| {
            let orders = checkout::place(tx, &access(tx)?, &checkout, &expected_totals)?;
            let ids: Vec<_> = orders.iter().map(|order| order.record.id.to_string()).collect();
            Ok(ids.join(","))
        };
        match run_once(visitor, nonce, place).await.map(submitted_id) {
            Ok(ids) => return Ok(see_other(&channel.redirect_path(&ids))),
            Err(error) => error,
        }
    } else {
        let load = move |db: &Reader<'_>| {
            let quotes = checkout::quote(db, &access(db)?, &checkout)?;
            let names = team_names(db, quotes.iter().map(|quote| quote.team))?;
            let previews = quotes.into_iter().map(|quote| {
                let seller = seller_name(&names, quote.team);
                OrderPreview { quote, seller }
            });
            Ok(previews.collect())
        };
        match visitor.read(load).await {
            Ok(orders) => return render_review(visitor, channel, orders, input),
            Err(error) => error,
        }
    };
    if !is_form_error(&error) {
        return Err(error.into());
    }
    let faults = input.map_to_fields(&super::map_faults(&error), channel);
    render_storefront(visitor, channel, input, faults).await
}

/// Parses the totals of the review page.
fn parse_totals(input: &str) -> Vec<i64> {
    input.split(',').filter_map(|total| total.parse().ok()).collect()
}

/// Shows the review page with the prices.
fn render_review<N: Permission>(
    visitor: &Visitor<N>,
    channel: OrderChannel,
    orders: Vec<OrderPreview>,
    input: CheckoutForm,
) -> PageResult<Response> {
    let mut sums: Vec<kit::Money> = Vec::new();
    for OrderPreview { quote, .. } in &orders {
        match sums.iter_mut().find(|sum| sum.currency == quote.currency) {
            Some(sum) => sum.minor += quote.price.total,
            None => sums.push(money(quote.price.total, quote.currency)),
        }
    }
    let totals: Vec<_> = orders.iter().map(|order| order.quote.price.total.to_string()).collect();
    let page = ReviewPage {
        frame: channel.frame(visitor, t!("Review your order")),
        channel,
        orders,
        sums,
        totals: totals.join(","),
        input,
        nonce: new_nonce(visitor.app()),
    };
    super::render(StatusCode::OK, &page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantity_fields_are_parsed() {
        let (product, variant) = (ProductId::from_bits(7), VariantId::from_bits(9));
        for block in [0, 2] {
            for variant in [None, Some(variant)] {
                let field = quantity_field(product, block, variant);
                let item = RequestedItem::read(&field, " 2 ").unwrap();
                assert_eq!(
                    (item.product, item.block, item.variant, item.quantity.as_str()),
                    (product, block, variant, "2")
                );
            }
        }
        let invalid = [
            "q-".to_owned(),
            "q-x".to_owned(),
            "name".to_owned(),
            format!("q-{variant}"),
            format!("q-{product}-x"),
            format!("q-{product}-1-{variant}-2"),
        ];
        for field in invalid {
            assert!(RequestedItem::read(&field, "1").is_none(), "{field}");
        }
    }

    #[test]
    fn errors_of_lines_are_shown_at_their_fields() {
        let (one, two, three) =
            (ProductId::from_bits(7), ProductId::from_bits(8), ProductId::from_bits(9));
        let query =
            format!("q-{one}=0&q-{two}=many&q-{three}=3&for-{two}=nobody&for-{three}=nobody");
        let input = CheckoutForm::read(&Form::parse(query.as_bytes()).unwrap());
        let mut faults = Faults::default();
        faults.add("lines-1-quantity", "Sold out.");
        let mapped = input.map_to_fields(&faults, OrderChannel::SelfService);
        assert_eq!(mapped.at(&format!("q-{three}")), "Sold out.");
        let faults = input.checkout(OrderChannel::SelfService).unwrap_err();
        assert!(!faults.at(&format!("q-{two}")).is_empty(), "{faults:?}");
        assert!(!faults.at(&format!("for-{three}")).is_empty(), "{faults:?}");
        assert!(faults.at(&format!("q-{three}")).is_empty(), "{faults:?}");
        let empty = CheckoutForm::default().checkout(OrderChannel::SelfService).unwrap_err();
        assert!(!empty.general().is_empty());
    }
}
