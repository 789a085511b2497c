//! `/events/{event}/cancel`: asks for the reason, and says who is notified.

use super::display;
use super::event_form::APPLY_TO;
use super::{Coach, CoachForm, event_path};
use crate::events::edit::{self, Cancellation, FIND_NOTIFIED, NOTICE_PERIOD};
use crate::events::event::{self, EventView};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const FIELDS: &[Field] = &[
    Field::block("reason", "Reason", 500)
        .hint("For example, “The pitch is flooded”. Everybody on the team sees it."),
    APPLY_TO,
];

/// An event, and who is notified if it changes.
pub(super) struct AffectedEvent {
    pub event: EventView,
    /// The names of the people who get an email.
    people: Vec<String>,
    /// Whether the event is so near that people are notified.
    is_near: bool,
}

impl AffectedEvent {
    pub(super) async fn load(visitor: &Coach, id: EventId) -> Result<Self> {
        let access = visitor.team_access().await?;
        let read = move |db: &Reader<'_>| {
            let event = event::find(db, &access, id)?;
            let now = db.now();
            let is_near = !event.is_over(now) && event.starts_at < now.plus(NOTICE_PERIOD);
            let people =
                if is_near { FIND_NOTIFIED.get()?(db, event.team_id)? } else { Vec::new() };
            Ok(Self { event: event::view(db, event)?, people, is_near })
        };
        visitor.read(read).await
    }

    /// Title and time of the event.
    pub(super) fn lead(&self) -> Sentence {
        Sentence::new("{title}, {time}")
            .name("title", &self.event.event.shown_title())
            .word("time", display::start(&self.event))
    }

    /// Who is notified.
    pub(super) fn notice_sentence(&self) -> Sentence {
        let count = self.people.len();
        if self.is_near {
            let text = tn!(
                "{count} person on the team gets an email.",
                "{count} people on the team get an email: players, families and staff who accept emails.",
                count
            );
            return text.into();
        }
        if self.event.event.series_id.is_some() {
            return t!("Emails are sent only about events in the next 14 days.").to_owned().into();
        }
        t!("Nobody gets an email, because the event is not within the next 14 days.")
            .to_owned()
            .into()
    }
}

/// Adds the names of those who are notified.
pub(super) fn with_names(page: ConfirmPage, announced: &AffectedEvent) -> ConfirmPage {
    page.names(mark!("Who gets an email"), announced.people.clone())
}

fn show(visitor: &Coach, announced: &AffectedEvent, form: FilledForm) -> PageResult {
    let event = &announced.event.event;
    let form = form.only_if(event.series_id.is_some(), "apply_to");
    let frame = visitor.frame(t!("Cancel event"), Section::Schedule);
    let page = ConfirmPage::new(frame, "Cancel event", event_path(event.id))
        .back_label("Keep event")
        .lead(announced.lead())
        .heading("What happens when you cancel the event")
        .effect("The event stays on the schedule and is marked as cancelled.")
        .effect(announced.notice_sentence())
        .effect("Nobody can answer anymore. You cannot undo this.")
        .form(form, "The event was not cancelled");
    with_names(page, announced).respond()
}

pub(super) async fn form(visitor: Coach, PathParams(id): PathParams<EventId>) -> PageResult {
    let announced = AffectedEvent::load(&visitor, id).await?;
    show(&visitor, &announced, FilledForm::empty(FIELDS).nonce(new_nonce(visitor.app())))
}

pub(super) async fn cancel(
    PathParams(id): PathParams<EventId>,
    CoachForm { visitor, form: sent }: CoachForm,
) -> PageResult {
    let announced = AffectedEvent::load(&visitor, id).await?;
    let (nonce, access) = (parse_nonce(&sent)?, visitor.team_access().await?);
    let mut form = FilledForm::submitted(FIELDS, &sent);
    if announced.event.event.series_id.is_none() {
        form = form.without("apply_to");
    }
    if let Some(cancellation) = form.parse::<Cancellation>() {
        let cancel = move |tx: &Tx<'_>| {
            edit::cancel(tx, &access, id, &IfMatch::Absent, cancellation)?;
            Ok(id)
        };
        if form.accept(visitor.write_once(nonce, cancel).await)?.is_some() {
            return Ok(see_other(&format!("{}?done=cancelled", event_path(id))));
        }
    }
    show(&visitor, &announced, form)
}
