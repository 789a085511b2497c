//! The form for a product.

use std::borrow::Borrow;

use askama::Template;
use axum::response::Response;
use kit::string_enum::StringEnum;
use kit::{Currency, Money, Zone};
use serde_json::Value;
use store::{Reader, Tx};

use super::display::BUYER_OPTIONS;
use super::form_body::{self, FormBody};
use super::product_row::{VariantRow, format_stock};
use super::{
    AdminSubmission, AdminVisitor, form_status, is_form_error, map_faults, render, run_once,
    seller_name, submitted_id, team_names, team_options,
};
use crate::accounts::account;
use crate::error::{Code, Result};
use crate::ids::{ProductId, TeamId};
use crate::if_match::IfMatch;
use crate::money::settings;
use crate::rights::TeamAccess;
use crate::shop::product::{self, AvailableTo, NewProduct, Product, ProductChange, Status};
use crate::shop::variant;
use crate::web::form::{Faults, Form, fingerprint};
use crate::web::form_dedup::{new_nonce, parse_nonce};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

/// Number of empty variant rows below the filled ones.
const EMPTY_ROWS: usize = 3;
/// The error if the stock has changed since the form was shown.
const STOCK_CHANGED: &str = "Somebody bought or changed this product while you had it open. The form now shows the current \
    stock. Check it and save again.";

/// The form as submitted.
#[derive(Debug, Default)]
struct ProductForm {
    name: String,
    description: String,
    team_id: String,
    currency: String,
    price: String,
    tax_rate_bps: String,
    /// `none` for no tax, `yes` if included in the price, `no` if added to it.
    tax: String,
    /// Whether the product has variants.
    has_variants: bool,
    stock: String,
    /// The stock when the form was shown.
    shown_stock: String,
    on_sale_from: String,
    on_sale_until: String,
    available_to: String,
    max_per_order: String,
    pickup_date: String,
    external_id: String,
    version: String,
    /// Fingerprint of all fields except the stock as they were shown, to detect concurrent changes.
    fingerprint: String,
    rows: Vec<VariantRow>,
}

impl ProductForm {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        let rows = (0..variant::MAX_VARIANTS + EMPTY_ROWS)
            .map_while(|index| VariantRow::read(form, index));
        let rows: Vec<_> = rows.filter(VariantRow::is_filled).collect();
        Self {
            name: text("name"),
            description: text("description"),
            team_id: text("team_id"),
            currency: text("currency").to_uppercase(),
            price: text("price"),
            tax_rate_bps: text("tax_rate_bps"),
            tax: form.optional("tax_included").unwrap_or("yes").to_owned(),
            has_variants: match form.text("sized") {
                "no" => false,
                "yes" => true,
                _ => !rows.is_empty(),
            },
            stock: text("stock"),
            shown_stock: text("was"),
            on_sale_from: text("on_sale_from"),
            on_sale_until: text("on_sale_until"),
            available_to: text("available_to"),
            max_per_order: text("max_per_order"),
            pickup_date: text("pickup_date"),
            external_id: text("external_id"),
            version: text("version"),
            fingerprint: text("shown"),
            rows,
        }
    }

    fn from_product(product: &Product, zone: &Zone) -> Self {
        let Product { record, variants } = product;
        let currency = record.currency;
        let input = Self {
            name: record.name.clone(),
            description: record.description.clone().unwrap_or_default(),
            team_id: String::new(),
            currency: currency.code().to_owned(),
            price: Money { minor: record.price, currency }.format_amount(),
            tax_rate_bps: match record.tax_rate_bps {
                0 => String::new(),
                points => super::percent(points),
            },
            tax: match (record.tax_rate_bps, record.tax_included) {
                (0, _) => "none",
                (_, true) => "yes",
                (_, false) => "no",
            }
            .to_owned(),
            has_variants: !variants.is_empty(),
            stock: format_stock(record.stock),
            shown_stock: format_stock(record.stock),
            on_sale_from: form_body::format_local(record.on_sale_from, zone),
            on_sale_until: form_body::format_local(record.on_sale_until, zone),
            available_to: record.available_to.as_str().to_owned(),
            max_per_order: format_stock(record.max_per_order),
            pickup_date: record.pickup_date.map(|day| day.to_string()).unwrap_or_default(),
            external_id: record.external_id.clone().unwrap_or_default(),
            version: record.version.to_string(),
            fingerprint: String::new(),
            rows: variants
                .iter()
                .map(|variant| VariantRow::from_variant(variant, currency))
                .collect(),
        };
        Self { fingerprint: input.compute_fingerprint(), ..input }
    }

    /// Fingerprint of all fields except the stock, which changes with every order. It must not have changed when the
    /// form is saved.
    fn compute_fingerprint(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(|row| (&row.id, &row.name, &row.price)).collect();
        let tax = (&self.tax_rate_bps, &self.tax);
        let sale = (&self.on_sale_from, &self.on_sale_until, &self.available_to, &self.pickup_date);
        let basics = (&self.name, &self.description, &self.price, &self.external_id);
        fingerprint(&(basics, tax, sale, &self.max_per_order, rows))
    }

    /// Replaces the stock fields with the current stock.
    fn refresh_stock(&mut self, product: &Product) {
        self.version = product.record.version.to_string();
        self.stock = format_stock(product.record.stock);
        self.shown_stock.clone_from(&self.stock);
        for variant in &product.variants {
            let id = variant.id.to_string();
            if let Some(row) = self.rows.iter_mut().find(|row| row.id == id) {
                row.stock = format_stock(variant.stock);
                row.shown_stock.clone_from(&row.stock);
            }
        }
    }

    /// Whether the user changed a stock field. Then the stock must not have changed since the form was shown.
    fn changes_stock(&self) -> bool {
        let rows = self.rows.iter().filter(|row| !row.id.is_empty());
        self.stock != self.shown_stock || rows.into_iter().any(|row| row.stock != row.shown_stock)
    }

    fn is_available_to(&self, word: &str) -> bool {
        self.available_to == word
    }

    fn is_team(&self, team: &TeamId) -> bool {
        self.team_id == team.to_string()
    }

    /// The request body for the API.
    fn to_body(&self, currency: Currency, zone: &Zone) -> FormBody {
        let mut body = FormBody::default();
        body.required("name", &self.name, "Enter a name.");
        body.text("description", &self.description);
        body.money("price", &self.price, currency);
        if self.price.is_empty() {
            body.faults.add("price", "Enter a price, or 0 if it is free.");
        }
        self.add_tax(&mut body);
        body.timestamp("on_sale_from", &self.on_sale_from, zone);
        body.timestamp("on_sale_until", &self.on_sale_until, zone);
        body.text("available_to", &self.available_to);
        body.number("max_per_order", &self.max_per_order);
        body.text("pickup_date", &self.pickup_date);
        body.text("external_id", &self.external_id);
        let rows = self.rows.iter().enumerate();
        let rows = rows.map(|(index, row)| row.to_body(index, currency, &mut body.faults));
        let rows: Vec<_> = rows.collect();
        if !self.has_variants && !rows.is_empty() {
            let message = "You entered sizes but chose “No”. Clear their names, or choose “Yes”.";
            body.faults.add("variants", message);
        }
        if self.has_variants && rows.is_empty() {
            body.faults.add("variants", "Enter at least one size or color, or choose “No”.");
        }
        body.set("variants", rows);
        if self.has_variants {
            body.set("stock", Value::Null);
            // The product's own stock is dropped. Reject a changed value instead of ignoring it silently.
            if self.stock != self.shown_stock {
                let message = "Each size has its own stock. Clear this field, or choose “No”.";
                body.faults.add("stock", message);
            }
        } else if self.version.is_empty() || self.stock != self.shown_stock {
            body.number("stock", &self.stock);
        }
        body
    }

    fn add_tax(&self, body: &mut FormBody) {
        let taxed = self.tax != "none";
        if !taxed && !matches!(self.tax_rate_bps.as_str(), "" | "0") {
            let message = "Clear the tax rate, or choose whether the tax is included or added.";
            body.faults.add("tax_rate_bps", message);
        }
        if taxed {
            body.percent("tax_rate_bps", &self.tax_rate_bps);
            body.set("tax_included", self.tax != "no");
        } else {
            body.set("tax_rate_bps", 0);
        }
    }

    fn is_taxed(&self, how: &str) -> bool {
        self.tax == how
    }

    /// The product this form describes, or all its errors.
    fn to_product(
        &self,
        default: Currency,
        zone: &Zone,
    ) -> std::result::Result<NewProduct, Faults> {
        let currency: Option<Currency> = self.currency.parse().ok();
        let mut body = self.to_body(currency.unwrap_or(default), zone);
        if currency.is_none() {
            let message = "Enter a three-letter currency code, such as EUR.";
            body.faults.add("currency", message);
        }
        body.set("currency", currency.unwrap_or(default).code());
        body.text("team_id", &self.team_id);
        body.finish()
    }
}

#[derive(Template)]
#[template(path = "shop/product_form.html")]
struct ProductFormPage {
    frame: Frame,
    input: ProductForm,
    faults: Faults,
    nonce: String,
    /// The product to edit and the name of its seller; `None` for a new one.
    product: Option<(Product, String)>,
    teams: Vec<(TeamId, String)>,
    available_to: [(AvailableTo, &'static str, &'static str); 3],
    zone: Zone,
    /// Indexes of the empty variant rows.
    empty_rows: Vec<usize>,
}

impl ProductFormPage {
    /// The name of a field in a variant row.
    fn row_field(index: impl Borrow<usize>, name: &str) -> String {
        format!("variants-{}-{name}", index.borrow())
    }

    /// The error of a field in a variant row.
    fn row_error(&self, index: impl Borrow<usize>, name: &str) -> &str {
        self.faults.at(&Self::row_field(index, name))
    }

    fn is_archived(&self) -> bool {
        self.product.as_ref().is_some_and(|(product, _)| product.record.status == Status::Archived)
    }
}

async fn show_form(
    visitor: &AdminVisitor,
    input: ProductForm,
    faults: Faults,
    nonce: String,
    product: Option<Product>,
) -> PageResult<Response> {
    let title =
        product.as_ref().map_or_else(|| "New product".into(), |p| p.record.name.clone().into());
    let title: std::borrow::Cow<'static, str> = title;
    let load = move |db: &Reader<'_>| {
        let names = team_names(db, product.iter().map(|product| product.record.team_id))?;
        let product = product.map(|product| {
            let seller = seller_name(&names, product.record.team_id);
            (product, seller)
        });
        Ok((product, team_options(db, &TeamAccess::AllTeams)?, account::find(db)?.timezone))
    };
    let (product, teams, zone) = visitor.read(load).await?;
    let empty = (input.rows.len()..input.rows.len() + EMPTY_ROWS).collect();
    let status = form_status(&faults);
    let frame = visitor.frame(title, Section::Store);
    let page = ProductFormPage {
        frame,
        input,
        faults,
        nonce,
        product,
        teams,
        available_to: BUYER_OPTIONS,
        zone,
        empty_rows: empty,
    };
    render(status, &page)
}

/// The account's currency and time zone.
async fn account_defaults(visitor: &AdminVisitor) -> Result<(Currency, Zone)> {
    visitor.read(|db| Ok((settings::load(db)?.currency, account::find(db)?.timezone))).await
}

pub(super) async fn new(visitor: AdminVisitor) -> PageResult<Response> {
    let (currency, _) = account_defaults(&visitor).await?;
    let input = ProductForm {
        currency: currency.code().to_owned(),
        available_to: AvailableTo::Everyone.as_str().to_owned(),
        tax: "none".to_owned(),
        ..ProductForm::default()
    };
    let nonce = new_nonce(visitor.app());
    show_form(&visitor, input, Faults::default(), nonce, None).await
}

pub(super) async fn create(
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult<Response> {
    let (input, nonce) = (ProductForm::read(&form), parse_nonce(&form)?);
    let (currency, zone) = account_defaults(&visitor).await?;
    let new = match input.to_product(currency, &zone) {
        Ok(new) => new,
        Err(faults) => return show_form(&visitor, input, faults, nonce.value, None).await,
    };
    let create = |tx: &Tx<'_>| {
        product::create(tx, &TeamAccess::AllTeams, new).map(|product| product.record.id.to_string())
    };
    match run_once(&visitor, nonce.clone(), create).await.map(submitted_id) {
        Ok(_) => Ok(see_other("/admin/store?done=made")),
        Err(error) if is_form_error(&error) => {
            show_form(&visitor, input, map_faults(&error), nonce.value, None).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn find_product(visitor: &AdminVisitor, id: ProductId) -> Result<Product> {
    visitor.read(move |db| product::find(db, &TeamAccess::AllTeams, id)).await
}

pub(super) async fn edit(
    visitor: AdminVisitor,
    PathParams(id): PathParams<ProductId>,
) -> PageResult<Response> {
    let product = find_product(&visitor, id).await?;
    let (_, zone) = account_defaults(&visitor).await?;
    let input = ProductForm::from_product(&product, &zone);
    show_form(&visitor, input, Faults::default(), String::new(), Some(product)).await
}

pub(super) async fn save(
    PathParams(id): PathParams<ProductId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult<Response> {
    let before = find_product(&visitor, id).await?;
    let mut input = ProductForm::read(&form);
    let (_, zone) = account_defaults(&visitor).await?;
    let parsed: std::result::Result<ProductChange, Faults> =
        input.to_body(before.record.currency, &zone).finish();
    let change = match parsed {
        Ok(change) => change,
        Err(faults) => {
            return show_form(&visitor, input, faults, String::new(), Some(before)).await;
        }
    };
    let current = ProductForm::from_product(&before, &zone).fingerprint;
    if input.fingerprint != current {
        input.fingerprint = current;
        let faults = Faults::edit_conflict();
        return show_form(&visitor, input, faults, String::new(), Some(before)).await;
    }
    let shown_version: Option<i64> = input.version.parse().ok();
    let expected = match shown_version {
        Some(version) if input.changes_stock() => IfMatch::Versions(vec![version]),
        _ => IfMatch::Absent,
    };
    let save = move |tx: &Tx<'_>| product::change(tx, &TeamAccess::AllTeams, id, &expected, change);
    let faults = match visitor.write(save).await {
        Ok(_) => return Ok(see_other("/admin/store?done=saved")),
        Err(error) if error.code == Code::PreconditionFailed => {
            let mut faults = Faults::default();
            faults.add("", STOCK_CHANGED);
            input.refresh_stock(&find_product(&visitor, id).await?);
            faults
        }
        Err(error) if is_form_error(&error) => map_faults(&error),
        Err(error) => return Err(error.into()),
    };
    show_form(&visitor, input, faults, String::new(), Some(before)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> ProductForm {
        ProductForm::read(&Form::parse(query.as_bytes()).unwrap())
    }

    fn euros() -> Currency {
        "EUR".parse().unwrap()
    }

    #[test]
    fn errors_are_shown_at_their_fields() {
        let faults = read(
            "name=&price=cheap&currency=XTS&tax_rate_bps=200&on_sale_from=soon&pickup_date=never&available_to=odd\
             &max_per_order=0&stock=-1&team_id=nobody&variants-0-name=&variants-0-price=1&variants-0-stock=x",
        )
        .to_product(euros(), &Zone::utc())
        .unwrap_err();
        for field in [
            "name",
            "price",
            "currency",
            "tax_rate_bps",
            "on_sale_from",
            "pickup_date",
            "available_to",
            "max_per_order",
            "stock",
            "team_id",
            "variants-0-name",
            "variants-0-stock",
        ] {
            assert!(!faults.at(field).is_empty(), "{field}: {faults:?}");
        }
        assert!(faults.at("description").is_empty() && faults.at("variants-0-price").is_empty());
    }

    #[test]
    fn empty_rows_are_ignored_and_unchanged_stock_is_not_sent() {
        let input = read(
            "name=Kit&price=24,99&currency=eur&tax_rate_bps=7.5&tax_included=no&description=a%0d%0ab&version=3\
             &variants-0-name=M&variants-0-stock=4&variants-0-was=5&variants-0-id=var_x\
             &variants-1-name=&variants-1-price=&variants-1-stock=&variants-2-name=L&variants-2-price=30&variants-2-stock=\
             &variants-3-name=&variants-3-stock=7&variants-3-was=7&variants-3-id=var_y",
        );
        assert!(input.changes_stock());
        let (body, faults) = input.to_body(euros(), &Zone::utc()).into_parts();
        assert!(faults.is_empty(), "{faults:?}");
        let fields = body.as_object().unwrap();
        assert_eq!(
            (&fields["price"], &fields["tax_rate_bps"], &fields["tax_included"]),
            (&2499.into(), &750.into(), &false.into())
        );
        assert_eq!(fields["description"], "a\nb");
        assert_eq!(
            fields["variants"],
            serde_json::json!([
            { "id": "var_x", "name": "M", "price": null, "stock": 4 }, { "name": "L", "price": 3000, "stock": null }])
        );
        let unchanged = read(
            "version=3&variants-0-name=M&variants-0-stock=5&variants-0-was=5&variants-0-id=var_x",
        );
        assert!(!unchanged.changes_stock());
        let (body, _) = unchanged.to_body(euros(), &Zone::utc()).into_parts();
        assert_eq!(body["variants"][0].get("stock"), None);
    }
}
