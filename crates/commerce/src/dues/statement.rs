//! Statements of teams and families: amounts charged, paid and open. The database sums them from the ledger; overdue
//! amounts come from the due dates.

use std::collections::{BTreeMap, BTreeSet};

use crate::money::ledger::{self, Book, Movement};
use crate::prelude::*;
use crate::roster::person;
use crate::teams::team;

/// Maximum number of lines in a family's statement, newest first.
const MAX_LINES: usize = 1000;

/// The amounts of a statement in one currency, in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Sums {
    /// Amount charged, before discounts.
    #[schema(examples(15000))]
    pub charged: i64,
    /// Total of all discounts.
    #[schema(examples(1500))]
    pub discounted: i64,
    /// Total of all late fees.
    #[schema(examples(0))]
    pub late_fees: i64,
    /// Total of all waived balances.
    #[schema(examples(0))]
    pub waived: i64,
    /// Money received, including overpayments.
    #[schema(examples(5000))]
    pub paid: i64,
    /// Overpayments that became credit.
    #[schema(examples(0))]
    pub overpaid: i64,
    /// Amount paid from credit.
    #[schema(examples(0))]
    pub credit_applied: i64,
    /// Total amount refunded.
    #[schema(examples(0))]
    pub refunded: i64,
    /// Open balance: the amount still owed.
    #[schema(examples(8500))]
    pub outstanding: i64,
    /// The part of the open balance that is overdue.
    #[schema(examples(0))]
    pub overdue: i64,
    /// The payers' current credit, from any team. The next charge uses it.
    #[schema(examples(0))]
    pub credit: i64,
}

impl Sums {
    fn add(&mut self, kind: Movement, book: Book, amount: i64) {
        match book {
            Book::Dues => self.charged -= amount,
            Book::Discounts => self.discounted += amount,
            Book::LateFees => self.late_fees -= amount,
            Book::Waived => self.waived += amount,
            Book::Receivable => self.outstanding += amount,
            _ => {}
        }
        match (kind, book) {
            (Movement::Payment, Book::Receivable) => self.paid -= amount,
            (Movement::Payment, Book::Credit) => {
                self.paid -= amount;
                self.overpaid -= amount;
            }
            (Movement::CreditApplied, Book::Receivable) => self.credit_applied -= amount,
            // Restored credit is a `CreditApplied`, not a refund: the money has not left the club.
            (Movement::Refund, Book::Receivable | Book::Credit) => self.refunded += amount,
            _ => {}
        }
    }

    fn merge(&mut self, other: &Self) {
        self.charged += other.charged;
        self.discounted += other.discounted;
        self.late_fees += other.late_fees;
        self.waived += other.waived;
        self.paid += other.paid;
        self.overpaid += other.overpaid;
        self.credit_applied += other.credit_applied;
        self.refunded += other.refunded;
        self.outstanding += other.outstanding;
        self.overdue += other.overdue;
        self.credit += other.credit;
    }
}

/// Totals in one currency. All amounts are in minor units.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CurrencyTotals)]
pub struct Total {
    /// Currency of the amounts.
    pub currency: Currency,
    #[serde(flatten)]
    pub sums: Sums,
}

/// What one payer owes and has paid, in one currency. All amounts are in minor units.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PayerTotals)]
pub struct PayerTotals {
    /// ID of the person who pays.
    pub payer_id: PersonId,
    /// Name of the person who pays.
    #[schema(examples("Nini Duarte"))]
    pub payer_name: String,
    /// Currency of the amounts.
    pub currency: Currency,
    #[serde(flatten)]
    pub sums: Sums,
}

/// The statement of a team.
#[macros::object("team_statement")]
#[derive(Debug, Serialize, ToSchema)]
pub struct TeamStatement {
    pub team_id: TeamId,
    /// When the statement was created.
    pub at: Timestamp,
    /// One row per currency.
    pub totals: Vec<Total>,
    /// One row per payer and currency.
    pub payers: Vec<PayerTotals>,
}

/// A line of a statement: one movement of money.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatementLine)]
pub struct Line {
    /// When the money moved.
    pub at: Timestamp,
    /// What happened: `charge`, `correction` (an unpaid due was changed), `late_fee`, `waiver`, `payment`,
    /// `credit_applied` (credit paid for a due) or `refund`.
    pub kind: Movement,
    /// ID of the due or order.
    #[schema(examples("due_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    #[serde(rename = "subject_id")]
    pub subject: String,
    /// What the money was for.
    #[schema(examples("Season fee 2026/27"))]
    pub title: Option<String>,
    /// Currency of the amounts.
    pub currency: Currency,
    /// Change of the amount owed, in minor units; negative if it decreased.
    #[schema(examples(-5000))]
    pub balance_change: i64,
    /// Change of the credit, in minor units; negative if it decreased.
    #[schema(examples(0))]
    pub credit_change: i64,
}

/// The statement of a family.
#[macros::object("statement")]
#[derive(Debug, Serialize, ToSchema)]
pub struct Statement {
    pub person_id: PersonId,
    /// The payers whose dues are included. For users who request their own statement: everyone in their family.
    pub payer_ids: Vec<PersonId>,
    /// When the statement was created.
    pub at: Timestamp,
    /// One row per currency.
    pub totals: Vec<Total>,
    /// Movements of money, newest first; at most 1,000.
    pub lines: Vec<Line>,
}

row! {
    struct LedgerSum {
        payer_id: PersonId,
        currency: Currency,
        kind: Movement,
        book: Book,
        amount: i64,
    }
}

const LEDGER_SUMS: &str = "
    select payer_id, currency, kind, book, cast(sum(amount) as bigint) as amount
    from ledger_entry
    where account_id = :account
      and book in ('receivable', 'credit', 'dues', 'late_fees', 'discounts', 'waived')";
const BY_PAYER_AND_BOOK: &str = " group by payer_id, currency, kind, book";
/// The overdue amount: after the last due date the whole open balance, before that the unpaid installments whose due
/// date has passed. The late fee is due after all installments.
const OVERDUE_SUMS: &str = "
    select d.payer_id, d.currency, cast(sum(
        case when d.ends_at <= :now then d.amount - d.discount + d.late_fee - d.waived
        else (select sum(i.amount) from installment i
              where i.account_id = d.account_id and i.due_id = d.id and i.overdue_at <= :now) end
        - d.paid) as bigint) as overdue
    from due d
    where d.account_id = :account and d.overdue_at <= :now";
const BY_PAYER: &str = " group by d.payer_id, d.currency";

type ByPayer = BTreeMap<(PersonId, Currency), Sums>;

/// Sums by payer and currency, from the statements for the sums of the ledger and for the overdue amounts. Credit
/// belongs to the payer, so it is the same in every team's statement.
fn sum_by_payer(
    db: &Reader<'_>,
    ledger_sums: &'static str,
    overdue_sums: &'static str,
    bind: store::Bind<'_>,
) -> Result<ByPayer> {
    let mut sums = ByPayer::new();
    for LedgerSum { payer_id, currency, kind, book, amount } in db.all(ledger_sums, bind)? {
        sums.entry((payer_id, currency)).or_default().add(kind, book, amount);
    }
    let overdue: Vec<(PersonId, Currency, i64)> = db.all(overdue_sums, bind)?;
    for (payer, currency, amount) in overdue {
        sums.entry((payer, currency)).or_default().overdue += amount;
    }
    let payers: BTreeSet<_> = sums.keys().map(|(payer, _)| *payer).collect();
    for (payer, currency, credit) in ledger::credit_balances(db, payers.into_iter().collect())? {
        if let Some(sums) = sums.get_mut(&(payer, currency)) {
            sums.credit = credit;
        }
    }
    Ok(sums)
}

fn totals(sums: &ByPayer) -> Vec<Total> {
    let mut totals: BTreeMap<Currency, Sums> = BTreeMap::new();
    for ((_, currency), payer_sums) in sums {
        totals.entry(*currency).or_default().merge(payer_sums);
    }
    totals.into_iter().map(|(currency, sums)| Total { currency, sums }).collect()
}

/// The statement of a team.
pub fn of_team(db: &Reader<'_>, team: TeamId) -> Result<TeamStatement> {
    team::find(db, team)?;
    let ledger_sums =
        sql!(LEDGER_SUMS, " and team_id = :team and payer_id is not null", BY_PAYER_AND_BOOK);
    let overdue = sql!(OVERDUE_SUMS, " and d.team_id = :team", BY_PAYER);
    let sums = sum_by_payer(db, ledger_sums, overdue, bind! { team })?;
    let names = names(db, sums.keys().map(|(payer, _)| *payer).collect())?;
    let payers = sums.iter().map(|((payer, currency), sums)| PayerTotals {
        payer_id: *payer,
        payer_name: names.get(payer).cloned().unwrap_or_default(),
        currency: *currency,
        sums: *sums,
    });
    Ok(TeamStatement {
        team_id: team,
        at: db.now(),
        totals: totals(&sums),
        payers: payers.collect(),
    })
}

/// Until when a statement stays valid if no money moves. Dues become overdue at midnight in the team's time zone, and
/// all time zone offsets are multiples of a quarter of an hour.
pub fn valid_until(now: Timestamp) -> Timestamp {
    const QUARTER: i64 = 15 * 60 * 1_000_000;
    Timestamp::from_micros((now.micros().div_euclid(QUARTER) + 1) * QUARTER)
}

/// The display names of people, without loading their full records.
pub fn names(db: &Reader<'_>, people: Vec<PersonId>) -> Result<BTreeMap<PersonId, String>> {
    let rows: Vec<(PersonId, String, Option<String>)> = db.all(
        "select id, coalesce(preferred_name, first_name) as first, last_name from person
         where account_id = :account and id in (:people)",
        bind! { people },
    )?;
    let full_name = |first: String, last: Option<String>| match last {
        Some(last) => format!("{first} {last}"),
        None => first,
    };
    Ok(rows.into_iter().map(|(id, first, last)| (id, full_name(first, last))).collect())
}

/// The statement of a payer, or of the whole family for users who request their own. For other people it is limited to
/// the teams that the caller can access.
pub fn of_person(db: &Reader<'_>, access: &TeamAccess, id: PersonId) -> Result<Statement> {
    let access = access.for_private_data_of(id)?;
    person::find_visible(db, &access, id)?;
    let (mut everything, teams) = access.managed_filter();
    everything |= access.is_family(id);
    let payers = if access.is_self(id) { access.own_and_family_ids().1 } else { vec![id] };
    let totals = of_payers(db, &payers, everything, &teams)?;
    let lines = lines(db, &payers, everything, &teams)?;
    Ok(Statement { person_id: id, payer_ids: payers, at: db.now(), totals, lines })
}

/// Totals for these payers, for all teams or for some; one row per currency.
pub fn of_payers(
    db: &Reader<'_>,
    payers: &[PersonId],
    everything: bool,
    teams: &[TeamId],
) -> Result<Vec<Total>> {
    let (payers, teams) = (payers.to_vec(), teams.to_vec());
    let ledger_sums = sql!(
        LEDGER_SUMS,
        " and payer_id in (:payers) and (cast(:everything as boolean) or team_id in (:teams))",
        BY_PAYER_AND_BOOK
    );
    let overdue = sql!(
        OVERDUE_SUMS,
        " and d.payer_id in (:payers) and (cast(:everything as boolean) or d.team_id in (:teams))",
        BY_PAYER
    );
    Ok(totals(&sum_by_payer(db, ledger_sums, overdue, bind! { payers, everything, teams })?))
}

row! {
    struct LedgerStep {
        movement_id: MovementId,
        created_at: Timestamp,
        kind: Movement,
        subject: String,
        currency: Currency,
        book: Book,
        amount: i64,
    }
}

/// The movements that changed what these payers owe or their credit, newest first.
fn lines(
    db: &Reader<'_>,
    payers: &[PersonId],
    everything: bool,
    teams: &[TeamId],
) -> Result<Vec<Line>> {
    let (payers, teams) = (payers.to_vec(), teams.to_vec());
    // Sorting happens in memory, so that the database uses the index by payer.
    let steps: Vec<LedgerStep> = db.all(
        "select movement_id, created_at, kind, subject, currency, book, amount
         from ledger_entry
         where account_id = :account and payer_id in (:payers)
           and (cast(:everything as boolean) or team_id in (:teams))
           and book in ('receivable', 'credit')",
        bind! { payers, everything, teams },
    )?;
    let mut lines: BTreeMap<MovementId, Line> = BTreeMap::new();
    for step in steps {
        let line = lines.entry(step.movement_id).or_insert_with(|| Line {
            at: step.created_at,
            kind: step.kind,
            subject: step.subject,
            title: None,
            currency: step.currency,
            balance_change: 0,
            credit_change: 0,
        });
        match step.book {
            Book::Receivable => line.balance_change += step.amount,
            _ => line.credit_change -= step.amount,
        }
    }
    with_titles(db, lines.into_values().rev().take(MAX_LINES).collect())
}

/// Adds the titles of the dues to the lines.
fn with_titles(db: &Reader<'_>, mut lines: Vec<Line>) -> Result<Vec<Line>> {
    let dues: Vec<DueId> = lines.iter().filter_map(|line| line.subject.parse().ok()).collect();
    let titles: Vec<(DueId, String)> = db.all(
        "select id, title from due where account_id = :account and id in (:dues)",
        bind! { dues },
    )?;
    let titles: BTreeMap<_, _> =
        titles.into_iter().map(|(id, title)| (id.to_string(), title)).collect();
    for line in &mut lines {
        line.title = titles.get(&line.subject).cloned();
    }
    Ok(lines)
}
