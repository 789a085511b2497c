//! `/teams/{team}/archive` and `/teams/{team}/restore`.

use super::{TEAMS, team_path};
use crate::prelude::*;
use crate::teams::TeamsManage;
use crate::teams::team::{self, Status, Team};
use crate::web::confirm::{ConfirmPage, NoticePage};
use crate::web::form::FilledForm;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

/// A visitor who manages all teams of the club.
type Manager = Visitor<TeamsManage>;

async fn load(visitor: &Manager, id: TeamId) -> Result<Team> {
    visitor.read(move |db| team::find(db, id)).await
}

fn nothing_to_do(visitor: &Manager, team: &Team, text: &'static str) -> PageResult {
    let page = NoticePage {
        frame: visitor.frame(team.name.clone(), Section::MyTeams),
        lead: None,
        text: Sentence::new(text),
        back: TEAMS.to_owned(),
        back_label: mark!("Teams"),
    };
    page.respond()
}

/// The form with the version of the team.
fn version_form(team: &Team) -> FilledForm {
    FilledForm::empty(&[]).version(team.version)
}

fn archiving_page(visitor: &Manager, team: &Team, form: FilledForm) -> ConfirmPage {
    let frame = visitor.frame(t!("Archive the team"), Section::MyTeams);
    ConfirmPage::new(frame, "Archive team", format!("{}/edit", team_path(team.id)))
        .lead(Sentence::new("Archive {team} when its season is over.").name("team", &team.name))
        .effect("Nobody can change its roster, schedule or messages anymore.")
        .effect("Coaches and families no longer see it. Admins do.")
        .effect("Nothing is deleted, and you can restore it at any time.")
        .effect("Another team can use its name.")
        .form(form, "The team was not archived")
}

pub(super) async fn confirm_archiving(
    visitor: Manager,
    PathParams(id): PathParams<TeamId>,
) -> PageResult {
    let team = load(&visitor, id).await?;
    if team.status == Status::Archived {
        return nothing_to_do(&visitor, &team, mark!("This team is already archived."));
    }
    archiving_page(&visitor, &team, version_form(&team)).respond()
}

pub(super) async fn archive(
    PathParams(id): PathParams<TeamId>,
    VisitorForm { visitor, form }: VisitorForm<TeamsManage>,
) -> PageResult {
    let team = load(&visitor, id).await?;
    if team.status == Status::Archived {
        return Ok(see_other(&format!("{TEAMS}?done=archived")));
    }
    let mut form = FilledForm::submitted(&[], &form);
    let expected = form.expected_version();
    let result = visitor.write(move |tx| team::archive(tx, id, &expected).map(drop)).await;
    if accept(&mut form, &team, result)? {
        return Ok(see_other(&format!("{TEAMS}?done=archived")));
    }
    archiving_page(&visitor, &team, form).respond()
}

fn restoring_page(visitor: &Manager, team: &Team, form: FilledForm) -> ConfirmPage {
    let frame = visitor.frame(t!("Restore the team"), Section::MyTeams);
    ConfirmPage::new(frame, "Restore team", format!("{TEAMS}?state=archived"))
        .harmless()
        .lead(Sentence::new("{team} becomes active again.").name("team", &team.name))
        .effect("Its coaches and families see it again.")
        .effect("Its roster and schedule can be changed again.")
        .form(form, "The team was not restored")
}

pub(super) async fn confirm_restoring(
    visitor: Manager,
    PathParams(id): PathParams<TeamId>,
) -> PageResult {
    let team = load(&visitor, id).await?;
    if team.status == Status::Active {
        return nothing_to_do(&visitor, &team, mark!("This team is not archived."));
    }
    restoring_page(&visitor, &team, version_form(&team)).respond()
}

pub(super) async fn restore(
    PathParams(id): PathParams<TeamId>,
    VisitorForm { visitor, form }: VisitorForm<TeamsManage>,
) -> PageResult {
    let team = load(&visitor, id).await?;
    if team.status == Status::Active {
        return Ok(see_other(&format!("{TEAMS}?done=restored")));
    }
    let mut form = FilledForm::submitted(&[], &form);
    let expected = form.expected_version();
    let result = visitor.write(move |tx| team::restore(tx, id, &expected).map(drop)).await;
    if accept(&mut form, &team, result)? {
        return Ok(see_other(&format!("{TEAMS}?done=restored")));
    }
    restoring_page(&visitor, &team, form).respond()
}

/// Whether the action succeeded. Otherwise the error is added to the form.
fn accept(form: &mut FilledForm, team: &Team, result: Result<()>) -> Result<bool> {
    match result {
        Err(error) if error.code == Code::PreconditionFailed => {
            form.report_conflict(team.version);
            Ok(false)
        }
        result => Ok(form.accept(result)?.is_some()),
    }
}
