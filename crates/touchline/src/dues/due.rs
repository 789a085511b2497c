//! The due: what a member owes, how it stands, who sees it.

use kit::{Currency, Day, Timestamp, text, words};
use serde::Serialize;
use store::{Reader, Tx, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::plan::{self, Instalment, ShownPart};
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::ids::{AccountId, ChargeId, DueId, MemberId, PersonId, TeamId};
use crate::metadata::Metadata;
use crate::money::ledger::About;
use crate::paging::{Order, Page};
use crate::teams::team;
use crate::thing::thing;

words! {
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

words! {
    /// How a due stands.
    pub enum Status as DueStatus {
        /// Nothing was paid yet.
        Open = "open",
        PartiallyPaid = "partially_paid",
        Paid = "paid",
        /// What was open need not be paid any more.
        Waived = "waived",
    }
}
word_column!(Category, Status);

record! {
    /// What a member owes, as it is kept.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Due in due {
        pub account_id: AccountId,
        pub id: DueId,
        pub charge_id: ChargeId,
        pub team_id: TeamId,
        pub member_id: MemberId,
        pub person_id: PersonId,
        pub payer_id: PersonId,
        pub title: String,
        pub category: Category,
        pub note: Option<String>,
        pub currency: Currency,
        pub amount: i64,
        pub discount: i64,
        pub discount_reason: Option<String>,
        pub late_fee: i64,
        pub late_fee_amount: Option<i64>,
        pub late_fee_bp: Option<i64>,
        pub late_fee_at: Option<Timestamp>,
        pub late_at: Option<Timestamp>,
        pub paid: i64,
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

thing!(Due by DueId: Versioned);

impl Due {
    /// What is to be paid without a late fee.
    pub fn net(&self) -> i64 {
        self.amount - self.discount
    }

    /// What is still owed.
    pub fn balance(&self) -> i64 {
        self.net() + self.late_fee - self.paid - self.waived
    }

    /// What is moved for it, as the ledger names it.
    pub fn about(&self) -> About {
        About {
            subject: self.id.to_string(),
            team_id: Some(self.team_id),
            person_id: Some(self.person_id),
            payer_id: Some(self.payer_id),
            currency: self.currency,
        }
    }
}

/// What is added once when something is overdue: an amount, or a part of what is overdue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct LateFee {
    #[schema(examples(500), minimum = 1)]
    pub amount: Option<i64>,
    /// Hundredths of a per cent of what is overdue.
    #[schema(minimum = 1, maximum = 10_000)]
    pub percent_bp: Option<i64>,
}

/// What a member owes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "object", rename = "due")]
#[schema(as = Due)]
pub struct Shown {
    pub id: DueId,
    /// What was charged together has the same.
    pub charge_id: ChargeId,
    pub team_id: TeamId,
    pub member_id: MemberId,
    pub person_id: PersonId,
    /// Who pays: a guardian, or the person themselves.
    pub payer_id: PersonId,
    #[schema(examples("Season fee 2026/27"), max_length = 120)]
    pub title: String,
    pub category: Category,
    /// Not part of notifications.
    #[schema(max_length = 1000)]
    pub note: Option<String>,
    pub currency: Currency,
    /// As it was charged, before any discount.
    #[schema(examples(15000))]
    pub amount: i64,
    pub discount: i64,
    /// Not part of notifications.
    #[schema(max_length = 500)]
    pub discount_reason: Option<String>,
    /// What is added once when something is overdue.
    pub late_fee: Option<LateFee>,
    /// As much as was added.
    pub late_fee_charged: i64,
    pub late_fee_at: Option<Timestamp>,
    /// What was paid, less what was given back.
    pub paid: i64,
    pub waived: i64,
    /// Not part of notifications.
    #[schema(max_length = 500)]
    pub waive_reason: Option<String>,
    /// What is still owed.
    pub balance: i64,
    /// The day by which the first of it must have been paid.
    pub due_on: Day,
    /// The day by which the next of it must have been paid; `null` when nothing is open.
    pub next_due_on: Option<Day>,
    pub status: Status,
    /// Whether that day has passed where the team is.
    pub overdue: bool,
    pub instalments: Vec<ShownPart>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Rises with every change.
    pub version: i64,
}

thing!(Shown by DueId: Subject Versioned Paged);

/// A due with its instalments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    pub due: Due,
    pub plan: Vec<Instalment>,
}

impl crate::expected::Versioned for Whole {
    fn version(&self) -> i64 {
        self.due.version
    }
}

impl Whole {
    /// The due as it stands after what was changed in it: its state, and the day that comes next.
    #[must_use]
    pub fn settled(self) -> Self {
        let Self { due, plan } = self;
        let balance = due.balance();
        let status = match (balance, due.waived, due.paid) {
            (0, 0, _) => Status::Paid,
            (0, ..) => Status::Waived,
            (_, _, 0) => Status::Open,
            _ => Status::PartiallyPaid,
        };
        let next = plan::next(&plan, due.paid).filter(|_| balance > 0);
        let (next_due_on, overdue_at) =
            (next.map(|part| part.due_on), next.map(|part| part.overdue_at));
        let ends_at = plan.last().map_or(due.ends_at, |part| part.overdue_at);
        let ruled = due.late_fee_amount.is_some() || due.late_fee_bp.is_some();
        let late_at = overdue_at.filter(|_| ruled && due.late_fee_at.is_none());
        Self { due: Due { late_at, next_due_on, overdue_at, ends_at, status, ..due }, plan }
    }

    /// The due as it is shown at a moment.
    pub fn shown(&self, now: Timestamp) -> Shown {
        let due = self.due.clone();
        let done = due.balance() == 0;
        let late_fee = LateFee { amount: due.late_fee_amount, percent_bp: due.late_fee_bp };
        Shown {
            balance: due.balance(),
            overdue: due.overdue_at.is_some_and(|at| at <= now),
            instalments: plan::shown(&self.plan, due.paid, done, now),
            late_fee: (late_fee.amount.is_some() || late_fee.percent_bp.is_some())
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

    /// Whether something of it became overdue since it was changed last.
    pub fn has_aged(&self, now: Timestamp) -> bool {
        let since = self.due.updated_at;
        self.plan.iter().any(|part| part.overdue_at > since && part.overdue_at <= now)
    }

    /// The due as subscribers are told of it: reasons and notes may say something of a family's means.
    pub fn told(&self, now: Timestamp) -> Shown {
        Shown { note: None, discount_reason: None, waive_reason: None, ..self.shown(now) }
    }
}

/// Which dues to list.
#[derive(Debug, Default)]
pub struct DueFilter {
    pub team_id: Option<TeamId>,
    pub member_id: Option<MemberId>,
    pub payer_id: Option<PersonId>,
    pub charge_id: Option<ChargeId>,
    pub status: Option<Status>,
    pub overdue: Option<bool>,
    /// Whether something is still owed.
    pub unpaid: Option<bool>,
    /// Whether something was paid and not refunded.
    pub received: Option<bool>,
    pub currency: Option<Currency>,
    pub category: Option<Category>,
    /// Part of the title, or of the name of whoever owes or pays it, whatever its case.
    pub q: Option<String>,
}

/// One due, whoever asks.
pub fn whole(db: &Reader<'_>, id: DueId) -> Result<Whole> {
    let due =
        db.one(sql!(Due::SELECT, " where account_id = :account and id = :id"), bind! { id })?;
    Ok(Whole { due, plan: plan::of(db, vec![id])? })
}

/// One due that the caller may see: of a team that is open to them, or of their family. Others answer as if
/// they did not exist.
pub fn find(db: &Reader<'_>, reach: &Reach, id: DueId) -> Result<Whole> {
    let whole = whole(db, id)?;
    let Due { team_id, person_id, payer_id, .. } = whole.due;
    let seen = reach.opens(team_id) || reach.is_family(person_id) || reach.is_family(payer_id);
    if seen { Ok(whole) } else { Err(Error::not_found()) }
}

/// One due of a team on which the caller may do what they are about to do.
pub fn managed(db: &Reader<'_>, reach: &Reach, id: DueId) -> Result<Whole> {
    let whole = whole(db, id)?;
    reach.check(whole.due.team_id)?;
    Ok(whole)
}

/// These dues with their instalments, in their order.
pub fn wholes(db: &Reader<'_>, dues: Vec<Due>) -> Result<Vec<Whole>> {
    let parts = plan::of(db, dues.iter().map(|due| due.id).collect())?;
    let of = |id| {
        let first = parts.partition_point(|part| part.due_id < id);
        parts[first..].iter().take_while(|part| part.due_id == id).cloned().collect()
    };
    Ok(dues.into_iter().map(|due| Whole { plan: of(due.id), due }).collect())
}

/// A page of dues, in order of charging.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &DueFilter,
    page: &Page<DueId>,
) -> Result<Vec<Shown>> {
    let DueFilter { team_id, member_id, payer_id, charge_id, status, overdue, category, .. } =
        filter;
    let DueFilter { unpaid, received, currency, .. } = filter;
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let after = page.after(DueId::LEAST, DueId::GREATEST);
    let limit = page.fetch();
    let (everything, teams) = opened(reach);
    let (_, family) = reach.kin();
    // Whose it is narrows most, then what was charged together, then the team: each has its index.
    let statement = match (member_id, payer_id, charge_id, team_id, page.order) {
        (Some(_), .., Order::Asc) => sql!(Due::SELECT, OF_MEMBER, FILTER, ASCENDING),
        (Some(_), .., Order::Desc) => sql!(Due::SELECT, OF_MEMBER, FILTER, DESCENDING),
        (_, Some(_), .., Order::Asc) => sql!(Due::SELECT, OF_PAYER, FILTER, ASCENDING),
        (_, Some(_), .., Order::Desc) => sql!(Due::SELECT, OF_PAYER, FILTER, DESCENDING),
        (_, _, Some(_), _, Order::Asc) => sql!(Due::SELECT, OF_CHARGE, FILTER, ASCENDING),
        (_, _, Some(_), _, Order::Desc) => sql!(Due::SELECT, OF_CHARGE, FILTER, DESCENDING),
        (.., Some(_), Order::Asc) => sql!(Due::SELECT, OF_TEAM, FILTER, ASCENDING),
        (.., Some(_), Order::Desc) => sql!(Due::SELECT, OF_TEAM, FILTER, DESCENDING),
        (.., None, Order::Asc) => sql!(Due::SELECT, OF_ALL, FILTER, ASCENDING),
        (.., None, Order::Desc) => sql!(Due::SELECT, OF_ALL, FILTER, DESCENDING),
    };
    let dues = db.all(
        statement,
        bind! { after, limit, team_id, member_id, payer_id, charge_id, status, overdue, unpaid,
        received, currency, category, pattern, everything, teams, family },
    )?;
    Ok(wholes(db, dues)?.iter().map(|whole| whole.shown(db.now())).collect())
}

/// The teams of which the caller sees every due: all if the first value says so.
pub fn opened(reach: &Reach) -> (bool, Vec<TeamId>) {
    match reach {
        Reach::Everywhere => (true, Vec::new()),
        Reach::Teams(teams) => (false, teams.clone()),
        Reach::User(place) => (false, place.leads.clone()),
    }
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
      and (cast(:member_id as bytea) is null or member_id = :member_id)
      and (cast(:payer_id as bytea) is null or payer_id = :payer_id)
      and (cast(:charge_id as bytea) is null or charge_id = :charge_id)
      and (cast(:status as text) is null or status = :status)
      and (cast(:overdue as boolean) is null
           or (overdue_at is not null and overdue_at <= :now) = :overdue)
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
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";

/// Writes new dues down.
pub fn insert(tx: &Tx<'_>, dues: &[Whole]) -> Result<()> {
    let rows: Vec<_> = dues.iter().map(|whole| whole.due.bind()).collect();
    tx.later_all(Due::INSERT, &rows)?;
    plan::insert(tx, dues.iter().flat_map(|whole| &whole.plan))
}

/// Keeps what has changed of a due, with a new version, as it stands now. Its instalments are kept by whoever
/// changes them.
pub fn save(tx: &Tx<'_>, whole: Whole) -> Result<Whole> {
    let Whole { due, plan } = whole.settled();
    let due = Due { updated_at: tx.now(), version: due.version + 1, ..due };
    tx.run(
        "update due set payer_id = :payer_id, title = :title, category = :category, note = :note,
             amount = :amount, late_fee = :late_fee, late_fee_amount = :late_fee_amount,
             late_fee_bp = :late_fee_bp, late_fee_at = :late_fee_at, late_at = :late_at,
             paid = :paid, waived = :waived, waive_reason = :waive_reason, due_on = :due_on,
             next_due_on = :next_due_on, overdue_at = :overdue_at, ends_at = :ends_at, status = :status,
             metadata = :metadata, updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &due.bind(),
    )?;
    Ok(Whole { due, plan })
}

/// The team may be in another zone now: its days end at other moments.
pub fn moved(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    let zone = team::find(tx, team)?.timezone;
    let text = sql!(
        Due::SELECT,
        " where account_id = :account and team_id = :team and overdue_at is not null"
    );
    let open = tx.all(text, bind! { team })?;
    for Whole { due, plan } in wholes(tx, open)? {
        let ends = plan.iter().map(|part| {
            Ok(Instalment { overdue_at: plan::end_of(&zone, part.due_on)?, ..part.clone() })
        });
        let ends = ends.collect::<Result<Vec<_>>>()?;
        if ends != plan {
            plan::replace(tx, due.id, &ends)?;
            save(tx, Whole { due, plan: ends })?;
        }
    }
    Ok(())
}
