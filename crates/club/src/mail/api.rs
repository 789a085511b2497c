//! The JSON endpoints of emails.

use super::email::{self, Email, EmailFilter};
use crate::error::Result;
use crate::ids::EmailId;
use crate::web::caller::OutboxRead;
use crate::web::prelude::*;

/// Routes below `/emails`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list)).with(routes!(find))
}

/// List emails
///
/// Returns sent and pending emails, newest first. API keys that are limited to certain teams cannot use this endpoint.
#[utoipa::path(get, path = "/emails", operation_id = "emails_list", tag = "Messages",
    params(Paging<EmailFilter>),
    responses((status = 200, description = "A page of emails.", body = ListResponse<Email>)),
    security(("key" = ["messages:read"])))]
async fn list(
    caller: Caller<OutboxRead>,
    Query(paging): Query<Paging<EmailFilter>>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.bypass_cache().page(paging, email::list).await
}

/// Retrieve an email
///
/// Returns an email with its delivery status.
#[utoipa::path(get, path = "/emails/{email_id}", operation_id = "emails_get", tag = "Messages",
    params(("email_id" = EmailId, Path, description = "ID of the email.")),
    responses((status = 200, description = "The email.", body = ObjectResponse<Email>)),
    security(("key" = ["messages:read"])))]
async fn find(
    caller: Caller<OutboxRead>,
    PathParams(id): PathParams<EmailId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    caller.require_all_teams()?;
    caller.bypass_cache().read_object(move |db| email::find(db, id)).await
}
