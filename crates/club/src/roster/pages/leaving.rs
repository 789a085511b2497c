//! `/teams/{team}/roster/{member}/move` and `/remove`: a person moves to another team, or leaves this one.

use super::{Staff, StaffForm, load_for_change, member_path, name_of, roster_path, write};
use crate::prelude::*;
use crate::roster::guards;
use crate::roster::member::{self, Member};
use crate::roster::membership::MemberStatus;
use crate::roster::moving::{self, Move};
use crate::teams::header::TeamHeader;
use crate::teams::team::{self, Status, TeamFilter};
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::{Submission, submit_once};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// Maximum number of teams to choose from.
const MAX_TEAMS: i64 = 200;

const FIELDS: &[Field] = &[
    Field::select("team", "New team", &[]).key("team_id").required("Choose a team."),
    Field::line("jersey_number", "Jersey number on the new team", 10),
];

/// A person on a team, and the teams that they can move to.
struct LeavingMember {
    header: TeamHeader,
    member: Member,
    teams: Vec<(TeamId, String)>,
}

fn load(
    db: &Reader<'_>,
    access: &TeamAccess,
    (team, id): (TeamId, MemberId),
) -> Result<LeavingMember> {
    let header = load_for_change(db, access, team)?;
    let member = member::show(db, team, id)?;
    Error::invalid_state("The member is already removed.")
        .fail_if(member.status == MemberStatus::Removed)?;
    let own = guards::active_teams_of(db, vec![member.person_id])?;
    let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
    let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
    let teams = team::list(db, access, &filter, &page)?.into_iter();
    let is_new = |id: TeamId| !own.iter().any(|(_, known)| *known == id);
    let teams = teams.filter(|team| is_new(team.id)).map(|team| (team.id, team.name)).collect();
    Ok(LeavingMember { header, member, teams })
}

async fn read(visitor: &Staff, at: (TeamId, MemberId)) -> Result<LeavingMember> {
    let access = visitor.team_access().await?;
    visitor.read(move |db| load(db, &access, at)).await
}

/// The result of a form that was sent before, if the person has left the team because of it. Otherwise fails with this
/// error.
async fn find_earlier_result(visitor: &Staff, form: &Form, error: Error) -> Result<String> {
    if error.code != Code::InvalidState {
        return Err(error);
    }
    visitor.find_earlier_result(parse_nonce(form)?, error).await
}

#[derive(Template)]
#[template(path = "roster/move.html")]
struct MovePage {
    frame: Frame,
    back: String,
    name: String,
    team: String,
    has_teams: bool,
    form: FilledForm,
}

fn move_page(visitor: &Staff, leaving: LeavingMember, form: FilledForm) -> PageResult {
    let name = name_of(&leaving.member);
    let title = t!("Move {name} to another team", name);
    let page = MovePage {
        frame: visitor.frame(title, Section::MyTeams).team(leaving.header.team.id),
        back: member_path(leaving.header.team.id, leaving.member.id),
        name,
        team: leaving.header.team.name,
        has_teams: !leaving.teams.is_empty(),
        form: form.options("team", leaving.teams),
    };
    render(page.form.status(), &page)
}

pub(super) async fn choose_team(
    visitor: Staff,
    PathParams(at): PathParams<(TeamId, MemberId)>,
) -> PageResult {
    let leaving = read(&visitor, at).await?;
    let number = leaving.member.jersey_number.clone().unwrap_or_default();
    let version = leaving.member.version;
    let form = FilledForm::empty(FIELDS).with("jersey_number", number).version(version);
    let form = form.nonce(new_nonce(visitor.app()));
    move_page(&visitor, leaving, form)
}

pub(super) async fn move_away(
    PathParams(at): PathParams<(TeamId, MemberId)>,
    StaffForm { visitor, form }: StaffForm,
) -> PageResult {
    let leaving = match read(&visitor, at).await {
        Ok(leaving) => leaving,
        Err(error) => {
            let id = find_earlier_result(&visitor, &form, error).await?;
            let team = form.text("team");
            return Ok(see_other(&format!("/teams/{team}/roster/{id}?done=moved")));
        }
    };
    let (nonce, ttl) = (parse_nonce(&form)?, visitor.app().config.idempotency_ttl);
    let mut form = FilledForm::submitted(FIELDS, &form);
    let body = form.body();
    let to: Option<TeamId> = body["team_id"].as_str().and_then(|id| id.parse().ok());
    let number = body["jersey_number"].as_str().map(str::to_owned);
    let Some(to) = to.filter(|_| form.faults.is_empty()) else {
        form.faults.add("team", t!("Choose a team."));
        return move_page(&visitor, leaving, form);
    };
    let expected = form.expected_version();
    let work = move |tx: &Tx<'_>, access: &TeamAccess| {
        let to = Move { team_id: to, jersey_number: number };
        let work = |tx: &Tx<'_>| {
            let moved = moving::move_to_team(tx, access, at, &expected, to)?;
            Ok((moved.id.to_string(), moved.id))
        };
        submit_once(tx, &nonce, ttl, work)
    };
    match write(&visitor, at.0, work).await {
        Ok(Submission::Accepted(id)) => {
            Ok(see_other(&format!("{}?done=moved", member_path(to, id))))
        }
        Ok(Submission::Duplicate(id)) => {
            Ok(see_other(&format!("{}/{id}?done=moved", roster_path(to))))
        }
        Err(error) if error.code == Code::PreconditionFailed => {
            form.report_conflict(leaving.member.version);
            move_page(&visitor, leaving, form)
        }
        Err(error) => {
            form.accept::<()>(Err(error))?;
            move_page(&visitor, leaving, form)
        }
    }
}

fn confirm_page(visitor: &Staff, leaving: &LeavingMember, form: FilledForm) -> ConfirmPage {
    let (name, team) = (name_of(&leaving.member), &leaving.header.team);
    let frame = visitor.frame(t!("Remove from the team"), Section::MyTeams);
    let back = member_path(team.id, leaving.member.id);
    ConfirmPage::new(frame, "Remove from the team", back)
        .lead(Sentence::new("{name} leaves {team}.").name("name", &name).name("team", &team.name))
        .effect("Their past events, answers, attendance and payments stay in the history.")
        .effect("They are no longer invited to events of this team, and their places at future events become free.")
        .effect("They and their parents no longer see this team, unless somebody else in the family is on it.")
        .effect("The person stays in the club, and you can add them again.")
        .form(form, "The person was not removed")
}

pub(super) async fn confirm(
    visitor: Staff,
    PathParams(at): PathParams<(TeamId, MemberId)>,
) -> PageResult {
    let leaving = read(&visitor, at).await?;
    let form = FilledForm::empty(&[]).version(leaving.member.version);
    let form = form.nonce(new_nonce(visitor.app()));
    confirm_page(&visitor, &leaving, form).respond()
}

pub(super) async fn remove(
    PathParams(at): PathParams<(TeamId, MemberId)>,
    StaffForm { visitor, form }: StaffForm,
) -> PageResult {
    let leaving = match read(&visitor, at).await {
        Ok(leaving) => leaving,
        Err(error) => {
            find_earlier_result(&visitor, &form, error).await?;
            return Ok(see_other(&format!("{}?done=removed", roster_path(at.0))));
        }
    };
    let (nonce, ttl) = (parse_nonce(&form)?, visitor.app().config.idempotency_ttl);
    let mut form = FilledForm::submitted(&[], &form);
    let expected = form.expected_version();
    let work = move |tx: &Tx<'_>, _: &TeamAccess| {
        let remove = |tx: &Tx<'_>| {
            member::remove(tx, at, &expected)?;
            Ok((at.1.to_string(), ()))
        };
        submit_once(tx, &nonce, ttl, remove)
    };
    match write(&visitor, at.0, work).await {
        Ok(_) => Ok(see_other(&format!("{}?done=removed", roster_path(at.0)))),
        Err(error) if error.code == Code::PreconditionFailed => {
            form.report_conflict(leaving.member.version);
            confirm_page(&visitor, &leaving, form).respond()
        }
        Err(error) => Err(error.into()),
    }
}
