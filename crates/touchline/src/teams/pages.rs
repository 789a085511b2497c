//! `/admin/teams`: the teams of the club, and the form for a new one.

use askama::Template;
use axum::Router;
use axum::routing::get;
use http::StatusCode;
use kit::Zone;
use serde_json::{Map, Value};
use store::{Reader, Tx};

use super::team::{self, NewTeam, Status, Team, TeamFilter};
use crate::accounts::account;
use crate::accounts::permits::TeamsManage;
use crate::accounts::rights::Reach;
use crate::app::App;
use crate::error::{Code, Result};
use crate::paging::Order;
use crate::web::fields::Fields;
use crate::web::form::{Faults, Form};
use crate::web::leaf::{Asked, Leaf};
use crate::web::once::{Nonce, new_nonce, nonce, once};
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

const TEAMS: &str = "/admin/teams";
const NEW: &str = "/admin/teams/new";
/// The fields of the form, named like those of the API.
const FIELDS: [&str; 7] = ["name", "sport", "season", "age_group", "gender", "timezone", "color"];
const DONE: [(&str, &str); 1] = [("added", "The team was added.")];

/// The pages of teams.
pub fn router() -> Router<App> {
    Router::new().route(TEAMS, get(list)).route(NEW, get(ask).post(create))
}

#[derive(Template)]
#[template(path = "teams/list.html")]
struct ListPage {
    frame: Frame,
    teams: Vec<Team>,
    next: String,
    /// The filter by status, as it was chosen.
    state: String,
}

async fn list(visitor: Visitor<TeamsManage>) -> Outcome {
    let asked = Asked::of(&visitor, Order::Asc)?;
    let state = asked.form.text("state").to_owned();
    let status = match state.as_str() {
        "archived" => Some(Status::Archived),
        "all" => None,
        _ => Some(Status::Active),
    };
    let filter = TeamFilter { status, ..TeamFilter::default() };
    let read = move |db: &Reader<'_>, page: &_| team::list(db, &Reach::Everywhere, &filter, page);
    let Leaf { rows: teams, next } = Leaf::read(&visitor, &asked, read).await?;
    let frame = visitor.frame("Teams", Section::Teams).flash(visitor.guest.done(&DONE));
    Ok(page::html(StatusCode::OK, &ListPage { frame, teams, next, state })?)
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

/// Shows the form. Before anything was typed, sport and time zone are those of the club.
async fn form_page(
    visitor: &Visitor<TeamsManage>,
    form: Option<Form>,
    faults: Faults,
    nonce: String,
) -> Outcome {
    let club = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let typed = |name: &str| form.as_ref().map(|form| form.text(name).to_owned());
    let zone = typed("timezone").unwrap_or_else(|| club.timezone.name().to_owned());
    let mut zones = Zone::names();
    // A club may have a zone by a name that the list leaves out.
    if !zones.iter().any(|name| name == club.timezone.name()) {
        zones.insert(0, club.timezone.name().to_owned());
    }
    let page = FormPage {
        frame: visitor.frame("Add a team", Section::Teams),
        sport: typed("sport").unwrap_or_else(|| club.sport.unwrap_or_default()),
        form: form.unwrap_or_default(),
        faults,
        nonce,
        zone,
        zones,
    };
    Ok(page::html(status, &page)?)
}

async fn ask(visitor: Visitor<TeamsManage>) -> Outcome {
    let nonce = new_nonce(visitor.app());
    form_page(&visitor, None, Faults::default(), nonce).await
}

async fn create(Posted { visitor, form }: Posted<TeamsManage>) -> Outcome {
    let nonce = nonce(&form)?;
    let name = nonce.name.clone();
    let done = match new_team(&form) {
        Ok(new) => add(&visitor, new, nonce).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => Ok(see_other(&format!("{TEAMS}?done=added"))),
        Err(error) if matches!(error.code, Code::ValidationFailed | Code::Taken) => {
            form_page(&visitor, Some(form), (&error).into(), name).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads the form by the rules of the API.
fn new_team(form: &Form) -> Result<NewTeam> {
    let typed = FIELDS.iter().filter_map(|name| Some((*name, form.maybe(name)?)));
    let body: Map<String, Value> =
        typed.map(|(name, text)| (name.to_owned(), Value::from(text))).collect();
    Fields::read(Value::Object(body))
}

/// Creates the team once, however often the form is sent.
async fn add(visitor: &Visitor<TeamsManage>, new: NewTeam, nonce: Nonce) -> Result<()> {
    let kept = visitor.app().config.idempotency_ttl;
    let work = move |tx: &Tx<'_>| {
        once(tx, &nonce, kept, |tx| Ok((team::create(tx, new)?.id.to_string(), ())))
    };
    team::unique(visitor.write(work).await).map(drop)
}
