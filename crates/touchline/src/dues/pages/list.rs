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
use crate::dues::statement;
use crate::dues::totals::{self, DueTotals};
use crate::error::Result;
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
/// The choices of the filter by status.
const STATES: [(&str, &str); 7] = [
    (UNPAID, "Unpaid or partly paid"),
    ("overdue", "Overdue"),
    ("open", "Nothing paid yet"),
    ("partially_paid", "Partly paid"),
    ("paid", "Paid"),
    ("waived", "Waived"),
    (RECEIVED, "With payments"),
];
/// Dues with an open balance.
const UNPAID: &str = "unpaid";
/// Dues for which something was paid.
const RECEIVED: &str = "received";

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
    pub(super) paid: String,
    pub(super) open: String,
    pub(super) overdue: String,
    pub(super) next: Option<Day>,
}

/// The tiles of one currency: what they show, and the list that adds up to it.
struct Tiles {
    open: (String, String),
    overdue: (String, String),
    paid: (String, String),
}

impl Tiles {
    fn new(totals: &DueTotals, wanted: &Wanted, currencies: usize) -> Self {
        let money = |minor| shown::money(minor, totals.currency);
        // With one currency the list needs no filter for it.
        let currency = if currencies > 1 { totals.currency.code() } else { "" };
        Self {
            open: (money(totals.open), wanted.with(UNPAID, currency)),
            overdue: (money(totals.overdue), wanted.with("overdue", currency)),
            paid: (money(totals.paid), wanted.with(RECEIVED, currency)),
        }
    }
}

/// What the listed dues add up to, in one sentence for each currency.
fn in_words(totals: &DueTotals) -> String {
    let money = |minor| shown::money(minor, totals.currency);
    let noun = if totals.dues == 1 { "due" } else { "dues" };
    let overdue = match totals.overdue {
        0 => String::new(),
        overdue => format!(", {} overdue", money(overdue)),
    };
    let waived = match totals.charged - totals.paid - totals.open {
        0 => String::new(),
        waived => format!(", {} waived", money(waived)),
    };
    let (charged, paid, open) = (money(totals.charged), money(totals.paid), money(totals.open));
    format!("{} {noun}: {charged} charged, {paid} paid{waived}, {open} open{overdue}.", totals.dues)
}

#[derive(Template)]
#[template(path = "dues/list.html")]
struct ListPage {
    frame: Frame,
    tiles: Vec<Tiles>,
    rows: Vec<Row>,
    /// What all dues of the list add up to, not only those on this page.
    totals: Vec<String>,
    heads: Vec<&'static str>,
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
    currency: String,
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
            currency: text("currency"),
            q: text("q"),
            charge: text("charge"),
            payer: text("payer"),
        }
    }

    /// Every filter but the status, as it stands in an address.
    fn beside_status(&self) -> [(&'static str, &str); 6] {
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
        !self.status.is_empty() || self.beside_status().iter().any(|(_, text)| !text.is_empty())
    }

    /// What is meant; a word that nobody can choose finds nothing out of the ordinary.
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

    /// The totals of the tiles, which do not depend on the status, and those of the list.
    fn totals(&self, db: &Reader<'_>) -> Result<(Vec<DueTotals>, Vec<DueTotals>)> {
        let of = |wanted: &Self| totals::of_filter(db, &Reach::Everywhere, &wanted.filter());
        let any_status = Self { status: String::new(), currency: String::new(), ..self.clone() };
        Ok((of(&any_status)?, of(self)?))
    }

    /// The name of the family that is looked for.
    fn payer(&self, db: &Reader<'_>) -> Result<String> {
        let payers = self.payer.parse().ok().into_iter().collect();
        Ok(statement::names(db, payers)?.into_values().next().unwrap_or_default())
    }

    /// The address of the same list with this status and currency.
    fn with(&self, status: &str, currency: &str) -> String {
        let kept = self.beside_status().into_iter().filter(|(name, _)| *name != "currency");
        let kept = kept.chain([("currency", currency)]).filter(|(_, value)| !value.is_empty());
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("status", status).extend_pairs(kept);
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
        paid: shown::money(due.paid, due.currency),
        open: shown::money(due.balance, due.currency),
        overdue: shown::money(shown::overdue(due), due.currency),
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
        Ok((about.totals(db)?, teams, rows(db, &dues)?, about.payer(db)?))
    };
    let ((all, listed), teams, rows, payer) = visitor.read(look).await?;
    let filtered = wanted.is_any();
    let figure = if wanted.is_overdue() { "#Overdue" } else { "#Paid" };
    let frame = visitor.frame("Dues", Section::Dues);
    let page = ListPage {
        frame: frame.flash(flash(&visitor)),
        late: all.iter().any(|totals| totals.overdue > 0),
        tiles: all.iter().map(|totals| Tiles::new(totals, &wanted, all.len())).collect(),
        totals: listed.iter().map(in_words).collect(),
        heads: vec!["Member", "State", "#Charged", figure, "#Open", "Next due"],
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
