//! Changing a due of which nothing was paid.

use askama::Template;
use axum::response::Response;
use kit::Change;
use kit::word::Word;
use store::{Reader, Tx};

use super::charge_form::refused;
use super::shown::{self, Around};
use super::typed::{self, Row};
use super::{Sent, Treasurer, is_fault, place, show, status};
use crate::accounts::rights::Reach;
use crate::dues::api::charges::{NOTE, TITLE};
use crate::dues::changing::{self, DueChange};
use crate::dues::due::{self, Category, Shown, Status};
use crate::dues::plan::Part;
use crate::error::{Code, Result};
use crate::ids::{DueId, PersonId};
use crate::roster::{guardian, person};
use crate::web::form::{Faults, Form, shown_version};
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, see_other};

/// What was typed.
#[derive(Debug)]
struct Typed {
    title: String,
    category: String,
    note: String,
    amount: String,
    due_on: String,
    rows: Vec<Row>,
    payer: String,
    late_kind: String,
    late_fee: String,
    /// The version of the due that the form showed.
    version: String,
}

impl Typed {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            title: text("title"),
            category: text("category"),
            note: form.get("note").unwrap_or_default().to_owned(),
            amount: text("amount"),
            due_on: text("due_on"),
            rows: typed::rows(form),
            payer: text("payer"),
            late_kind: text("late_kind"),
            late_fee: text("late_fee"),
            version: text("version"),
        }
    }

    fn of(due: &Shown) -> Self {
        let (late_kind, late_fee) = typed::late_fee_of(due.late_fee.as_ref(), due.currency);
        let parts = due.instalments.iter().map(|part| (part.due_on, part.amount));
        Self {
            title: due.title.clone(),
            category: due.category.word().to_owned(),
            note: due.note.clone().unwrap_or_default(),
            amount: shown::plain(due.amount, due.currency),
            due_on: due.due_on.to_string(),
            rows: typed::rows_of(parts, due.currency),
            payer: due.payer_id.to_string(),
            late_kind,
            late_fee,
            version: due.version.to_string(),
        }
    }

    fn is_for(&self, category: &str) -> bool {
        self.category == category
    }

    fn pays(&self, person: &PersonId) -> bool {
        self.payer == person.to_string()
    }

    fn fines(&self, kind: &str) -> bool {
        self.late_kind == kind
    }

    /// The change that is meant, or everything that is wrong.
    fn change(&self, due: &Shown) -> std::result::Result<DueChange, Faults> {
        let mut faults = Faults::default();
        let title = typed::line("title", &self.title, TITLE, &mut faults);
        if title.is_none() {
            faults.add("title", "Say what it is for.");
        }
        let note = typed::block("note", &self.note, NOTE, &mut faults);
        let amount = typed::amount("amount", &self.amount, due.currency, &mut faults);
        let (due_on, instalments) = self.plan(due, &mut faults);
        let payer = self.payer.parse().ok();
        if payer.is_none() {
            faults.add("payer", "Choose who pays.");
        }
        let change = DueChange {
            title,
            category: Category::parse(&self.category),
            note: note.map_or(Change::Clear, Change::Set),
            amount,
            due_on,
            instalments,
            payer,
            late_fee: self.late_fee(due, &mut faults),
            metadata: Change::Keep,
        };
        if faults.is_empty() { Ok(change) } else { Err(faults) }
    }

    /// The day of a due in one part, or the parts if they are others than before: with another amount alone,
    /// each changes in proportion.
    fn plan(&self, due: &Shown, faults: &mut Faults) -> (Option<kit::Day>, Option<Vec<Part>>) {
        if due.instalments.len() == 1 {
            return (typed::day("due_on", &self.due_on, faults), None);
        }
        let parts = typed::parts(&self.rows, due.currency, faults);
        let before = due.instalments.iter();
        let before: Vec<_> =
            before.map(|part| Part { due_on: part.due_on, amount: part.amount }).collect();
        (None, Some(parts).filter(|parts| *parts != before))
    }

    fn late_fee(&self, due: &Shown, faults: &mut Faults) -> Change<due::LateFee> {
        if due.late_fee_at.is_some() {
            return Change::Keep;
        }
        let kind = (self.late_kind.as_str(), self.late_fee.as_str());
        typed::late_fee(kind, due.currency, faults).map_or(Change::Clear, Change::Set)
    }
}

/// What the page is about.
struct Found {
    due: Shown,
    person: String,
    payers: Vec<(PersonId, String)>,
}

fn found(db: &Reader<'_>, id: DueId) -> Result<Found> {
    let due = due::whole(db, id)?.shown(db.now());
    let own = Around::of(db, std::iter::once(&due))?.person(due.person_id);
    let guardians = guardian::of(db, &[due.person_id])?.into_iter();
    let mut payers: Vec<_> =
        guardians.map(|link| (link.guardian.id, person::display_name(&link.guardian))).collect();
    payers.push((due.person_id, own.clone()));
    Ok(Found { due, person: own, payers })
}

#[derive(Template)]
#[template(path = "dues/edit.html")]
struct EditPage {
    frame: Frame,
    place: String,
    title: String,
    person: String,
    currency: String,
    discount: Option<String>,
    payers: Vec<(PersonId, String)>,
    /// Whether it can still be changed, is paid at once, and its late fee was not added yet.
    changeable: bool,
    single: bool,
    unfined: bool,
    categories: Vec<(&'static str, &'static str)>,
    typed: Typed,
    faults: Faults,
}

impl EditPage {
    fn amount_hint(&self) -> String {
        let less =
            self.discount.as_ref().map(|discount| format!("The discount of {discount} stays. "));
        let parts =
            if self.single { "" } else { "If only this changes, each part changes in proportion." };
        format!("{}{parts}", less.unwrap_or_default())
    }
}

fn show_form(visitor: &Treasurer, found: Found, typed: Typed, faults: Faults) -> Outcome<Response> {
    let Found { due, person, payers } = found;
    let page = EditPage {
        frame: visitor.frame("Change this due", Section::Dues),
        place: place(due.id),
        person,
        currency: due.currency.code().to_owned(),
        discount: (due.discount > 0).then(|| shown::money(due.discount, due.currency)),
        payers,
        changeable: due.status == Status::Open,
        single: due.instalments.len() == 1,
        unfined: due.late_fee_at.is_none(),
        title: due.title,
        categories: shown::categories(),
        typed,
        faults,
    };
    show(status(&page.faults), &page)
}

pub(super) async fn edit(visitor: Treasurer, At(id): At<DueId>) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, id)).await?;
    let typed = Typed::of(&found.due);
    show_form(&visitor, found, typed, Faults::default())
}

pub(super) async fn save(At(id): At<DueId>, Sent { visitor, form }: Sent) -> Outcome<Response> {
    let found = visitor.read(move |db| found(db, id)).await?;
    let mut typed = Typed::read(&form);
    let change = match typed.change(&found.due) {
        Ok(change) => change,
        Err(faults) => return show_form(&visitor, found, typed, faults),
    };
    let (parts, currency) = (change.instalments.clone(), found.due.currency);
    let expected = shown_version(&typed.version);
    let save = move |tx: &Tx<'_>| changing::change(tx, &Reach::Everywhere, id, &expected, change);
    match visitor.write(save).await {
        Ok(_) => Ok(see_other(&format!("{}?done=saved", place(id)))),
        Err(error) if error.code == Code::PreconditionFailed => {
            typed.version = found.due.version.to_string();
            show_form(&visitor, found, typed, Faults::changed_meanwhile())
        }
        Err(error) if is_fault(&error) => {
            let faults = refused(&error, parts.as_deref(), currency.code());
            show_form(&visitor, found, typed, faults)
        }
        Err(error) => Err(error.into()),
    }
}
