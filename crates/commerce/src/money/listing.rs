//! Lists of payments and refunds of the whole account, with filters.

use kit::Timestamp;
use store::{Reader, bind, sql};

use super::payment::{Method, Payment, Refund, RefundStatus};
use crate::error::Result;
use crate::ids::{PaymentId, PersonId, RefundId, TeamId};
use crate::paging::{Order, Page};
use crate::rights::TeamAccess;

/// Filter for a list of payments.
#[derive(Debug, Default)]
pub struct PaymentFilter {
    pub team_id: Option<TeamId>,
    /// For one of these teams; empty if there are fewer than two.
    pub team_ids: Vec<TeamId>,
    pub payer_id: Option<PersonId>,
    /// The id of an order or a due.
    pub subject: Option<String>,
    pub method: Option<Method>,
    /// Paid at or after this time.
    pub from: Option<Timestamp>,
    /// Paid before this time.
    pub to: Option<Timestamp>,
    pub updated_since: Option<Timestamp>,
}

/// Filter for a list of refunds.
#[derive(Debug, Default)]
pub struct RefundFilter {
    pub team_id: Option<TeamId>,
    /// For one of these teams; empty if there are fewer than two.
    pub team_ids: Vec<TeamId>,
    pub payment_id: Option<PaymentId>,
    /// The id of an order or a due.
    pub subject: Option<String>,
    pub status: Option<RefundStatus>,
    /// Created at or after this time.
    pub from: Option<Timestamp>,
    /// Created before this time.
    pub to: Option<Timestamp>,
    pub updated_since: Option<Timestamp>,
}

/// A page of the payments that the caller may see.
pub fn payments(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &PaymentFilter,
    page: &Page<PaymentId>,
) -> Result<Vec<Payment>> {
    let PaymentFilter { team_id, team_ids, payer_id, subject, method, from, to, updated_since } =
        filter;
    let several_teams = !team_ids.is_empty();
    let (everything, teams) = access.managed_filter();
    let (_, family) = access.own_and_family_ids();
    let (after, limit) = (page.after(PaymentId::MIN, PaymentId::MAX), page.fetch_limit());
    let text = match page.order {
        Order::Asc => sql!(Payment::SELECT, PAYMENT_FILTER, ASCENDING),
        Order::Desc => sql!(Payment::SELECT, PAYMENT_FILTER, DESCENDING),
    };
    Ok(db.all(
        text,
        bind! { after, limit, team_id, several_teams, team_ids, payer_id, subject, method, from, to, updated_since, everything,
        teams, family },
    )?)
}

/// A page of the refunds that the caller may see.
pub fn refunds(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &RefundFilter,
    page: &Page<RefundId>,
) -> Result<Vec<Refund>> {
    let RefundFilter { team_id, team_ids, payment_id, subject, status, from, to, updated_since } =
        filter;
    let several_teams = !team_ids.is_empty();
    let (everything, teams) = access.managed_filter();
    let (_, family) = access.own_and_family_ids();
    let (after, limit) = (page.after(RefundId::MIN, RefundId::MAX), page.fetch_limit());
    let text = match page.order {
        Order::Asc => sql!(Refund::SELECT, REFUND_FILTER, ASCENDING),
        Order::Desc => sql!(Refund::SELECT, REFUND_FILTER, DESCENDING),
    };
    Ok(db.all(
        text,
        bind! { after, limit, team_id, several_teams, team_ids, payment_id, subject, status, from, to, updated_since,
        everything, teams, family },
    )?)
}

const PAYMENT_FILTER: &str = "
    where account_id = :account
      and (cast(:everything as boolean) or team_id in (:teams) or payer_id in (:family))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (not cast(:several_teams as boolean) or team_id in (:team_ids))
      and (cast(:payer_id as bytea) is null or payer_id = :payer_id)
      and (cast(:subject as text) is null or subject = :subject)
      and (cast(:method as text) is null or method = :method)
      and (cast(:from as bigint) is null or paid_at >= :from)
      and (cast(:to as bigint) is null or paid_at < :to)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)";
const REFUND_FILTER: &str = "
    where account_id = :account
      and (cast(:everything as boolean) or team_id in (:teams) or exists (
          select 1 from payment p
          where p.account_id = refund.account_id and p.id = refund.payment_id and p.payer_id in (:family)))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (not cast(:several_teams as boolean) or team_id in (:team_ids))
      and (cast(:payment_id as bytea) is null or payment_id = :payment_id)
      and (cast(:subject as text) is null or subject = :subject)
      and (cast(:status as text) is null or status = :status)
      and (cast(:from as bigint) is null or created_at >= :from)
      and (cast(:to as bigint) is null or created_at < :to)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)";
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";
