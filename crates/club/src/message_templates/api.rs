//! Endpoints of message templates.

use super::template::{
    self, MessageTemplate, MessageTemplateChange, MessageTemplateFilter, NewMessageTemplate,
};
use super::{TemplatesManage, TemplatesRead};
use crate::prelude::*;
use crate::web::prelude::*;

pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list, create)).with(routes!(find, change, delete))
}

/// List message templates
///
/// Returns templates in order of creation.
#[endpoint(get, "/message_templates", id = "message_templates.list", tag = "Messages",
    200(ListResponse<MessageTemplate>, "A page of templates."))]
async fn list(
    caller: Caller<TemplatesRead>,
    paging: Paging<MessageTemplateFilter>,
) -> Result<Response> {
    caller.page(paging, |db, _, filter, page| template::list(db, filter, page)).await
}

/// Create a message template
///
/// All coaches and managers of the club can read it. Not available to keys that are limited to certain teams.
#[endpoint(post, "/message_templates", id = "message_templates.create", tag = "Messages",
    example = json!({ "name": "Match day", "subject": "Match on Saturday", "body": "Meet at the **lower pitch**." }),
    201(ObjectResponse<MessageTemplate>, "The new template."))]
async fn create(
    caller: Caller<TemplatesManage>,
    body: Body<NewMessageTemplate>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.create(body, template::create).await
}

/// Retrieve a message template
///
/// Returns a template with its text.
#[endpoint(get, "/message_templates/{template_id}", id = "message_templates.get", tag = "Messages",
    200(ObjectResponse<MessageTemplate>, "The template."))]
async fn find(caller: Caller<TemplatesRead>, id: MessageTemplateId) -> Result<Response> {
    caller.read_object(move |db| template::find(db, id)).await
}

/// Update a message template
///
/// Omitted fields stay unchanged; `null` clears a field. Not available to keys that are limited to certain teams.
#[endpoint(patch, "/message_templates/{template_id}", id = "message_templates.update", tag = "Messages",
    example = json!({ "subject": "Match on Sunday" }),
    200(ObjectResponse<MessageTemplate>, "The updated template."))]
async fn change(
    caller: Caller<TemplatesManage>,
    id: MessageTemplateId,
    body: Body<MessageTemplateChange>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller
        .change(body, move |tx, change, expected| template::change(tx, id, expected, change))
        .await
}

/// Delete a message template
///
/// Messages written with it are kept. Not available to keys that are limited to certain teams.
#[endpoint(delete, "/message_templates/{template_id}", id = "message_templates.delete", tag = "Messages",
    200(ObjectResponse<MessageTemplate>, "The deleted template."))]
async fn delete(
    caller: Caller<TemplatesManage>,
    id: MessageTemplateId,
    body: Body<NoBody>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.change(body, move |tx, NoBody, expected| template::delete(tx, id, expected)).await
}
