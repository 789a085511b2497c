//! Lists of payments and refunds of the whole account, with filters.

use macros::query;

use super::payment::{Method, Payment, Refund, RefundStatus};
use crate::paging::page_sql;
use crate::prelude::*;

/// Filter for a list of payments.
#[query(items = "payments", order = Desc)]
#[derive(Default)]
pub struct PaymentFilter {
    /// Only those for orders and dues of this team.
    #[param(several(team_ids), schema(value_type = Option<TeamId>))]
    pub team_id: Option<TeamId>,
    /// The teams; empty if there are fewer than two.
    #[param(skip)]
    pub team_ids: Vec<TeamId>,
    /// Only payments of this person.
    pub payer_id: Option<PersonId>,
    /// Only those for the order or due with this ID.
    #[param(name = "subject_id", with(super::api::subject))]
    pub subject: Option<String>,
    /// Filter by payment method.
    pub method: Option<Method>,
    /// Only payments made at or after this time. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only payments made before this time. A date means the start of that day in UTC.
    pub to: Option<Timestamp>,
    pub updated_since: Option<Timestamp>,
}

/// Filter for a list of refunds.
#[query(items = "refunds", order = Desc)]
#[derive(Default)]
pub struct RefundFilter {
    /// Only those for orders and dues of this team.
    #[param(several(team_ids), schema(value_type = Option<TeamId>))]
    pub team_id: Option<TeamId>,
    /// The teams; empty if there are fewer than two.
    #[param(skip)]
    pub team_ids: Vec<TeamId>,
    /// Only refunds of this payment.
    pub payment_id: Option<PaymentId>,
    /// Only those for the order or due with this ID.
    #[param(name = "subject_id", with(super::api::subject))]
    pub subject: Option<String>,
    /// Filter by refund status.
    pub status: Option<RefundStatus>,
    /// Only refunds created at or after this time. A date means the start of that day in UTC.
    pub from: Option<Timestamp>,
    /// Only refunds created before this time. A date means the start of that day in UTC.
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
    let (after, limit) = page.bounds();
    let text = page_sql!(page, Payment::SELECT, PAYMENT_FILTER);
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
    let (after, limit) = page.bounds();
    let text = page_sql!(page, Refund::SELECT, REFUND_FILTER);
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
