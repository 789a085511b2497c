//! The printable statement of a team, for treasurers and for the team's managers.

use super::{Treasurer, formatting, render};
use crate::dues::statement::{self, Sums, TeamStatement, Total};
use crate::prelude::*;
use crate::shop::OrdersOversee;
use crate::teams::team::{self, Team};
use crate::web::prelude::*;

/// A column: its heading, its value, and whether it is shown even if it is zero in every row.
struct Column(&'static str, fn(&Sums) -> i64, bool);

const COLUMNS: [Column; 11] = [
    Column(mark!("Charged"), |sums| sums.charged, true),
    Column(mark!("Discount"), |sums| sums.discounted, false),
    Column(mark!("Late fees"), |sums| sums.late_fees, false),
    Column(mark!("Waived"), |sums| sums.waived, false),
    Column(mark!("Paid"), |sums| sums.paid, true),
    Column(mark!("Overpaid"), |sums| sums.overpaid, false),
    Column(mark!("From credit"), |sums| sums.credit_applied, false),
    Column(mark!("Refunded"), |sums| sums.refunded, false),
    Column(mark!("Open balance"), |sums| sums.outstanding, true),
    Column(mark!("Overdue"), |sums| sums.overdue, true),
    Column(mark!("Current credit"), |sums| sums.credit, false),
];
/// The emphasized column.
const EMPHASIZED: &str = "Open balance";

/// A cell of a row: an amount without the currency.
struct Cell {
    label: &'static str,
    value: String,
    strong: bool,
}

/// A row: one payer, or the total.
struct Row {
    payer: Option<PersonId>,
    name: String,
    cells: Vec<Cell>,
}

/// The table of one currency.
struct CurrencyTable {
    currency: String,
    heads: Vec<String>,
    rows: Vec<Row>,
    sum: Row,
}

impl CurrencyTable {
    fn new(statement: &TeamStatement, total: &Total) -> Self {
        let families =
            || statement.payers.iter().filter(|family| family.currency == total.currency);
        let is_shown = |Column(_, of, always): &&Column| {
            *always || families().any(|family| of(&family.sums) != 0)
        };
        let columns: Vec<_> = COLUMNS.iter().filter(is_shown).collect();
        let row = |payer: Option<PersonId>, name: &str, sums: &Sums| Row {
            payer,
            name: name.to_owned(),
            cells: cells(&columns, sums, total.currency),
        };
        let head = |Column(label, ..): &&Column| format!("#{}", t!(*label));
        let first_head = std::iter::once(t!("Family").to_owned());
        Self {
            currency: total.currency.code().to_owned(),
            heads: first_head.chain(columns.iter().map(head)).collect(),
            rows: families()
                .map(|family| row(Some(family.payer_id), &family.payer_name, &family.sums))
                .collect(),
            sum: row(None, t!("Total"), &total.sums),
        }
    }
}

fn cells(columns: &[&Column], sums: &Sums, currency: Currency) -> Vec<Cell> {
    let cell = |Column(label, of, _): &&Column| Cell {
        label: t!(*label),
        value: formatting::plain(of(sums), currency),
        strong: *label == EMPHASIZED || (*label == "Overdue" && sums.overdue > 0),
    };
    columns.iter().map(cell).collect()
}

/// The content of the page, for treasurers and managers alike.
struct View {
    team: Team,
    tables: Vec<CurrencyTable>,
    at: Timestamp,
    zone: Zone,
    has_overdue: bool,
    /// Whether there are overpayments or payments from credit.
    has_credit: bool,
    /// Whether the visitor is a treasurer.
    is_treasurer: bool,
}

impl View {
    fn new(team: Team, statement: TeamStatement, treasurer: bool) -> Self {
        let parts =
            statement.totals.iter().map(|total| CurrencyTable::new(&statement, total)).collect();
        let late = statement.totals.iter().any(|total| total.sums.overdue > 0);
        let (zone, at) = (team.timezone.clone(), statement.at);
        let credit = statement
            .payers
            .iter()
            .any(|family| family.sums.overpaid != 0 || family.sums.credit_applied != 0);
        Self {
            team,
            tables: parts,
            at,
            zone,
            has_overdue: late,
            has_credit: credit,
            is_treasurer: treasurer,
        }
    }
}

#[derive(Template)]
#[template(path = "dues/team.html")]
struct TreasurersPage {
    frame: Frame,
    view: View,
}

#[derive(Template)]
#[template(path = "dues/team_own.html")]
struct CoachesPage {
    frame: Frame,
    view: View,
}

fn statement_title(team: &Team) -> String {
    t!("Statement of {team}", team = team.name)
}

pub(super) async fn of_treasurer(
    visitor: Treasurer,
    PathParams(id): PathParams<TeamId>,
) -> PageResult<Response> {
    let load = move |db: &store::Reader<'_>| Ok((team::find(db, id)?, statement::of_team(db, id)?));
    let (team, statement) = visitor.read(load).await?;
    let query = visitor.guest.query()?;
    let count = |name: &str| query.text(name).parse::<u32>().ok();
    let flash = match (query.text("done"), count("dues"), count("emails")) {
        ("reminded", Some(dues), Some(emails)) => {
            Some(super::remind::confirmation(&visitor, dues.into(), emails.into()))
        }
        _ => None,
    };
    let frame = visitor.frame(statement_title(&team), Section::Dues).flash(flash);
    render(StatusCode::OK, &TreasurersPage { frame, view: View::new(team, statement, true) })
}

pub(super) async fn of_coach(
    visitor: Visitor<OrdersOversee>,
    PathParams(id): PathParams<TeamId>,
) -> PageResult<Response> {
    let access = visitor.team_access().await?;
    let load = move |db: &store::Reader<'_>| {
        access.check(id)?;
        Ok((team::find(db, id)?, statement::of_team(db, id)?))
    };
    let (team, statement) = visitor.read(load).await?;
    let frame = visitor.frame(statement_title(&team), Section::MyDues);
    render(StatusCode::OK, &CoachesPage { frame, view: View::new(team, statement, false) })
}
