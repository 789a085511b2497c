//! The JSON endpoints that change the protection of a person.

use super::private_access;
use crate::prelude::*;
use crate::roster::private_data::redact_response;
use crate::roster::profile::{self, Profile};
use crate::roster::{AdultsConfirm, RosterWrite};
use crate::roster::{pages, person, safeguarding as rules};
use crate::web::prelude::*;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(confirm_adult))
        .with(routes!(mark_minor))
        .with(routes!(request_email_confirmation))
}

/// Confirm that a person is an adult
///
/// Only for admins. The person is no longer treated as a minor. If they sign in or have confirmed their email address,
/// they count as the second adult in conversations with minors. Fails if they are under 18 according to their birth
/// date. The guardians of a former minor get an email.
#[endpoint(post, "/people/{person_id}/confirm_adult", id = "people.confirm_adult", tag = "Roster",
    200(ObjectResponse<Profile>, "The updated person."))]
async fn confirm_adult(
    caller: Caller<AdultsConfirm>,
    id: PersonId,
    body: Body<NoBody>,
) -> Result<Response> {
    let (access, private_access) = (caller.team_access(), private_access(&caller, false));
    caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(person::find_visible(tx, &access, id))?;
            redact_response(tx, private_access, rules::confirm_adult(tx, &access, id)?)
        })
        .await
}

/// Treat a person as a minor
///
/// The person is treated as a minor until an admin confirms that they are an adult. Everybody who may update the person
/// may do this, because it only increases their protection.
#[endpoint(post, "/people/{person_id}/mark_minor", id = "people.mark_minor", tag = "Roster",
    200(ObjectResponse<Profile>, "The updated person."))]
async fn mark_minor(
    caller: Caller<RosterWrite>,
    id: PersonId,
    body: Body<NoBody>,
) -> Result<Response> {
    let (access, private_access) = (caller.team_access(), private_access(&caller, false));
    caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(person::find_visible(tx, &access, id))?;
            redact_response(tx, private_access, rules::mark_minor(tx, &access, id)?)
        })
        .await
}

/// Ask a person to confirm their email address
///
/// Sends the person an email with a link. A person who does not sign in counts as the second adult in conversations
/// with minors only if they have confirmed their address.
#[endpoint(post, "/people/{person_id}/request_email_confirmation", id = "people.request_email_confirmation", tag = "Roster",
    200(ObjectResponse<Profile>, "The person."))]
async fn request_email_confirmation(
    caller: Caller<RosterWrite>,
    id: PersonId,
    body: Body<NoBody>,
) -> Result<Response> {
    let (access, private_access) = (caller.team_access(), private_access(&caller, false));
    let (read_access, expected) = (access.clone(), caller.if_match()?);
    let read = move |db: &Reader<'_>| expected.check(person::find_visible(db, &read_access, id));
    let person = caller.app().db.read(caller.scope(), read).await?;
    pages::send_link(caller.app(), caller.credential().account_id, &person).await?;
    caller
        .change(body, move |tx, NoBody, _| {
            tx.audit("person.email_confirmation_sent", &id.to_string(), &json!({}))?;
            redact_response(tx, private_access, profile::show(tx, &access, id)?)
        })
        .await
}
