//! `/events/{event}/duties/{duty}`: signing up for a duty and withdrawing.

use super::{event_page, is_page_error};
use crate::events::{EventsAnswer, event, volunteers};
use crate::prelude::*;
use crate::web::prelude::*;
use crate::web::visitor::safe_redirect_path;

pub(super) fn router() -> Router<App> {
    Router::new().route("/events/{event}/duties/{duty}", post(submit))
}

async fn submit(
    PathParams((id, duty)): PathParams<(EventId, DutyId)>,
    VisitorForm { visitor, form }: VisitorForm<EventsAnswer>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let (person, releases) =
        (form.text("person_id").parse().ok(), form.text("action") == "release");
    let work = move |tx: &Tx<'_>| {
        event::find(tx, &access, id)?;
        let detail = "This form is incomplete. Go back, reload the page and try again.";
        let person = person.ok_or_else(|| Error::new(Code::InvalidRequest, detail))?;
        let at = (id, duty, person);
        if !releases {
            return volunteers::take(tx, &access, at, &IfMatch::Absent).map(drop);
        }
        let has_taken = event::find(tx, &access, id)?
            .duties
            .0
            .iter()
            .any(|one| one.id == duty && one.assignees.contains(&person));
        // Somebody who clicks twice has withdrawn already.
        if has_taken {
            volunteers::release(tx, &access, at, &IfMatch::Absent).map(drop)
        } else {
            Ok(())
        }
    };
    match visitor.write(work).await {
        Ok(()) => {
            let next = match form.text("next") {
                "" => format!("/events/{id}"),
                next => safe_redirect_path(next).to_owned(),
            };
            Ok(see_other(&format!("{next}#duties")))
        }
        Err(error) if is_page_error(&error) => event_page::show_failure(&visitor, id, &error).await,
        Err(error) => Err(error.into()),
    }
}
