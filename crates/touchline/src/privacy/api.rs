//! Endpoints to export and erase personal data.

use super::erasure;
use super::person_export::{self, PersonExport};
use crate::prelude::*;
use crate::privacy::redaction;
use crate::roster::person;
use crate::roster::profile::Profile;
use crate::shop::order::Order;
use crate::web::caller::{PrivacyExport, PrivacyManage};
use crate::web::idempotency;
use crate::web::prelude::*;

/// `/people/{person_id}/export`, `/people/{person_id}/erase` and `/orders/{order_id}/erase_buyer`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(export)).with(routes!(erase)).with(routes!(erase_buyer))
}

/// Export a person's data
///
/// Returns all data about a person, for a person who requests a copy. Sections that the key has no scope to read
/// (`events:read`, `messages:read`, `orders:read`) are `null`, so use a key with all of them. The export is recorded in
/// the audit log. Not available to keys that are limited to certain teams.
#[utoipa::path(get, path = "/people/{person_id}/export", operation_id = "people_export", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "All stored data about the person.", body = ObjectResponse<PersonExport>)),
    security(("key" = ["roster:read"])))]
async fn export(
    caller: Caller<PrivacyExport>,
    PathParams(id): PathParams<PersonId>,
    Query(NoQuery): Query<NoQuery>,
) -> Result<Response> {
    caller.require_all_teams()?;
    let subject = id.to_string();
    let audit = move |tx: &Tx<'_>| {
        person::find(tx, id)?;
        tx.audit("person.exported", &subject, &serde_json::json!({ "person_ids": [subject] }))
    };
    caller.app().db.write(caller.scope(), audit).await?;
    let scopes = caller.credential().scopes;
    caller.read(move |db| person_export::collect(db, scopes, id)).await
}

/// Erase a person
///
/// Replaces all data that identifies the person. This cannot be undone. The person leaves every team. Their games,
/// RSVPs and orders stay, without a name. Guardians who are only known because of this person are erased too. Not
/// available to keys that are limited to certain teams.
#[utoipa::path(post, path = "/people/{person_id}/erase", operation_id = "people_erase", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "The erased person.", body = ObjectResponse<Profile>)),
    security(("key" = ["roster:write"])))]
async fn erase(
    caller: Caller<PrivacyManage>,
    PathParams(id): PathParams<PersonId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    caller.require_all_teams()?;
    let app = caller.app().clone();
    let answer = caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(person::find(tx, id))?;
            let (profile, ids) = erasure::erase(tx, id)?;
            redact_stored_responses(tx, &ids)?;
            Ok(profile)
        })
        .await?;
    truncate_wal(&app);
    Ok(answer)
}

/// Erase the buyer of an order
///
/// For a buyer who is not on a roster and was only named in the order. Erases the name, the email address, the note, and
/// the reasons and payment references of the order. Items and payments stay. A buyer who is a person of the club is erased
/// together with that person; here the response is 409 `invalid_state`. Not available to keys that are limited to certain
/// teams.
#[utoipa::path(post, path = "/orders/{order_id}/erase_buyer", operation_id = "orders_erase_buyer", tag = "Store",
    params(("order_id" = OrderId, Path)),
    responses((status = 200, description = "The order without its buyer.", body = ObjectResponse<Order>)),
    security(("key" = ["roster:write"])))]
async fn erase_buyer(
    caller: Caller<PrivacyManage>,
    PathParams(id): PathParams<OrderId>,
    Query(NoQuery): Query<NoQuery>,
    OptionalBody(body): OptionalBody<NoBody>,
) -> Result<Response> {
    caller.require_all_teams()?;
    let (app, access) = (caller.app().clone(), caller.team_access());
    let answer = caller
        .change(body, move |tx, NoBody, expected| {
            let (order, ids) = erasure::erase_buyer(tx, &access, id, expected)?;
            redact_stored_responses(tx, &ids)?;
            Ok(order)
        })
        .await?;
    truncate_wal(&app);
    Ok(answer)
}

/// Redacts stored idempotent responses, so that repeating a request does not return erased data.
fn redact_stored_responses(tx: &Tx<'_>, ids: &[String]) -> Result<()> {
    for id in ids {
        idempotency::rewrite_mentions(tx, id, |text| redaction::redact_json(text, ids))?;
    }
    Ok(())
}

/// Removes remains of the erased data from the database file. Runs in the background, since the erasure is already
/// committed.
fn truncate_wal(app: &App) {
    let db = app.db.clone();
    app.spawn(async move { db.truncate_wal().await });
}
