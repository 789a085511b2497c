//! Export of orders: one row per order line.

use macros::query;

use crate::columns::Column;
use crate::prelude::*;
use crate::table::{self, CHUNK_ROWS, Chunk, Table};

/// Which orders to export.
#[query]
#[derive(Default)]
pub struct OrdersTable {
    /// Only orders of this team.
    pub team_id: Option<TeamId>,
    /// Only orders placed at this time or later. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only orders placed before this time. A date means the start of that day in UTC.
    pub to: Option<Timestamp>,
}

crate::export_row! {
    pub struct OrderLine {
        order_id: OrderId = "l.order_id",
        number: i64 = "o.number",
        team_id: Option<TeamId> = "o.team_id",
        team: Option<String> = "t.name",
        status: String = "o.status",
        created_at: Timestamp = "o.created_at",
        paid_at: Option<Timestamp> = "o.paid_at",
        fulfilled_at: Option<Timestamp> = "o.fulfilled_at",
        cancelled_at: Option<Timestamp> = "o.cancelled_at",
        buyer_member_id: Option<MemberId> = "o.buyer_member_id",
        buyer: String = "o.buyer_name",
        buyer_email: Option<String> = "o.buyer_email",
        note: Option<String> = "o.note",
        discount_code: Option<String> = "o.discount_code",
        currency: String = "o.currency",
        order_total: i64 = "o.total",
        order_paid: i64 = "o.paid",
        order_refunded: i64 = "o.refunded",
        line_id: LineId = "l.id",
        product_id: ProductId = "l.product_id",
        product: String = "l.name",
        variant: Option<String> = "l.variant_name",
        unit_price: i64 = "l.unit_price",
        quantity: i64 = "l.quantity",
        discount: i64 = "l.discount",
        tax_rate_bps: i64 = "l.tax_rate_bps",
        tax_included: bool = "l.tax_included",
        tax: i64 = "l.tax",
        total: i64 = "l.total",
        fulfilled: i64 = "l.fulfilled",
        returned: i64 = "l.returned",
        refunded: i64 = "l.refunded",
        external_id: Option<String> = "o.external_id",
    }
}

impl Table for OrdersTable {
    type Row = OrderLine;
    type Position = (OrderId, LineId);
    const COLUMNS: &[Column<OrderLine>] = OrderLine::COLUMNS;

    fn read(
        &self,
        db: &Reader<'_>,
        access: &TeamAccess,
        after: Option<Self::Position>,
    ) -> Result<Chunk<OrderLine, Self::Position>> {
        let Self { team_id, from, to } = self;
        let (narrowed, teams) = access.team_filter();
        let (order, line) = after.unwrap_or((OrderId::MIN, LineId::MIN));
        let limit = CHUNK_ROWS;
        // The ids of an order's lines increase with their position.
        let lines = db.all(
            sql!(
                OrderLine::SELECT,
                " from shop_order o
                  join order_line l on l.account_id = o.account_id and l.order_id = o.id
                  left join team t on t.account_id = o.account_id and t.id = o.team_id
                  where o.account_id = :account and o.id >= :order and (o.id, l.id) > (:order, :line)
                    and (cast(:team_id as bytea) is null or o.team_id = :team_id)
                    and (not cast(:narrowed as boolean) or o.team_id in (:teams))
                    and (cast(:from as bigint) is null or o.created_at >= :from)
                    and (cast(:to as bigint) is null or o.created_at < :to)
                  order by o.id, l.id limit :limit"
            ),
            bind! { order, line, team_id, narrowed, teams, from, to, limit },
        )?;
        Ok(table::chunk(lines, |line: &OrderLine| (line.order_id, line.line_id)))
    }
}
