//! `/teams/{team}/roster/new`: adds one person to a team.

use super::duplicate_choice::{self, Choice, DUPLICATE, SimilarPerson};
use super::person_form::{
    self, BIRTH_DATE, CONTACT, EMERGENCY, GUARDIANS, MEDICAL_NOTE, NAMES, PLACE, POSITIONS,
};
use super::{Staff, StaffForm, header_for_change, member_path, roster_path, write};
use crate::error::Candidate;
use crate::prelude::*;
use crate::roster::new_members::{self, NewMember};
use crate::teams::choose::{TeamSelection, choose};
use crate::teams::header::TeamHeader;
use crate::web::form::{Field, FilledForm};
use crate::web::form_dedup::{Nonce, Submission, submit_once};
use crate::web::prelude::*;

const FIELDS: &[Field] =
    &[NAMES, PLACE, POSITIONS, BIRTH_DATE, GUARDIANS, CONTACT, EMERGENCY, MEDICAL_NOTE];

#[derive(Template)]
#[template(path = "roster/add.html")]
struct AddPage {
    frame: Frame,
    header: TeamHeader,
    form: FilledForm,
    /// People who may be the same person. `None` if there are none, empty if the visitor may not see them.
    similar: Option<Vec<SimilarPerson>>,
    choice: Choice,
}

impl AddPage {
    fn is_open(&self, names: &[&str]) -> bool {
        person_form::is_open(&self.form, names)
    }

    fn back(&self) -> String {
        roster_path(self.header.team.id)
    }

    fn paste_path(&self) -> String {
        format!("{}/paste", roster_path(self.header.team.id))
    }

    fn status(&self) -> StatusCode {
        if self.similar.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { self.form.status() }
    }
}

/// Asks for which team people are added.
pub(super) async fn choose_team(visitor: Staff) -> PageResult {
    let path = |team| format!("{}/new", roster_path(team));
    match choose(&visitor, (t!("Add people"), Section::MyTeams), path).await? {
        TeamSelection::Team(team) => Ok(see_other(&path(team))),
        TeamSelection::Page(page) => Ok(page),
    }
}

async fn page(
    visitor: &Staff,
    header: TeamHeader,
    form: FilledForm,
    (candidates, choice): (Option<Vec<Candidate>>, Choice),
) -> PageResult {
    let similar = match candidates {
        None => None,
        Some(candidates) => {
            let find = move |db: &Reader<'_>| {
                let teams = duplicate_choice::team_names(db, &candidates)?;
                Ok(duplicate_choice::options(&candidates, &teams))
            };
            Some(visitor.read(find).await?)
        }
    };
    let frame = visitor.frame(t!("Add a person"), Section::MyTeams).team(header.team.id);
    let page = AddPage { frame, header, form, similar, choice };
    render(page.status(), &page)
}

pub(super) async fn new(visitor: Staff, PathParams(team): PathParams<TeamId>) -> PageResult {
    let header = header_for_change(&visitor, team).await?;
    let form = FilledForm::empty(FIELDS).with("role", "player").nonce(new_nonce(visitor.app()));
    page(&visitor, header, form, (None, Choice::Undecided)).await
}

pub(super) async fn submit(
    PathParams(team): PathParams<TeamId>,
    StaffForm { visitor, form }: StaffForm,
) -> PageResult {
    let header = header_for_change(&visitor, team).await?;
    let nonce = parse_nonce(&form)?;
    let choice = Choice::parse(form.text("similar"));
    let mut form = FilledForm::submitted(FIELDS, &form);
    let body = person_form::body(&mut form);
    let Some(new) = form.finish::<NewMember>(body) else {
        return page(&visitor, header, form, (None, choice)).await;
    };
    match add(&visitor, team, choice.apply(new), nonce).await {
        Ok(id) => Ok(see_other(&format!("{}?done=added", member_path(team, id)))),
        Err(error) => {
            let duplicate = error.faults.iter().find(|fault| fault.code == DUPLICATE);
            if let Some(duplicate) = duplicate {
                let candidates = Some(duplicate.candidates.clone());
                return page(&visitor, header, form, (candidates, choice)).await;
            }
            form.accept::<()>(Err(error))?;
            page(&visitor, header, form, (None, choice)).await
        }
    }
}

/// Adds the person. A form that is sent several times adds one person.
async fn add(visitor: &Staff, team: TeamId, new: NewMember, nonce: Nonce) -> Result<MemberId> {
    let ttl = visitor.app().config.idempotency_ttl;
    let work = move |tx: &Tx<'_>, access: &TeamAccess| {
        submit_once(tx, &nonce, ttl, |tx| {
            let member = new_members::add_typed(tx, access, team, new)?;
            Ok((member.id.to_string(), member.id))
        })
    };
    match write(visitor, team, work).await? {
        Submission::Accepted(id) => Ok(id),
        Submission::Duplicate(id) => id.parse().map_err(|_| Error::not_found()),
    }
}
