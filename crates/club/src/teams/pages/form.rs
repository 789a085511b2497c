//! `/teams/new` and `/teams/{team}/edit`: the form of a team.

use super::{TEAMS, color_picker, team_path};
use crate::accounts::account;
use crate::prelude::*;
use crate::teams::header::TeamHeader;
use crate::teams::team::{self, NewTeam, Status, Team, TeamChange};
use crate::teams::{TeamsManage, TeamsWrite};
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::Submission;
use crate::web::prelude::*;

const FIELDS: &[Field] = &[
    Field::line("name", "Name", 120).hint("For example, Hawks U12.").required("Enter a name."),
    Field::pair(
        "Season and age group",
        &[
            Field::line("season", "Season", 60).hint("For example, 2026/27."),
            Field::line("age_group", "Age group", 60).hint("For example, U12."),
        ],
    ),
    Field::slot("palette"),
    Field::line("color", "Custom color code", 7)
        .hint("For example, #0b5cad. To use this code, choose “Custom color” above.")
        .attributes("spellcheck=false"),
    Field::line("sport", "Sport", 60),
    Field::line("gender", "Gender", 60).hint("For example, girls, boys or mixed."),
    Field::select("timezone", "Time zone", &[])
        .hint("The team’s events are shown in this time zone."),
    Field::number_from(
        "rsvp_reminder_hours",
        "Reminder to answer (hours before)",
        (1, 168),
        "Enter a number of hours from 1 to 168, or leave the field empty.",
    )
    .hint(
        "People who have not answered get an email this long before the answer deadline, or before \
         the event if it has no deadline. Leave it empty for no reminders.",
    )
    .attributes("inputmode=numeric"),
    Field::block("description", "Description", 10_000),
    Field::check(
        "unique_jerseys",
        "Unique jersey numbers",
        "Two active players cannot have the same number.",
    ),
];

#[derive(Template)]
#[template(path = "teams/form.html")]
struct FormPage {
    frame: Frame,
    /// The way back.
    back: String,
    form: FilledForm,
    rejection: &'static str,
    button: &'static str,
    /// The team to edit.
    team: Option<Team>,
}

/// Adds the time zones and colors to the form.
fn with_options(form: FilledForm, club: &Zone) -> FilledForm {
    let mut zones = Zone::names();
    let own = form.text("timezone").to_owned();
    // The time zone may have a name that is not in the list, such as an old alias.
    for zone in [club.name(), own.as_str()] {
        if !zone.is_empty()
            && zone.parse::<Zone>().is_ok()
            && !zones.iter().any(|name| name == zone)
        {
            zones.insert(0, zone.to_owned());
        }
    }
    let form = form.options("timezone", zones.into_iter().map(|name| (name.clone(), name)));
    color_picker::with_colors(form)
}

async fn new_page(visitor: &Visitor<TeamsManage>, form: FilledForm) -> PageResult {
    let club = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let page = FormPage {
        frame: visitor.frame(t!("New team"), Section::MyTeams),
        back: TEAMS.to_owned(),
        rejection: t!("The team was not added"),
        button: t!("Add team"),
        team: None,
        form: with_options(form, &club.timezone),
    };
    render(page.form.status(), &page)
}

/// Shows an empty form, with the sport and the time zone of the club.
pub(super) async fn new(visitor: Visitor<TeamsManage>) -> PageResult {
    let club = visitor.read(|db: &Reader<'_>| account::find(db)).await?;
    let form = FilledForm::empty(FIELDS)
        .with("sport", club.sport.unwrap_or_default())
        .with("timezone", club.timezone.name())
        .with("rsvp_reminder_hours", "48")
        .nonce(new_nonce(visitor.app()));
    new_page(&visitor, form).await
}

/// Creates a team. A form that is sent several times creates one team.
pub(super) async fn create(VisitorForm { visitor, form }: VisitorForm<TeamsManage>) -> PageResult {
    let nonce = parse_nonce(&form)?;
    let mut form = FilledForm::submitted(FIELDS, &color_picker::with_chosen_color(&form));
    let Some(new) = form.parse::<NewTeam>() else { return new_page(&visitor, form).await };
    let create = move |tx: &Tx<'_>| team::create(tx, new).map(|team| team.id);
    let created = team::map_unique_violation(visitor.write_once(nonce, create).await);
    Ok(match form.accept(created)? {
        Some(Submission::Accepted(id)) => {
            see_other(&format!("{}/roster?done=created", team_path(id)))
        }
        Some(Submission::Duplicate(id)) => see_other(&format!("{TEAMS}/{id}/roster?done=created")),
        None => return new_page(&visitor, form).await,
    })
}

/// A team that the visitor may change, and the time zone of the club.
async fn load(visitor: &Visitor<TeamsWrite>, id: TeamId) -> Result<(Team, Zone)> {
    let access = visitor.team_access().await?;
    let read = move |db: &Reader<'_>| {
        let header = TeamHeader::load(db, &access, id)?;
        Error::invalid_state("An archived team cannot be changed. Restore it first.")
            .fail_if(header.team.status == Status::Archived)?;
        Ok((header.team, account::find(db)?.timezone))
    };
    visitor.read(read).await
}

/// The form with the values of the team.
fn edit_form(team: &Team) -> FilledForm {
    FilledForm::empty(FIELDS).filled_from(team).fingerprint()
}

fn edit_page(
    visitor: &Visitor<TeamsWrite>,
    team: Team,
    club: &Zone,
    form: FilledForm,
) -> PageResult {
    let title = t!("Edit {team}", team = team.name);
    let page = FormPage {
        frame: visitor.frame(title, Section::MyTeams).team(team.id),
        back: format!("{}/roster", team_path(team.id)),
        rejection: t!("Nothing was saved"),
        button: t!("Save changes"),
        team: Some(team),
        form: with_options(form, club),
    };
    render(page.form.status(), &page)
}

pub(super) async fn edit(
    visitor: Visitor<TeamsWrite>,
    PathParams(id): PathParams<TeamId>,
) -> PageResult {
    let (team, club) = load(&visitor, id).await?;
    let form = edit_form(&team);
    edit_page(&visitor, team, &club, form)
}

pub(super) async fn save(
    PathParams(id): PathParams<TeamId>,
    VisitorForm { visitor, form }: VisitorForm<TeamsWrite>,
) -> PageResult {
    let (team, club) = load(&visitor, id).await?;
    let mut form = FilledForm::submitted(FIELDS, &color_picker::with_chosen_color(&form));
    if form.conflicts_with(&edit_form(&team)) {
        return edit_page(&visitor, team, &club, form);
    }
    let Some(change) = form.parse::<TeamChange>() else {
        return edit_page(&visitor, team, &club, form);
    };
    let access = visitor.team_access().await?;
    let save = move |tx: &Tx<'_>| team::change(tx, &access, id, &IfMatch::Any, change).map(drop);
    match form.accept(team::map_unique_violation(visitor.write(save).await))? {
        Some(()) => Ok(see_other(&format!("{}/roster?done=team", team_path(id)))),
        None => edit_page(&visitor, team, &club, form),
    }
}
