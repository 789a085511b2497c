//! What somebody's family owes and has paid.

use std::collections::{BTreeMap, HashMap};

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Currency, Timestamp, Zone};
use store::Reader;

use super::detail::PaidRow;
use super::list::{Row, rows};
use super::shown::{self, Around, PartRow};
use super::{OWN, show};
use crate::accounts::account;
use crate::accounts::permits::{Least, OrdersRead};
use crate::accounts::rights::Reach;
use crate::dues::due::{self, DueFilter, Shown};
use crate::dues::statement::{self, Statement, Total};
use crate::error::Result;
use crate::ids::{DueId, PersonId, TeamId};
use crate::money::payment;
use crate::names::Names;
use crate::paging::{Order, Page};
use crate::roster::standing::Standing;
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Visitor};

/// So many dues, and so many lines of a statement, are shown.
const DUES: i64 = 200;
const LINES: usize = 50;

/// Somebody who looks at what concerns them.
type Member = Visitor<OrdersRead>;

/// What is owed for one of the family.
struct Child {
    name: String,
    /// What is open and overdue, in each currency.
    open: Vec<String>,
    overdue: Vec<String>,
    /// The next day, and what is to be paid by then.
    next: Option<(kit::Day, String)>,
    rows: Vec<Row>,
}

/// Something that moved money.
struct Line {
    at: Timestamp,
    what: &'static str,
    title: String,
    /// For whom, where it is not plain.
    whom: Option<String>,
    owed: String,
    credit: String,
}

/// The sums in one currency.
struct Sum {
    open: String,
    overdue: Option<String>,
    credit: Option<String>,
    owes: bool,
}

#[derive(Template)]
#[template(path = "dues/family.html")]
struct FamilyPage {
    frame: Frame,
    sums: Vec<Sum>,
    /// Who the visitor is.
    own: Vec<PersonId>,
    children: Vec<Child>,
    lines: Vec<Line>,
    /// The teams whose statements the visitor may read.
    teams: Vec<(TeamId, String)>,
    cards: bool,
    zone: Zone,
}

/// What is known of the family.
#[derive(Default)]
struct Found {
    sums: Vec<Sum>,
    own: Vec<PersonId>,
    children: Vec<Child>,
    lines: Vec<Line>,
    teams: Vec<(TeamId, String)>,
    zone: Option<Zone>,
}

pub(super) async fn list(visitor: Member) -> Outcome<Response> {
    // Somebody may have signed in and belong to no club yet.
    let found = match visitor.visit.club {
        Some(_) => {
            let standing = visitor.standing().await?;
            visitor.read(move |db| found(db, standing)).await?
        }
        None => Found::default(),
    };
    let page = FamilyPage {
        frame: visitor.frame("Dues", Section::OwnDues),
        sums: found.sums,
        own: found.own,
        children: found.children,
        lines: found.lines,
        teams: found.teams,
        cards: visitor.app().cards.is_some(),
        zone: found.zone.unwrap_or_else(Zone::utc),
    };
    show(StatusCode::OK, &page)
}

fn found(db: &Reader<'_>, standing: Standing) -> Result<Found> {
    let zone = Some(account::find(db)?.timezone);
    let ids: Vec<_> = standing.leads.iter().map(ToString::to_string).collect();
    let names = Names::of(db, ids.iter().map(String::as_str))?;
    let teams: Vec<_> = standing
        .leads
        .iter()
        .zip(&ids)
        .map(|(id, text)| (*id, names.or_id(text).to_owned()))
        .collect();
    let Some(own) = standing.own.first().copied() else {
        return Ok(Found { teams, zone, ..Found::default() });
    };
    let family = standing.own.clone();
    // What concerns the teams they lead is no business of the family.
    let reach = Standing { leads: Vec::new(), ..standing }.reach(Least::Family);
    let page = Page { limit: DUES, order: Order::Desc, last: None };
    let dues = due::list(db, &reach, &DueFilter::default(), &page)?;
    let Statement { totals, lines, .. } = statement::of_person(db, &reach, own)?;
    let around = Around::of(db, dues.iter())?;
    let whom: HashMap<_, _> =
        dues.iter().map(|due| (due.id.to_string(), around.person(due.person_id))).collect();
    let children = children(db, &around, dues)?;
    let whom =
        |line: &statement::Line| whom.get(&line.subject).filter(|_| children.len() > 1).cloned();
    Ok(Found {
        sums: totals.iter().map(sum).collect(),
        own: family,
        lines: lines.into_iter().take(LINES).map(|one| line(whom(&one), one)).collect(),
        children,
        teams,
        zone,
    })
}

fn sum(Total { currency, sums }: &Total) -> Sum {
    let some = |minor: i64| (minor > 0).then(|| shown::money(minor, *currency));
    Sum {
        open: shown::money(sums.open, *currency),
        overdue: some(sums.overdue),
        credit: some(sums.credit),
        owes: sums.open > 0,
    }
}

fn line(whom: Option<String>, line: statement::Line) -> Line {
    Line {
        whom,
        at: line.at,
        what: shown::movement(line.kind),
        title: line.title.unwrap_or_default(),
        owed: shown::signed(line.owed, line.currency),
        credit: shown::signed(line.credit, line.currency),
    }
}

/// The dues of each of the family, those first for whom something is open.
fn children(db: &Reader<'_>, around: &Around, dues: Vec<Shown>) -> Result<Vec<Child>> {
    let mut by_person: BTreeMap<PersonId, Vec<Shown>> = BTreeMap::new();
    for due in dues {
        by_person.entry(due.person_id).or_default().push(due);
    }
    let children = by_person.into_iter().map(|(person, dues)| {
        let nexts = dues.iter().filter_map(|due| Some((shown::next(due)?, due.currency)));
        let next = nexts.min_by_key(|((day, _), _)| *day);
        Ok(Child {
            name: around.person(person),
            open: summed(&dues, |due| due.balance),
            overdue: summed(&dues, shown::overdue),
            next: next.map(|((day, amount), currency)| (day, shown::money(amount, currency))),
            rows: rows(db, &dues)?,
        })
    });
    let mut children = children.collect::<Result<Vec<_>>>()?;
    children.sort_by_key(|child| child.open.is_empty());
    Ok(children)
}

/// The sums of dues in each currency, without those that are nothing.
fn summed(dues: &[Shown], of: fn(&Shown) -> i64) -> Vec<String> {
    let mut sums: BTreeMap<String, (Currency, i64)> = BTreeMap::new();
    for due in dues {
        let sum = sums.entry(due.currency.code().to_owned()).or_insert((due.currency, 0));
        sum.1 += of(due);
    }
    let some = sums.into_values().filter(|(_, sum)| *sum > 0);
    some.map(|(currency, sum)| shown::money(sum, currency)).collect()
}

#[derive(Template)]
#[template(path = "dues/one.html")]
struct OnePage {
    frame: Frame,
    back: &'static str,
    place: String,
    person: String,
    payer: String,
    team: String,
    category: &'static str,
    state: (&'static str, &'static str),
    open: String,
    amount: String,
    discount: Option<String>,
    late_fee: Option<String>,
    waived: Option<String>,
    paid: String,
    parts: Vec<PartRow>,
    payments: Vec<PaidRow>,
    /// What can be paid by card: in minor units, and in words. Nothing where cards are not taken.
    payable: Vec<(i64, String)>,
    due: Shown,
    zone: Zone,
}

/// A due that the visitor may see, with what was paid for it.
pub(super) struct Seen {
    pub(super) due: Shown,
    pub(super) around: Around,
    pub(super) payments: Vec<PaidRow>,
    pub(super) zone: Zone,
}

pub(super) fn seen(db: &Reader<'_>, reach: &Reach, id: DueId) -> Result<Seen> {
    let due = due::find(db, reach, id)?.shown(db.now());
    let subject = id.to_string();
    let refunds = payment::refunds_of(db, &subject)?;
    let payments = payment::of_subject(db, &subject)?;
    Ok(Seen {
        around: Around::of(db, std::iter::once(&due))?,
        payments: payments.iter().map(|one| PaidRow::new(one, &refunds, false)).collect(),
        zone: account::find(db)?.timezone,
        due,
    })
}

/// What one can choose to pay by card: the next part, and all that is open.
fn payable(due: &Shown) -> Vec<(i64, String)> {
    let money = |minor| shown::money(minor, due.currency);
    let next = shown::next(due).map(|(_, amount)| amount).filter(|amount| *amount < due.balance);
    let next = next.map(|amount| (amount, format!("Pay the next part, {}", money(amount))));
    let all = (due.balance > 0).then(|| (due.balance, format!("Pay {}", money(due.balance))));
    next.into_iter().chain(all).collect()
}

pub(super) async fn one(visitor: Member, At(id): At<DueId>) -> Outcome<Response> {
    let reach = visitor.reach().await?;
    let Seen { due, around, payments, zone } = visitor.read(move |db| seen(db, &reach, id)).await?;
    let money = |minor| shown::money(minor, due.currency);
    let some = |minor: i64| (minor > 0).then(|| money(minor));
    let cards = visitor.app().cards.clone();
    let page = OnePage {
        frame: visitor.frame(due.title.clone(), Section::OwnDues),
        back: OWN,
        place: format!("{OWN}/{id}"),
        person: around.person(due.person_id),
        payer: around.person(due.payer_id),
        team: around.team(due.team_id),
        category: shown::category(due.category),
        state: shown::state(&due),
        open: money(due.balance),
        amount: money(due.amount),
        discount: some(due.discount),
        late_fee: some(due.late_fee_charged),
        waived: some(due.waived),
        paid: money(due.paid),
        parts: shown::parts(&due),
        payments,
        payable: cards.as_ref().map(|_| payable(&due)).unwrap_or_default(),
        due,
        zone,
    };
    match cards {
        // A form that leads on to the provider's page.
        Some(cards) => {
            let origin = cards.provider.origin();
            Ok(page::html_with_form_action(StatusCode::OK, &page, origin)?)
        }
        None => show(StatusCode::OK, &page),
    }
}
