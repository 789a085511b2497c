//! What is owed to the club: in all, and due by due.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use kit::Day;
use kit::word::Word;
use store::Reader;

use super::shown::{self, Around};
use super::{LIST, Treasurer, show};
use crate::accounts::rights::Reach;
use crate::dues::due::{self, Category, DueFilter, Shown, Status};
use crate::dues::statement::{self, Total};
use crate::error::{Code, Result};
use crate::ids::{DueId, PersonId, TeamId};
use crate::paging::{Order, Page};
use crate::teams::team::{self, TeamFilter};
use crate::web::form::Form;
use crate::web::leaf::{Asked, Leaf};
use crate::web::page::{Flash, Frame, Section};
use crate::web::visitor::Outcome;

/// So many teams can be chosen from.
const TEAMS: i64 = 200;
/// What is said after something was done.
const DONE: [(&str, &str); 2] = [
    ("charged", "They were charged."),
    ("before", "This form was carried out once already; nothing was charged twice."),
];
/// How dues can stand, as one looks for them.
const STATES: [(&str, &str); 5] = [
    ("open", "Open"),
    ("overdue", "Overdue"),
    ("partially_paid", "Partly paid"),
    ("paid", "Paid"),
    ("waived", "Waived"),
];

/// A due as it is listed.
pub(super) struct Row {
    pub(super) id: DueId,
    pub(super) person: String,
    pub(super) payer_id: PersonId,
    pub(super) payer: String,
    pub(super) title: String,
    pub(super) team: String,
    pub(super) state: (&'static str, &'static str),
    pub(super) amount: String,
    pub(super) open: String,
    pub(super) next: Option<Day>,
}

/// The sums in one currency.
struct Sum {
    open: String,
    overdue: String,
    paid: String,
    note: String,
}

impl From<&Total> for Sum {
    fn from(Total { currency, sums }: &Total) -> Self {
        let money = |minor| shown::money(minor, *currency);
        let note = match sums.refunded {
            0 => String::new(),
            refunded => format!("{} given back", money(refunded)),
        };
        Self { open: money(sums.open), overdue: money(sums.overdue), paid: money(sums.paid), note }
    }
}

#[derive(Template)]
#[template(path = "dues/list.html")]
struct ListPage {
    frame: Frame,
    sums: Vec<Sum>,
    rows: Vec<Row>,
    /// Whose dues these are, if only one family's are looked for.
    payer: String,
    next: String,
    /// Whether there is any due at all.
    any: bool,
    filtered: bool,
    late: bool,
    asked: Wanted,
    teams: Vec<(TeamId, String)>,
    states: [(&'static str, &'static str); STATES.len()],
    categories: Vec<(&'static str, &'static str)>,
}

/// What is looked for, as it was typed.
#[derive(Debug, Clone)]
struct Wanted {
    status: String,
    team: String,
    category: String,
    q: String,
    charge: String,
    payer: String,
}

impl Wanted {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            status: text("status"),
            team: text("team"),
            category: text("category"),
            q: text("q"),
            charge: text("charge"),
            payer: text("payer"),
        }
    }

    fn is_any(&self) -> bool {
        let all = [&self.status, &self.team, &self.category, &self.q, &self.charge, &self.payer];
        all.iter().any(|text| !text.is_empty())
    }

    /// What is meant; a word that nobody can choose finds nothing out of the ordinary.
    fn filter(&self) -> DueFilter {
        DueFilter {
            team_id: self.team.parse().ok(),
            charge_id: self.charge.parse().ok(),
            payer_id: self.payer.parse().ok(),
            status: Status::parse(&self.status),
            overdue: (self.status == "overdue").then_some(true),
            category: Category::parse(&self.category),
            q: Some(self.q.clone()).filter(|q| !q.is_empty()),
            ..DueFilter::default()
        }
    }

    fn is_team(&self, id: &TeamId) -> bool {
        self.team == id.to_string()
    }

    /// The sums of the family, the team or the club that is looked at; none of what was charged together.
    fn sums(&self, db: &Reader<'_>) -> Result<Vec<Total>> {
        let DueFilter { team_id, charge_id, payer_id, .. } = self.filter();
        let totals = match (payer_id, team_id) {
            _ if charge_id.is_some() => return Ok(Vec::new()),
            (Some(payer), team) => {
                statement::of_payers(db, &[payer], team.is_none(), team.as_slice())
            }
            (None, Some(team)) => statement::of_team(db, team).map(|own| own.totals),
            (None, None) => statement::of_account(db),
        };
        match totals {
            Err(error) if error.code == Code::NotFound => Ok(Vec::new()),
            totals => totals,
        }
    }

    /// The name of the family that is looked for.
    fn payer(&self, db: &Reader<'_>) -> Result<String> {
        let payers = self.payer.parse().ok().into_iter().collect();
        Ok(statement::names(db, payers)?.into_values().next().unwrap_or_default())
    }

    /// Where the same is shown, as far as it stands like this.
    fn only(&self, status: &str) -> String {
        let narrowed = [("team", &self.team), ("payer", &self.payer)];
        let narrowed = narrowed.into_iter().filter(|(_, value)| !value.is_empty());
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("status", status).extend_pairs(narrowed);
        format!("{LIST}?{}", query.finish())
    }
}

/// The teams there are, by name.
pub(super) fn teams(db: &Reader<'_>, filter: &TeamFilter) -> Result<Vec<(TeamId, String)>> {
    let page = Page { limit: TEAMS, order: Order::Asc, last: None };
    let teams = team::list(db, &Reach::Everywhere, filter, &page)?;
    Ok(teams.into_iter().map(|team| (team.id, team.name)).collect())
}

/// These dues, as they are listed.
pub(super) fn rows(db: &Reader<'_>, dues: &[Shown]) -> Result<Vec<Row>> {
    let around = Around::of(db, dues.iter())?;
    let row = |due: &Shown| Row {
        id: due.id,
        person: around.person(due.person_id),
        payer_id: due.payer_id,
        payer: around.person(due.payer_id),
        title: due.title.clone(),
        team: around.team(due.team_id),
        state: shown::state(due),
        amount: shown::money(due.amount - due.discount + due.late_fee_charged, due.currency),
        open: shown::money(due.balance, due.currency),
        next: due.next_due_on,
    };
    Ok(dues.iter().map(row).collect())
}

pub(super) async fn list(visitor: Treasurer) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let wanted = Wanted::read(&asked.form);
    let filter = wanted.filter();
    let page =
        move |db: &Reader<'_>, page: &Page<DueId>| due::list(db, &Reach::Everywhere, &filter, page);
    let Leaf { rows: dues, next } = Leaf::read(&visitor, &asked, page).await?;
    let about = wanted.clone();
    let look = move |db: &Reader<'_>| {
        let teams = teams(db, &TeamFilter::default())?;
        Ok((about.sums(db)?, teams, rows(db, &dues)?, about.payer(db)?))
    };
    let (totals, teams, rows, payer) = visitor.read(look).await?;
    let filtered = wanted.is_any();
    let frame = visitor.frame("Dues", Section::Dues);
    let page = ListPage {
        frame: frame.flash(flash(&visitor)),
        late: totals.iter().any(|total| total.sums.overdue > 0),
        sums: totals.iter().map(Sum::from).collect(),
        any: filtered || !rows.is_empty(),
        rows,
        payer,
        next,
        filtered,
        asked: wanted,
        teams,
        states: STATES,
        categories: shown::categories(),
    };
    show(StatusCode::OK, &page)
}

/// What was done before; of reminders, how many there were.
fn flash(visitor: &Treasurer) -> Option<Flash> {
    let query = visitor.guest.query().ok()?;
    if query.text("done") != "reminded" {
        return visitor.guest.done(&DONE);
    }
    let dues: u32 = query.text("dues").parse().ok()?;
    let letters: u32 = query.text("letters").parse().ok()?;
    Some(super::remind::said(visitor, dues.into(), letters.into()))
}

/// The dues that were charged together.
pub(super) fn of_charge(charge: &str, done: &str) -> String {
    format!("{LIST}?charge={charge}&done={done}")
}
