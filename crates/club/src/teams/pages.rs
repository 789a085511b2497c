//! `/admin/teams`: the list of teams and the form to add one.

use askama::Template;
use axum::Router;
use axum::routing::get;
use http::StatusCode;
use kit::Zone;
use serde_json::{Map, Value};
use store::{Reader, Tx};

use super::team::{self, NewTeam, Status, Team, TeamFilter};
use crate::accounts::account;
use crate::accounts::permissions::TeamsManage;
use crate::error::{Code, Result};
use crate::paging::Order;
use crate::rights::TeamAccess;
use crate::web::app::App;
use crate::web::fields::Fields;
use crate::web::form::{Faults, Form};
use crate::web::form_dedup::{Nonce, new_nonce, parse_nonce, submit_once};
use crate::web::list::{Cell, Column, FilterBar, ToCell, list_page};
use crate::web::page::{self, Frame, Section};
use crate::web::row_page::{ListRequest, RowPage};
use crate::web::visitor::{PageResult, Visitor, VisitorForm, see_other};

const TEAMS: &str = "/admin/teams";
const NEW: &str = "/admin/teams/new";
/// The fields of the form. They have the same names as in the API.
const FIELDS: [&str; 7] = ["name", "sport", "season", "age_group", "gender", "timezone", "color"];
const DONE: [(&str, &str); 1] = [("added", "Team added.")];

/// Routes of the team pages.
pub fn router() -> Router<App> {
    Router::new().route(TEAMS, get(list)).route(NEW, get(new_form).post(create))
}

list_page!(ListPage, "teams/list.html");

const COLUMNS: &[Column<Team>] = &[
    Column::page("Name", |team| Cell::name(&team.name)),
    Column::page("Sport", |team| Cell::name(team.sport.as_deref().unwrap_or_default())),
    Column::page("Season", |team| Cell::name(team.season.as_deref().unwrap_or_default())),
    Column::page("Age group", |team| Cell::name(team.age_group.as_deref().unwrap_or_default())),
    Column::number("People", |team| team.roster_count.cell()),
    Column::page("Status", |team| match team.status {
        Status::Active => Cell::Badge(("good", "Active")),
        Status::Archived => Cell::Badge(("", "Archived")),
    }),
];

async fn list(visitor: Visitor<TeamsManage>) -> PageResult {
    let asked = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let filters = FilterBar::new(&asked.form).select(
        "state",
        "Show",
        "Active teams",
        [("archived", "Archived teams"), ("all", "All teams")],
    );
    let status = match filters.text("state") {
        "archived" => Some(Status::Archived),
        "all" => None,
        _ => Some(Status::Active),
    };
    let filter = TeamFilter { status, ..TeamFilter::default() };
    let read =
        move |db: &Reader<'_>, page: &_| team::list(db, &TeamAccess::AllTeams, &filter, page);
    let teams = RowPage::read(&visitor, &asked, read).await?;
    let list = teams.list("Teams", COLUMNS, &visitor.times()).filters(filters);
    let frame = visitor.frame("Teams", Section::Teams).flash(visitor.guest.done_flash(&DONE));
    Ok(page::html(StatusCode::OK, &ListPage { frame, list })?)
}

#[derive(Template)]
#[template(path = "teams/form.html")]
struct FormPage {
    frame: Frame,
    form: Form,
    faults: Faults,
    nonce: String,
    sport: String,
    zone: String,
    zones: Vec<String>,
}

/// Shows the form. In an empty form, sport and time zone are those of the club.
async fn form_page(
    visitor: &Visitor<TeamsManage>,
    form: Option<Form>,
    faults: Faults,
    nonce: String,
) -> PageResult {
    let club = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let input = |name: &str| form.as_ref().map(|form| form.text(name).to_owned());
    let zone = input("timezone").unwrap_or_else(|| club.timezone.name().to_owned());
    let mut zones = Zone::names();
    // The club's time zone may have a name that is not in the list, such as an old alias.
    if !zones.iter().any(|name| name == club.timezone.name()) {
        zones.insert(0, club.timezone.name().to_owned());
    }
    let page = FormPage {
        frame: visitor.frame("Add team", Section::Teams),
        sport: input("sport").unwrap_or_else(|| club.sport.unwrap_or_default()),
        form: form.unwrap_or_default(),
        faults,
        nonce,
        zone,
        zones,
    };
    Ok(page::html(status, &page)?)
}

async fn new_form(visitor: Visitor<TeamsManage>) -> PageResult {
    let nonce = new_nonce(visitor.app());
    form_page(&visitor, None, Faults::default(), nonce).await
}

async fn create(VisitorForm { visitor, form }: VisitorForm<TeamsManage>) -> PageResult {
    let nonce = parse_nonce(&form)?;
    let same_nonce = nonce.value.clone();
    let created = match new_team(&form) {
        Ok(new) => add(&visitor, new, nonce).await,
        Err(error) => Err(error),
    };
    match created {
        Ok(()) => Ok(see_other(&format!("{TEAMS}?done=added"))),
        Err(error) if matches!(error.code, Code::ValidationFailed | Code::Taken) => {
            form_page(&visitor, Some(form), (&error).into(), same_nonce).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Validates the form with the rules of the API.
fn new_team(form: &Form) -> Result<NewTeam> {
    let input = FIELDS.iter().filter_map(|name| Some((*name, form.optional(name)?)));
    let body: Map<String, Value> =
        input.map(|(name, text)| (name.to_owned(), Value::from(text))).collect();
    Fields::read(Value::Object(body))
}

/// Creates the team. A form that is sent several times creates only one team.
async fn add(visitor: &Visitor<TeamsManage>, new: NewTeam, nonce: Nonce) -> Result<()> {
    let ttl = visitor.app().config.idempotency_ttl;
    let work = move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| Ok((team::create(tx, new)?.id.to_string(), ())))
    };
    team::map_unique_violation(visitor.write(work).await).map(drop)
}
