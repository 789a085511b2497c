//! The list of all dues in the admin area, with totals and filters.

use super::formatting::{self, DisplayNames};
use super::{LIST_PATH, OWN_DUES_PATH, Treasurer, remind};
use crate::dues::due::{self, Category, DueFilter, DueView, Status};
use crate::dues::export::DuesTable;
use crate::dues::statement;
use crate::dues::totals::{self, DueTotals};
use crate::i18n::{Locale, format};
use crate::money::pages::teams;
use crate::prelude::*;
use crate::teams::team::TeamFilter;
use crate::web::export::ExportSource;
use crate::web::list::{Cell, Column, FilterBar, List};
use crate::web::prelude::*;

/// Confirmation messages, by the `done` parameter.
const DONE: [(&str, &str); 2] = [
    ("charged", mark!("The members were charged.")),
    ("before", mark!("You already submitted this form. Nobody was charged twice.")),
];
/// Options of the status filter.
const STATES: [(&str, &str); 7] = [
    (UNPAID, mark!("Unpaid or partially paid")),
    ("overdue", mark!("Overdue")),
    ("open", mark!("Open (nothing paid yet)")),
    ("partially_paid", mark!("Partially paid")),
    ("paid", mark!("Paid")),
    ("waived", mark!("Waived")),
    (RECEIVED, mark!("With payments")),
];
/// Dues with an open balance.
const UNPAID: &str = "unpaid";
/// Dues with payments.
const RECEIVED: &str = "received";

/// A row of a list of dues.
pub(super) struct Row {
    due: DueView,
    person: String,
    /// The payer, unless the page is for the payer.
    payer: Option<String>,
    team: String,
}

const MEMBER: Column<Row> = Column::page("Member", |row| {
    let about = Cell::name(&row.due.title).and(Cell::text(" · ")).and(Cell::name(&row.team));
    Cell::name(&row.person).link(format!("{LIST_PATH}/{}", row.due.id)).and(about.about())
});
const STATUS: Column<Row> = Column::page("Status", |row| Cell::Badge(formatting::state(&row.due)));
const CHARGED: Column<Row> = Column::number("Charged", |Row { due, .. }| {
    amount(due, due.amount - due.discount + due.late_fee_charged)
});
const PAID: Column<Row> = Column::number("Paid", |row| amount(&row.due, row.due.paid));
const OVERDUE: Column<Row> =
    Column::number("Overdue", |row| amount(&row.due, formatting::overdue(&row.due)));
const OPEN: Column<Row> = Column::number("Open balance", |row| amount(&row.due, row.due.balance));
const NEXT: Column<Row> =
    Column::page("Next due date", |row| Cell::day_or_dash(row.due.next_due_on));

const COLUMNS: &[Column<Row>] = &[MEMBER, STATUS, CHARGED, PAID, OPEN, NEXT];
/// The columns while the list is filtered by overdue dues.
const OVERDUE_COLUMNS: &[Column<Row>] = &[MEMBER, STATUS, CHARGED, OVERDUE, OPEN, NEXT];
/// The columns of the dues of a person, for their family.
pub(super) const FAMILY: &[Column<Row>] = &[
    Column::page("Title", |row| {
        let label = || Cell::text(format_args!("· {} ", t!("Payer:")));
        let payer = row.payer.as_ref().map(|payer| label().and(Cell::name(payer)));
        let title = Cell::name(&row.due.title).link(format!("{OWN_DUES_PATH}/{}", row.due.id));
        title.and(Cell::name(&row.team).and_if(payer).about())
    }),
    STATUS,
    OPEN,
    NEXT,
];

fn amount(due: &DueView, minor: i64) -> Cell<'static> {
    Cell::Money(Money { minor, currency: due.currency })
}

/// A tile: a link to dues, the amount they add up to, and a label.
type Tile = (String, String, &'static str);

/// The tiles of one currency.
fn tiles(totals: &DueTotals, filters: &FilterBar, currencies: usize) -> [Tile; 3] {
    // With a single currency the link needs no currency filter.
    let currency = if currencies > 1 { totals.currency.code() } else { "" };
    let tiles = [
        (UNPAID, totals.outstanding, t!("Open balance")),
        ("overdue", totals.overdue, t!("Overdue")),
        (RECEIVED, totals.paid, t!("Paid")),
    ];
    tiles.map(|(status, minor, label)| {
        let href = url_with(filters, status, currency);
        (href, formatting::money(minor, totals.currency), label)
    })
}

/// The totals of the list in one currency, as a sentence.
fn totals_sentence(totals: &DueTotals) -> String {
    let money = |minor| formatting::money(minor, totals.currency);
    let waived = totals.charged - totals.paid - totals.outstanding;
    let amounts = [
        Some(t!("{amount} charged", amount = money(totals.charged))),
        Some(t!("{amount} paid", amount = money(totals.paid))),
        (waived != 0).then(|| t!("{amount} waived", amount = money(waived))),
        Some(t!("{amount} open", amount = money(totals.outstanding))),
        (totals.overdue != 0).then(|| t!("{amount} overdue", amount = money(totals.overdue))),
    ];
    let amounts = format::list(Locale::current_or_english(), amounts.into_iter().flatten());
    // Translators: {amounts} is a list such as "€100.00 charged, €20.00 paid and €80.00 open"
    tn!("{count} due: {amounts}.", "{count} dues: {amounts}.", totals.dues, amounts)
}

#[derive(Template)]
#[template(path = "dues/list.html")]
struct ListPage {
    frame: Frame,
    tiles: Vec<[Tile; 3]>,
    list: List,
    /// Totals of all matching dues, not only those on this page.
    totals: Vec<String>,
    /// Name of the payer, if the list is filtered by one.
    payer: String,
    has_overdue: bool,
    teams: Vec<(TeamId, String)>,
}

/// The dues that the filters ask for. Invalid values are ignored.
fn due_filter(filters: &FilterBar) -> DueFilter {
    let is_status = |status: &str| (filters.text("status") == status).then_some(true);
    DueFilter {
        team_id: filters.value("team"),
        charge_id: filters.value("charge"),
        payer_id: filters.value("payer"),
        status: Status::parse(filters.text("status")),
        overdue: is_status("overdue"),
        unpaid: is_status(UNPAID),
        received: is_status(RECEIVED),
        currency: filters.value("currency"),
        category: Category::parse(filters.text("category")),
        q: filters.search("q"),
        ..DueFilter::default()
    }
}

/// The filters above the list.
fn filter_bar(query: &Form) -> FilterBar {
    FilterBar::new(query)
        .select("status", "Status", "All", STATES.map(|(value, label)| (value, t!(label))))
        .select_later("team", "Team", "All")
        .select("category", "Category", "All", formatting::categories())
        .input("q", "Name or title", "search")
        .input("charge", "", "hidden")
        .input("payer", "", "hidden")
        .input("currency", "", "hidden")
        .clear(LIST_PATH)
}

/// The URL of the same list with this status and currency.
fn url_with(filters: &FilterBar, status: &str, currency: &str) -> String {
    let others = filters.pairs().filter(|(name, _)| !["status", "currency"].contains(name));
    let currency = Some(("currency", currency)).filter(|(_, code)| !code.is_empty());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("status", status).extend_pairs(others.chain(currency));
    format!("{LIST_PATH}?{}", query.finish())
}

/// The rows for these dues, on a page for a payer with these person records.
pub(super) fn rows(db: &Reader<'_>, dues: Vec<DueView>, own: &[PersonId]) -> Result<Vec<Row>> {
    let names = DisplayNames::for_dues(db, dues.iter())?;
    let row = |due: DueView| Row {
        person: names.person(due.person_id),
        payer: (!own.contains(&due.payer_id)).then(|| names.person(due.payer_id)),
        team: names.team(due.team_id),
        due,
    };
    Ok(dues.into_iter().map(row).collect())
}

pub(super) async fn list(visitor: Treasurer) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let filters = filter_bar(&request.form);
    let filter = due_filter(&filters);
    let page = move |db: &Reader<'_>, page: &Page<DueId>| {
        due::list(db, &TeamAccess::AllTeams, &filter, page)
    };
    let RowPage { rows: dues, next } = RowPage::read(&visitor, &request, page).await?;
    let filter = due_filter(&filters);
    let load = move |db: &Reader<'_>| {
        let teams = teams::list(db, &TeamFilter::default())?;
        let payers = filter.payer_id.into_iter().collect();
        let payer = statement::names(db, payers)?.into_values().next().unwrap_or_default();
        let totals_of = |filter: &DueFilter| totals::of_filter(db, &TeamAccess::AllTeams, filter);
        let listed = totals_of(&filter)?;
        // The totals of the tiles ignore status and currency.
        let all = totals_of(&DueFilter {
            status: None,
            overdue: None,
            unpaid: None,
            received: None,
            currency: None,
            ..filter
        })?;
        Ok((all, listed, teams, rows(db, dues, &[])?, payer))
    };
    let (all, listed, teams, rows, payer) = visitor.read(load).await?;
    let filters = filters.options("team", teams.iter().map(|(id, name)| (id, name)));
    let is_overdue = filters.text("status") == "overdue";
    let columns = if is_overdue { OVERDUE_COLUMNS } else { COLUMNS };
    let frame = visitor.frame(t!("Dues"), Section::Dues);
    let page = ListPage {
        frame: frame.flash(remind::flash(&visitor)?.or(visitor.guest.done_flash(&DONE))),
        has_overdue: all.iter().any(|totals| totals.overdue > 0),
        tiles: all.iter().map(|totals| tiles(totals, &filters, all.len())).collect(),
        totals: listed.iter().map(totals_sentence).collect(),
        list: List::new(t!("Dues"), columns, &rows, &visitor.times()).next(next).filters(filters),
        payer,
        teams,
    };
    render(StatusCode::OK, &page)
}

/// Path of the list of dues created by a charge, with a confirmation message.
pub(super) fn charge_list_path(charge: impl std::fmt::Display, done: &str) -> String {
    format!("{LIST_PATH}?charge={charge}&done={done}")
}

pub(super) async fn export(visitor: Treasurer) -> PageResult<Response> {
    let file = Download { table: DuesTable::default(), bom: true };
    Ok(file.send(ExportSource::of_club(&visitor)?, "dues.csv").await?)
}
