//! `/teams/{team}/roster/{member}/edit`: changes a person and their place on the team, in one form.

use super::person_form::{
    self, ADDRESS, BIRTH_DATE, CONTACT, EMERGENCY, GUARDIANS, MEDICAL_NOTE, NAMES, PLACE,
    POSITIONS, PREFERRED_NAME, STATUS,
};
use super::{Staff, StaffForm, load_for_change, member_path, name_of, write};
use crate::prelude::*;
use crate::roster::member::{self, Member, MemberChange};
use crate::roster::membership::MemberStatus;
use crate::roster::private_data::redact_member;
use crate::teams::header::TeamHeader;
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[
    NAMES,
    PREFERRED_NAME,
    PLACE,
    POSITIONS,
    STATUS,
    BIRTH_DATE,
    GUARDIANS,
    CONTACT,
    ADDRESS,
    EMERGENCY,
    MEDICAL_NOTE,
];

/// The person as saved.
struct SavedMember {
    header: TeamHeader,
    member: Member,
    /// Whether there is a medical note. It is not part of the form.
    has_note: bool,
}

fn load(
    db: &Reader<'_>,
    access: &TeamAccess,
    (team, id): (TeamId, MemberId),
) -> Result<SavedMember> {
    let header = load_for_change(db, access, team)?;
    let mut member = redact_member(access, member::show(db, team, id)?);
    Error::invalid_state("The member was removed. Add the person again.")
        .fail_if(member.status == MemberStatus::Removed)?;
    let note = member.private.as_mut().and_then(|private| private.medical_note.take());
    Ok(SavedMember { header, member, has_note: note.is_some() })
}

impl SavedMember {
    /// The form with the saved values.
    fn form(&self) -> FilledForm {
        let form = FilledForm::empty(FIELDS).filled_from(&self.member);
        let form = form.with("positions", self.member.positions.0.join(", "));
        self.prepare(form.version(self.member.version).fingerprint())
    }

    /// Leaves out the medical note, if there is one: it is shown only on request.
    fn prepare(&self, form: FilledForm) -> FilledForm {
        form.only_if(!self.has_note, "medical_note")
    }

    /// The change. Unchanged guardians are left out, because only admins and guardians may change those of a minor.
    fn change(&self, form: &mut FilledForm) -> Option<MemberChange> {
        let mut body = person_form::body(form);
        if body["guardians"] == person_form::body(&mut self.form())["guardians"] {
            body.as_object_mut().and_then(|body| body.remove("guardians"));
        }
        form.finish(body)
    }
}

#[derive(Template)]
#[template(path = "roster/edit.html")]
struct EditPage {
    frame: Frame,
    saved: SavedMember,
    form: FilledForm,
    /// A medical note that was entered while somebody else added one.
    unsaved_note: String,
}

impl EditPage {
    fn is_open(&self, names: &[&str]) -> bool {
        person_form::is_open(&self.form, names)
    }

    fn back(&self) -> String {
        member_path(self.saved.member.team_id, self.saved.member.id)
    }

    /// Whether the person is treated as a minor, so that some changes need an admin or a guardian.
    fn is_minor(&self) -> bool {
        self.saved.member.private.as_ref().is_some_and(|private| private.is_minor)
    }
}

fn page(visitor: &Staff, saved: SavedMember, form: FilledForm, unsaved_note: String) -> PageResult {
    let title = t!("Edit {name}", name = name_of(&saved.member));
    let frame = visitor.frame(title, Section::MyTeams).team(saved.header.team.id);
    render(form.status(), &EditPage { frame, saved, form, unsaved_note })
}

async fn read(visitor: &Staff, at: (TeamId, MemberId)) -> Result<SavedMember> {
    let access = visitor.team_access().await?;
    visitor.read(move |db| load(db, &access, at)).await
}

pub(super) async fn edit(
    visitor: Staff,
    PathParams(at): PathParams<(TeamId, MemberId)>,
) -> PageResult {
    let saved = read(&visitor, at).await?;
    let form = saved.form();
    page(&visitor, saved, form, String::new())
}

pub(super) async fn save(
    PathParams(at): PathParams<(TeamId, MemberId)>,
    StaffForm { visitor, form }: StaffForm,
) -> PageResult {
    let saved = read(&visitor, at).await?;
    let submitted = FilledForm::submitted(FIELDS, &form);
    let entered_note = submitted.text("medical_note").to_owned();
    let mut form = saved.prepare(submitted);
    if saved.has_note && !entered_note.is_empty() {
        // Somebody else added a note meanwhile. It must not be overwritten unseen, and the entered one must not get lost.
        form.combine_with(&saved.form());
        return page(&visitor, saved, form, entered_note);
    }
    let Some(change) = saved.change(&mut form) else {
        return page(&visitor, saved, form, String::new());
    };
    let expected = form.expected_version();
    let save = move |tx: &Tx<'_>, access: &TeamAccess| {
        member::change(tx, access, at, &expected, change).map(drop)
    };
    match write(&visitor, at.0, save).await {
        Err(error) if error.code == Code::PreconditionFailed => {
            let saved = read(&visitor, at).await?;
            form.combine_with(&saved.form());
            page(&visitor, saved, form, String::new())
        }
        result => match form.accept(result)? {
            Some(()) => Ok(see_other(&format!("{}?done=saved", member_path(at.0, at.1)))),
            None => page(&visitor, saved, form, String::new()),
        },
    }
}
