//! `/teams/move`: choose a person and their new team in one place.

use super::{Staff, StaffForm, member_path, write};
use crate::prelude::*;
use crate::roster::member;
use crate::roster::moving::{self, Movable, Move};
use crate::teams::team::{self, Status, TeamFilter};
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::prelude::*;

/// The path of the page.
const PAGE: &str = "/teams/move";
/// The path of the list of teams.
const TEAMS: &str = "/teams";
/// Maximum number of people and of teams to choose from.
const MAX_PEOPLE: usize = 1000;
const MAX_TEAMS: i64 = 200;

const CHOOSE: &[Choice] = &[Choice::new("", "Choose")];
const FIELDS: &[Field] = &[
    Field::select("member", "Player", CHOOSE).required("Choose a player.").page_only(),
    Field::select("team", "New team", CHOOSE).key("team_id").required("Choose a team."),
    Field::line("jersey_number", "Jersey number on the new team", 10)
        .hint("If it is empty, the number stays the same."),
];

pub(super) fn router() -> Router<App> {
    Router::new().route(PAGE, get(show).post(submit))
}

#[derive(Template)]
#[template(path = "roster/quick_move.html")]
struct QuickMovePage {
    frame: Frame,
    /// Whether there are people, and teams to move them to.
    can_move: bool,
    /// The name that people were searched by, if there are too many to list all of them.
    search: Option<String>,
    form: FilledForm,
}

async fn page(visitor: &Staff, form: FilledForm, name: String) -> PageResult {
    let access = visitor.team_access().await?;
    let searched = name.clone();
    let read = move |db: &Reader<'_>| {
        let people = moving::list_movable(db, &access, &searched, MAX_PEOPLE)?;
        let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
        let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
        Ok((people, team::list(db, &access, &filter, &page)?))
    };
    let (mut people, teams) = visitor.read(read).await?;
    let search = (people.len() > MAX_PEOPLE || !name.is_empty()).then_some(name);
    people.truncate(MAX_PEOPLE);
    let can_move = teams.len() > 1 && (!people.is_empty() || search.is_some());
    let label = |one: Movable| (one.id, format!("{} · {}", one.name(), one.team));
    let form = form
        .options("member", people.into_iter().map(label))
        .options("team", teams.into_iter().map(|team| (team.id, team.name)));
    let frame = visitor.frame(t!("Move a player"), Section::MyTeams);
    render(form.status(), &QuickMovePage { frame, can_move, search, form })
}

/// Fails unless the visitor manages a team.
async fn check_staff(visitor: &Staff) -> Result<()> {
    let (is_limited, teams) = visitor.team_access().await?.team_filter();
    Error::forbidden().fail_if(is_limited && teams.is_empty())
}

async fn show(visitor: Staff) -> PageResult {
    check_staff(&visitor).await?;
    let query = visitor.guest.query()?;
    let form = FilledForm::empty(FIELDS).nonce(new_nonce(visitor.app()));
    page(&visitor, form, query.text("q").to_owned()).await
}

async fn submit(StaffForm { visitor, form }: StaffForm) -> PageResult {
    check_staff(&visitor).await?;
    let nonce = parse_nonce(&form)?;
    let mut form = FilledForm::submitted(FIELDS, &form);
    let body = form.body();
    let to: Option<TeamId> = body["team_id"].as_str().and_then(|id| id.parse().ok());
    let id: Option<MemberId> = form.text("member").parse().ok();
    let number = body["jersey_number"].as_str().map(str::to_owned);
    if id.is_none() {
        form.faults.add("member", t!("Choose a player."));
    }
    let (Some(id), Some(to), true) = (id, to, form.faults.is_empty()) else {
        return page(&visitor, form, String::new()).await;
    };
    let member = visitor.read(move |db: &Reader<'_>| member::find(db, id)).await?;
    let (at, ttl) = ((member.team_id, id), visitor.app().config.idempotency_ttl);
    let number = number.or(member.jersey_number);
    let work = move |tx: &Tx<'_>, access: &TeamAccess| {
        submit_once(tx, &nonce, ttl, |tx| {
            let to = Move { team_id: to, jersey_number: number };
            let moved = moving::move_to_team(tx, access, at, &IfMatch::Absent, to)?;
            Ok((moved.id.to_string(), moved.id.to_string()))
        })
    };
    match form.accept(write(&visitor, at.0, work).await)? {
        Some(Submission::Accepted(id) | Submission::Duplicate(id)) => {
            let id = id.parse().map_err(|_| Error::internal("a stored id cannot be parsed"))?;
            Ok(see_other(&format!("{}?done=moved", member_path(to, id))))
        }
        None => page(&visitor, form, String::new()).await,
    }
}
