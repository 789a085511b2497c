//! The printable receipt of an order.

use super::order_view::OrderView;
use super::{OrderVisitor, money, order_path, percent, sums};
use crate::i18n::{Locale, format};
use crate::prelude::*;
use crate::shop::order::{Line, Status};
use crate::web::prelude::*;

#[derive(Template)]
#[template(path = "shop/receipt.html")]
struct ReceiptPage {
    frame: Frame,
    /// The path of the order's page.
    back_path: String,
    order: OrderView,
    /// Tax amounts by rate in basis points.
    taxes: Vec<(i64, i64)>,
    now: Timestamp,
}

impl ReceiptPage {
    /// The tax amounts with their rates.
    fn tax_text(&self) -> String {
        let amount = |(rate, tax): &(i64, i64)| {
            let amount = money(tax, self.order.record.currency);
            t!("{amount} at {rate}%", amount, rate = percent(rate))
        };
        format::list(Locale::current_or_english(), self.taxes.iter().map(amount))
    }
}

pub(super) async fn show_receipt(
    visitor: OrderVisitor,
    PathParams(id): PathParams<OrderId>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let order = visitor.read(move |db| OrderView::load(db, &access, id)).await?;
    let number = order.record.number.to_string();
    let title = t!("Receipt for order {number}", number);
    let page = ReceiptPage {
        back_path: order_path(&visitor, &order).await?,
        frame: visitor.frame(title, Section::MyOrders),
        taxes: taxes(&order.lines),
        now: visitor.app().clock.now(),
        order,
    };
    render(StatusCode::OK, &page)
}

/// Tax amounts by rate.
fn taxes(lines: &[Line]) -> Vec<(i64, i64)> {
    let lines = lines.iter().filter(|line| line.tax > 0);
    let mut taxes = sums(lines.map(|line| (line.tax_rate_bps, line.tax)));
    taxes.sort_unstable();
    taxes
}
