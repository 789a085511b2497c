//! Export of orders: one row per order line.

use std::borrow::Cow;

use kit::Timestamp;
use store::{Reader, bind, row};

use super::table::{self, CHUNK_ROWS, CsvWriter, Table, cell, optional_cell};
use crate::error::Result;
use crate::ids::{LineId, MemberId, OrderId, ProductId, TeamId};
use crate::rights::TeamAccess;

/// Which orders to export.
#[derive(Debug, Default)]
pub struct OrdersTable {
    pub team_id: Option<TeamId>,
    /// Only orders placed at this time or later.
    pub from: Option<Timestamp>,
    /// Only orders placed before this time.
    pub to: Option<Timestamp>,
}

row! {
    struct OrderLineRow {
        order_id: OrderId,
        number: i64,
        team_id: Option<TeamId>,
        team: Option<String>,
        status: String,
        created_at: Timestamp,
        paid_at: Option<Timestamp>,
        fulfilled_at: Option<Timestamp>,
        cancelled_at: Option<Timestamp>,
        buyer_member_id: Option<MemberId>,
        buyer: String,
        buyer_email: Option<String>,
        note: Option<String>,
        discount_code: Option<String>,
        currency: String,
        order_total: i64,
        order_paid: i64,
        order_refunded: i64,
        line_id: LineId,
        product_id: ProductId,
        product: String,
        variant: Option<String>,
        unit_price: i64,
        quantity: i64,
        discount: i64,
        tax_rate_bps: i64,
        tax_included: bool,
        tax: i64,
        total: i64,
        fulfilled: i64,
        returned: i64,
        refunded: i64,
        external_id: Option<String>,
    }
}

const COLUMNS: [&str; 33] = [
    "order_id",
    "number",
    "team_id",
    "team",
    "status",
    "created_at",
    "paid_at",
    "fulfilled_at",
    "cancelled_at",
    "buyer_member_id",
    "buyer",
    "buyer_email",
    "note",
    "discount_code",
    "currency",
    "order_total",
    "order_paid",
    "order_refunded",
    "line_id",
    "product_id",
    "product",
    "variant",
    "unit_price",
    "quantity",
    "discount",
    "tax_rate_bps",
    "tax_included",
    "tax",
    "total",
    "fulfilled",
    "returned",
    "refunded",
    "external_id",
];

impl Table for OrdersTable {
    type Position = (OrderId, LineId);

    fn columns(&self) -> Vec<Cow<'static, str>> {
        COLUMNS.map(Cow::Borrowed).to_vec()
    }

    fn write(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<Self::Position>,
        writer: &mut CsvWriter,
    ) -> Result<Option<Self::Position>> {
        let lines = self.lines(db, access, after)?;
        let last = lines.last().map(|line| (line.order_id, line.line_id));
        let next = table::next_position(lines.len(), last);
        lines.into_iter().try_for_each(|line| writer.row(cells(line)))?;
        Ok(next)
    }
}

impl OrdersTable {
    fn lines(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<(OrderId, LineId)>,
    ) -> Result<Vec<OrderLineRow>> {
        let Self { team_id, from, to } = self;
        let (narrowed, teams) = access.team_filter();
        let (order, line) = after.unwrap_or((OrderId::MIN, LineId::MIN));
        let limit = CHUNK_ROWS;
        // The ids of an order's lines increase with their position.
        Ok(db.all(
            "select l.order_id, o.number, o.team_id, t.name as team, o.status, o.created_at, o.paid_at,
                 o.fulfilled_at, o.cancelled_at, o.buyer_member_id, o.buyer_name as
                 buyer, o.buyer_email, o.note, o.discount_code, o.currency, o.total as
                 order_total, o.paid as order_paid, o.refunded as order_refunded, l.id
                 as line_id, l.product_id, l.name as product, l.variant_name as variant,
                 l.unit_price, l.quantity, l.discount, l.tax_rate_bps, l.tax_included,
                 l.tax, l.total, l.fulfilled, l.returned, l.refunded, o.external_id
             from shop_order o
             join order_line l on l.account_id = o.account_id and l.order_id = o.id
             left join team t on t.account_id = o.account_id and t.id = o.team_id
             where o.account_id = :account and o.id >= :order and (o.id, l.id) > (:order, :line)
               and (cast(:team_id as bytea) is null or o.team_id = :team_id)
               and (not cast(:narrowed as boolean) or o.team_id in (:teams))
               and (cast(:from as bigint) is null or o.created_at >= :from)
               and (cast(:to as bigint) is null or o.created_at < :to)
             order by o.id, l.id limit :limit",
            bind! { order, line, team_id, narrowed, teams, from, to, limit },
        )?)
    }
}

fn cells(line: OrderLineRow) -> [Cow<'static, str>; 33] {
    [
        cell(line.order_id),
        cell(line.number),
        optional_cell(line.team_id),
        optional_cell(line.team),
        line.status.into(),
        cell(line.created_at),
        optional_cell(line.paid_at),
        optional_cell(line.fulfilled_at),
        optional_cell(line.cancelled_at),
        optional_cell(line.buyer_member_id),
        line.buyer.into(),
        optional_cell(line.buyer_email),
        optional_cell(line.note),
        optional_cell(line.discount_code),
        line.currency.into(),
        cell(line.order_total),
        cell(line.order_paid),
        cell(line.order_refunded),
        cell(line.line_id),
        cell(line.product_id),
        line.product.into(),
        optional_cell(line.variant),
        cell(line.unit_price),
        cell(line.quantity),
        cell(line.discount),
        cell(line.tax_rate_bps),
        cell(line.tax_included),
        cell(line.tax),
        cell(line.total),
        cell(line.fulfilled),
        cell(line.returned),
        cell(line.refunded),
        optional_cell(line.external_id),
    ]
}
