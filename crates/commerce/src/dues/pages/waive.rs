//! The form to waive the open balance of a due.

use askama::Template;
use axum::response::Response;
use store::{Reader, Tx};

use super::formatting::{self, DisplayNames};
use super::{Treasurer, TreasurerForm, detail_path, form_fields, is_form_error, render, status};
use crate::dues::api::charges::MAX_REASON_LENGTH;
use crate::dues::changing::{self, WaiveRequest};
use crate::dues::due::{self, DueView};
use crate::error::Result;
use crate::ids::DueId;
use crate::if_match::IfMatch;
use crate::rights::TeamAccess;
use crate::web::form::Faults;
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

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

fn load(db: &Reader<'_>, id: DueId) -> Result<(DueView, String)> {
    let due = due::load(db, id)?.view(db.now());
    let person = DisplayNames::for_dues(db, std::iter::once(&due))?.person(due.person_id);
    Ok((due, person))
}

fn show_form(
    visitor: &Treasurer,
    (due, person): (DueView, String),
    reason: String,
    faults: Faults,
) -> PageResult<Response> {
    let money = |minor| formatting::money(minor, due.currency);
    let page = WaivePage {
        frame: visitor.frame("Waive open balance", Section::Dues),
        open: money(due.balance),
        paid: (due.paid > 0).then(|| money(due.paid)),
        back: detail_path(due.id),
        title: due.title,
        person,
        reason,
        faults,
    };
    render(status(&page.faults), &page)
}

pub(super) async fn form(
    visitor: Treasurer,
    PathParams(id): PathParams<DueId>,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    show_form(&visitor, data, String::new(), Faults::default())
}

pub(super) async fn waive(
    PathParams(id): PathParams<DueId>,
    TreasurerForm { visitor, form }: TreasurerForm,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    let (input, mut faults) = (form.text("reason").to_owned(), Faults::default());
    let Some(reason) = form_fields::line("reason", &input, MAX_REASON_LENGTH, &mut faults) else {
        faults.add("reason", "Enter a reason.");
        return show_form(&visitor, data, input, faults);
    };
    let waive = move |tx: &Tx<'_>| {
        let access = TeamAccess::AllTeams;
        changing::waive(tx, &access, id, &IfMatch::Absent, WaiveRequest { reason })
    };
    match visitor.write(waive).await {
        Ok(_) => Ok(see_other(&format!("{}?done=waived", detail_path(id)))),
        Err(error) if is_form_error(&error) => {
            show_form(&visitor, data, input, Faults::from(&error))
        }
        Err(error) => Err(error.into()),
    }
}
