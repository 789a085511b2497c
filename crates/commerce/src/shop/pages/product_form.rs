//! The form for a product.

use super::{AdminSubmission, AdminVisitor, find_seller, team_options};
use crate::accounts::account;
use crate::money::settings;
use crate::prelude::*;
use crate::shop::product::{self, AvailableTo, NewProduct, Product, ProductChange, Status};
use crate::shop::variant;
use crate::web::form::{Choice, Field, FilledForm, Rows};
use crate::web::prelude::*;

/// The error if the stock has changed since the form was shown.
const STOCK_CHANGED: &str = mark!(
    "Somebody bought or changed this product while you had it open. The form now shows the current \
    stock. Check it and save again."
);

const FIELDS: &[Field] = &[
    Field::line("name", "Name", 120)
        .required("Enter a name.")
        .hint("For example, “Home jersey”."),
    Field::block("description", "Description", 0),
    Field::select("team_id", "Sold by", &[Choice::new("", "Whole club")])
        .hint("Only people who belong to a team see its products."),
    Field::pair(
        "Price",
        &[
            Field::amount_or_zero("price", "Price")
                .required("Enter a price, or 0 if it is free.")
                .hint("For example, 24.99. Enter 0 if it is free."),
            Field::currency("currency", "Currency")
                .required("")
                .hint("Three-letter code, such as EUR."),
        ],
    ),
    Field::radio(
        "tax_included",
        "Tax",
        &[
            Choice::new("none", "No tax"),
            Choice::new("yes", "Included in the price").about("The price is what people pay."),
            Choice::new("no", "Added to the price").about("People pay the price and the tax."),
        ],
    )
    .default("yes")
    .page_only(),
    Field::percent("tax_rate_bps", "Tax rate (%)", 0, 10_000)
        .hint("For example, 23 or 7.5.")
        .when("tax_included", &["yes", "no"])
        .or_reject("Clear the tax rate, or choose whether the tax is included or added."),
    Field::radio(
        "sized",
        "Does it come in sizes or colors?",
        &[Choice::new("no", "No"), Choice::new("yes", "Yes")],
    )
    .default("no")
    .page_only(),
    Field::hidden("was").page_only(),
    Field::number("stock", "Stock")
        .hint("Leave it empty to sell without a limit.")
        .shown_in("was")
        .when("sized", &["no"])
        .or_reject("Each size has its own stock. Clear this field, or choose “No”."),
    Field::rows("variants", "Sizes or colors", VARIANTS)
        .hint("Each has its own stock. Leave the price empty to use the price of the product. Leave the stock empty to sell without a limit. Clear a name to stop selling that size. You get more empty rows each time you save.")
        .required("Enter at least one size or color, or choose “No”.")
        .when("sized", &["yes"])
        .or_reject("You entered sizes but chose “No”. Clear their names, or choose “Yes”."),
    Field::pair(
        "Sale period",
        &[Field::local_time("on_sale_from", "From"), Field::local_time("on_sale_until", "Until")],
    )
    .hint("Time zone: {zone}. Leave a field empty for no limit."),
    Field::radio(
        "available_to",
        "Who can buy it?",
        &[
            Choice::new("everyone", "Everybody").about("Everybody who can order in the store."),
            Choice::new("members", "Members").about("Members of the team and their guardians. For products of the club, members of any team."),
            Choice::new("staff", "Coaches and managers").about("Coaches and managers of the team. For products of the club, of any team."),
        ],
    ),
    Field::pair(
        "Ordering and pickup",
        &[
            Field::number("max_per_order", "Maximum per order"),
            Field::day("pickup_date", "Pickup date"),
        ],
    ),
    Field::line("external_id", "ID in another system", 120),
];

const VARIANTS: Rows = Rows {
    fields: &[
        Field::hidden("variants-{row}-id").key("id"),
        Field::hidden("variants-{row}-was").page_only(),
        Field::line("variants-{row}-name", "Size or color", 60)
            .key("name")
            .required("Enter a size or color."),
        Field::amount_or_zero("variants-{row}-price", "Price").key("price"),
        Field::number("variants-{row}-stock", "Stock").key("stock").shown_in("variants-{row}-was"),
    ],
    first: 0,
    min: 0,
    max: variant::MAX_VARIANTS,
    empty: 3,
    error: "",
    class: "rowset",
    row_class: "rowed",
};

#[derive(Template)]
#[template(path = "shop/product_form.html")]
struct ProductFormPage {
    frame: Frame,
    form: FilledForm,
    /// The product to edit and the name of its seller; `None` for a new one.
    product: Option<(Product, String)>,
}

impl ProductFormPage {
    fn is_archived(&self) -> bool {
        self.product.as_ref().is_some_and(|(product, _)| product.record.status == Status::Archived)
    }
}

/// The submitted form.
fn submitted(form: &Form, (currency, zone): &(Currency, Zone)) -> FilledForm {
    let mut filled = FilledForm::submitted(FIELDS, form).currency(*currency).zone(zone);
    if form.text("sized").is_empty() && filled.has_rows("variants") {
        filled.set("sized", "yes");
    }
    filled
}

/// The form of an existing product.
fn filled_from(product: &Product, zone: &Zone) -> FilledForm {
    let Product { record, variants } = product;
    let tax = match (record.tax_rate_bps, record.tax_included) {
        (0, _) => "none",
        (_, true) => "yes",
        (_, false) => "no",
    };
    let filled = FilledForm::empty(FIELDS).zone(zone).filled_from(product);
    let filled = filled
        .with("tax_included", tax)
        .with("sized", if variants.is_empty() { "no" } else { "yes" })
        .with("team_id", "");
    let filled = if tax == "none" { filled.with("tax_rate_bps", "") } else { filled };
    let filled = with_stock(filled, product);
    filled.without("team_id").without("currency").version(record.version).fingerprint()
}

/// Replaces the stock with the current one.
fn with_stock(mut form: FilledForm, product: &Product) -> FilledForm {
    let text = |stock: Option<i64>| stock.map(|stock| stock.to_string()).unwrap_or_default();
    for name in ["stock", "was"] {
        form.set(name, text(product.record.stock));
    }
    for index in 0..=variant::MAX_VARIANTS {
        let id = form.text(&format!("variants-{index}-id")).to_owned();
        let mut variants = product.variants.iter();
        let Some(variant) = variants.find(|variant| variant.id.to_string() == id) else { continue };
        for name in ["stock", "was"] {
            form.set(&format!("variants-{index}-{name}"), text(variant.stock));
        }
    }
    form
}

/// Whether the user changed a stock field. Then the stock must not have changed since the form was shown.
fn changes_stock(form: &FilledForm) -> bool {
    let differs =
        |prefix: String| form.text(&format!("{prefix}stock")) != form.text(&format!("{prefix}was"));
    let is_existing = |index: &usize| !form.text(&format!("variants-{index}-id")).is_empty();
    let mut existing = (0..=variant::MAX_VARIANTS).filter(is_existing);
    differs(String::new()) || existing.any(|index| differs(format!("variants-{index}-")))
}

/// The body for the API, which has no field for “no tax” and “no sizes”.
fn to_body(form: &mut FilledForm) -> Value {
    let mut body = form.body();
    match form.text("tax_included") {
        "none" => body["tax_rate_bps"] = json!(0),
        tax => body["tax_included"] = json!(tax != "no"),
    }
    if body["variants"].is_null() {
        body["variants"] = json!([]);
    }
    body
}

async fn show_form(
    visitor: &AdminVisitor,
    form: FilledForm,
    product: Option<Product>,
) -> PageResult {
    let title = product.as_ref().map_or(t!("New product"), |p| &p.record.name).to_owned();
    let load = move |db: &Reader<'_>| {
        let seller = product.as_ref().map(|product| find_seller(db, product.record.team_id));
        Ok((product.zip(seller.transpose()?), team_options(db)?))
    };
    let (product, teams) = visitor.read(load).await?;
    let (status, frame) = (form.status(), visitor.frame(title, Section::Store));
    let form = form.options("team_id", teams);
    render(status, &ProductFormPage { frame, form, product })
}

/// The account's currency and time zone.
async fn defaults(visitor: &AdminVisitor) -> Result<(Currency, Zone)> {
    visitor.read(|db| Ok((settings::load(db)?.currency, account::find(db)?.timezone))).await
}

pub(super) async fn new(visitor: AdminVisitor) -> PageResult {
    let (currency, zone) = defaults(&visitor).await?;
    let form = FilledForm::empty(FIELDS)
        .zone(&zone)
        .with("currency", currency.code())
        .with("available_to", AvailableTo::Everyone.as_str())
        .with("tax_included", "none")
        .with("was", "")
        .nonce(new_nonce(visitor.app()));
    show_form(&visitor, form, None).await
}

pub(super) async fn create(AdminSubmission { visitor, form }: AdminSubmission) -> PageResult {
    let (nonce, mut form) = (parse_nonce(&form)?, submitted(&form, &defaults(&visitor).await?));
    let body = to_body(&mut form);
    if let Some(new) = form.finish::<NewProduct>(body) {
        let create = |tx: &Tx<'_>| {
            let product = product::create(tx, &TeamAccess::AllTeams, new);
            product.map(|product| product.record.id)
        };
        if form.accept(visitor.write_once(nonce, create).await)?.is_some() {
            return Ok(see_other("/admin/store?done=made"));
        }
    }
    show_form(&visitor, form, None).await
}

async fn find_product(visitor: &AdminVisitor, id: ProductId) -> Result<Product> {
    visitor.read(move |db| product::find(db, &TeamAccess::AllTeams, id)).await
}

pub(super) async fn edit(
    visitor: AdminVisitor,
    PathParams(id): PathParams<ProductId>,
) -> PageResult {
    let product = find_product(&visitor, id).await?;
    let form = filled_from(&product, &defaults(&visitor).await?.1);
    show_form(&visitor, form, Some(product)).await
}

pub(super) async fn save(
    PathParams(id): PathParams<ProductId>,
    AdminSubmission { visitor, form }: AdminSubmission,
) -> PageResult {
    let (before, (_, zone)) = (find_product(&visitor, id).await?, defaults(&visitor).await?);
    let form = submitted(&form, &(before.record.currency, zone.clone()));
    let mut form = form.without("team_id").without("currency");
    let body = to_body(&mut form);
    let Some(change) = form.finish::<ProductChange>(body) else {
        return show_form(&visitor, form, Some(before)).await;
    };
    if form.conflicts_with(&filled_from(&before, &zone)) {
        return show_form(&visitor, form, Some(before)).await;
    }
    let expected = if changes_stock(&form) { form.expected_version() } else { IfMatch::Absent };
    let save = move |tx: &Tx<'_>| product::change(tx, &TeamAccess::AllTeams, id, &expected, change);
    match visitor.write(save).await {
        Err(error) if error.code == Code::PreconditionFailed => {
            let product = find_product(&visitor, id).await?;
            form = with_stock(form, &product).version(product.record.version);
            form.faults.add("", t!(STOCK_CHANGED));
        }
        result => {
            if form.accept(result)?.is_some() {
                return Ok(see_other("/admin/store?done=saved"));
            }
        }
    }
    show_form(&visitor, form, Some(before)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> FilledForm {
        let defaults = ("EUR".parse().unwrap(), Zone::utc());
        submitted(&Form::parse(query.as_bytes()).unwrap(), &defaults)
    }

    #[test]
    fn errors_are_shown_at_their_fields() {
        let mut form = read(
            "name=&price=cheap&currency=XTS&tax_rate_bps=200&on_sale_from=soon&pickup_date=never&available_to=odd\
             &max_per_order=0&stock=-1&team_id=nobody&variants-0-name=&variants-0-price=1&variants-0-stock=x",
        );
        let body = to_body(&mut form);
        assert!(form.finish::<NewProduct>(body).is_none());
        let faults = form.faults;
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
        let mut form = read(
            "name=Kit&price=24,99&currency=eur&tax_rate_bps=7.5&tax_included=no&description=a%0d%0ab&version=3\
             &variants-0-name=M&variants-0-stock=4&variants-0-was=5&variants-0-id=var_x\
             &variants-1-name=&variants-1-price=&variants-1-stock=&variants-2-name=L&variants-2-price=30&variants-2-stock=\
             &variants-3-name=&variants-3-stock=7&variants-3-was=7&variants-3-id=var_y",
        );
        assert!(changes_stock(&form));
        let fields = to_body(&mut form);
        assert!(form.faults.is_empty(), "{:?}", form.faults);
        assert_eq!(
            (&fields["price"], &fields["tax_rate_bps"], &fields["tax_included"]),
            (&2499.into(), &750.into(), &false.into())
        );
        assert_eq!(fields["description"], "a\nb");
        assert_eq!(
            fields["variants"],
            json!([
            { "id": "var_x", "name": "M", "price": null, "stock": 4 }, { "name": "L", "price": 3000, "stock": null }])
        );
        let mut unchanged = read(
            "version=3&variants-0-name=M&variants-0-stock=5&variants-0-was=5&variants-0-id=var_x",
        );
        assert!(!changes_stock(&unchanged));
        assert_eq!(to_body(&mut unchanged)["variants"][0].get("stock"), None);
    }
}
