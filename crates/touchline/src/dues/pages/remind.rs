//! Reminding by hand: of one due, a team, or everybody who is late.

use std::collections::BTreeSet;

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use store::{Reader, Tx};

use super::{LIST, Sent, Treasurer, is_fault, place, show};
use crate::accounts::rights::Reach;
use crate::dues::due;
use crate::dues::reminders::{self, Remind};
use crate::expected::Expected;
use crate::ids::{DueId, TeamId};
use crate::teams::team;
use crate::web::page::{Flash, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

#[derive(Template)]
#[template(path = "dues/remind.html")]
struct RemindPage {
    frame: Frame,
    dues: usize,
    families: usize,
    /// Whether letters can be sent at all.
    mail: bool,
}

/// What came of reminding.
pub(super) fn said(visitor: &Treasurer, dues: i64, letters: i64) -> Flash {
    let counted = |count: i64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    match (dues, letters) {
        (0, _) => {
            Flash::bad("Nobody was reminded: nothing is late, or they were within the last hour.")
        }
        (_, 0) => Flash::bad("No letter goes out: none of these families has an address of mail."),
        (dues, letters) => {
            let dues = counted(dues, "due", "dues");
            if visitor.app().courier.has_server() {
                let letters = counted(letters, "letter goes", "letters go");
                Flash::good(format!("{letters} out, about {dues}."))
            } else {
                let letters = counted(letters, "letter waits", "letters wait");
                Flash::bad(format!("{letters} until a mail server is set up, about {dues}."))
            }
        }
    }
}

pub(super) async fn ask(visitor: Treasurer) -> Outcome<Response> {
    let late = visitor.read(|db: &Reader<'_>| reminders::late(db)).await?;
    let families: BTreeSet<_> = late.iter().map(|due| due.payer_id).collect();
    let page = RemindPage {
        frame: visitor.frame("Remind everybody who is late?", Section::Dues),
        dues: late.len(),
        families: families.len(),
        mail: visitor.app().courier.has_server(),
    };
    show(StatusCode::OK, &page)
}

pub(super) async fn everybody(Sent { visitor, .. }: Sent) -> Outcome<Response> {
    let (dues, letters) = visitor.write(|tx: &Tx<'_>| reminders::remind_late(tx)).await?;
    Ok(see_other(&format!("{LIST}?done=reminded&dues={dues}&letters={letters}")))
}

pub(super) async fn team(At(id): At<TeamId>, Sent { visitor, .. }: Sent) -> Outcome<Response> {
    let remind = move |tx: &Tx<'_>| {
        team::find(tx, id)?;
        reminders::remind_team(tx, &Reach::Everywhere, &Remind { team_id: id })
    };
    let reminded = visitor.write(remind).await?;
    let (dues, letters) = (reminded.due_ids.len(), reminded.letters);
    Ok(see_other(&format!("{LIST}/teams/{id}?done=reminded&dues={dues}&letters={letters}")))
}

pub(super) async fn one(At(id): At<DueId>, Sent { visitor, .. }: Sent) -> Outcome<Response> {
    let remind = move |tx: &Tx<'_>| {
        due::whole(tx, id)?;
        reminders::remind(tx, &Reach::Everywhere, id, &Expected::Anything)
    };
    match visitor.write(remind).await {
        Ok(said) => Ok(see_other(&format!("{}?done=reminded&letters={}", place(id), said.letters))),
        Err(error) if is_fault(&error) => Ok(see_other(&format!("{}?done=lately", place(id)))),
        Err(error) => Err(error.into()),
    }
}
