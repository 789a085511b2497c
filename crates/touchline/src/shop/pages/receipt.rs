//! The receipt of an order, to be printed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Timestamp, Zone};
use store::Reader;

use super::order::whole;
use super::{Onlooker, named, order_page, seller, show, shown};
use crate::accounts::account;
use crate::ids::OrderId;
use crate::money::payment::{Payment, Refund};
use crate::shop::order::{Line, Order, Status};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::Outcome;

#[derive(Template)]
#[template(path = "shop/receipt.html")]
struct ReceiptPage {
    frame: Frame,
    /// The page of the order.
    back: String,
    club: String,
    seller: String,
    order: Order,
    /// The tax by its rate, in basis points.
    taxes: Vec<(i64, i64)>,
    owed: kit::Money,
    payments: Vec<Payment>,
    refunds: Vec<Refund>,
    zone: Zone,
    now: Timestamp,
}

pub(super) async fn show_receipt(visitor: Onlooker, At(id): At<OrderId>) -> Outcome<Response> {
    let reach = visitor.reach().await?;
    let look = move |db: &Reader<'_>| {
        let (order, payments, refunds) = whole(db, &reach, id)?;
        let names = named(db, std::iter::once(order.kept.team_id))?;
        let seller = seller(&names, order.kept.team_id);
        Ok((order, payments, refunds, seller, account::find(db)?))
    };
    let (order, payments, refunds, seller, account) = visitor.read(look).await?;
    let page = ReceiptPage {
        back: order_page(&visitor, &order).await?,
        frame: visitor.frame(format!("Receipt for order {}", order.kept.number), Section::MyOrders),
        club: account.name,
        seller,
        taxes: taxes(&order.lines),
        owed: shown::owed(&order),
        payments,
        refunds,
        zone: account.timezone,
        now: visitor.app().clock.now(),
        order,
    };
    show(StatusCode::OK, &page)
}

/// What of the total is tax, by its rate.
fn taxes(lines: &[Line]) -> Vec<(i64, i64)> {
    let mut taxes: Vec<(i64, i64)> = Vec::new();
    for line in lines.iter().filter(|line| line.tax > 0) {
        match taxes.iter_mut().find(|(rate, _)| *rate == line.tax_rate_bp) {
            Some((_, tax)) => *tax += line.tax,
            None => taxes.push((line.tax_rate_bp, line.tax)),
        }
    }
    taxes.sort_unstable();
    taxes
}
