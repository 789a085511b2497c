//! The list of products, and archiving one.

use super::display::ProductRow;
use super::{AdminSubmission, AdminVisitor, fill_cells, team_options, with_sellers};
use crate::accounts::account;
use crate::prelude::*;
use crate::shop::product::{self, Product, Status};
use crate::shop::product_listing::{self, ProductFilter};
use crate::web::confirm::ConfirmPage;
use crate::web::list::{Cell, Column, FilterBar, List, list_page};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// Messages by the value of `?done=`.
const DONE: [(&str, &str); 3] = [
    ("made", mark!("The product was created.")),
    ("saved", mark!("The product was saved.")),
    ("archived", mark!("The product was archived. Existing orders do not change.")),
];

list_page!(ProductsPage, "shop/products.html");

const STATES: [(&str, &str); 4] = [
    ("on_sale", mark!("On sale now")),
    ("off_sale", mark!("Not on sale now")),
    ("archived", mark!("Archived")),
    ("all", mark!("All products")),
];

const COLUMNS: &[Column<ProductRow>] = &[
    Column::page("Name", |ProductRow { product, .. }| {
        let name = Cell::text(&product.record.name).inside("bdi", "goods");
        name.link(format!("/admin/store/products/{}", product.record.id))
    }),
    Column::page("Sold by", |row| Cell::wide(&row.seller)),
    Column::number("Price", |row| Cell::text(row.price()).inside("span", "nowrap")),
    Column::number("Stock", |row| Cell::text(row.stock())),
    Column::page("Status", |row| {
        let time = |text: &'static str, at: Option<Timestamp>| {
            Some(fill_cells(text, &[("time", Cell::Time(at?))]).inside("span", "about"))
        };
        let record = &row.product.record;
        let badge = Cell::Badge(row.badge).and_if(time(t!("from {time}"), record.on_sale_from));
        badge.and_if(time(t!("until {time}"), record.on_sale_until)).inside("div", "")
    }),
    Column::page("", |ProductRow { product, .. }| {
        let href = format!("/store/products/{}/pick-list", product.record.id);
        // Translators: after the label of a button, for screen readers
        let about = t!("for {name}");
        let about = fill_cells(about, &[("name", Cell::name(&product.record.name))]);
        Cell::button(t!("Pickup list"), about, href)
    }),
];

pub(super) async fn list(visitor: AdminVisitor) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let filters = FilterBar::new(&request.form)
        .input("q", "Name", "text")
        .select("state", "Status", "All except archived", STATES)
        .select_later("team", "Sold by", "Any seller");
    let (status, on_sale) = match filters.text("state") {
        "on_sale" => (Some(Status::Active), Some(true)),
        "off_sale" => (Some(Status::Active), Some(false)),
        "archived" => (Some(Status::Archived), None),
        "all" => (None, None),
        _ => (Some(Status::Active), None),
    };
    let filter = ProductFilter {
        team_id: filters.value("team"),
        status,
        on_sale,
        q: filters.search("q"),
        ..ProductFilter::default()
    };
    let read = move |db: &Reader<'_>, page: &_| {
        product_listing::list(db, &TeamAccess::AllTeams, &filter, page)
    };
    let RowPage { rows, next } = RowPage::read(&visitor, &request, read).await?;
    let now = visitor.app().clock.now();
    let load = move |db: &Reader<'_>| {
        let rows = with_sellers(db, rows, |product: &Product| product.record.team_id)?;
        let row = |(product, seller)| ProductRow::new(product, seller, now);
        let products: Vec<_> = rows.into_iter().map(row).collect();
        Ok((products, team_options(db)?, account::find(db)?.timezone))
    };
    let (products, teams, zone) = visitor.read(load).await?;
    let filters = filters.options("team", teams);
    let list =
        List::new(t!("Products"), COLUMNS, &products, &(now, zone)).next(next).filters(filters);
    let frame = visitor.frame(t!("Store"), Section::Store).flash(visitor.guest.done_flash(&DONE));
    render(StatusCode::OK, &ProductsPage { frame, list })
}

pub(super) async fn ask_archive(
    visitor: AdminVisitor,
    PathParams(id): PathParams<ProductId>,
) -> PageResult {
    let product = visitor.read(move |db| product::find(db, &TeamAccess::AllTeams, id)).await?;
    if product.record.status == Status::Archived {
        return Ok(see_other("/admin/store"));
    }
    let frame = visitor.frame(t!("Archive this product?"), Section::Store);
    let lead = Sentence::new("{name} will be archived when you confirm.");
    ConfirmPage::new(frame, "Archive product", format!("/admin/store/products/{id}"))
        .lead(lead.name("name", &product.record.name))
        .effect("Nobody can order it anymore.")
        .effect("Existing orders do not change. They can still be paid and picked up.")
        .effect(
            "You cannot put it on sale again. To pause the sale, change its sale dates instead.",
        )
        .back_label("Go back")
        .respond()
}

pub(super) async fn archive(
    PathParams(id): PathParams<ProductId>,
    AdminSubmission { visitor, .. }: AdminSubmission,
) -> PageResult {
    let archive = move |tx: &store::Tx<'_>| {
        let product = product::find(tx, &TeamAccess::AllTeams, id)?;
        if product.record.status == Status::Archived {
            return Ok(product);
        }
        product::archive(tx, &TeamAccess::AllTeams, id, &IfMatch::Absent)
    };
    visitor.write(archive).await?;
    Ok(see_other("/admin/store?done=archived"))
}
