//! The list of all dues in the admin area, with totals and filters.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Day;
use kit::string_enum::StringEnum;
use store::Reader;

use super::formatting::{self, DisplayNames};
use super::{LIST_PATH, Treasurer, render};
use crate::dues::due::{self, Category, DueFilter, DueView, Status};
use crate::dues::statement;
use crate::dues::totals::{self, DueTotals};
use crate::error::Result;
use crate::ids::{DueId, PersonId, TeamId};
use crate::paging::{Order, Page};
use crate::rights::TeamAccess;
use crate::teams::team::{self, TeamFilter};
use crate::web::form::Form;
use crate::web::page::{Flash, Frame, Section};
use crate::web::row_page::{ListRequest, RowPage};
use crate::web::visitor::PageResult;

/// Maximum number of teams in the filter.
const MAX_TEAMS: i64 = 200;
/// Confirmation messages, by the `done` parameter.
const DONE: [(&str, &str); 2] = [
    ("charged", "The members were charged."),
    ("before", "You already submitted this form. Nobody was charged twice."),
];
/// Options of the status filter.
const STATES: [(&str, &str); 7] = [
    (UNPAID, "Unpaid or partially paid"),
    ("overdue", "Overdue"),
    ("open", "Open (nothing paid yet)"),
    ("partially_paid", "Partially paid"),
    ("paid", "Paid"),
    ("waived", "Waived"),
    (RECEIVED, "With payments"),
];
/// Dues with an open balance.
const UNPAID: &str = "unpaid";
/// Dues with payments.
const RECEIVED: &str = "received";

/// A row of the list.
pub(super) struct Row {
    pub(super) id: DueId,
    pub(super) person: String,
    pub(super) payer_id: PersonId,
    pub(super) payer: String,
    pub(super) title: String,
    pub(super) team: String,
    pub(super) state: (&'static str, &'static str),
    pub(super) amount: String,
    pub(super) paid: String,
    pub(super) open: String,
    pub(super) overdue: String,
    pub(super) next: Option<Day>,
}

/// The tiles of one currency: each has an amount and a link to the dues that add up to it.
struct Tiles {
    open: (String, String),
    overdue: (String, String),
    paid: (String, String),
}

impl Tiles {
    fn new(totals: &DueTotals, filter: &ListQuery, currencies: usize) -> Self {
        let money = |minor| formatting::money(minor, totals.currency);
        // With a single currency the link needs no currency filter.
        let currency = if currencies > 1 { totals.currency.code() } else { "" };
        Self {
            open: (money(totals.outstanding), filter.url_with(UNPAID, currency)),
            overdue: (money(totals.overdue), filter.url_with("overdue", currency)),
            paid: (money(totals.paid), filter.url_with(RECEIVED, currency)),
        }
    }
}

/// The totals of the list in one currency, as a sentence.
fn totals_sentence(totals: &DueTotals) -> String {
    let money = |minor| formatting::money(minor, totals.currency);
    let noun = if totals.dues == 1 { "due" } else { "dues" };
    let overdue = match totals.overdue {
        0 => String::new(),
        overdue => format!(", {} overdue", money(overdue)),
    };
    let waived = match totals.charged - totals.paid - totals.outstanding {
        0 => String::new(),
        waived => format!(", {} waived", money(waived)),
    };
    let (charged, paid, open) =
        (money(totals.charged), money(totals.paid), money(totals.outstanding));
    format!("{} {noun}: {charged} charged, {paid} paid{waived}, {open} open{overdue}.", totals.dues)
}

#[derive(Template)]
#[template(path = "dues/list.html")]
struct ListPage {
    frame: Frame,
    tiles: Vec<Tiles>,
    rows: Vec<Row>,
    /// Totals of all matching dues, not only those on this page.
    totals: Vec<String>,
    heads: Vec<&'static str>,
    /// Name of the payer, if the list is filtered by one.
    payer: String,
    next: String,
    /// Whether there are any dues, or a filter is set.
    has_dues: bool,
    filtered: bool,
    has_overdue: bool,
    query: ListQuery,
    teams: Vec<(TeamId, String)>,
    states: [(&'static str, &'static str); STATES.len()],
    categories: Vec<(&'static str, &'static str)>,
}

/// The filter as submitted.
#[derive(Debug, Clone)]
struct ListQuery {
    status: String,
    team: String,
    category: String,
    currency: String,
    q: String,
    charge: String,
    payer: String,
}

impl ListQuery {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            status: text("status"),
            team: text("team"),
            category: text("category"),
            currency: text("currency"),
            q: text("q"),
            charge: text("charge"),
            payer: text("payer"),
        }
    }

    /// All filters except the status, as query parameters.
    fn other_filters(&self) -> [(&'static str, &str); 6] {
        [
            ("team", &self.team),
            ("category", &self.category),
            ("currency", &self.currency),
            ("q", &self.q),
            ("charge", &self.charge),
            ("payer", &self.payer),
        ]
    }

    fn is_any(&self) -> bool {
        !self.status.is_empty() || self.other_filters().iter().any(|(_, text)| !text.is_empty())
    }

    /// The parsed filter. Invalid values are ignored.
    fn filter(&self) -> DueFilter {
        DueFilter {
            team_id: self.team.parse().ok(),
            charge_id: self.charge.parse().ok(),
            payer_id: self.payer.parse().ok(),
            status: Status::parse(&self.status),
            overdue: (self.status == "overdue").then_some(true),
            unpaid: (self.status == UNPAID).then_some(true),
            received: (self.status == RECEIVED).then_some(true),
            currency: self.currency.parse().ok(),
            category: Category::parse(&self.category),
            q: Some(self.q.clone()).filter(|q| !q.is_empty()),
            ..DueFilter::default()
        }
    }

    fn is_team(&self, id: &TeamId) -> bool {
        self.team == id.to_string()
    }

    fn is_overdue(&self) -> bool {
        self.status == "overdue"
    }

    /// The totals for the tiles, which ignore status and currency, and those of the list.
    fn totals(&self, db: &Reader<'_>) -> Result<(Vec<DueTotals>, Vec<DueTotals>)> {
        let totals_of =
            |query: &Self| totals::of_filter(db, &TeamAccess::AllTeams, &query.filter());
        let any_status = Self { status: String::new(), currency: String::new(), ..self.clone() };
        Ok((totals_of(&any_status)?, totals_of(self)?))
    }

    /// The name of the payer that the list is filtered by.
    fn payer(&self, db: &Reader<'_>) -> Result<String> {
        let payers = self.payer.parse().ok().into_iter().collect();
        Ok(statement::names(db, payers)?.into_values().next().unwrap_or_default())
    }

    /// The URL of the same list with this status and currency.
    fn url_with(&self, status: &str, currency: &str) -> String {
        let others = self.other_filters().into_iter().filter(|(name, _)| *name != "currency");
        let others = others.chain([("currency", currency)]).filter(|(_, value)| !value.is_empty());
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("status", status).extend_pairs(others);
        format!("{LIST_PATH}?{}", query.finish())
    }
}

/// The teams that match a filter: id and name.
pub(super) fn teams(db: &Reader<'_>, filter: &TeamFilter) -> Result<Vec<(TeamId, String)>> {
    let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
    let teams = team::list(db, &TeamAccess::AllTeams, filter, &page)?;
    Ok(teams.into_iter().map(|team| (team.id, team.name)).collect())
}

/// The rows for these dues.
pub(super) fn rows(db: &Reader<'_>, dues: &[DueView]) -> Result<Vec<Row>> {
    let names = DisplayNames::for_dues(db, dues.iter())?;
    let row = |due: &DueView| Row {
        id: due.id,
        person: names.person(due.person_id),
        payer_id: due.payer_id,
        payer: names.person(due.payer_id),
        title: due.title.clone(),
        team: names.team(due.team_id),
        state: formatting::state(due),
        amount: formatting::money(due.amount - due.discount + due.late_fee_charged, due.currency),
        paid: formatting::money(due.paid, due.currency),
        open: formatting::money(due.balance, due.currency),
        overdue: formatting::money(formatting::overdue(due), due.currency),
        next: due.next_due_on,
    };
    Ok(dues.iter().map(row).collect())
}

pub(super) async fn list(visitor: Treasurer) -> PageResult<Response> {
    let asked = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let query = ListQuery::read(&asked.form);
    let filter = query.filter();
    let page = move |db: &Reader<'_>, page: &Page<DueId>| {
        due::list(db, &TeamAccess::AllTeams, &filter, page)
    };
    let RowPage { rows: dues, next } = RowPage::read(&visitor, &asked, page).await?;
    let submitted = query.clone();
    let load = move |db: &Reader<'_>| {
        let teams = teams(db, &TeamFilter::default())?;
        Ok((submitted.totals(db)?, teams, rows(db, &dues)?, submitted.payer(db)?))
    };
    let ((all, listed), teams, rows, payer) = visitor.read(load).await?;
    let filtered = query.is_any();
    let amount_head = if query.is_overdue() { "#Overdue" } else { "#Paid" };
    let frame = visitor.frame("Dues", Section::Dues);
    let page = ListPage {
        frame: frame.flash(flash(&visitor)),
        has_overdue: all.iter().any(|totals| totals.overdue > 0),
        tiles: all.iter().map(|totals| Tiles::new(totals, &query, all.len())).collect(),
        totals: listed.iter().map(totals_sentence).collect(),
        heads: vec!["Member", "Status", "#Charged", amount_head, "#Open balance", "Next due date"],
        has_dues: filtered || !rows.is_empty(),
        rows,
        payer,
        next,
        filtered,
        query,
        teams,
        states: STATES,
        categories: formatting::categories(),
    };
    render(StatusCode::OK, &page)
}

/// The confirmation message after an action.
fn flash(visitor: &Treasurer) -> Option<Flash> {
    let query = visitor.guest.query().ok()?;
    if query.text("done") != "reminded" {
        return visitor.guest.done_flash(&DONE);
    }
    let dues: u32 = query.text("dues").parse().ok()?;
    let emails: u32 = query.text("emails").parse().ok()?;
    Some(super::remind::confirmation(visitor, dues.into(), emails.into()))
}

/// Path of the list of dues created by a charge, with a confirmation message.
pub(super) fn charge_list_path(charge: &str, done: &str) -> String {
    format!("{LIST_PATH}?charge={charge}&done={done}")
}
