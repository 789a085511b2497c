//! `/teams/{team}/roster/{member}`: a person on a team. The medical note is shown only on request, which is recorded.

use super::detail_view::MemberView;
use super::{RosterReader, StaffForm, member_path, roster_path, write};
use crate::prelude::*;
use crate::roster::RosterRead;
use crate::roster::member::{self, MemberChange};
use crate::roster::private_data::HasPrivateData;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const NOTE: &[Field] = &[Field::block("medical_note", "Medical note", 10_000)
    .hint("Allergies, medicine, and what to do. Coaches of the team and the family can read it.")];

const DONE: [(&str, &str); 4] = [
    ("added", mark!("The person is on the roster now.")),
    ("saved", mark!("Changes saved.")),
    ("moved", mark!("The person is on this team now.")),
    ("note", mark!("Medical note saved.")),
];

/// The medical note on the page.
enum Note {
    /// There is none.
    None,
    /// There is one, which is not shown.
    Hidden,
    /// It is shown. Coaches can change it.
    Shown(String, Box<FilledForm>),
}

#[derive(Template)]
#[template(path = "roster/detail.html")]
struct DetailPage {
    frame: Frame,
    view: MemberView,
    note: Note,
}

impl DetailPage {
    fn back(&self) -> String {
        roster_path(self.view.header.team.id)
    }

    fn status(&self) -> StatusCode {
        match &self.note {
            Note::Shown(_, form) => form.status(),
            _ => StatusCode::OK,
        }
    }
}

fn page<N: Permission>(visitor: &Visitor<N>, view: MemberView, note: Note) -> PageResult {
    let frame = visitor.frame(view.name.clone(), Section::MyTeams).team(view.header.team.id);
    let frame = frame.flash(visitor.guest.done_flash(&DONE));
    let page = DetailPage { frame, view, note };
    render(page.status(), &page)
}

pub(super) async fn show(
    visitor: RosterReader,
    PathParams(at): PathParams<(TeamId, MemberId)>,
) -> PageResult {
    let access = visitor.team_access().await?;
    let mut view = visitor.read(move |db| MemberView::load(db, &access, at)).await?;
    let note = if view.take_note().is_some() { Note::Hidden } else { Note::None };
    page(&visitor, view, note)
}

/// Reads the person with the medical note, and records that it was read.
async fn read_note<N: Permission>(
    visitor: &Visitor<N>,
    at: (TeamId, MemberId),
) -> Result<(MemberView, String)> {
    let read = move |tx: &Tx<'_>, access: &TeamAccess| {
        let mut view = MemberView::load(tx, access, at)?;
        if let Some(entry) = view.member.read_audit_entry() {
            tx.audit(entry.action, &entry.subject, &entry.details)?;
        }
        let note = view.take_note().unwrap_or_default();
        Ok((view, note))
    };
    write(visitor, at.0, read).await
}

/// Shows the medical note.
pub(super) async fn show_note(
    PathParams(at): PathParams<(TeamId, MemberId)>,
    VisitorForm { visitor, .. }: VisitorForm<RosterRead>,
) -> PageResult {
    let (view, note) = read_note(&visitor, at).await?;
    let form = FilledForm::empty(NOTE).with("medical_note", note.clone());
    let form = form.version(view.member.version);
    page(&visitor, view, Note::Shown(note, Box::new(form)))
}

pub(super) async fn save_note(
    PathParams(at): PathParams<(TeamId, MemberId)>,
    StaffForm { visitor, form }: StaffForm,
) -> PageResult {
    super::header_for_change(&visitor, at.0).await?;
    let mut form = FilledForm::submitted(NOTE, &form);
    let change = form.parse::<MemberChange>();
    let (has_change, expected) = (change.is_some(), form.expected_version());
    let save = move |tx: &Tx<'_>, access: &TeamAccess| match change {
        Some(change) => member::change(tx, access, at, &expected, change).map(drop),
        None => member::show(tx, at.0, at.1).map(drop),
    };
    let saved = match write(&visitor, at.0, save).await {
        Err(error) if error.code == Code::PreconditionFailed => {
            form.report_conflict(error.version.unwrap_or_default());
            None
        }
        result => form.accept(result)?,
    };
    if has_change && saved.is_some() {
        return Ok(see_other(&format!("{}?done=note", member_path(at.0, at.1))));
    }
    let (view, note) = read_note(&visitor, at).await?;
    page(&visitor, view, Note::Shown(note, Box::new(form)))
}
