//! Which orders there are.

use kit::Timestamp;
use store::{Reader, bind, sql};

use super::order::{self, Order, Status, Stored};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::{MemberId, OrderId, ProductId, TeamId};
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
}

/// A page of the orders that the caller may see, the newest first unless they ask otherwise.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &OrderFilter,
    page: &Page<OrderId>,
) -> Result<Vec<Order>> {
    let OrderFilter { team_id, status, member_id, product_id, from, to } = filter;
    let after = page.after(OrderId::LEAST, OrderId::GREATEST);
    let limit = page.fetch();
    let everything = *reach == Reach::Everywhere;
    let (_, family) = reach.kin();
    let teams = match reach {
        Reach::Everywhere => Vec::new(),
        Reach::Teams(teams) => teams.clone(),
        Reach::User(place) => place.leads.clone(),
    };
    let text = match (product_id, page.order) {
        (None, paging::Order::Asc) => sql!(Stored::SELECT, FILTER, ASCENDING),
        (None, paging::Order::Desc) => sql!(Stored::SELECT, FILTER, DESCENDING),
        (Some(_), paging::Order::Asc) => sql!(Stored::SELECT, FILTER, WITH, ASCENDING),
        (Some(_), paging::Order::Desc) => sql!(Stored::SELECT, FILTER, WITH, DESCENDING),
    };
    let kept: Vec<Stored> = db.all(
        text,
        bind! { after, limit, team_id, status, member_id, product_id, from, to, everything, family, teams },
    )?;
    let mut lines = order::lines_of(db, kept.iter().map(|kept| kept.id).collect())?;
    let shown = |kept: Stored| {
        let (own, rest) = lines.drain(..).partition(|line| line.order_id == kept.id);
        lines = rest;
        Order::new(kept, own)
    };
    Ok(kept.into_iter().map(shown).collect())
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:everything as boolean) or team_id in (:teams) or buyer_person_id in (:family))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (cast(:status as text) is null or status = :status)
      and (cast(:member_id as bytea) is null or buyer_member_id = :member_id)
      and (cast(:from as bigint) is null or created_at >= :from)
      and (cast(:to as bigint) is null or created_at < :to)";
const WITH: &str = "
      and id in (select order_id from order_line
                 where account_id = :account and product_id = :product_id)";
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";
