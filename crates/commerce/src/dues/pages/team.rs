//! The printable statement of a team, for treasurers and for the team's managers.

use std::borrow::Borrow;

use super::{Treasurer, formatting, remind};
use crate::dues::statement::{self, PayerTotals, Sums, TeamStatement};
use crate::prelude::*;
use crate::shop::OrdersOversee;
use crate::teams::header::TeamHeader;
use crate::teams::team::{self, Team};
use crate::web::prelude::*;

/// A column: its heading, its value, and whether it is shown even if it is zero in every row.
struct Column(&'static str, fn(&Sums) -> i64, bool);

static COLUMNS: [Column; 11] = [
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

impl Column {
    fn label(&self) -> &'static str {
        t!(self.0)
    }

    /// An amount without the currency.
    fn amount(&self, sums: &Sums, currency: impl Borrow<Currency>) -> String {
        formatting::plain((self.1)(sums), *currency.borrow())
    }

    fn is_emphasized(&self, sums: &Sums) -> bool {
        self.0 == EMPHASIZED || (self.0 == "Overdue" && sums.overdue > 0)
    }
}

/// The content of the page, for treasurers and managers alike.
struct View {
    team: Team,
    statement: TeamStatement,
    /// Whether the visitor is a treasurer.
    is_treasurer: bool,
}

impl View {
    /// The families with amounts in this currency.
    fn families(&self, currency: &Currency) -> impl Iterator<Item = &PayerTotals> {
        self.statement.payers.iter().filter(move |family| family.currency == *currency)
    }

    /// The columns of the table of this currency.
    fn columns(&self, currency: impl Borrow<Currency>) -> Vec<&'static Column> {
        let is_shown = |Column(_, of, always): &&Column| {
            *always || self.families(currency.borrow()).any(|family| of(&family.sums) != 0)
        };
        COLUMNS.iter().filter(is_shown).collect()
    }

    fn heads(columns: &[&Column]) -> Vec<String> {
        let heads = columns.iter().map(|column| format!("#{}", column.label()));
        std::iter::once(t!("Family").to_owned()).chain(heads).collect()
    }

    fn has_overdue(&self) -> bool {
        self.statement.totals.iter().any(|total| total.sums.overdue > 0)
    }

    /// Whether there are overpayments or payments from credit.
    fn has_credit(&self) -> bool {
        let families = &self.statement.payers;
        families.iter().any(|family| family.sums.overpaid != 0 || family.sums.credit_applied != 0)
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
    header: TeamHeader,
    view: View,
}

fn statement_title(team: &Team) -> String {
    t!("Statement of {team}", team = team.name)
}

pub(super) async fn of_treasurer(
    visitor: Treasurer,
    PathParams(id): PathParams<TeamId>,
) -> PageResult {
    let load = move |db: &store::Reader<'_>| Ok((team::find(db, id)?, statement::of_team(db, id)?));
    let (team, statement) = visitor.read(load).await?;
    let frame = visitor.frame(statement_title(&team), Section::Dues);
    let frame = frame.flash(remind::flash(&visitor)?);
    let view = View { team, statement, is_treasurer: true };
    render(StatusCode::OK, &TreasurersPage { frame, view })
}

pub(super) async fn of_coach(
    visitor: Visitor<OrdersOversee>,
    PathParams(id): PathParams<TeamId>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let load = move |db: &store::Reader<'_>| {
        Ok((TeamHeader::load(db, &access, id)?, statement::of_team(db, id)?))
    };
    let (header, statement) = visitor.read(load).await?;
    let team = header.team.clone();
    let frame = visitor.frame(statement_title(&team), Section::MyTeams).team(id);
    let view = View { team, statement, is_treasurer: false };
    render(StatusCode::OK, &CoachesPage { frame, header, view })
}
