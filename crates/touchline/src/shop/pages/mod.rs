//! The pages of the store: of those who run it below `/admin`, of families and of coaches below `/store`.

mod buying;
mod code_form;
mod codes;
mod desk;
mod order;
mod orders;
mod own;
mod print;
mod product_form;
mod product_row;
mod products;
mod receipt;
mod refund;
mod sheet;
mod shelf;
mod shown;

use std::borrow::Borrow;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use kit::{Currency, Money};
use store::{Reader, Tx};

use crate::accounts::permits::{MoneyManage, Needs, OrdersPlace, OrdersRead};
use crate::accounts::rights::Reach;
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::ids::{ProductId, TeamId};
use crate::names::Names;
use crate::paging::{self, Page};
use crate::shop::order::{Line, Order};
use crate::shop::product::{self, ProductFilter};
use crate::teams::team::{self, Status, TeamFilter};
use crate::web::form::Faults;
use crate::web::once::{Nonce, Once, once};
use crate::web::page;
use crate::web::visitor::{Outcome, Posted, Visitor};

/// So many teams and products can be chosen from.
const CHOICE: i64 = 200;

/// Somebody who runs the store, and a form of theirs.
type Keeper = Visitor<MoneyManage>;
type Sent = Posted<MoneyManage>;
/// Somebody who buys, and a form of theirs.
type Buyer = Visitor<OrdersPlace>;
type Bought = Posted<OrdersPlace>;
/// Somebody who looks at an order that is theirs to see.
type Onlooker = Visitor<OrdersRead>;

/// The routes of the store.
pub fn router() -> Router<App> {
    Router::new().merge(kept()).merge(ordered()).merge(bought())
}

/// What those who run the store sell.
fn kept() -> Router<App> {
    Router::new()
        .route("/admin/store", get(products::list))
        .route("/admin/store/products/new", get(product_form::new).post(product_form::create))
        .route("/admin/store/products/{id}", get(product_form::edit).post(product_form::save))
        .route(
            "/admin/store/products/{id}/archive",
            get(products::ask_archive).post(products::archive),
        )
        .route("/admin/store/codes", get(codes::list))
        .route("/admin/store/codes/new", get(code_form::new).post(code_form::create))
        .route("/admin/store/codes/{id}", get(code_form::edit).post(code_form::save))
        .route("/admin/store/codes/{id}/archive", get(codes::ask_archive).post(codes::archive))
}

/// What becomes of orders.
fn ordered() -> Router<App> {
    Router::new()
        .route("/admin/orders", get(orders::list))
        .route("/admin/orders/new", get(desk::new).post(desk::create))
        .route("/admin/orders/{id}", get(order::one))
        .route("/admin/orders/{id}/pay", post(order::pay))
        .route("/admin/orders/{id}/hand-out", post(order::hand_out))
        .route("/admin/orders/{id}/cancel", get(order::ask_cancel).post(order::cancel))
        .route("/admin/orders/{id}/refund", get(refund::ask).post(refund::refund))
        .route("/store/orders/print", get(print::orders))
        .route("/store/products/{id}/pick-list", get(print::pick_list))
}

/// What families buy.
fn bought() -> Router<App> {
    Router::new()
        .route("/store", get(shelf::show).post(shelf::order))
        .route("/store/orders", get(own::list))
        .route("/store/orders/{id}", get(own::one))
        .route("/store/orders/{id}/cancel", get(own::ask_cancel).post(own::cancel))
        .route("/store/orders/{id}/checkout", post(own::checkout))
        .route("/store/orders/{id}/receipt", get(receipt::show_receipt))
}

/// Sends a page.
fn show<T: askama::Template>(status: StatusCode, page: &T) -> Outcome<Response> {
    Ok(page::html(status, page)?)
}

/// How a form is answered that is shown with these faults.
fn status(faults: &Faults) -> StatusCode {
    if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }
}

/// An amount as it is shown. Templates hand over references.
pub(crate) fn money(minor: impl Borrow<i64>, currency: impl Borrow<Currency>) -> Money {
    Money { minor: *minor.borrow(), currency: *currency.borrow() }
}

/// A part in percent, from basis points.
pub(crate) fn percent(points: impl Borrow<i64>) -> String {
    let points = *points.borrow();
    let text = format!("{}.{:02}", points / 100, points % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether the visitor or somebody they look after bought the order.
async fn is_own<N: Needs>(visitor: &Visitor<N>, order: &Order) -> Result<bool> {
    let family = visitor.standing().await?.family();
    Ok(order.kept.buyer_person_id.is_some_and(|person| family.contains(&person)))
}

/// The page of an order: admins manage it in the admin area, unless their own family bought it.
async fn order_page<N: Needs>(visitor: &Visitor<N>, order: &Order) -> Result<String> {
    let managed = visitor.is_admin() && !is_own(visitor, order).await?;
    let area = if managed { "admin" } else { "store" };
    Ok(format!("/{area}/orders/{}", order.kept.id))
}

/// What a line is called, with how many of it there are to do something with.
fn many(line: &Line, count: i64) -> String {
    let size = line.variant_name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{}{size}, of {count}", line.name)
}

/// Whether an error can be mended in the form.
fn is_fault(error: &Error) -> bool {
    let state = matches!(error.code, Code::Conflict | Code::InvalidState | Code::Taken);
    state
        || error.code == Code::ValidationFailed
        || (error.code == Code::Forbidden && !error.faults.is_empty())
}

/// The faults of a refusal, each at its place: `/lines/0/quantity` is `lines-0-quantity`.
fn placed(error: &Error) -> Faults {
    let mut faults = Faults::default();
    for fault in &error.faults {
        let place = fault.pointer.trim_start_matches('/').replace('/', "-");
        faults.add(&place, fault.detail.clone());
    }
    if faults.is_empty() {
        faults.add("", error.detail.clone());
    }
    faults
}

/// Carries out what a form asks for, once, however often it is sent.
async fn do_once<N: Needs>(
    visitor: &Visitor<N>,
    nonce: Nonce,
    work: impl FnOnce(&Tx<'_>) -> Result<String> + Send + 'static,
) -> Result<Once<String>> {
    let kept = visitor.app().config.idempotency_ttl;
    let work = move |tx: &Tx<'_>| {
        once(tx, &nonce, kept, |tx| {
            let made = work(tx)?;
            Ok((made.clone(), made))
        })
    };
    visitor.write(work).await
}

/// What a form has made, now or before.
fn made(once: Once<String>) -> String {
    match once {
        Once::Now(id) | Once::Before(id) => id,
    }
}

/// The teams that play, to choose from.
fn teams(db: &Reader<'_>, reach: &Reach) -> Result<Vec<(TeamId, String)>> {
    let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
    let page = Page { limit: CHOICE, order: paging::Order::Asc, last: None };
    let found = team::list(db, reach, &filter, &page)?;
    Ok(found.into_iter().map(|team| (team.id, team.name)).collect())
}

/// The products there are, whatever has become of them, the newest first.
fn products(db: &Reader<'_>, reach: &Reach) -> Result<Vec<(ProductId, String)>> {
    let page = Page { limit: CHOICE, order: paging::Order::Desc, last: None };
    let found = product::list(db, reach, &ProductFilter::default(), &page)?;
    let names = named(db, found.iter().map(|product| product.kept.team_id))?;
    let choice = found.into_iter().map(|product| {
        let name = match product.kept.team_id {
            None => product.kept.name,
            team => format!("{} ({})", product.kept.name, seller(&names, team)),
        };
        (product.kept.id, name)
    });
    Ok(choice.collect())
}

/// The name of who sells something.
fn seller(names: &Names, team: Option<TeamId>) -> String {
    team.map_or_else(|| "Whole club".to_owned(), |team| names.or_id(&team.to_string()).to_owned())
}

/// The names of these teams.
fn named(db: &Reader<'_>, teams: impl Iterator<Item = Option<TeamId>>) -> Result<Names> {
    let ids: Vec<_> = teams.flatten().map(|team| team.to_string()).collect();
    Names::of(db, ids.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_written_without_needless_zeros() {
        let pairs = [(0, "0"), (2300, "23"), (750, "7.5"), (1, "0.01"), (10_000, "100")];
        for (points, text) in pairs {
            assert_eq!(percent(points), text);
        }
    }
}
