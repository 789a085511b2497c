//! The statement of a team, for the treasurer and for those who lead the team. It can be printed.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::{Currency, Timestamp, Zone};

use super::{Treasurer, show, shown};
use crate::accounts::permits::OrdersOversee;
use crate::dues::statement::{self, Sums, TeamStatement};
use crate::ids::{PersonId, TeamId};
use crate::teams::team::{self, Team};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Visitor};

/// The sums of one row, without the currency.
struct Row {
    payer: Option<PersonId>,
    name: String,
    charged: String,
    discounted: String,
    late_fees: String,
    waived: String,
    paid: String,
    refunded: String,
    credit: String,
    open: String,
    overdue: String,
    late: bool,
}

impl Row {
    fn new(payer: Option<PersonId>, name: String, currency: Currency, sums: &Sums) -> Self {
        let plain = |minor| shown::plain(minor, currency);
        Self {
            payer,
            name,
            charged: plain(sums.charged),
            discounted: plain(sums.discounted),
            late_fees: plain(sums.late_fees),
            waived: plain(sums.waived),
            paid: plain(sums.paid),
            refunded: plain(sums.refunded),
            credit: plain(sums.credit),
            open: plain(sums.open),
            overdue: plain(sums.overdue),
            late: sums.overdue > 0,
        }
    }
}

/// Everything in one currency.
struct Part {
    currency: String,
    rows: Vec<Row>,
    sum: Row,
}

/// What the page says, whoever looks at it.
struct View {
    team: Team,
    parts: Vec<Part>,
    at: Timestamp,
    zone: Zone,
    late: bool,
    /// Whether the visitor looks after the club's money.
    treasurer: bool,
}

impl View {
    fn new(team: Team, statement: TeamStatement, treasurer: bool) -> Self {
        let parts = statement.totals.iter().map(|total| {
            let own = statement.families.iter().filter(|one| one.currency == total.currency);
            let row = |one: &statement::Family| {
                let name = one.payer_name.clone();
                Row::new(Some(one.payer_id), name, one.currency, &one.sums)
            };
            Part {
                currency: total.currency.code().to_owned(),
                rows: own.map(row).collect(),
                sum: Row::new(None, "Together".to_owned(), total.currency, &total.sums),
            }
        });
        let parts: Vec<_> = parts.collect();
        let late = parts.iter().any(|part| part.sum.late);
        Self { zone: team.timezone.clone(), team, parts, at: statement.at, late, treasurer }
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
            Some(super::remind::said(dues.into(), letters.into()))
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
