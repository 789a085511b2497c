//! The printable receipt of an order.

use super::order::find_with_payments;
use super::{OrderVisitor, display, money, order_path, percent, render, seller_name, team_names};
use crate::accounts::account;
use crate::money::payment::{Payment, Refund};
use crate::prelude::*;
use crate::shop::order::{Line, Order, Status};
use crate::web::prelude::*;

#[derive(Template)]
#[template(path = "shop/receipt.html")]
struct ReceiptPage {
    frame: Frame,
    /// The path of the order's page.
    back_path: String,
    club: String,
    seller: String,
    order: Order,
    /// Tax amounts by rate in basis points.
    taxes: Vec<(i64, i64)>,
    outstanding: kit::Money,
    payments: Vec<Payment>,
    refunds: Vec<Refund>,
    zone: Zone,
    now: Timestamp,
}

impl ReceiptPage {
    /// The tax amounts with their rates.
    fn tax_text(&self) -> String {
        let amount = |(rate, tax): &(i64, i64)| {
            let amount = money(tax, self.order.record.currency);
            t!("{amount} at {rate}%", amount, rate = percent(rate))
        };
        self.taxes.iter().map(amount).collect::<Vec<_>>().join(", ")
    }
}

pub(super) async fn show_receipt(
    visitor: OrderVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let load = move |db: &Reader<'_>| {
        let (order, payments, refunds) = find_with_payments(db, &access, id)?;
        let names = team_names(db, std::iter::once(order.record.team_id))?;
        let seller = seller_name(&names, order.record.team_id);
        Ok((order, payments, refunds, seller, account::find(db)?))
    };
    let (order, payments, refunds, seller, account) = visitor.read(load).await?;
    let number = order.record.number.to_string();
    let title = t!("Receipt for order {number}", number);
    let page = ReceiptPage {
        back_path: order_path(&visitor, &order).await?,
        frame: visitor.frame(title, Section::MyOrders),
        club: account.name,
        seller,
        taxes: taxes(&order.lines),
        outstanding: display::outstanding(&order),
        payments,
        refunds,
        zone: account.timezone,
        now: visitor.app().clock.now(),
        order,
    };
    render(StatusCode::OK, &page)
}

/// Tax amounts by rate.
fn taxes(lines: &[Line]) -> Vec<(i64, i64)> {
    let mut taxes: Vec<(i64, i64)> = Vec::new();
    for line in lines.iter().filter(|line| line.tax > 0) {
        match taxes.iter_mut().find(|(rate, _)| *rate == line.tax_rate_bps) {
            Some((_, tax)) => *tax += line.tax,
            None => taxes.push((line.tax_rate_bps, line.tax)),
        }
    }
    taxes.sort_unstable();
    taxes
}
