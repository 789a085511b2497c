//! The JSON endpoints that change how a person is protected.

use axum::response::Response;
use serde_json::json;
use store::Reader;
use utoipa_axum::routes;

use super::sight;
use crate::error::Result;
use crate::ids::PersonId;
use crate::roster::delicate::answered;
use crate::roster::profile::{self, Profile};
use crate::roster::{pages, person, safeguarding as rules};
use crate::signals::Tell;
use crate::web::body::{MaybeBody, NoBody};
use crate::web::caller::{AdultsConfirm, Caller, RosterWrite};
use crate::web::docs::Problems;
use crate::web::path::At;
use crate::web::query::{Nothing, Query};
use crate::web::reply::One;
use crate::web::routes::Routes;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(confirm_adult))
        .with(routes!(mark_minor))
        .with(routes!(request_email_confirmation))
}

/// Confirm that a person is an adult
///
/// For admins. The person is no longer treated as a minor, and counts as the second adult on messages to
/// minors. Refused while the birth date says that they are under 18. The guardians of a former minor are told
/// by email.
#[utoipa::path(post, path = "/people/{person_id}/confirm_adult", operation_id = "people_confirm_adult", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "The person after the change.", body = One<Profile>), Problems),
    security(("key" = ["roster:write"])))]
async fn confirm_adult(
    caller: Caller<AdultsConfirm>,
    At(id): At<PersonId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let (reach, sight) = (caller.reach(), sight(&caller, false));
    caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(person::reachable(tx, &reach, id))?;
            answered(tx, sight, rules::confirm_adult(tx, &reach, id)?)
        })
        .await
}

/// Treat a person as a minor
///
/// Until an admin confirms that they are an adult. Anybody who may change the person may do this: it only
/// ever raises their protection.
#[utoipa::path(post, path = "/people/{person_id}/mark_minor", operation_id = "people_mark_minor", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "The person after the change.", body = One<Profile>), Problems),
    security(("key" = ["roster:write"])))]
async fn mark_minor(
    caller: Caller<RosterWrite>,
    At(id): At<PersonId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let (reach, sight) = (caller.reach(), sight(&caller, false));
    caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(person::reachable(tx, &reach, id))?;
            answered(tx, sight, rules::mark_minor(tx, &reach, id)?)
        })
        .await
}

/// Ask a person to confirm their email address
///
/// Sends them an email with a link. Somebody who does not sign in counts as the second adult on messages to
/// minors only with a confirmed address.
#[utoipa::path(post, path = "/people/{person_id}/request_email_confirmation", operation_id = "people_request_email_confirmation", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "The person.", body = One<Profile>), Problems),
    security(("key" = ["roster:write"])))]
async fn request_email_confirmation(
    caller: Caller<RosterWrite>,
    At(id): At<PersonId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    let (reach, sight) = (caller.reach(), sight(&caller, false));
    let (wide, expected) = (reach.clone(), caller.expected()?);
    let look = move |db: &Reader<'_>| expected.check(person::reachable(db, &wide, id));
    let person = caller.app().db.read(caller.scope(), look).await?;
    pages::send_link(caller.app(), caller.credential().account_id, &person).await?;
    caller
        .change(body, move |tx, NoBody, _| {
            tx.audit("person.email_confirmation_sent", &id.to_string(), &json!({}))?;
            answered(tx, sight, profile::show(tx, &reach, id)?)
        })
        .await
}
