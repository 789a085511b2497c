//! `/events/{event}/postpone` and `/events/{event}/delete`: pages that ask before an action.

use super::cancel_page::{AffectedEvent, with_names};
use super::event_form::APPLY_TO;
use super::{Coach, CoachForm, event_path};
use crate::events::edit::{self, ApplyTo};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::Submission;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const DELETE_FIELDS: &[Field] = &[APPLY_TO];

fn show_postpone(visitor: &Coach, announced: &AffectedEvent, form: FilledForm) -> PageResult {
    let event = &announced.event.event;
    let frame = visitor.frame(t!("Postpone event"), Section::Schedule);
    let edit = Sentence::new("If you already know the new time, {link} instead.").link(
        "link",
        &format!("/events/{}/edit", event.id),
        t!("change date and time"),
    );
    let page = ConfirmPage::new(frame, "Postpone event", event_path(event.id))
        .harmless()
        .lead(announced.lead())
        .heading("What happens when you postpone the event")
        .effect("The event stays on the schedule without a valid time, until you set a new one.")
        .effect("Answers are kept.")
        .effect(announced.notice_sentence())
        .effect(edit)
        .form(form, "The event was not postponed");
    with_names(page, announced).respond()
}

pub(super) async fn ask_postpone(
    visitor: Coach,
    PathParams(id): PathParams<EventId>,
) -> PageResult {
    let announced = AffectedEvent::load(&visitor, id).await?;
    show_postpone(&visitor, &announced, FilledForm::empty(&[]).nonce(new_nonce(visitor.app())))
}

pub(super) async fn postpone(
    PathParams(id): PathParams<EventId>,
    CoachForm { visitor, form: sent }: CoachForm,
) -> PageResult {
    let announced = AffectedEvent::load(&visitor, id).await?;
    let (nonce, access) = (parse_nonce(&sent)?, visitor.team_access().await?);
    let mut form = FilledForm::submitted(&[], &sent);
    let postpone = move |tx: &Tx<'_>| {
        edit::postpone(tx, &access, id, &IfMatch::Absent)?;
        Ok(id)
    };
    match form.accept(visitor.write_once(nonce, postpone).await)? {
        Some(_) => Ok(see_other(&format!("{}?done=postponed", event_path(id)))),
        None => show_postpone(&visitor, &announced, form),
    }
}

fn show_delete(visitor: &Coach, announced: &AffectedEvent, form: FilledForm) -> PageResult {
    let event = &announced.event.event;
    let form = form.only_if(event.series_id.is_some(), "apply_to");
    let frame = visitor.frame(t!("Delete event"), Section::Schedule);
    ConfirmPage::new(frame, "Delete event", event_path(event.id))
        .back_label("Keep event")
        .lead(announced.lead())
        .heading("What happens when you delete the event")
        .effect("The event disappears from the schedule. Nobody gets an email.")
        .effect("This is only possible while nobody has answered. Otherwise cancel the event.")
        .effect("You cannot undo this.")
        .form(form, "The event was not deleted")
        .respond()
}

pub(super) async fn ask_delete(visitor: Coach, PathParams(id): PathParams<EventId>) -> PageResult {
    let announced = AffectedEvent::load(&visitor, id).await?;
    let form = FilledForm::empty(DELETE_FIELDS).nonce(new_nonce(visitor.app()));
    show_delete(&visitor, &announced, form)
}

pub(super) async fn delete(
    PathParams(id): PathParams<EventId>,
    CoachForm { visitor, form: sent }: CoachForm,
) -> PageResult {
    let announced = match AffectedEvent::load(&visitor, id).await {
        // The event is gone when the form is sent again.
        Err(error) if error.code == Code::NotFound && parse_nonce(&sent).is_ok() => None,
        loaded => Some(loaded?),
    };
    let (nonce, access) = (parse_nonce(&sent)?, visitor.team_access().await?);
    let mut form = FilledForm::submitted(DELETE_FIELDS, &sent);
    let apply_to = ApplyTo::parse(form.text("apply_to")).unwrap_or(ApplyTo::This);
    let delete = move |tx: &Tx<'_>| {
        let deleted = edit::delete(tx, &access, id, &IfMatch::Absent, apply_to)?;
        Ok(deleted.event.team_id)
    };
    let team = match form.accept(visitor.write_once(nonce, delete).await)? {
        Some(Submission::Accepted(team)) => team.to_string(),
        Some(Submission::Duplicate(team)) => team,
        None => {
            let announced = announced.ok_or_else(Error::not_found)?;
            return show_delete(&visitor, &announced, form);
        }
    };
    Ok(see_other(&format!("/schedule?team={team}&done=deleted")))
}
