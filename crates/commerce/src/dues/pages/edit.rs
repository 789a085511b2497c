//! The form to edit a due that has no payments.

use super::form_fields::{self, INSTALLMENTS, LATE_FEE, LATE_KIND};
use super::formatting::{self, NamedDue};
use super::{Treasurer, TreasurerForm, detail_path, is_form_error};
use crate::dues::api::charges::{MAX_NOTE_LENGTH, MAX_TITLE_LENGTH};
use crate::dues::changing::{self, DueChange};
use crate::dues::due::{DueView, Status};
use crate::prelude::*;
use crate::roster::{guardian, person};
use crate::web::form::{Field, FilledForm};
use crate::web::prelude::*;

const FIELDS: &[Field] = &[
    Field::line("title", "Title", MAX_TITLE_LENGTH).required("Enter a title."),
    Field::select("category", "Category", &[]).required("Choose a category."),
    Field::amount("amount", "Amount in {currency}").hint("{discount} {plan}").required(""),
    Field::day("due_on", "Due on").required(""),
    INSTALLMENTS,
    Field::select("payer", "Payer", &[]).required("Choose who pays."),
    LATE_KIND,
    LATE_FEE,
    Field::block("note", "Note to the family", MAX_NOTE_LENGTH),
];

/// The data of the page.
struct PageData {
    due: NamedDue,
    payers: Vec<(PersonId, String)>,
}

fn load(db: &Reader<'_>, id: DueId) -> Result<PageData> {
    let due = NamedDue::load(db, id)?;
    let guardians = guardian::list_for(db, &[due.person_id])?.into_iter();
    let mut payers: Vec<_> =
        guardians.map(|link| (link.guardian.id, person::display_name(&link.guardian))).collect();
    payers.push((due.person_id, due.person()));
    Ok(PageData { due, payers })
}

/// The form for a due: as it was submitted, or with the values of the due.
fn fill_form(data: &PageData, submitted: Option<&Form>) -> FilledForm {
    let due = &data.due;
    let form = if let Some(form) = submitted {
        FilledForm::submitted(FIELDS, form)
    } else {
        let form = FilledForm::empty(FIELDS).currency(due.currency).filled_from(&**due);
        form.with("payer", due.payer_id.to_string()).version(due.version).fingerprint()
    };
    let discount = match due.discount {
        0 => String::new(),
        discount => {
            t!("The discount of {discount} stays unchanged.", discount = due.money(discount))
        }
    };
    let is_single = due.installments.len() == 1;
    let plan = t!("If you change only the amount, all installments change in proportion.");
    form.currency(due.currency)
        .word("discount", discount)
        .word("plan", if is_single { "" } else { plan })
        .only_if(is_single, "due_on")
        .only_if(!is_single, "installments")
        .only_if(due.late_fee_at.is_none(), "late_kind")
        .options("category", formatting::categories())
}

/// The change. Unchanged installments are left out: if only the amount was edited, the service scales them in proportion.
fn to_change(form: &mut FilledForm, due: &DueView) -> Option<DueChange> {
    let mut body = form.body();
    if body["payer"].as_str().is_some_and(|payer| payer.parse::<PersonId>().is_err()) {
        form.add_fault(&Fault::new("/payer", "invalid", "Choose who pays."));
    }
    let before = due.installments.iter();
    let before: Vec<Value> = before
        .map(|part| json!({ "due_on": part.due_on.to_string(), "amount": part.amount }))
        .collect();
    if body["installments"] == Value::from(before) {
        body.as_object_mut().and_then(|body| body.remove("installments"));
    }
    form.finish(body)
}

#[derive(Template)]
#[template(path = "dues/edit.html")]
struct EditPage {
    frame: Frame,
    due: NamedDue,
    form: FilledForm,
}

fn show_form(visitor: &Treasurer, data: PageData, form: FilledForm) -> PageResult {
    let frame = visitor.frame(t!("Edit due"), Section::Dues);
    let form = form.options("payer", data.payers);
    render(form.status(), &EditPage { frame, due: data.due, form })
}

pub(super) async fn edit(visitor: Treasurer, PathParams(id): PathParams<DueId>) -> PageResult {
    let data = visitor.read(move |db| load(db, id)).await?;
    let form = fill_form(&data, None);
    show_form(&visitor, data, form)
}

pub(super) async fn save(
    PathParams(id): PathParams<DueId>,
    TreasurerForm { visitor, form }: TreasurerForm,
) -> PageResult {
    let data = visitor.read(move |db| load(db, id)).await?;
    let mut form = fill_form(&data, Some(&form));
    let Some(change) = to_change(&mut form, &data.due) else {
        return show_form(&visitor, data, form);
    };
    let (parts, expected) = (change.installments.clone(), form.expected_version());
    let save =
        move |tx: &Tx<'_>| changing::change(tx, &TeamAccess::AllTeams, id, &expected, change);
    match visitor.write(save).await {
        Ok(_) => return Ok(see_other(&format!("{}?done=saved", detail_path(id)))),
        Err(error) if error.code == Code::PreconditionFailed => {
            form.combine_with(&fill_form(&data, None));
        }
        Err(error) if is_form_error(&error) => {
            form_fields::add_error(&mut form, &error, parts.as_deref());
        }
        Err(error) => return Err(error.into()),
    }
    show_form(&visitor, data, form)
}
