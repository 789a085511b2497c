//! Which orders there are.

use kit::{Currency, Timestamp, text};
use store::{Reader, bind, row, sql};

use super::order::{self, Order, Status, Stored};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::{MemberId, OrderId, PersonId, ProductId, TeamId};
use crate::paging::{self, Page};

/// Which orders to list.
#[derive(Debug, Default)]
pub struct OrderFilter {
    pub team_id: Option<TeamId>,
    pub status: Option<Status>,
    /// Bought by this member.
    pub member_id: Option<MemberId>,
    /// With a line of this product.
    pub product_id: Option<ProductId>,
    /// Placed at this moment or later.
    pub from: Option<Timestamp>,
    /// Placed before this moment.
    pub to: Option<Timestamp>,
    /// Its number, or part of the buyer's name.
    pub q: Option<String>,
}

impl OrderFilter {
    /// What is looked for: a number, and a part of a name, whatever its case and as it is typed.
    fn sought(&self) -> (Option<i64>, Option<String>, Option<String>) {
        let number = self.q.as_deref().map(|q| q.trim_start_matches('#').trim().parse().ok());
        let (folded, typed) = (text::contains_pattern, text::literal_pattern);
        let q = self.q.as_deref();
        (number.flatten(), q.map(folded), q.map(typed))
    }
}

row! {
    /// What the orders of a list come to, in one currency. What was cancelled costs nothing.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Sums {
        pub currency: Currency,
        pub orders: i64,
        pub total: i64,
        pub paid: i64,
        pub refunded: i64,
    }
}

/// A page of the orders that the caller may see, the newest first unless they ask otherwise.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &OrderFilter,
    page: &Page<OrderId>,
) -> Result<Vec<Order>> {
    let OrderFilter { team_id, status, member_id, product_id, from, to, .. } = filter;
    let (number, folded, typed) = filter.sought();
    let after = page.after(OrderId::LEAST, OrderId::GREATEST);
    let limit = page.fetch();
    let (everything, family, teams) = seen(reach);
    let text = match (product_id, page.order) {
        (None, paging::Order::Asc) => sql!(Stored::SELECT, FILTER, ASCENDING),
        (None, paging::Order::Desc) => sql!(Stored::SELECT, FILTER, DESCENDING),
        (Some(_), paging::Order::Asc) => sql!(Stored::SELECT, FILTER, WITH, ASCENDING),
        (Some(_), paging::Order::Desc) => sql!(Stored::SELECT, FILTER, WITH, DESCENDING),
    };
    let kept: Vec<Stored> = db.all(
        text,
        bind! { after, limit, team_id, status, member_id, product_id, from, to, number, folded, typed,
            everything, family, teams },
    )?;
    whole(db, kept)
}

/// Orders with their lines.
fn whole(db: &Reader<'_>, kept: Vec<Stored>) -> Result<Vec<Order>> {
    let mut lines = order::lines_of(db, kept.iter().map(|kept| kept.id).collect())?;
    let shown = |kept: Stored| {
        let (own, rest) = lines.drain(..).partition(|line| line.order_id == kept.id);
        lines = rest;
        Order::new(kept, own)
    };
    Ok(kept.into_iter().map(shown).collect())
}

/// A page of the orders of which something of a product is still to be handed out.
pub fn waiting(
    db: &Reader<'_>,
    reach: &Reach,
    product_id: ProductId,
    page: &Page<OrderId>,
) -> Result<Vec<Order>> {
    let (after, limit) = (page.after(OrderId::LEAST, OrderId::GREATEST), page.fetch());
    let (everything, family, teams) = seen(reach);
    let kept: Vec<Stored> = db.all(
        sql!(Stored::SELECT, WAITING, DESCENDING),
        bind! { after, limit, product_id, everything, family, teams },
    )?;
    whole(db, kept)
}

/// What all the orders of a list come to, by currency.
pub fn sums(db: &Reader<'_>, reach: &Reach, filter: &OrderFilter) -> Result<Vec<Sums>> {
    let OrderFilter { team_id, status, member_id, product_id, from, to, .. } = filter;
    let (number, folded, typed) = filter.sought();
    let (everything, family, teams) = seen(reach);
    let text = match product_id {
        None => sql!(SUMS, FILTER, BY_CURRENCY),
        Some(_) => sql!(SUMS, FILTER, WITH, BY_CURRENCY),
    };
    Ok(db.all(
        text,
        bind! { team_id, status, member_id, product_id, from, to, number, folded, typed,
        everything, family, teams },
    )?)
}

/// What the caller sees: everything, what these people bought, what these teams sold.
fn seen(reach: &Reach) -> (bool, Vec<PersonId>, Vec<TeamId>) {
    let teams = match reach {
        Reach::Everywhere => Vec::new(),
        Reach::Teams(teams) => teams.clone(),
        Reach::User(place) => place.leads.clone(),
    };
    (*reach == Reach::Everywhere, reach.kin().1, teams)
}

const SUMS: &str = "
    select currency, count(*) as orders,
        cast(sum(case when status = 'cancelled' then 0 else total end) as bigint) as total,
        cast(sum(paid) as bigint) as paid, cast(sum(refunded) as bigint) as refunded
    from shop_order";
const BY_CURRENCY: &str = " group by currency order by currency";
const WAITING: &str = "
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
      and (cast(:status as text) is null or status = :status)
      and (cast(:member_id as bytea) is null or buyer_member_id = :member_id)
      and (cast(:from as bigint) is null or created_at >= :from)
      and (cast(:to as bigint) is null or created_at < :to)
      and (cast(:folded as text) is null or number = :number
           or lower(buyer_name) like :folded escape '\\' or buyer_name like :typed escape '\\')";
const WITH: &str = "
      and id in (select order_id from order_line
                 where account_id = :account and product_id = :product_id)";
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";
