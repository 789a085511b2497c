//! `/events/{event}/remind`: reminds the families of members who have not answered.

use super::{event_page, is_page_error};
use crate::events::reminders::{REMIND_UNANSWERED, ReminderSummary};
use crate::events::{EventsOversee, EventsRead, event};
use crate::prelude::*;
use crate::web::prelude::*;
use crate::web::visitor::safe_redirect_path;

pub(super) fn router() -> Router<App> {
    Router::new().route("/events/{event}/remind", post(submit))
}

async fn submit(
    PathParams(id): PathParams<EventId>,
    VisitorForm { visitor, form }: VisitorForm<EventsOversee>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let url = visitor.app().url(&format!("/events/{id}"));
    let work = move |tx: &Tx<'_>| {
        event::find(tx, &access, id)?;
        REMIND_UNANSWERED.get()?(tx, &access, id, &url)
    };
    match visitor.write(work).await {
        Ok(summary) => {
            let next = match form.text("next") {
                "" => format!("/events/{id}"),
                next => safe_redirect_path(next).to_owned(),
            };
            let sign = if next.contains('?') { '&' } else { '?' };
            Ok(see_other(&format!("{next}{sign}{}", query(summary))))
        }
        Err(error) if is_page_error(&error) => event_page::show_failure(&visitor, id, &error).await,
        Err(error) => Err(error.into()),
    }
}

fn query(summary: ReminderSummary) -> String {
    let ReminderSummary { reminded, recent, unreachable, .. } = summary;
    format!("done=reminded&reminded={reminded}&recent={recent}&unreachable={unreachable}")
}

/// The confirmation after a reminder: who was reminded, and who was left out. Any page that has the button can show it.
pub fn flash(visitor: &Visitor<EventsRead>) -> Result<Option<Flash>> {
    let query = visitor.guest.query()?;
    if query.text("done") != "reminded" {
        return Ok(None);
    }
    let count = |name: &str| query.text(name).parse::<u32>().unwrap_or_default();
    let (reminded, recent, unreachable) =
        (count("reminded"), count("recent"), count("unreachable"));
    let mut sentences = vec![match reminded {
        0 => t!("Nobody was reminded.").to_owned(),
        _ => tn!("Reminded {count} person.", "Reminded {count} people.", reminded),
    }];
    if recent > 0 {
        sentences.push(tn!(
            "{count} person was reminded recently and gets no reminder now.",
            "{count} people were reminded recently and get no reminder now.",
            recent
        ));
    }
    if unreachable > 0 {
        sentences.push(tn!(
            "{count} person cannot be reached by email. Call them.",
            "{count} people cannot be reached by email. Call them.",
            unreachable
        ));
    }
    let text = sentences.join(" ");
    Ok(Some(if reminded > 0 { Flash::success(text) } else { Flash::failure(text) }))
}
