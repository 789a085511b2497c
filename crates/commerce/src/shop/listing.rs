//! Lists of orders, with filters and totals.

use kit::text;
use macros::query;

use super::order::{self, Order, OrderRecord, Status};
use crate::paging::page_sql;
use crate::prelude::*;

/// Filter for a list of orders.
#[query(items = "orders", order = Desc)]
#[derive(Default)]
pub struct OrderFilter {
    /// Only objects of these teams, separated by commas; at most 50.
    #[param(several(team_ids))]
    pub team_id: Option<TeamId>,
    /// The teams; empty if there are fewer than two.
    #[param(skip)]
    pub team_ids: Vec<TeamId>,
    /// Filter by order status.
    pub status: Option<Status>,
    /// Only orders of this member.
    pub member_id: Option<MemberId>,
    /// Only orders that contain this product.
    pub product_id: Option<ProductId>,
    /// Only orders placed at or after this time. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only orders placed before this time. A date means the start of that day in UTC.
    pub to: Option<Timestamp>,
    pub updated_since: Option<Timestamp>,
    /// Only the order with this ID in another system.
    #[param(line(120))]
    pub external_id: Option<String>,
    /// Order number, or part of the buyer's name.
    #[param(skip)]
    pub q: Option<String>,
}

impl OrderFilter {
    /// The search terms of `q`: an order number, and name patterns for a folded and an exact match.
    fn search_terms(&self) -> (Option<i64>, Option<String>, Option<String>) {
        let number = self.q.as_deref().map(|q| q.trim_start_matches('#').trim().parse().ok());
        let q = self.q.as_deref();
        (number.flatten(), q.map(text::contains_pattern), q.map(text::contains_pattern_exact_case))
    }
}

row! {
    /// Totals of the orders in a list, in one currency. Cancelled orders count as zero.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct OrderTotals {
        pub currency: Currency,
        pub orders: i64,
        pub total: i64,
        pub paid: i64,
        pub refunded: i64,
    }
}

/// A page of the orders that the caller may see.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &OrderFilter,
    page: &Page<OrderId>,
) -> Result<Vec<Order>> {
    let OrderFilter { team_id, status, member_id, product_id, from, to, .. } = filter;
    let OrderFilter { team_ids, updated_since, external_id, .. } = filter;
    let several_teams = !team_ids.is_empty();
    let (number, folded, literal) = filter.search_terms();
    let (after, limit) = page.bounds();
    let (everything, family, teams) = visibility(access);
    let text = match product_id {
        None => page_sql!(page, OrderRecord::SELECT, FILTER),
        Some(_) => page_sql!(page, OrderRecord::SELECT, FILTER, CONTAINS_PRODUCT),
    };
    let records: Vec<OrderRecord> = db.all(
        text,
        bind! { after, limit, team_id, several_teams, team_ids, status, member_id, product_id, from, to, updated_since,
            external_id, number, folded, literal, everything, family, teams },
    )?;
    with_lines(db, records)
}

/// The latest orders of a person, newest first.
pub fn list_by_buyer(db: &Reader<'_>, person: PersonId, limit: i64) -> Result<Vec<OrderRecord>> {
    let text = sql!(
        OrderRecord::SELECT,
        " where account_id = :account and buyer_person_id = :person order by id desc limit :limit"
    );
    Ok(db.all(text, bind! { person, limit })?)
}

/// Adds the lines to these orders.
fn with_lines(db: &Reader<'_>, records: Vec<OrderRecord>) -> Result<Vec<Order>> {
    let mut lines = order::lines_of(db, records.iter().map(|record| record.id).collect())?;
    let with_lines = |record: OrderRecord| {
        let (own, rest) = lines.drain(..).partition(|line| line.order_id == record.id);
        lines = rest;
        Order::new(record, own)
    };
    Ok(records.into_iter().map(with_lines).collect())
}

/// A page of the orders with units of a product that are not fulfilled yet.
pub fn list_unfulfilled(
    db: &Reader<'_>,
    access: &TeamAccess,
    product_id: ProductId,
    page: &Page<OrderId>,
) -> Result<Vec<Order>> {
    let (after, limit) = page.bounds();
    let (everything, family, teams) = visibility(access);
    let records: Vec<OrderRecord> = db.all(
        sql!(OrderRecord::SELECT, UNFULFILLED, DESCENDING),
        bind! { after, limit, product_id, everything, family, teams },
    )?;
    with_lines(db, records)
}

/// Totals of all orders that match a filter, by currency.
pub fn totals(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &OrderFilter,
) -> Result<Vec<OrderTotals>> {
    let OrderFilter { team_id, status, member_id, product_id, from, to, .. } = filter;
    let OrderFilter { team_ids, updated_since, external_id, .. } = filter;
    let several_teams = !team_ids.is_empty();
    let (number, folded, literal) = filter.search_terms();
    let (everything, family, teams) = visibility(access);
    let text = match product_id {
        None => sql!(SELECT_TOTALS, FILTER, BY_CURRENCY),
        Some(_) => sql!(SELECT_TOTALS, FILTER, CONTAINS_PRODUCT, BY_CURRENCY),
    };
    Ok(db.all(
        text,
        bind! { team_id, several_teams, team_ids, status, member_id, product_id, from, to,
        updated_since, external_id, number, folded, literal, everything, family, teams },
    )?)
}

/// What the caller may see: everything, or the orders of these people and of these teams.
fn visibility(access: &TeamAccess) -> (bool, Vec<PersonId>, Vec<TeamId>) {
    let (everything, teams) = access.managed_filter();
    (everything, access.own_and_family_ids().1, teams)
}

const SELECT_TOTALS: &str = "
    select currency, count(*) as orders,
        cast(sum(case when status = 'cancelled' then 0 else total end) as bigint) as total,
        cast(sum(paid) as bigint) as paid, cast(sum(refunded) as bigint) as refunded
    from shop_order";
const BY_CURRENCY: &str = " group by currency order by currency";
const UNFULFILLED: &str = "
    where account_id = :account
      and (cast(:everything as boolean) or team_id in (:teams) or buyer_person_id in (:family))
      and status <> 'cancelled'
      and id in (select order_id from order_line
                 where account_id = :account and product_id = :product_id
                   and quantity - fulfilled - returned > 0)";
const FILTER: &str = "
    where account_id = :account
      and (cast(:everything as boolean) or team_id in (:teams) or buyer_person_id in (:family))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (not cast(:several_teams as boolean) or team_id in (:team_ids))
      and (cast(:status as text) is null or status = :status)
      and (cast(:member_id as bytea) is null or buyer_member_id = :member_id)
      and (cast(:from as bigint) is null or created_at >= :from)
      and (cast(:to as bigint) is null or created_at < :to)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (cast(:folded as text) is null or number = :number
           or lower(buyer_name) like :folded escape '\\' or buyer_name like :literal escape '\\')";
const CONTAINS_PRODUCT: &str = "
      and id in (select order_id from order_line
                 where account_id = :account and product_id = :product_id)";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";
