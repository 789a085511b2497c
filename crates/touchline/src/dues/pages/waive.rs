//! Waiving what is open of a due.

use askama::Template;
use axum::response::Response;
use store::{Reader, Tx};

use super::shown::{self, Around};
use super::{Sent, Treasurer, is_fault, place, show, status, typed};
use crate::accounts::rights::Reach;
use crate::dues::api::charges::REASON;
use crate::dues::changing::{self, Waiver};
use crate::dues::due::{self, Shown};
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::DueId;
use crate::web::form::Faults;
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

#[derive(Template)]
#[template(path = "dues/waive.html")]
struct WaivePage {
    frame: Frame,
    title: String,
    person: String,
    open: String,
    paid: Option<String>,
    reason: String,
    faults: Faults,
    back: String,
}

fn found(db: &Reader<'_>, id: DueId) -> Result<(Shown, String)> {
    let due = due::whole(db, id)?.shown(db.now());
    let person = Around::of(db, std::iter::once(&due))?.person(due.person_id);
    Ok((due, person))
}

fn show_form(
    visitor: &Treasurer,
    (due, person): (Shown, String),
    reason: String,
    faults: Faults,
) -> Outcome<Response> {
    let money = |minor| shown::money(minor, due.currency);
    let page = WaivePage {
        frame: visitor.frame("Waive what is open?", Section::Dues),
        open: money(due.balance),
        paid: (due.paid > 0).then(|| money(due.paid)),
        back: place(due.id),
        title: due.title,
        person,
        reason,
        faults,
    };
    show(status(&page.faults), &page)
}

pub(super) async fn ask(visitor: Treasurer, At(id): At<DueId>) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, id)).await?;
    show_form(&visitor, found, String::new(), Faults::default())
}

pub(super) async fn waive(At(id): At<DueId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, id)).await?;
    let (typed, mut faults) = (form.text("reason").to_owned(), Faults::default());
    let Some(reason) = typed::line("reason", &typed, REASON, &mut faults) else {
        faults.add("reason", "Say why, for those who look at it later.");
        return show_form(&visitor, found, typed, faults);
    };
    let waive = move |tx: &Tx<'_>| {
        let reach = Reach::Everywhere;
        changing::waive(tx, &reach, id, &Expected::Anything, Waiver { reason })
    };
    match visitor.write(waive).await {
        Ok(_) => Ok(see_other(&format!("{}?done=waived", place(id)))),
        Err(error) if is_fault(&error) => show_form(&visitor, found, typed, Faults::from(&error)),
        Err(error) => Err(error.into()),
    }
}
