//! The list of products, and archiving one.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Zone;
use store::Reader;

use super::display::ProductRow;
use super::{AdminSubmission, AdminVisitor, render, seller_name, team_names, team_options};
use crate::accounts::account;
use crate::ids::{ProductId, TeamId};
use crate::if_match::IfMatch;
use crate::paging::Order;
use crate::rights::TeamAccess;
use crate::shop::product::{self, Product, Status};
use crate::shop::product_listing::{self, ProductFilter};
use crate::web::confirm::ConfirmPage;
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::row_page::{ListRequest, RowPage};
use crate::web::sentence::Sentence;
use crate::web::visitor::{PageResult, see_other};

/// Messages by the value of `?done=`.
const DONE: [(&str, &str); 3] = [
    ("made", "The product was created."),
    ("saved", "The product was saved."),
    ("archived", "The product was archived. Existing orders do not change."),
];

#[derive(Template)]
#[template(path = "shop/products.html")]
struct ProductsPage {
    frame: Frame,
    products: Vec<ProductRow>,
    next: String,
    zone: Zone,
    teams: Vec<(TeamId, String)>,
    /// The filters of the list.
    q: String,
    state: String,
    team: String,
}

impl ProductsPage {
    fn is_filtered(&self) -> bool {
        !(self.q.is_empty() && self.state.is_empty() && self.team.is_empty())
    }

    fn is_team(&self, id: &TeamId) -> bool {
        self.team == id.to_string()
    }
}

pub(super) async fn list(visitor: AdminVisitor) -> PageResult<Response> {
    let asked = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let text = |name: &str| asked.form.text(name).to_owned();
    let (q, state, team) = (text("q"), text("state"), text("team"));
    let (status, on_sale) = match state.as_str() {
        "on_sale" => (Some(Status::Active), Some(true)),
        "off_sale" => (Some(Status::Active), Some(false)),
        "archived" => (Some(Status::Archived), None),
        "all" => (None, None),
        _ => (Some(Status::Active), None),
    };
    let filter = ProductFilter {
        team_id: team.parse().ok(),
        status,
        on_sale,
        q: Some(q.clone()).filter(|q| !q.is_empty()),
        ..ProductFilter::default()
    };
    let read = move |db: &Reader<'_>, page: &_| {
        product_listing::list(db, &TeamAccess::AllTeams, &filter, page)
    };
    let RowPage { rows, next } = RowPage::read(&visitor, &asked, read).await?;
    let now = visitor.app().clock.now();
    let load = move |db: &Reader<'_>| {
        let names = team_names(db, rows.iter().map(|product| product.record.team_id))?;
        let row = |product: Product| {
            let seller = seller_name(&names, product.record.team_id);
            ProductRow::new(product, seller, now)
        };
        let products: Vec<_> = rows.into_iter().map(row).collect();
        Ok((products, team_options(db, &TeamAccess::AllTeams)?, account::find(db)?.timezone))
    };
    let (products, teams, zone) = visitor.read(load).await?;
    let frame = visitor.frame("Store", Section::Store).flash(visitor.guest.done_flash(&DONE));
    render(StatusCode::OK, &ProductsPage { frame, products, next, zone, teams, q, state, team })
}

pub(super) async fn ask_archive(
    visitor: AdminVisitor,
    PathParams(id): PathParams<ProductId>,
) -> PageResult<Response> {
    let product = visitor.read(move |db| product::find(db, &TeamAccess::AllTeams, id)).await?;
    if product.record.status == Status::Archived {
        return Ok(see_other("/admin/store"));
    }
    ConfirmPage::new(
        visitor.frame("Archive this product?", Section::Store),
        "Archive product",
        format!("/admin/store/products/{id}"),
    )
    .lead(
        Sentence::new("{name} will be archived when you confirm.")
            .name("name", &product.record.name),
    )
    .effect("Nobody can order it anymore.")
    .effect("Existing orders do not change. They can still be paid and picked up.")
    .effect("You cannot put it on sale again. To pause the sale, change its sale dates instead.")
    .back_label("Go back")
    .respond()
}

pub(super) async fn archive(
    PathParams(id): PathParams<ProductId>,
    AdminSubmission { visitor, .. }: AdminSubmission,
) -> PageResult<Response> {
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
