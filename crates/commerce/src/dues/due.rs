//! The due record: what a member owes, its status, and who may see it.

use kit::{string_enum, text};
use macros::{input, query};

use super::api::charges;
use super::plan::{self, Installment, InstallmentView};
use crate::money::MAX_AMOUNT;
use crate::money::ledger::EntryContext;
use crate::paging::page_sql;
use crate::prelude::*;
use crate::teams::team;

string_enum! {
    /// What a due is for.
    pub enum Category as DueCategory {
        Dues = "dues",
        Fee = "fee",
        Tournament = "tournament",
        Uniform = "uniform",
        Travel = "travel",
        Other = "other",
    }
}

string_enum! {
    /// The payment status of a due.
    pub enum Status as DueStatus {
        /// Nothing has been paid yet.
        Open = "open",
        PartiallyPaid = "partially_paid",
        Paid = "paid",
        /// The open balance was waived.
        Waived = "waived",
    }
}
enum_column!(Category, Status);

record! {
    /// A due as stored in the database.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Due in due {
        pub account_id: AccountId,
        pub id: DueId,
        pub charge_id: ChargeId,
        pub team_id: TeamId,
        pub member_id: MemberId,
        pub person_id: PersonId,
        pub payer_id: PersonId,
        /// What the due is for, shown to payers.
        pub title: String,
        pub category: Category,
        pub note: Option<String>,
        pub currency: Currency,
        pub amount: i64,
        /// Discount that reduces the amount, in minor units; 0 if there is none.
        pub discount: i64,
        pub discount_reason: Option<String>,
        pub late_fee: i64,
        pub late_fee_amount: Option<i64>,
        pub late_fee_bps: Option<i64>,
        pub late_fee_at: Option<Timestamp>,
        pub late_at: Option<Timestamp>,
        pub paid: i64,
        /// Part of the amount that was waived.
        pub waived: i64,
        pub waive_reason: Option<String>,
        pub due_on: Day,
        pub next_due_on: Option<Day>,
        pub overdue_at: Option<Timestamp>,
        pub ends_at: Timestamp,
        pub status: Status,
        pub metadata: Metadata,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub version: i64,
    }
}

impl_resource!(Due by DueId: Versioned);

impl Due {
    /// The amount after discount, without the late fee.
    pub fn net(&self) -> i64 {
        self.amount - self.discount
    }

    /// The open balance: what is still owed.
    pub fn balance(&self) -> i64 {
        self.net() + self.late_fee - self.paid - self.waived
    }

    /// The subject, people and currency that ledger entries for this due carry.
    pub fn entry_context(&self) -> EntryContext {
        EntryContext {
            subject: self.id.to_string(),
            team_id: Some(self.team_id),
            person_id: Some(self.person_id),
            payer_id: Some(self.payer_id),
            currency: self.currency,
        }
    }
}

/// A late fee, added once when the due becomes overdue: either a fixed amount or a percentage of the overdue amount.
#[input(check = charges::check_late_fee)]
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LateFee {
    /// Fixed fee in minor units. Set either this or `percent_bps`.
    #[schema(examples(500))]
    #[input(number(1, MAX_AMOUNT))]
    pub amount: Option<i64>,
    /// Fee in basis points (hundredths of a percent) of the overdue amount.
    #[input(number(1, 10_000))]
    pub percent_bps: Option<i64>,
}

/// An amount that a member owes.
#[macros::object("due")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Due)]
pub struct DueView {
    pub id: DueId,
    /// ID of the charge. All dues that were created by one request share it.
    pub charge_id: ChargeId,
    pub team_id: TeamId,
    pub member_id: MemberId,
    /// ID of the person behind the member.
    pub person_id: PersonId,
    /// ID of the person who pays: a guardian, or the member themselves.
    pub payer_id: PersonId,
    /// What the due is for, shown to payers.
    #[schema(examples("Season fee 2026/27"), max_length = 120)]
    pub title: String,
    /// What kind of charge it is.
    pub category: Category,
    /// Note shown to payers; `null` in notifications.
    #[schema(max_length = 1000)]
    pub note: Option<String>,
    pub currency: Currency,
    /// Amount charged in minor units, before any discount.
    #[schema(examples(15000))]
    pub amount: i64,
    /// Discount that reduces the amount, in minor units; 0 if there is none.
    #[schema(examples(1500))]
    pub discount: i64,
    /// Why the discount was granted; `null` in notifications.
    #[schema(max_length = 500)]
    pub discount_reason: Option<String>,
    /// Late fee that is added once when the due becomes overdue.
    pub late_fee: Option<LateFee>,
    /// Late fee that was added, in minor units; 0 if none was.
    #[schema(examples(0))]
    pub late_fee_charged: i64,
    /// When the late fee was added; `null` if it was not.
    pub late_fee_at: Option<Timestamp>,
    /// Amount paid, less refunds, in minor units.
    #[schema(examples(0))]
    pub paid: i64,
    /// Part of the amount that was waived, in minor units.
    #[schema(examples(0))]
    pub waived: i64,
    /// Why the balance was waived; `null` in notifications.
    #[schema(max_length = 500)]
    pub waive_reason: Option<String>,
    /// Open balance: the amount still owed, in minor units.
    #[schema(examples(13500))]
    pub balance: i64,
    /// Due date of the first installment.
    pub due_on: Day,
    /// Due date of the next unpaid installment; `null` when nothing is owed.
    pub next_due_on: Option<Day>,
    /// Payment status: `open` (nothing is paid yet), `partially_paid`, `paid`, or `waived` (the open balance was
    /// waived).
    pub status: Status,
    /// Whether `next_due_on` has passed in the team's time zone.
    pub overdue: bool,
    /// Installments with their due dates and amounts.
    pub installments: Vec<InstallmentView>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Increases with every change.
    pub version: i64,
}

impl_resource!(DueView by DueId: Subject Versioned Paged);

/// A due with its installments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueWithPlan {
    pub due: Due,
    pub plan: Vec<Installment>,
}

impl_resource!(DueWithPlan by DueId in due: Versioned);

impl DueWithPlan {
    /// Recomputes the fields that follow from the amounts and the plan: status, next due date and overdue times.
    #[must_use]
    pub fn recalculate(self) -> Self {
        let Self { due, plan } = self;
        let balance = due.balance();
        let status = match (balance, due.waived, due.paid) {
            (0, 0, _) => Status::Paid,
            (0, ..) => Status::Waived,
            (_, _, 0) => Status::Open,
            _ => Status::PartiallyPaid,
        };
        let next = plan::next_unpaid(&plan, due.paid).filter(|_| balance > 0);
        let (next_due_on, overdue_at) =
            (next.map(|part| part.due_on), next.map(|part| part.overdue_at));
        let ends_at = plan.last().map_or(due.ends_at, |part| part.overdue_at);
        let has_late_fee = due.late_fee_amount.is_some() || due.late_fee_bps.is_some();
        let late_at = overdue_at.filter(|_| has_late_fee && due.late_fee_at.is_none());
        Self { due: Due { late_at, next_due_on, overdue_at, ends_at, status, ..due }, plan }
    }

    /// The API representation of the due at `now`.
    pub fn view(&self, now: Timestamp) -> DueView {
        let due = self.due.clone();
        let is_closed = due.balance() == 0;
        let late_fee = LateFee { amount: due.late_fee_amount, percent_bps: due.late_fee_bps };
        DueView {
            balance: due.balance(),
            overdue: due.overdue_at.is_some_and(|at| at <= now),
            installments: plan::allocate(&self.plan, due.paid, is_closed, now),
            late_fee: (late_fee.amount.is_some() || late_fee.percent_bps.is_some())
                .then_some(late_fee),
            late_fee_charged: due.late_fee,
            late_fee_at: due.late_fee_at,
            id: due.id,
            charge_id: due.charge_id,
            team_id: due.team_id,
            member_id: due.member_id,
            person_id: due.person_id,
            payer_id: due.payer_id,
            title: due.title,
            category: due.category,
            note: due.note,
            currency: due.currency,
            amount: due.amount,
            discount: due.discount,
            discount_reason: due.discount_reason,
            paid: due.paid,
            waived: due.waived,
            waive_reason: due.waive_reason,
            due_on: due.due_on,
            next_due_on: due.next_due_on,
            status: due.status,
            metadata: due.metadata,
            created_at: due.created_at,
            updated_at: due.updated_at,
            version: due.version,
        }
    }

    /// Whether an installment has passed its due date since the due was last updated.
    pub fn became_overdue_since_update(&self, now: Timestamp) -> bool {
        let since = self.due.updated_at;
        self.plan.iter().any(|part| part.overdue_at > since && part.overdue_at <= now)
    }

    /// The due as published to webhook subscribers, without note and reasons: they can reveal a family's finances.
    pub fn snapshot(&self, now: Timestamp) -> DueView {
        DueView { note: None, discount_reason: None, waive_reason: None, ..self.view(now) }
    }
}

/// Filters for listing dues.
#[query(items = "dues", order = Desc)]
#[derive(Default)]
pub struct DueFilter {
    /// Only objects of these teams, separated by commas; at most 50.
    #[param(several(team_ids))]
    pub team_id: Option<TeamId>,
    /// The teams; empty if there are fewer than two.
    #[param(skip)]
    pub team_ids: Vec<TeamId>,
    /// Only dues of this member.
    pub member_id: Option<MemberId>,
    /// Only dues with this payer.
    pub payer_id: Option<PersonId>,
    /// Only dues created by this charge.
    pub charge_id: Option<ChargeId>,
    /// Filter by status.
    pub status: Option<Status>,
    /// `true` for overdue dues only, `false` for dues that are not overdue.
    pub overdue: Option<bool>,
    pub updated_since: Option<Timestamp>,
    /// Whether the due has an open balance.
    #[param(skip)]
    pub unpaid: Option<bool>,
    /// Whether the due has payments that were not refunded.
    #[param(skip)]
    pub received: Option<bool>,
    #[param(skip)]
    pub currency: Option<Currency>,
    #[param(skip)]
    pub category: Option<Category>,
    /// Case-insensitive part of the title, or of the name of the member or payer.
    #[param(skip)]
    pub q: Option<String>,
}

/// Loads one due, without an access check.
pub fn load(db: &Reader<'_>, id: DueId) -> Result<DueWithPlan> {
    let due =
        db.one(sql!(Due::SELECT, " where account_id = :account and id = :id"), bind! { id })?;
    Ok(DueWithPlan { due, plan: plan::for_dues(db, vec![id])? })
}

/// One due that the caller may see: of a team they can access, or of their family. For other dues the error is
/// "not found".
pub fn find(db: &Reader<'_>, access: &TeamAccess, id: DueId) -> Result<DueWithPlan> {
    let record = load(db, id)?;
    let Due { team_id, person_id, payer_id, .. } = record.due;
    let visible = access.has_full_access(team_id)
        || access.is_family(person_id)
        || access.is_family(payer_id);
    if visible { Ok(record) } else { Err(Error::not_found()) }
}

/// One due of a team that the caller may manage.
pub fn find_managed(db: &Reader<'_>, access: &TeamAccess, id: DueId) -> Result<DueWithPlan> {
    let record = load(db, id)?;
    access.check(record.due.team_id)?;
    Ok(record)
}

/// Adds the installments to these dues, keeping the order of the dues.
pub fn with_plans(db: &Reader<'_>, dues: Vec<Due>) -> Result<Vec<DueWithPlan>> {
    let parts = plan::for_dues(db, dues.iter().map(|due| due.id).collect())?;
    let plan_of = |id| {
        let first = parts.partition_point(|part| part.due_id < id);
        parts[first..].iter().take_while(|part| part.due_id == id).cloned().collect()
    };
    Ok(dues.into_iter().map(|due| DueWithPlan { plan: plan_of(due.id), due }).collect())
}

/// A page of dues in the order they were charged.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &DueFilter,
    page: &Page<DueId>,
) -> Result<Vec<DueView>> {
    let DueFilter { team_id, member_id, payer_id, charge_id, status, overdue, category, .. } =
        filter;
    let DueFilter { team_ids, updated_since, unpaid, received, currency, .. } = filter;
    access.check_key_filter(*team_id, team_ids)?;
    let several_teams = !team_ids.is_empty();
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let (after, limit) = page.bounds();
    let (everything, teams) = access.managed_filter();
    let (_, family) = access.own_and_family_ids();
    // The most selective filter decides which index is used: member or payer, then charge, then team.
    let statement = match (member_id, payer_id, charge_id, team_id) {
        (Some(_), ..) => page_sql!(page, Due::SELECT, OF_MEMBER, FILTER),
        (_, Some(_), ..) => page_sql!(page, Due::SELECT, OF_PAYER, FILTER),
        (_, _, Some(_), _) => page_sql!(page, Due::SELECT, OF_CHARGE, FILTER),
        (.., Some(_)) => page_sql!(page, Due::SELECT, OF_TEAM, FILTER),
        (.., None) => page_sql!(page, Due::SELECT, OF_ALL, FILTER),
    };
    let dues = db.all(
        statement,
        bind! { after, limit, team_id, several_teams, team_ids, member_id, payer_id, charge_id,
        status, overdue, updated_since, unpaid, received, currency, category, pattern, everything,
        teams, family },
    )?;
    Ok(with_plans(db, dues)?.iter().map(|record| record.view(db.now())).collect())
}

pub(super) const OF_ALL: &str = " where account_id = :account";
const OF_MEMBER: &str = " where account_id = :account and member_id = :member_id";
const OF_PAYER: &str = " where account_id = :account and payer_id = :payer_id";
const OF_CHARGE: &str = " where account_id = :account and charge_id = :charge_id";
const OF_TEAM: &str = " where account_id = :account and team_id = :team_id";
pub(super) const FILTER: &str = "
      and (cast(:everything as boolean) or team_id in (:teams) or person_id in (:family)
           or payer_id in (:family))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (not cast(:several_teams as boolean) or team_id in (:team_ids))
      and (cast(:member_id as bytea) is null or member_id = :member_id)
      and (cast(:payer_id as bytea) is null or payer_id = :payer_id)
      and (cast(:charge_id as bytea) is null or charge_id = :charge_id)
      and (cast(:status as text) is null or status = :status)
      and (cast(:overdue as boolean) is null
           or (overdue_at is not null and overdue_at <= :now) = :overdue)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (cast(:unpaid as boolean) is null
           or (status in ('open', 'partially_paid')) = :unpaid)
      and (cast(:received as boolean) is null or (paid > 0) = :received)
      and (cast(:currency as text) is null or currency = :currency)
      and (cast(:category as text) is null or category = :category)
      and (cast(:pattern as text) is null or lower(title) like :pattern escape '\\'
           or exists (select 1 from person p
               where p.account_id = due.account_id and p.id in (due.person_id, due.payer_id)
                 and (p.name_folded like :pattern escape '\\'
                   or p.preferred_folded like :pattern escape '\\')))";

/// Inserts new dues and their installments.
pub fn insert(tx: &Tx<'_>, dues: &[DueWithPlan]) -> Result<()> {
    let rows: Vec<_> = dues.iter().map(|record| record.due.bind()).collect();
    tx.execute_deferred_all(Due::INSERT, &rows)?;
    plan::insert(tx, dues.iter().flat_map(|record| &record.plan))
}

/// Saves a due with the same installments, and publishes a notification of type `event`.
pub fn save_and_publish(
    tx: &Tx<'_>,
    event: &'static str,
    before: &DueWithPlan,
    due: Due,
) -> Result<DueWithPlan> {
    let after = save_with_plan(tx, DueWithPlan { due, ..before.clone() })?;
    tx.publish_change(event, &before.snapshot(tx.now()), &after.snapshot(tx.now()))?;
    Ok(after)
}

/// Saves a changed due with a new version and recomputed status. Does not save the installments: callers that change
/// them use `plan::replace`.
pub fn save_with_plan(tx: &Tx<'_>, changed: DueWithPlan) -> Result<DueWithPlan> {
    let DueWithPlan { due, plan } = changed.recalculate();
    let due = Due { updated_at: tx.now(), version: due.version + 1, ..due };
    tx.execute(Due::UPDATE, &due.bind())?;
    Ok(DueWithPlan { due, plan })
}

/// Recomputes when open dues become overdue, after a team's time zone may have changed.
pub fn update_time_zone(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    let zone = team::find(tx, team)?.timezone;
    let text = sql!(
        Due::SELECT,
        " where account_id = :account and team_id = :team and overdue_at is not null"
    );
    let open = tx.all(text, bind! { team })?;
    for DueWithPlan { due, plan } in with_plans(tx, open)? {
        let ends = plan.iter().map(|part| {
            Ok(Installment { overdue_at: plan::end_of_day(&zone, part.due_on)?, ..part.clone() })
        });
        let ends = ends.collect::<Result<Vec<_>>>()?;
        if ends != plan {
            plan::replace(tx, due.id, &ends)?;
            save_with_plan(tx, DueWithPlan { due, plan: ends })?;
        }
    }
    Ok(())
}
