//! The JSON endpoints of emails.

use super::email::{self, Email, EmailFilter};
use crate::accounts::credential::Holder;
use crate::error::{Code, Error, Result};
use crate::ids::{EmailId, UserId};
use crate::mail::{NotificationSettingsRead, NotificationSettingsWrite, OutboxRead};
use crate::roster::notification_settings::{
    self, NotificationSettings, NotificationSettingsChange,
};
use crate::web::prelude::*;

/// Routes below `/emails`, and `/me/notification_settings`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(list)).with(routes!(find)).with(routes!(settings, change_settings))
}

/// List emails
///
/// Returns sent and pending emails, newest first. API keys that are limited to certain teams cannot use this endpoint.
#[endpoint(get, "/emails", id = "emails.list", tag = "Messages",
    200(ListResponse<Email>, "A page of emails."))]
async fn list(caller: Caller<OutboxRead>, paging: Paging<EmailFilter>) -> Result<Response> {
    caller.require_all_teams()?;
    caller.bypass_cache().page(paging, email::list).await
}

/// Retrieve an email
///
/// Returns an email with its delivery status.
#[endpoint(get, "/emails/{email_id}", id = "emails.get", tag = "Messages",
    200(ObjectResponse<Email>, "The email."))]
async fn find(caller: Caller<OutboxRead>, id: EmailId) -> Result<Response> {
    caller.require_all_teams()?;
    caller.bypass_cache().read_object(move |db| email::find(db, id)).await
}

/// Retrieve your notification settings
///
/// Returns which emails the user gets and when, for all clubs. Emails about the user's sign-in and about the protection of a
/// child, and messages in conversations with a child, are always sent at once. API keys have no settings.
#[endpoint(get, "/me/notification_settings", id = "notification_settings.get", tag = "Account",
    200(ObjectResponse<NotificationSettings>, "The settings."))]
async fn settings(caller: Caller<NotificationSettingsRead>) -> Result<Response> {
    let user = user_of(&caller)?;
    caller
        .bypass_cache()
        .read_object(move |db| notification_settings::find_for_user(db, user))
        .await
}

/// Update your notification settings
///
/// Omitted fields stay unchanged; `null` clears a field.
#[endpoint(patch, "/me/notification_settings", id = "notification_settings.update", tag = "Account",
    example = json!({ "announcements": "daily", "quiet_from": "22:00", "quiet_until": "07:00" }),
    200(ObjectResponse<NotificationSettings>, "The updated settings."))]
async fn change_settings(
    caller: Caller<NotificationSettingsWrite>,
    body: Body<NotificationSettingsChange>,
) -> Result<Response> {
    let user = user_of(&caller)?;
    caller
        .change(body, move |tx, change, expected| {
            notification_settings::change_for_user(tx, user, expected, change)
        })
        .await
}

fn user_of<N: Permission>(caller: &Caller<N>) -> Result<UserId> {
    match caller.credential().holder {
        Holder::App { user, .. } => Ok(user),
        Holder::Key { .. } => {
            let detail = "API keys have no notification settings. Use the access token of a user.";
            Err(Error::new(Code::Forbidden, detail))
        }
    }
}
