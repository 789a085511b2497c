//! The dues pages of a family: overview and single due.

use std::collections::{BTreeMap, HashMap};

use super::detail::PaymentRow;
use super::formatting::{self, DisplayNames, NamedDue};
use super::list::{FAMILY, Row, rows};
use crate::accounts::account;
use crate::accounts::permissions::AccessLevel;
use crate::accounts::roster_access::RosterAccess;
use crate::dues::due::{self, DueFilter, DueView};
use crate::dues::statement::{self, Statement, Total};
use crate::money::OrdersRead;
use crate::money::pages::render_with_cards;
use crate::names::Names;
use crate::prelude::*;
use crate::teams::header::TeamHeader;
use crate::web::list::{Cell, Column, List, Times};
use crate::web::prelude::*;

/// Maximum number of dues on the page.
const MAX_DUES: i64 = 200;
/// Maximum number of statement lines on the page.
const MAX_LINES: usize = 50;

/// A visitor who may see their own family's dues.
type Member = Visitor<OrdersRead>;

/// The dues of one person in the family.
struct PersonDues {
    name: String,
    /// Open balance in each currency.
    open: Vec<String>,
    /// Overdue amount in each currency.
    overdue: Vec<String>,
    /// The next due date and its amount.
    next: Option<(kit::Day, String)>,
    rows: Vec<Row>,
}

impl PersonDues {
    fn list(&self, times: &Times) -> List {
        List::new(t!("Dues of {name}", name = self.name), FAMILY, &self.rows, times)
    }
}

/// A line of the statement, and the person the due is for if the family has several.
type HistoryLine = (statement::Line, Option<String>);

const HISTORY: &[Column<HistoryLine>] = &[
    Column::page("Action", |(line, person)| {
        let action = Cell::text(formatting::movement(line.kind));
        let Some(title) = &line.title else { return action };
        let person = person.iter().map(|person| Cell::text(", ").and(Cell::name(person)));
        action.and(person.fold(Cell::name(title), Cell::and).about())
    }),
    Column::number("Balance change", |(line, _)| {
        formatting::signed(line.balance_change, line.currency)
    }),
    Column::number("Credit", |(line, _)| formatting::signed(line.credit_change, line.currency)),
    Column::page("Date", |(line, _)| Cell::Time(line.at)),
];

#[derive(Template)]
#[template(path = "dues/family.html")]
struct FamilyPage {
    frame: Frame,
    /// The header of the team, if only its dues are shown.
    header: Option<TeamHeader>,
    data: PageData,
    history: List,
    card_payments: bool,
    times: Times,
}

/// The data of the page.
#[derive(Default)]
struct PageData {
    totals: Vec<Total>,
    people: Vec<PersonDues>,
    lines: Vec<HistoryLine>,
    /// The teams whose statements the visitor may read.
    teams: Vec<(TeamId, String)>,
    zone: Option<Zone>,
}

pub(super) async fn list(visitor: Member) -> PageResult {
    // A signed-in user may not belong to a club yet.
    let header = TeamHeader::from_query(&visitor).await?;
    let team = header.as_ref().map(|header| header.team.id);
    let data = match visitor.visit.club {
        Some(_) => {
            let roster_access = visitor.roster_access().await?;
            visitor.read(move |db| load(db, roster_access, team)).await?
        }
        None => PageData::default(),
    };
    let times = (visitor.app().clock.now(), data.zone.clone().unwrap_or_else(Zone::utc));
    let frame = visitor.frame(t!("Dues"), Section::MyDues);
    let page = FamilyPage {
        frame: team.map_or(frame.clone(), |team| frame.team(team)),
        header,
        history: List::new(t!("History"), HISTORY, &data.lines, &times),
        data,
        card_payments: visitor.app().cards.is_some(),
        times,
    };
    render(StatusCode::OK, &page)
}

/// The dues of the family, and its statement unless only the dues of one team are shown.
fn load(db: &Reader<'_>, roster_access: RosterAccess, team_id: Option<TeamId>) -> Result<PageData> {
    let zone = Some(account::find(db)?.timezone);
    let ids: Vec<_> = roster_access.managed_team_ids.iter().map(ToString::to_string).collect();
    let team_names = Names::load(db, ids.iter().map(String::as_str))?;
    let teams: Vec<_> = roster_access
        .managed_team_ids
        .iter()
        .zip(&ids)
        .map(|(id, text)| (*id, team_names.get_or_id(text).to_owned()))
        .collect();
    let Some(own) = roster_access.own_person_ids.first().copied() else {
        return Ok(PageData { teams, zone, ..PageData::default() });
    };
    let own_ids = roster_access.own_person_ids.clone();
    // This page is about the family only, not about teams that the visitor manages.
    let access = RosterAccess { managed_team_ids: Vec::new(), ..roster_access }
        .team_access(AccessLevel::Family);
    let page = Page { limit: MAX_DUES, order: Order::Desc, last: None };
    let filter = DueFilter { team_id, ..DueFilter::default() };
    let dues = due::list(db, &access, &filter, &page)?;
    let (mut totals, mut lines) = (Vec::new(), Vec::new());
    if team_id.is_none() {
        Statement { totals, lines, .. } = statement::of_person(db, &access, own)?;
    }
    let names = DisplayNames::for_dues(db, dues.iter())?;
    let person_by_due: HashMap<_, _> =
        dues.iter().map(|due| (due.id.to_string(), names.person(due.person_id))).collect();
    let people = dues_by_person(db, &names, dues, &own_ids)?;
    let line = |line: statement::Line| {
        let person = person_by_due.get(&line.subject).filter(|_| people.len() > 1).cloned();
        (line, person)
    };
    Ok(PageData {
        totals,
        lines: lines.into_iter().take(MAX_LINES).map(line).collect(),
        people,
        teams,
        zone,
    })
}

/// The dues of each person in the family; people with an open balance come first.
fn dues_by_person(
    db: &Reader<'_>,
    names: &DisplayNames,
    dues: Vec<DueView>,
    own_ids: &[PersonId],
) -> Result<Vec<PersonDues>> {
    let mut by_person: BTreeMap<PersonId, Vec<DueView>> = BTreeMap::new();
    for due in dues {
        by_person.entry(due.person_id).or_default().push(due);
    }
    let people = by_person.into_iter().map(|(person, dues)| {
        let installments =
            dues.iter().filter_map(|due| Some((formatting::next_installment(due)?, due.currency)));
        let next = installments.min_by_key(|((day, _), _)| *day);
        Ok(PersonDues {
            name: names.person(person),
            open: totals_by_currency(&dues, |due| due.balance),
            overdue: totals_by_currency(&dues, formatting::overdue),
            next: next.map(|((day, amount), currency)| (day, formatting::money(amount, currency))),
            rows: rows(db, dues, own_ids)?,
        })
    });
    let mut people = people.collect::<Result<Vec<_>>>()?;
    people.sort_by_key(|person| person.open.is_empty());
    Ok(people)
}

/// The total of an amount in each currency, without zero totals.
fn totals_by_currency(dues: &[DueView], of: fn(&DueView) -> i64) -> Vec<String> {
    let mut sums: BTreeMap<Currency, i64> = BTreeMap::new();
    for due in dues {
        *sums.entry(due.currency).or_default() += of(due);
    }
    let some = sums.into_iter().filter(|(_, sum)| *sum > 0);
    some.map(|(currency, sum)| formatting::money(sum, currency)).collect()
}

#[derive(Template)]
#[template(path = "dues/one.html")]
struct OnePage {
    frame: Frame,
    due: NamedDue,
    payments: Vec<PaymentRow>,
    /// Amounts that can be paid by card, in minor units, with button labels. Empty if card payments are not set up.
    payable: Vec<(i64, String)>,
    zone: Zone,
}

/// A due that the visitor may see, with its payments.
pub(super) struct VisibleDue {
    pub(super) due: NamedDue,
    pub(super) payments: Vec<PaymentRow>,
    pub(super) zone: Zone,
}

pub(super) fn load_visible(db: &Reader<'_>, access: &TeamAccess, id: DueId) -> Result<VisibleDue> {
    Ok(VisibleDue {
        due: NamedDue::new(db, &due::find(db, access, id)?)?,
        payments: PaymentRow::of_due(db, id, false)?,
        zone: account::find(db)?.timezone,
    })
}

/// The amounts that can be paid by card: the next installment and the open balance.
fn payable(due: &DueView) -> Vec<(i64, String)> {
    let money = |minor| formatting::money(minor, due.currency);
    let pay_next =
        |amount| t!("Pay the next installment ({amount}) by card", amount = money(amount));
    let pay_all = |amount| t!("Pay {amount} by card", amount = money(amount));
    let next = formatting::next_installment(due)
        .map(|(_, amount)| amount)
        .filter(|amount| *amount < due.balance);
    let next = next.map(|amount| (amount, pay_next(amount)));
    let all = (due.balance > 0).then(|| (due.balance, pay_all(due.balance)));
    next.into_iter().chain(all).collect()
}

pub(super) async fn one(visitor: Member, PathParams(id): PathParams<DueId>) -> PageResult {
    let access = visitor.team_access().await?;
    let VisibleDue { due, payments, zone } =
        visitor.read(move |db| load_visible(db, &access, id)).await?;
    let cards = visitor.app().cards.clone();
    let page = OnePage {
        frame: visitor.frame(due.title.clone(), Section::MyDues),
        payments,
        payable: cards.as_ref().map(|_| payable(&due)).unwrap_or_default(),
        due,
        zone,
    };
    render_with_cards(cards.as_ref(), &page)
}
