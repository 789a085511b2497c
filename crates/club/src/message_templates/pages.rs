//! `/messages/templates`: admins manage the texts that coaches can start a message from.

use super::TemplatesManage;
use super::template::{
    self, MessageTemplate, MessageTemplateChange, MessageTemplateFilter, NewMessageTemplate,
};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::form::{Field, FilledForm};
use crate::web::list::{Cell, Column, FilterBar, list_page};
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const LIST: &str = "/messages/templates";
const NEW: &str = "/messages/templates/new";
const FIELDS: &[Field] = &[
    Field::line("name", "Name", 120)
        .hint("For example, Match day. Only coaches and admins see it.")
        .required("Enter a name."),
    Field::line("subject", "Title of the message", 200),
    Field::block("body", "Message", 20_000)
        .hint("You can use **bold**, lists with “-”, and links.")
        .required("Write a message."),
];
const DONE: [(&str, &str); 3] = [
    ("added", mark!("Template added.")),
    ("saved", mark!("Your changes were saved.")),
    ("deleted", mark!("Template deleted.")),
];

type Admin = Visitor<TemplatesManage>;
type AdminForm = VisitorForm<TemplatesManage>;

/// Routes of the pages of templates.
pub fn router() -> Router<App> {
    Router::new()
        .route(LIST, get(list))
        .route(NEW, get(new).post(create))
        .route("/messages/templates/{template}", get(edit).post(save))
        .route("/messages/templates/{template}/delete", get(confirm).post(delete))
}

list_page!(ListPage, "message_templates/list.html");

const COLUMNS: &[Column<MessageTemplate>] = &[
    Column::page("Name", |template| {
        Cell::name(&template.name).link(format!("{LIST}/{}", template.id))
    }),
    Column::page("Title", |template| Cell::name(template.subject.as_deref().unwrap_or_default())),
    Column::page("Last changed", |template| Cell::Age(template.updated_at)),
];

async fn list(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let filters = FilterBar::new(&request.form).input("q", "Name", "search");
    let q = filters.search("q");
    let filter = MessageTemplateFilter { q, ..MessageTemplateFilter::default() };
    let read = move |db: &Reader<'_>, page: &_| template::list(db, &filter, page);
    let rows = RowPage::read(&visitor, &request, read).await?;
    let list = rows.list(t!("Message templates"), COLUMNS, &visitor.times()).filters(filters);
    let frame = visitor.frame(t!("Message templates"), Section::Messages);
    render(StatusCode::OK, &ListPage { frame: frame.flash(visitor.guest.done_flash(&DONE)), list })
}

#[derive(Template)]
#[template(path = "message_templates/form.html")]
struct FormPage {
    frame: Frame,
    form: FilledForm,
    /// The template to edit; `None` for a new one.
    id: Option<MessageTemplateId>,
}

fn show(visitor: &Admin, form: FilledForm, id: Option<MessageTemplateId>) -> PageResult {
    let title = if id.is_some() { t!("Edit template") } else { t!("Add template") };
    let frame = visitor.frame(title, Section::Messages);
    render(form.status(), &FormPage { frame, form, id })
}

async fn new(visitor: Admin) -> PageResult {
    let form = FilledForm::empty(FIELDS).nonce(new_nonce(visitor.app()));
    show(&visitor, form, None)
}

async fn create(AdminForm { visitor, form }: AdminForm) -> PageResult {
    let (nonce, mut form) = (parse_nonce(&form)?, FilledForm::submitted(FIELDS, &form));
    if let Some(new) = form.parse::<NewMessageTemplate>() {
        let create = |tx: &Tx<'_>| template::create(tx, new).map(|template| template.id);
        if form.accept(visitor.write_once(nonce, create).await)?.is_some() {
            return Ok(see_other(&format!("{LIST}?done=added")));
        }
    }
    show(&visitor, form, None)
}

async fn edit(visitor: Admin, PathParams(id): PathParams<MessageTemplateId>) -> PageResult {
    let template = visitor.read(move |db| template::find(db, id)).await?;
    show(&visitor, edit_form(&template), Some(id))
}

fn edit_form(template: &MessageTemplate) -> FilledForm {
    FilledForm::empty(FIELDS).filled_from(template).version(template.version).fingerprint()
}

async fn save(
    PathParams(id): PathParams<MessageTemplateId>,
    AdminForm { visitor, form }: AdminForm,
) -> PageResult {
    let before = visitor.read(move |db| template::find(db, id)).await?;
    let mut form = FilledForm::submitted(FIELDS, &form);
    if let Some(change) = form.parse::<MessageTemplateChange>() {
        let expected = form.expected_version();
        let save = move |tx: &Tx<'_>| template::change(tx, id, &expected, change);
        match visitor.write(save).await {
            Err(error) if error.code == Code::PreconditionFailed => {
                form.combine_with(&edit_form(&before));
            }
            result => {
                if form.accept(result)?.is_some() {
                    return Ok(see_other(&format!("{LIST}?done=saved")));
                }
            }
        }
    }
    show(&visitor, form, Some(id))
}

async fn confirm(visitor: Admin, PathParams(id): PathParams<MessageTemplateId>) -> PageResult {
    let template = visitor.read(move |db| template::find(db, id)).await?;
    let frame = visitor.frame(t!("Delete template"), Section::Messages);
    ConfirmPage::new(frame, "Delete", format!("{LIST}/{id}"))
        .lead(Sentence::new("{name}").name("name", &template.name))
        .effect("Coaches can no longer choose it.")
        .effect("Messages that were written with it stay as they are.")
        .respond()
}

async fn delete(
    PathParams(id): PathParams<MessageTemplateId>,
    AdminForm { visitor, .. }: AdminForm,
) -> PageResult {
    visitor.write(move |tx| template::delete(tx, id, &IfMatch::Absent)).await?;
    Ok(see_other(&format!("{LIST}?done=deleted")))
}
