//! Manual reminders: for one due, a team, or all overdue dues.

use std::collections::BTreeSet;

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use store::{Reader, Tx};

use super::{LIST_PATH, Treasurer, TreasurerForm, detail_path, is_form_error, render};
use crate::dues::due;
use crate::dues::reminders::{self, RemindRequest};
use crate::ids::{DueId, TeamId};
use crate::if_match::IfMatch;
use crate::rights::TeamAccess;
use crate::teams::team;
use crate::web::page::{Flash, Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

#[derive(Template)]
#[template(path = "dues/remind.html")]
struct RemindPage {
    frame: Frame,
    dues: usize,
    families: usize,
    /// Whether a mail server is configured.
    has_mail_server: bool,
}

/// The confirmation message after sending reminders.
pub(super) fn confirmation(visitor: &Treasurer, dues: i64, emails: i64) -> Flash {
    let counted = |count: i64, singular: &str, plural: &str| match count {
        1 => format!("1 {singular}"),
        count => format!("{count} {plural}"),
    };
    match (dues, emails) {
        (0, _) => Flash::failure(
            "No reminders were sent. Nothing is overdue, or reminders were sent within the last hour.",
        ),
        (_, 0) => {
            Flash::failure("No reminders were sent. None of these families has an email address.")
        }
        (dues, emails) => {
            let dues = counted(dues, "due", "dues");
            if visitor.app().direct_mailer.has_server() {
                let emails = counted(emails, "reminder", "reminders");
                Flash::success(format!("Sending {emails} for {dues}."))
            } else {
                let emails = counted(emails, "reminder", "reminders");
                Flash::failure(format!(
                    "{emails} for {dues} will be sent when a mail server is set up."
                ))
            }
        }
    }
}

pub(super) async fn confirm(visitor: Treasurer) -> PageResult<Response> {
    let overdue = visitor.read(|db: &Reader<'_>| reminders::list_overdue(db)).await?;
    let families: BTreeSet<_> = overdue.iter().map(|due| due.payer_id).collect();
    let page = RemindPage {
        frame: visitor.frame("Send reminders for overdue dues", Section::Dues),
        dues: overdue.len(),
        families: families.len(),
        has_mail_server: visitor.app().direct_mailer.has_server(),
    };
    render(StatusCode::OK, &page)
}

pub(super) async fn all_overdue(
    TreasurerForm { visitor, .. }: TreasurerForm,
) -> PageResult<Response> {
    let (dues, emails) = visitor.write(|tx: &Tx<'_>| reminders::remind_overdue(tx)).await?;
    Ok(see_other(&format!("{LIST_PATH}?done=reminded&dues={dues}&emails={emails}")))
}

pub(super) async fn team(
    PathParams(id): PathParams<TeamId>,
    TreasurerForm { visitor, .. }: TreasurerForm,
) -> PageResult<Response> {
    let remind = move |tx: &Tx<'_>| {
        team::find(tx, id)?;
        reminders::remind_team(tx, &TeamAccess::AllTeams, &RemindRequest { team_id: id })
    };
    let reminded = visitor.write(remind).await?;
    let (dues, emails) = (reminded.due_ids.len(), reminded.emails);
    Ok(see_other(&format!("{LIST_PATH}/teams/{id}?done=reminded&dues={dues}&emails={emails}")))
}

pub(super) async fn one(
    PathParams(id): PathParams<DueId>,
    TreasurerForm { visitor, .. }: TreasurerForm,
) -> PageResult<Response> {
    let remind = move |tx: &Tx<'_>| {
        due::load(tx, id)?;
        reminders::remind(tx, &TeamAccess::AllTeams, id, &IfMatch::Absent)
    };
    match visitor.write(remind).await {
        Ok(reminded) => {
            let emails = reminded.emails;
            Ok(see_other(&format!("{}?done=reminded&emails={emails}", detail_path(id))))
        }
        Err(error) if is_form_error(&error) => {
            Ok(see_other(&format!("{}?done=lately", detail_path(id))))
        }
        Err(error) => Err(error.into()),
    }
}
