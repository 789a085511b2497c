//! The page on which a coach records who is at an event: one line per player, filled in from the answers.

use crate::attendance::lines::{self, Line};
use crate::attendance::sheet::{self, Entry, NewEntries, Sheet, Status};
use crate::events::EventsWrite;
use crate::events::event::{self, Event};
use crate::events::rsvp::Answer;
use crate::i18n::{Locale, format};
use crate::names::Names;
use crate::prelude::*;
use crate::teams::team::{self, Team};
use crate::web::form::version_precondition;
use crate::web::prelude::*;

/// A column of radio buttons: its status, heading, class and icon.
struct Choice {
    status: Status,
    label: &'static str,
    class: &'static str,
    icon: &'static str,
}

static CHOICES: [Choice; 4] = [
    Choice { status: Status::Present, label: mark!("Present"), class: "yes", icon: "check" },
    Choice { status: Status::Late, label: mark!("Late"), class: "may", icon: "clock" },
    Choice { status: Status::Excused, label: mark!("Excused"), class: "ex", icon: "file-text" },
    Choice { status: Status::Absent, label: mark!("Absent"), class: "no", icon: "x" },
];

const DONE: [(&str, &str); 1] = [("saved", mark!("Attendance saved."))];

/// A line with what is chosen on the page.
struct Row {
    line: Line,
    chosen: Option<Status>,
    note: String,
    /// What somebody else has recorded since the page was opened.
    recorded: Option<String>,
}

impl Row {
    fn new(line: Line) -> Self {
        let note = line.entry.as_ref().and_then(|entry| entry.note.clone()).unwrap_or_default();
        Self { chosen: line.suggestion(), note, recorded: None, line }
    }

    /// Takes what the form contains. In a form that is `stale`, marks what differs from what others have recorded in the
    /// meantime, and keeps their note if the form has none.
    fn fill(&mut self, form: &Form, stale: bool) {
        let id = self.line.member_id;
        self.chosen = Status::parse(form.text(&format!("s-{id}")));
        let note = form.get(&format!("n-{id}")).unwrap_or_default().trim();
        let entry = self.line.entry.as_ref().filter(|_| stale);
        let recorded_note = entry.and_then(|entry| entry.note.as_deref()).unwrap_or_default();
        let differs = note != recorded_note;
        self.note = if note.is_empty() { recorded_note } else { note }.to_owned();
        let is_new = |entry: &&Entry| Some(entry.status) != self.chosen || differs;
        self.recorded = entry.filter(is_new).map(|entry| {
            let parts = [label(entry.status), recorded_note];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
        });
    }

    /// The line below the name: what the player answered, unless the chosen status says the same.
    fn hint(&self) -> String {
        let is_here =
            self.chosen.is_some_and(|status| matches!(status, Status::Present | Status::Late));
        let answer = match self.line.answer {
            _ if self.line.is_away => t!("Away"),
            None => t!("No answer"),
            Some(Answer::Yes) if !is_here => t!("Said yes"),
            Some(Answer::No) if is_here => t!("Said no"),
            Some(Answer::Maybe) => t!("Said maybe"),
            Some(Answer::Waitlisted) => t!("On the waiting list"),
            Some(Answer::Yes | Answer::No) => "",
        };
        let parts = [answer, self.line.answer_note.as_deref().unwrap_or_default()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    fn is_chosen(&self, choice: &Choice) -> bool {
        self.chosen == Some(choice.status)
    }
}

/// What is wrong with the page that was sent.
enum Problem {
    /// Somebody else has recorded attendance since the page was opened.
    Conflict,
    Other(String),
}

#[derive(Template)]
#[template(path = "attendance/take.html")]
struct TakePage {
    frame: Frame,
    event: Event,
    team: Team,
    version: i64,
    rows: Vec<Row>,
    /// Who recorded the attendance last, and when.
    last: Option<(String, Timestamp)>,
    now: Timestamp,
    /// Why attendance cannot be recorded now.
    closed: Option<String>,
    problem: Option<Problem>,
    /// Whether the rest was just marked as present, which is not saved yet.
    is_filled_in: bool,
}

impl TakePage {
    async fn load(visitor: &Visitor<EventsWrite>, id: EventId) -> PageResult<Self> {
        let access = visitor.team_access().await?;
        let load = move |db: &Reader<'_>| {
            let event = event::find(db, &access, id)?;
            let team = team::find(db, event.team_id)?;
            let sheet = sheet::of_event(db, &event)?;
            let rows = lines::load(db, &event, &sheet)?.into_iter().map(Row::new).collect();
            let last = last_recorded(db, &sheet)?;
            Ok((event, team, sheet.version, rows, last))
        };
        let (event, team, version, rows, last) = visitor.read(load).await?;
        let now = visitor.app().clock.now();
        let closed = sheet::can_record(&event, now).err().map(|error| error.detail.to_string());
        let frame = visitor.frame(t!("Attendance"), Section::Schedule).team(team.id);
        let frame = frame.flash(visitor.guest.done_flash(&DONE));
        let (problem, is_filled_in) = (None, false);
        Ok(Self { frame, event, team, version, rows, last, now, closed, problem, is_filled_in })
    }

    /// Keeps the entries of the form, and marks those that differ from what others have recorded in the meantime.
    fn fill(&mut self, form: &Form) {
        let is_stale = form.text("version") != self.version.to_string();
        for row in &mut self.rows {
            row.fill(form, is_stale);
        }
    }

    /// The entries of the form as the API takes them, with those of players who have left since the page was opened.
    fn body(&self, form: &Form) -> Value {
        let entry = |(id, status): (&str, &str)| {
            let row = self.rows.iter().find(|row| row.line.member_id.to_string() == id);
            let status = row.map_or(Some(status), |row| Some(row.chosen?.as_str()))?;
            let note = row.map_or_else(|| form.text(&format!("n-{id}")), |row| row.note.trim());
            let note = Some(note).filter(|note| !note.is_empty());
            Some(json!({ "member_id": id, "status": status, "note": note }))
        };
        let marked = form.with_prefix("s-").map(|(name, status)| (&name[2..], status));
        json!({ "entries": marked.filter_map(entry).collect::<Vec<_>>() })
    }

    /// The player whose note would get lost, because they have no status.
    fn find_unsaved_note(&self) -> Option<&str> {
        let is_unsaved = |row: &&Row| row.chosen.is_none() && !row.note.trim().is_empty();
        self.rows.iter().find(is_unsaved).map(|row| row.line.name.as_str())
    }

    /// What is wrong with the entries, with the name of the player.
    fn explain(&self, error: &Error, body: &Value) -> String {
        let Some(fault) = error.faults.first() else { return error.detail.to_string() };
        let index = fault.pointer.split('/').nth(2).and_then(|part| part.parse::<usize>().ok());
        let id = index.and_then(|index| body["entries"][index]["member_id"].as_str());
        let row = self.rows.iter().find(|row| Some(&*row.line.member_id.to_string()) == id);
        match row {
            Some(row) => {
                let (name, problem) = (&row.line.name, fault.detail.to_string());
                t!("{name}: {problem}", name, problem)
            }
            None => fault.detail.to_string(),
        }
    }

    /// Whether everything that is chosen is recorded already, for example because the form was sent twice.
    fn is_recorded(&self) -> bool {
        self.rows.iter().all(|row| {
            let Some(status) = row.chosen else { return true };
            let note = Some(row.note.trim()).filter(|note| !note.is_empty());
            let entry = row.line.entry.as_ref();
            entry.is_some_and(|entry| (entry.status, entry.note.as_deref()) == (status, note))
        })
    }

    fn count(&self, matches: impl Fn(Option<Status>) -> bool) -> usize {
        self.rows.iter().filter(|row| matches(row.chosen)).count()
    }

    fn summary(&self) -> String {
        let here = self.count(|one| matches!(one, Some(Status::Present | Status::Late)));
        let away = self.count(|one| matches!(one, Some(Status::Excused | Status::Absent)));
        t!("{here} present, {away} not present", here, away)
    }

    fn unmarked_count(&self) -> usize {
        self.count(|one| one.is_none())
    }

    fn notes(&self) -> usize {
        self.rows.iter().filter(|row| !row.note.trim().is_empty()).count()
    }

    /// What the folded notes contain.
    fn notes_value(&self) -> String {
        match self.notes() {
            0 => t!("Optional. Coaches and the family of the player can read them.").to_owned(),
            count => tn!("{count} note", "{count} notes", count),
        }
    }

    /// The start of the event in its time zone.
    fn time(&self) -> String {
        let (locale, zone) = (Locale::current_or_english(), &self.event.timezone);
        if self.event.all_day {
            format::day_with_weekday(locale, zone.day(self.event.starts_at))
        } else {
            format::appointment(locale, zone.local(self.event.starts_at))
        }
    }

    fn reject(mut self, problem: Problem) -> PageResult {
        let status = match problem {
            Problem::Conflict => StatusCode::CONFLICT,
            Problem::Other(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        self.problem = Some(problem);
        render(status, &self)
    }
}

fn label(status: Status) -> &'static str {
    CHOICES.iter().find(|choice| choice.status == status).map_or("", |choice| t!(choice.label))
}

/// Who changed the sheet last, and when.
fn last_recorded(db: &Reader<'_>, sheet: &Sheet) -> Result<Option<(String, Timestamp)>> {
    let Some(last) = sheet.entries.iter().max_by_key(|entry| entry.recorded_at) else {
        return Ok(None);
    };
    let names = Names::load(db, [last.recorded_by.as_str()])?;
    let name = names.get(&last.recorded_by).unwrap_or_default().to_owned();
    Ok(Some((name, last.recorded_at)))
}

pub(super) async fn form(
    visitor: Visitor<EventsWrite>,
    PathParams(id): PathParams<EventId>,
) -> PageResult {
    render(StatusCode::OK, &TakePage::load(&visitor, id).await?)
}

pub(super) async fn save(
    PathParams(id): PathParams<EventId>,
    VisitorForm { visitor, form }: VisitorForm<EventsWrite>,
) -> PageResult {
    let mut page = TakePage::load(&visitor, id).await?;
    page.fill(&form);
    if form.is_checked("rest") {
        for row in page.rows.iter_mut().filter(|row| row.chosen.is_none()) {
            row.chosen = Some(Status::Present);
        }
        page.is_filled_in = true;
        return render(StatusCode::OK, &page);
    }
    if page.unmarked_count() == page.rows.len() {
        return page.reject(Problem::Other(t!("Mark at least one player.").to_owned()));
    }
    if let Some(name) = page.find_unsaved_note() {
        let problem = t!("Mark {name} too, or remove the note.", name);
        return page.reject(Problem::Other(problem));
    }
    let body = page.body(&form);
    let new = match Fields::read::<NewEntries>(body.clone()) {
        Ok(new) => new,
        Err(error) => {
            let problem = page.explain(&error, &body);
            return page.reject(Problem::Other(problem));
        }
    };
    let (access, expected) =
        (visitor.team_access().await?, version_precondition(form.text("version")));
    let record = move |tx: &Tx<'_>| sheet::record(tx, &access, id, &expected, new).map(drop);
    match visitor.write(record).await {
        Ok(()) => {}
        Err(error) if error.code == Code::PreconditionFailed => {
            if !page.is_recorded() {
                return page.reject(Problem::Conflict);
            }
        }
        Err(error) if matches!(error.code, Code::InvalidState | Code::ValidationFailed) => {
            let problem = page.explain(&error, &body);
            return page.reject(Problem::Other(problem));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(see_other(&format!("/events/{id}/attendance?done=saved")))
}
