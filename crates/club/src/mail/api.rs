//! The JSON endpoints of emails.

use super::email::{self, Email, EmailFilter};
use crate::error::Result;
use crate::ids::EmailId;
use crate::mail::OutboxRead;
use crate::web::prelude::*;

/// Routes below `/emails`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list)).with(routes!(find))
}

/// List emails
///
/// Returns sent and pending emails, newest first. API keys that are limited to certain teams cannot use this endpoint.
#[endpoint(get, "/emails", id = "emails_list", tag = "Messages",
    200(ListResponse<Email>, "A page of emails."))]
async fn list(caller: Caller<OutboxRead>, paging: Paging<EmailFilter>) -> Result<Response> {
    caller.require_all_teams()?;
    caller.bypass_cache().page(paging, email::list).await
}

/// Retrieve an email
///
/// Returns an email with its delivery status.
#[endpoint(get, "/emails/{email_id}", id = "emails_get", tag = "Messages",
    200(ObjectResponse<Email>, "The email."))]
async fn find(caller: Caller<OutboxRead>, id: EmailId) -> Result<Response> {
    caller.require_all_teams()?;
    caller.bypass_cache().read_object(move |db| email::find(db, id)).await
}
