//! The statement of a team, for the treasurer and for those who lead the team. It can be printed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Currency, Timestamp, Zone};

use super::{Treasurer, show, shown};
use crate::accounts::permits::OrdersOversee;
use crate::dues::statement::{self, Sums, TeamStatement, Total};
use crate::ids::{PersonId, TeamId};
use crate::teams::team::{self, Team};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Visitor};

/// A column: its heading, what stands in it, and whether it is shown where that is nothing for everybody.
struct Column(&'static str, fn(&Sums) -> i64, bool);

const COLUMNS: [Column; 11] = [
    Column("Charged", |sums| sums.charged, true),
    Column("Discount", |sums| sums.discounted, false),
    Column("Late fees", |sums| sums.late_fees, false),
    Column("Waived", |sums| sums.waived, false),
    Column("Paid", |sums| sums.paid, true),
    Column("Of it ahead", |sums| sums.credited, false),
    Column("From credit", |sums| sums.credit_used, false),
    Column("Given back", |sums| sums.refunded, false),
    Column("Open", |sums| sums.open, true),
    Column("Overdue", |sums| sums.overdue, true),
    Column("Credit now", |sums| sums.credit, false),
];
/// The column that is to be seen first.
const FIRST: &str = "Open";

/// What stands in a row under a heading, without the currency.
struct Cell {
    label: &'static str,
    value: String,
    strong: bool,
}

/// The sums of one row.
struct Row {
    payer: Option<PersonId>,
    name: String,
    cells: Vec<Cell>,
}

/// Everything in one currency.
struct Part {
    currency: String,
    heads: Vec<String>,
    rows: Vec<Row>,
    sum: Row,
}

impl Part {
    fn new(statement: &TeamStatement, total: &Total) -> Self {
        let own = || statement.families.iter().filter(|one| one.currency == total.currency);
        let is_there =
            |Column(_, of, always): &&Column| *always || own().any(|one| of(&one.sums) != 0);
        let columns: Vec<_> = COLUMNS.iter().filter(is_there).collect();
        let row = |payer: Option<PersonId>, name: &str, sums: &Sums| Row {
            payer,
            name: name.to_owned(),
            cells: cells(&columns, sums, total.currency),
        };
        let head = |Column(label, ..): &&Column| format!("#{label}");
        let family = std::iter::once("Family".to_owned());
        Self {
            currency: total.currency.code().to_owned(),
            heads: family.chain(columns.iter().map(head)).collect(),
            rows: own().map(|one| row(Some(one.payer_id), &one.payer_name, &one.sums)).collect(),
            sum: row(None, "Together", &total.sums),
        }
    }
}

fn cells(columns: &[&Column], sums: &Sums, currency: Currency) -> Vec<Cell> {
    let cell = |Column(label, of, _): &&Column| Cell {
        label,
        value: shown::plain(of(sums), currency),
        strong: *label == FIRST || (*label == "Overdue" && sums.overdue > 0),
    };
    columns.iter().map(cell).collect()
}

/// What the page says, whoever looks at it.
struct View {
    team: Team,
    parts: Vec<Part>,
    at: Timestamp,
    zone: Zone,
    late: bool,
    /// Whether something was paid ahead, or with what had been.
    credit: bool,
    /// Whether the visitor looks after the club's money.
    treasurer: bool,
}

impl View {
    fn new(team: Team, statement: TeamStatement, treasurer: bool) -> Self {
        let parts = statement.totals.iter().map(|total| Part::new(&statement, total)).collect();
        let late = statement.totals.iter().any(|total| total.sums.overdue > 0);
        let (zone, at) = (team.timezone.clone(), statement.at);
        let credit = statement
            .families
            .iter()
            .any(|one| one.sums.credited != 0 || one.sums.credit_used != 0);
        Self { team, parts, at, zone, late, credit, treasurer }
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

pub(super) async fn of_treasurer(visitor: Treasurer, At(id): At<TeamId>) -> Outcome<Response> {
    let look = move |db: &store::Reader<'_>| Ok((team::find(db, id)?, statement::of_team(db, id)?));
    let (team, statement) = visitor.read(look).await?;
    let query = visitor.guest.query()?;
    let counted = |name: &str| query.text(name).parse::<u32>().ok();
    let flash = match (query.text("done"), counted("dues"), counted("letters")) {
        ("reminded", Some(dues), Some(letters)) => {
            Some(super::remind::said(&visitor, dues.into(), letters.into()))
        }
        _ => None,
    };
    let frame = visitor.frame(format!("Statement of {}", team.name), Section::Dues).flash(flash);
    show(StatusCode::OK, &TreasurersPage { frame, view: View::new(team, statement, true) })
}

pub(super) async fn of_coach(
    visitor: Visitor<OrdersOversee>,
    At(id): At<TeamId>,
) -> Outcome<Response> {
    let reach = visitor.reach().await?;
    let look = move |db: &store::Reader<'_>| {
        reach.check(id)?;
        Ok((team::find(db, id)?, statement::of_team(db, id)?))
    };
    let (team, statement) = visitor.read(look).await?;
    let frame = visitor.frame(format!("Statement of {}", team.name), Section::OwnDues);
    show(StatusCode::OK, &CoachesPage { frame, view: View::new(team, statement, false) })
}
