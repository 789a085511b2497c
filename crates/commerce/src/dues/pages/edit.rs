//! The form to edit a due that has no payments.

use askama::Template;
use axum::response::Response;
use kit::Change;
use kit::string_enum::StringEnum;
use store::{Reader, Tx};

use super::charge_form::form_errors;
use super::form_fields::{self, Row};
use super::formatting::{self, DisplayNames};
use super::{Treasurer, TreasurerForm, detail_path, is_form_error, render, status};
use crate::dues::api::charges::{MAX_NOTE_LENGTH, MAX_TITLE_LENGTH};
use crate::dues::changing::{self, DueChange};
use crate::dues::due::{self, Category, DueView, Status};
use crate::dues::plan::NewInstallment;
use crate::error::{Code, Result};
use crate::ids::{DueId, PersonId};
use crate::rights::TeamAccess;
use crate::roster::{guardian, person};
use crate::web::form::{Faults, Form, version_precondition};
use crate::web::page::{Frame, Section};
use crate::web::path::PathParams;
use crate::web::visitor::{PageResult, see_other};

/// The submitted values.
#[derive(Debug)]
struct EditForm {
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

impl EditForm {
    fn read(form: &Form) -> Self {
        let text = |name: &str| form.text(name).to_owned();
        Self {
            title: text("title"),
            category: text("category"),
            note: form.get("note").unwrap_or_default().to_owned(),
            amount: text("amount"),
            due_on: text("due_on"),
            rows: form_fields::rows(form),
            payer: text("payer"),
            late_kind: text("late_kind"),
            late_fee: text("late_fee"),
            version: text("version"),
        }
    }

    fn of(due: &DueView) -> Self {
        let (late_kind, late_fee) = form_fields::late_fee_of(due.late_fee.as_ref(), due.currency);
        let parts = due.installments.iter().map(|part| (part.due_on, part.amount));
        Self {
            title: due.title.clone(),
            category: due.category.as_str().to_owned(),
            note: due.note.clone().unwrap_or_default(),
            amount: formatting::plain(due.amount, due.currency),
            due_on: due.due_on.to_string(),
            rows: form_fields::rows_of(parts, due.currency),
            payer: due.payer_id.to_string(),
            late_kind,
            late_fee,
            version: due.version.to_string(),
        }
    }

    fn is_category(&self, category: &str) -> bool {
        self.category == category
    }

    fn is_payer(&self, person: &PersonId) -> bool {
        self.payer == person.to_string()
    }

    fn is_late_kind(&self, kind: &str) -> bool {
        self.late_kind == kind
    }

    /// The change, or everything that is wrong with the input.
    fn change(&self, due: &DueView) -> std::result::Result<DueChange, Faults> {
        let mut faults = Faults::default();
        let title = form_fields::line("title", &self.title, MAX_TITLE_LENGTH, &mut faults);
        if title.is_none() {
            faults.add("title", "Enter a title.");
        }
        let note = form_fields::block("note", &self.note, MAX_NOTE_LENGTH, &mut faults);
        let amount = form_fields::amount("amount", &self.amount, due.currency, &mut faults);
        let (due_on, installments) = self.plan(due, &mut faults);
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
            installments,
            payer,
            late_fee: self.late_fee(due, &mut faults),
            metadata: Change::Keep,
        };
        if faults.is_empty() { Ok(change) } else { Err(faults) }
    }

    /// The due date of a due with a single installment, or the installments if they were edited. If only the amount was
    /// edited, the service scales them in proportion.
    fn plan(
        &self,
        due: &DueView,
        faults: &mut Faults,
    ) -> (Option<kit::Day>, Option<Vec<NewInstallment>>) {
        if due.installments.len() == 1 {
            return (form_fields::day("due_on", &self.due_on, faults), None);
        }
        let parts = form_fields::parts(&self.rows, due.currency, faults);
        let before = due.installments.iter();
        let before: Vec<_> = before
            .map(|part| NewInstallment { due_on: part.due_on, amount: part.amount })
            .collect();
        (None, Some(parts).filter(|parts| *parts != before))
    }

    fn late_fee(&self, due: &DueView, faults: &mut Faults) -> Change<due::LateFee> {
        if due.late_fee_at.is_some() {
            return Change::Keep;
        }
        let kind = (self.late_kind.as_str(), self.late_fee.as_str());
        form_fields::late_fee(kind, due.currency, faults).map_or(Change::Clear, Change::Set)
    }
}

/// The data of the page.
struct PageData {
    due: DueView,
    person: String,
    payers: Vec<(PersonId, String)>,
}

fn load(db: &Reader<'_>, id: DueId) -> Result<PageData> {
    let due = due::load(db, id)?.view(db.now());
    let name = DisplayNames::for_dues(db, std::iter::once(&due))?.person(due.person_id);
    let guardians = guardian::list_for(db, &[due.person_id])?.into_iter();
    let mut payers: Vec<_> =
        guardians.map(|link| (link.guardian.id, person::display_name(&link.guardian))).collect();
    payers.push((due.person_id, name.clone()));
    Ok(PageData { due, person: name, payers })
}

#[derive(Template)]
#[template(path = "dues/edit.html")]
struct EditPage {
    frame: Frame,
    path: String,
    title: String,
    person: String,
    currency: String,
    discount: Option<String>,
    payers: Vec<(PersonId, String)>,
    /// Whether the due can still be changed.
    editable: bool,
    /// Whether the due has a single installment.
    single_installment: bool,
    /// Whether the late fee was not added yet.
    late_fee_editable: bool,
    categories: Vec<(&'static str, &'static str)>,
    input: EditForm,
    faults: Faults,
}

impl EditPage {
    fn amount_hint(&self) -> String {
        let discount = self
            .discount
            .as_ref()
            .map(|discount| format!("The discount of {discount} stays unchanged. "));
        let parts = if self.single_installment {
            ""
        } else {
            "If you change only the amount, all installments change in proportion."
        };
        format!("{}{parts}", discount.unwrap_or_default())
    }
}

fn show_form(
    visitor: &Treasurer,
    data: PageData,
    input: EditForm,
    faults: Faults,
) -> PageResult<Response> {
    let PageData { due, person, payers } = data;
    let page = EditPage {
        frame: visitor.frame("Edit due", Section::Dues),
        path: detail_path(due.id),
        person,
        currency: due.currency.code().to_owned(),
        discount: (due.discount > 0).then(|| formatting::money(due.discount, due.currency)),
        payers,
        editable: due.status == Status::Open,
        single_installment: due.installments.len() == 1,
        late_fee_editable: due.late_fee_at.is_none(),
        title: due.title,
        categories: formatting::categories(),
        input,
        faults,
    };
    render(status(&page.faults), &page)
}

pub(super) async fn edit(
    visitor: Treasurer,
    PathParams(id): PathParams<DueId>,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    let input = EditForm::of(&data.due);
    show_form(&visitor, data, input, Faults::default())
}

pub(super) async fn save(
    PathParams(id): PathParams<DueId>,
    TreasurerForm { visitor, form }: TreasurerForm,
) -> PageResult<Response> {
    let data = visitor.read(move |db| load(db, id)).await?;
    let mut input = EditForm::read(&form);
    let change = match input.change(&data.due) {
        Ok(change) => change,
        Err(faults) => return show_form(&visitor, data, input, faults),
    };
    let (parts, currency) = (change.installments.clone(), data.due.currency);
    let expected = version_precondition(&input.version);
    let save =
        move |tx: &Tx<'_>| changing::change(tx, &TeamAccess::AllTeams, id, &expected, change);
    match visitor.write(save).await {
        Ok(_) => Ok(see_other(&format!("{}?done=saved", detail_path(id)))),
        Err(error) if error.code == Code::PreconditionFailed => {
            input.version = data.due.version.to_string();
            show_form(&visitor, data, input, Faults::edit_conflict())
        }
        Err(error) if is_form_error(&error) => {
            let faults = form_errors(&error, parts.as_deref(), currency.code());
            show_form(&visitor, data, input, faults)
        }
        Err(error) => Err(error.into()),
    }
}
