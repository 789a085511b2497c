//! `/events/{event}/edit`: the form to change an event or its series.

use super::concurrent_edit::{self, ChangedField};
use super::event_form::{self, FIELDS, TAKES_PLACE, TeamData};
use super::preview::Preview;
use super::taken_duties;
use super::{Coach, CoachForm, event_path};
use crate::events::edit::{self, EventChange};
use crate::events::event::{self, Event, EventView, Status};
use crate::events::location;
use crate::prelude::*;
use crate::web::fields::Fields;
use crate::web::form::FilledForm;
use crate::web::prelude::*;

#[derive(Template)]
#[template(path = "events/edit.html")]
struct EditPage {
    frame: Frame,
    event: EventView,
    form: FilledForm,
    /// What somebody else changed while the form was open.
    changed: Vec<ChangedField>,
    preview: Option<Preview>,
}

impl EditPage {
    /// Whether one of these fields has an error, so that their part of the page must be open.
    fn has_error(&self, fields: &[&str]) -> bool {
        self.form.has_error(fields)
    }

    /// What a closed part of the form contains.
    fn summary(&self, part: &str) -> String {
        event_form::summary(&self.form, part)
    }

    fn has_duty_error(&self) -> bool {
        self.form.faults.all().any(|(field, _)| field.starts_with("dut"))
    }

    fn is_postponed(&self) -> bool {
        self.event.event.status == Status::Postponed
    }

    fn is_cancelled(&self) -> bool {
        self.event.event.status == Status::Cancelled
    }
}

/// The data of the page.
struct PageData {
    access: TeamAccess,
    event: EventView,
    team: TeamData,
}

async fn load(visitor: &Coach, id: EventId) -> Result<PageData> {
    let access = visitor.team_access().await?;
    let read = move |db: &Reader<'_>| {
        let event = event::view(db, event::find(db, &access, id)?)?;
        let team = TeamData::load(db, &access, event.event.team_id)?;
        Ok(PageData { access, event, team })
    };
    visitor.read(read).await
}

/// What is shown besides the form.
#[derive(Default)]
struct Extra {
    changed: Vec<ChangedField>,
    preview: Option<Preview>,
}

fn show(visitor: &Coach, data: PageData, form: FilledForm, extra: Extra) -> PageResult {
    let PageData { event, team, .. } = data;
    let form = team.add_options(form, event.location.as_ref()).without("repeat");
    let frame = visitor.frame(t!("Edit event"), Section::Schedule).team(team.team.id);
    let Extra { changed, preview } = extra;
    let page = EditPage { frame, event, form, changed, preview };
    render(page.form.status(), &page)
}

/// Adds what depends on the event to a form.
fn of_event(form: FilledForm, event: &Event) -> FilledForm {
    let (is_series, is_postponed) = (event.series_id.is_some(), event.status == Status::Postponed);
    let form = if is_postponed { form } else { form.cleared(TAKES_PLACE) };
    event_form::add_deadline_option(form, event).only_if(is_series, "apply_to").without("repeat")
}

pub(super) async fn edit(visitor: Coach, PathParams(id): PathParams<EventId>) -> PageResult {
    let data = load(&visitor, id).await?;
    let form = concurrent_edit::open(&data.event.event).nonce(new_nonce(visitor.app()));
    let form = of_event(form, &data.event.event);
    show(&visitor, data, form, Extra::default())
}

/// A submitted change.
struct SubmittedChange {
    id: EventId,
    access: TeamAccess,
    body: Value,
    place: Option<Value>,
    form: FilledForm,
    sent: Form,
}

impl SubmittedChange {
    /// Reads the form. Errors are added to it.
    fn read(form: &mut FilledForm, sent: &Form, data: &PageData) -> Option<Self> {
        let event = &data.event.event;
        let body = event_form::body(form, &event.timezone);
        let place = event_form::new_place(form);
        if concurrent_edit::has_new_times(form) {
            event_form::check_clock_change(form, &event.timezone);
        }
        let body = concurrent_edit::changes(form, body);
        form.finish::<EventChange>(body.clone())?;
        let (form, sent, access) = (form.clone(), sent.clone(), data.access.clone());
        Some(Self { id: event.id, access, body, place, form, sent })
    }

    fn preview(&self, tx: &Tx<'_>) -> Result<Preview> {
        let change = Fields::read(self.body.clone())?;
        let (changed, warnings) = edit::preview(tx, &self.access, self.id, &change)?;
        taken_duties::check(&changed, tx.now())?;
        Preview::load_of_change(tx, &self.access, &changed, &warnings)
    }

    /// Saves the change, unless the visitor must see first what somebody else changed or what the event overlaps with.
    fn save(&self, tx: &Tx<'_>) -> Result<EventId> {
        let current = event::find(tx, &self.access, self.id)?;
        let is_stale = !concurrent_edit::merge(&mut self.form.clone(), &current).is_empty();
        if is_stale || !self.preview(tx)?.was_seen(&self.sent) {
            return Err(Error::new(Code::PreconditionFailed, "The event or its preview changed."));
        }
        let mut change: EventChange = Fields::read(self.body.clone())?;
        if let Some(place) = &self.place {
            let place = location::create(tx, &self.access, Fields::read(place.clone())?)?;
            change.location_id = Change::Set(place.id);
        }
        edit::change(tx, &self.access, self.id, &IfMatch::Absent, change)?;
        Ok(self.id)
    }
}

pub(super) async fn save(
    PathParams(id): PathParams<EventId>,
    CoachForm { visitor, form: sent }: CoachForm,
) -> PageResult {
    let data = load(&visitor, id).await?;
    let nonce = parse_nonce(&sent)?;
    let form = of_event(FilledForm::submitted(FIELDS, &sent), &data.event.event);
    let mut form = concurrent_edit::without_removed_duties(form, &data.event.event);
    let Some(submitted) = SubmittedChange::read(&mut form, &sent, &data) else {
        return show(&visitor, data, form, Extra::default());
    };
    if concurrent_edit::is_unchanged(&form) {
        if data.event.event.status != Status::Postponed {
            return Ok(see_other(&event_path(id)));
        }
        let error = mark!("Choose a new date or time. To keep the former one, check this box.");
        return show(&visitor, data, form.with_error(TAKES_PLACE, error), Extra::default());
    }
    let submitted = std::sync::Arc::new(submitted);
    let request = std::sync::Arc::clone(&submitted);
    match visitor.write_once(nonce, move |tx| request.save(tx)).await {
        Ok(_) => return Ok(see_other(&format!("{}?done=saved", event_path(id)))),
        Err(error) if error.code == Code::PreconditionFailed => {}
        Err(error) => return show_error(&visitor, id, form, error).await,
    }
    let data = load(&visitor, id).await?;
    let changed = concurrent_edit::merge(&mut form, &data.event.event);
    if !changed.is_empty() {
        return show(&visitor, data, form, Extra { changed, preview: None });
    }
    match visitor.write(move |tx| submitted.preview(tx)).await {
        Ok(preview) => show(&visitor, data, form, Extra { changed, preview: Some(preview) }),
        Err(error) => show_error(&visitor, id, form, error).await,
    }
}

/// The page with an error of the change, if the visitor can correct it.
async fn show_error(
    visitor: &Coach,
    id: EventId,
    mut form: FilledForm,
    error: Error,
) -> PageResult {
    let is_taken = taken_duties::is_refused(&error);
    form.accept::<()>(Err(error))?;
    let data = load(visitor, id).await?;
    if is_taken {
        taken_duties::restore(&mut form, &data.event.event);
    }
    show(visitor, data, form, Extra::default())
}
