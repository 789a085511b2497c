//! Statements: what a team or a family was charged, what was paid and what is open. Every sum is the
//! database's, over the ledger; what is overdue comes from the days of the dues.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kit::{Currency, Timestamp};
use serde::Serialize;
use store::{Reader, bind, row, sql};
use utoipa::ToSchema;

use super::due;
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::{DueId, MovementId, PersonId, TeamId};
use crate::money::ledger::{self, Book, Movement};
use crate::roster::person;
use crate::teams::team;

/// How many lines the statement of a family has at most; the newest come first.
const LINES: usize = 1000;

/// The sums of a statement in one currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Sums {
    /// As it was charged, before discounts.
    pub charged: i64,
    pub discounted: i64,
    pub late_fees: i64,
    pub waived: i64,
    /// The money that came in, what was paid ahead included.
    pub paid: i64,
    /// As much of what was paid as was more than owed.
    pub credited: i64,
    /// As much as was paid with what had been paid ahead.
    pub credit_used: i64,
    /// The money that was given back.
    pub refunded: i64,
    /// What is still owed.
    pub open: i64,
    /// As much of what is open as should have been paid by now.
    pub overdue: i64,
    /// What the payers have paid ahead now, whichever team it was paid for: the next due uses it.
    pub credit: i64,
}

impl Sums {
    fn add(&mut self, kind: Movement, book: Book, amount: i64) {
        match book {
            Book::Dues => self.charged -= amount,
            Book::Discounts => self.discounted += amount,
            Book::LateFees => self.late_fees -= amount,
            Book::Waived => self.waived += amount,
            Book::Owed => self.open += amount,
            Book::Credit => self.credit -= amount,
            _ => {}
        }
        match (kind, book) {
            (Movement::Payment, Book::Owed) => self.paid -= amount,
            (Movement::Payment, Book::Credit) => {
                self.paid -= amount;
                self.credited -= amount;
            }
            (Movement::CreditUse, Book::Owed) => self.credit_used -= amount,
            // What goes back to what is paid ahead has not left the club.
            (Movement::Refund, Book::Owed | Book::Credit) => self.refunded += amount,
            _ => {}
        }
    }

    fn join(&mut self, other: &Self) {
        self.charged += other.charged;
        self.discounted += other.discounted;
        self.late_fees += other.late_fees;
        self.waived += other.waived;
        self.paid += other.paid;
        self.credited += other.credited;
        self.credit_used += other.credit_used;
        self.refunded += other.refunded;
        self.open += other.open;
        self.overdue += other.overdue;
        self.credit += other.credit;
    }
}

/// The sums in one currency.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Total {
    pub currency: Currency,
    #[serde(flatten)]
    pub sums: Sums,
}

/// What one payer owes and has paid.
#[derive(Debug, Serialize, ToSchema)]
pub struct Family {
    pub payer_id: PersonId,
    #[schema(examples("Nini Duarte"))]
    pub payer_name: String,
    pub currency: Currency,
    #[serde(flatten)]
    pub sums: Sums,
}

/// The statement of a team.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "team_statement")]
pub struct TeamStatement {
    pub team_id: TeamId,
    /// When it was drawn up; nothing in it has changed since.
    pub at: Timestamp,
    /// A row for each currency.
    pub totals: Vec<Total>,
    /// A row for each payer and currency.
    pub families: Vec<Family>,
}

/// Something that was moved.
#[derive(Debug, Serialize, ToSchema)]
pub struct Line {
    pub at: Timestamp,
    pub kind: Movement,
    /// The due or order it is about.
    #[schema(examples("due_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
    pub subject: String,
    pub title: Option<String>,
    pub currency: Currency,
    /// How much more is owed since; negative: less.
    pub owed: i64,
    /// How much more is paid ahead since; negative: less.
    pub credit: i64,
}

/// The statement of a family.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "statement")]
pub struct Statement {
    pub person_id: PersonId,
    /// Whose payments it is about: for users who ask for their own, the whole family's.
    pub payer_ids: Vec<PersonId>,
    /// When it was drawn up; nothing in it has changed since.
    pub at: Timestamp,
    /// A row for each currency.
    pub totals: Vec<Total>,
    /// What was moved, the newest first; at most 1,000.
    pub lines: Vec<Line>,
}

row! {
    struct Moved {
        payer_id: PersonId,
        currency: Currency,
        kind: Movement,
        book: Book,
        amount: i64,
    }
}

const MOVED: &str = "
    currency, kind, book, cast(sum(amount) as bigint) as amount
    from ledger_entry
    where account_id = :account
      and book in ('owed', 'credit', 'dues', 'late_fees', 'discounts', 'waived')";
const BY_PAYER_AND_BOOK: &str = " group by payer_id, currency, kind, book";
/// What should have been paid by now and was not: all that is open once the last day is over, else the instalments
/// whose days are. A late fee comes after all of them.
const LATE: &str = "
    d.currency, cast(sum(
        case when d.ends_at <= :now then d.amount - d.discount + d.late_fee - d.waived
        else (select sum(i.amount) from instalment i
              where i.account_id = d.account_id and i.due_id = d.id and i.overdue_at <= :now) end
        - d.paid) as bigint) as overdue
    from due d
    where d.account_id = :account and d.overdue_at <= :now";
const BY_PAYER: &str = " group by d.payer_id, d.currency";

type ByPayer = BTreeMap<(PersonId, String), (Currency, Sums)>;

/// Sums by payer. What is paid ahead is the payer's, so it is the same in every team's statement.
fn gathered(
    db: &Reader<'_>,
    moved: Vec<Moved>,
    overdue: Vec<(PersonId, Currency, i64)>,
) -> Result<ByPayer> {
    let mut sums = ByPayer::new();
    let key = |payer, currency: Currency| (payer, currency.code().to_owned());
    for Moved { payer_id, currency, kind, book, amount } in moved {
        let place = sums.entry(key(payer_id, currency));
        place.or_insert((currency, Sums::default())).1.add(kind, book, amount);
    }
    for (payer, currency, amount) in overdue {
        let place = sums.entry(key(payer, currency));
        place.or_insert((currency, Sums::default())).1.overdue += amount;
    }
    let payers: BTreeSet<_> = sums.keys().map(|(payer, _)| *payer).collect();
    let credits = ledger::credits(db, payers.into_iter().collect())?.into_iter();
    let ahead: HashMap<_, _> =
        credits.map(|(payer, currency, amount)| (key(payer, currency), amount)).collect();
    for (key, (_, own)) in &mut sums {
        own.credit = ahead.get(key).copied().unwrap_or(0);
    }
    Ok(sums)
}

fn totals(sums: &ByPayer) -> Vec<Total> {
    let mut totals: BTreeMap<&str, Total> = BTreeMap::new();
    for ((_, code), (currency, own)) in sums {
        let total = Total { currency: *currency, sums: Sums::default() };
        totals.entry(code).or_insert(total).sums.join(own);
    }
    totals.into_values().collect()
}

/// The statement of a team.
pub fn of_team(db: &Reader<'_>, team: TeamId) -> Result<TeamStatement> {
    team::find(db, team)?;
    let moved = db.all(
        sql!(
            "select payer_id,",
            MOVED,
            " and team_id = :team and payer_id is not null",
            BY_PAYER_AND_BOOK
        ),
        bind! { team },
    )?;
    let overdue = db.all(
        sql!("select d.payer_id,", LATE, " and d.team_id = :team", BY_PAYER),
        bind! { team },
    )?;
    let sums = gathered(db, moved, overdue)?;
    let names = names(db, sums.keys().map(|(payer, _)| *payer).collect())?;
    let families = sums.iter().map(|((payer, _), (currency, sums))| Family {
        payer_id: *payer,
        payer_name: names.get(payer).cloned().unwrap_or_default(),
        currency: *currency,
        sums: *sums,
    });
    Ok(TeamStatement {
        team_id: team,
        at: db.now(),
        totals: totals(&sums),
        families: families.collect(),
    })
}

/// When a statement may say something else though nothing was moved: something becomes overdue when a day begins,
/// and wherever one is, days begin on a quarter of an hour.
pub fn next_look(now: Timestamp) -> Timestamp {
    const QUARTER: i64 = 15 * 60 * 1_000_000;
    Timestamp::from_micros((now.micros().div_euclid(QUARTER) + 1) * QUARTER)
}

/// What people are called, read from no more than their names.
pub fn names(db: &Reader<'_>, people: Vec<PersonId>) -> Result<BTreeMap<PersonId, String>> {
    let named: Vec<(PersonId, String, Option<String>)> = db.all(
        "select id, coalesce(preferred_name, first_name) as first, last_name from person
         where account_id = :account and id in (:people)",
        bind! { people },
    )?;
    let whole = |first: String, last: Option<String>| match last {
        Some(last) => format!("{first} {last}"),
        None => first,
    };
    Ok(named.into_iter().map(|(id, first, last)| (id, whole(first, last))).collect())
}

/// The statement of a family: what one person pays for, or for users who ask for their own, everything of
/// their family. Of other people, a caller sees the teams that are open to them.
pub fn of_person(db: &Reader<'_>, reach: &Reach, id: PersonId) -> Result<Statement> {
    let reach = reach.around(id)?;
    person::reachable(db, &reach, id)?;
    let (mut everything, teams) = due::opened(&reach);
    everything |= reach.is_family(id);
    let payers = if reach.is_own(id) { reach.kin().1 } else { vec![id] };
    let totals = of_payers(db, &payers, everything, &teams)?;
    let lines = lines(db, &payers, everything, &teams)?;
    Ok(Statement { person_id: id, payer_ids: payers, at: db.now(), totals, lines })
}

/// The sums of what these people pay, of all teams or of some; a row for each currency.
pub fn of_payers(
    db: &Reader<'_>,
    payers: &[PersonId],
    everything: bool,
    teams: &[TeamId],
) -> Result<Vec<Total>> {
    let (payers, teams) = (payers.to_vec(), teams.to_vec());
    let moved = db.all(
        sql!(
            "select payer_id,",
            MOVED,
            " and payer_id in (:payers) and (cast(:everything as boolean) or team_id in (:teams))",
            BY_PAYER_AND_BOOK
        ),
        bind! { payers, everything, teams },
    )?;
    let overdue = db.all(
        sql!(
            "select d.payer_id,",
            LATE,
            " and d.payer_id in (:payers) and (cast(:everything as boolean) or d.team_id in (:teams))",
            BY_PAYER
        ),
        bind! { payers, everything, teams },
    )?;
    Ok(totals(&gathered(db, moved, overdue)?))
}

row! {
    struct Step {
        movement_id: MovementId,
        created_at: Timestamp,
        kind: Movement,
        subject: String,
        currency: Currency,
        book: Book,
        amount: i64,
    }
}

/// What was moved between what payers owe, have paid ahead and everything else.
fn lines(
    db: &Reader<'_>,
    payers: &[PersonId],
    everything: bool,
    teams: &[TeamId],
) -> Result<Vec<Line>> {
    let (payers, teams) = (payers.to_vec(), teams.to_vec());
    // In no order, so that only what is the payers' is read.
    let steps: Vec<Step> = db.all(
        "select movement_id, created_at, kind, subject, currency, book, amount
         from ledger_entry
         where account_id = :account and payer_id in (:payers)
           and (cast(:everything as boolean) or team_id in (:teams))
           and book in ('owed', 'credit')",
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
            owed: 0,
            credit: 0,
        });
        match step.book {
            Book::Owed => line.owed += step.amount,
            _ => line.credit -= step.amount,
        }
    }
    titled(db, lines.into_values().rev().take(LINES).collect())
}

/// The lines, with the titles of the dues they are about.
fn titled(db: &Reader<'_>, mut lines: Vec<Line>) -> Result<Vec<Line>> {
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
