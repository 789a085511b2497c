//! `/admin/teams`: the list of teams and the form to add one.

use super::team::{self, NewTeam, Status, Team, TeamFilter};
use crate::accounts::account;
use crate::prelude::*;
use crate::teams::TeamsManage;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::{Nonce, submit_once};
use crate::web::list::{Cell, Column, FilterBar, ToCell, list_page};
use crate::web::prelude::*;

const TEAMS: &str = "/admin/teams";
const NEW: &str = "/admin/teams/new";
const FIELDS: &[Field] = &[
    Field::line("name", "Name", 120).hint("For example, Hawks U12.").required("Enter a name."),
    Field::line("sport", "Sport", 60),
    Field::pair(
        "Season and age group",
        &[
            Field::line("season", "Season", 60).hint("For example, 2026/27."),
            Field::line("age_group", "Age group", 60).hint("For example, U12."),
        ],
    ),
    Field::line("gender", "Gender", 60).hint("For example, girls, boys or mixed."),
    Field::select("timezone", "Time zone", &[])
        .hint("The team’s events are shown in this time zone."),
    Field::line("color", "Team color", 7)
        .hint("A color code: # and six characters (0 to 9, A to F), such as #0b5cad.")
        .attributes("spellcheck=false"),
];
const DONE: [(&str, &str); 1] = [("added", mark!("Team added."))];

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
        Status::Active => Cell::Badge(("good", t!("Active"))),
        Status::Archived => Cell::Badge(("", t!("Archived"))),
    }),
];

async fn list(visitor: Visitor<TeamsManage>) -> PageResult {
    let asked = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let filters = FilterBar::new(&asked.form).select(
        "state",
        "Show",
        "Active teams",
        [("archived", t!("Archived teams")), ("all", t!("All teams"))],
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
    let list = teams.list(t!("Teams"), COLUMNS, &visitor.times()).filters(filters);
    let frame = visitor.frame(t!("Teams"), Section::Teams).flash(visitor.guest.done_flash(&DONE));
    render(StatusCode::OK, &ListPage { frame, list })
}

#[derive(Template)]
#[template(path = "teams/form.html")]
struct FormPage {
    frame: Frame,
    form: FilledForm,
}

/// Shows the form.
async fn form_page(visitor: &Visitor<TeamsManage>, form: FilledForm) -> PageResult {
    let club = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let mut zones = Zone::names();
    // The club's time zone may have a name that is not in the list, such as an old alias.
    if !zones.iter().any(|name| name == club.timezone.name()) {
        zones.insert(0, club.timezone.name().to_owned());
    }
    let frame = visitor.frame(t!("Add team"), Section::Teams);
    let form = form.options("timezone", zones.into_iter().map(|name| (name.clone(), name)));
    render(form.status(), &FormPage { frame, form })
}

/// Shows an empty form, with the sport and the time zone of the club.
async fn new_form(visitor: Visitor<TeamsManage>) -> PageResult {
    let club = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let form = FilledForm::empty(FIELDS)
        .with("sport", club.sport.unwrap_or_default())
        .with("timezone", club.timezone.name())
        .nonce(new_nonce(visitor.app()));
    form_page(&visitor, form).await
}

async fn create(VisitorForm { visitor, form }: VisitorForm<TeamsManage>) -> PageResult {
    let (nonce, mut form) = (parse_nonce(&form)?, FilledForm::submitted(FIELDS, &form));
    if let Some(new) = form.parse::<NewTeam>()
        && form.accept(add(&visitor, new, nonce).await)?.is_some()
    {
        return Ok(see_other(&format!("{TEAMS}?done=added")));
    }
    form_page(&visitor, form).await
}

/// Creates the team. A form that is sent several times creates only one team.
async fn add(visitor: &Visitor<TeamsManage>, new: NewTeam, nonce: Nonce) -> Result<()> {
    let ttl = visitor.app().config.idempotency_ttl;
    let work = move |tx: &Tx<'_>| {
        submit_once(tx, &nonce, ttl, |tx| Ok((team::create(tx, new)?.id.to_string(), ())))
    };
    team::map_unique_violation(visitor.write(work).await).map(drop)
}
