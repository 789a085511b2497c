//! The JSON endpoints for what is held about people.

use axum::response::Response;
use store::Tx;
use utoipa_axum::routes;

use super::dossier::{self, Dossier};
use super::erasure;
use crate::app::App;
use crate::error::Result;
use crate::ids::{OrderId, PersonId};
use crate::redaction;
use crate::roster::person;
use crate::roster::profile::Profile;
use crate::shop::order::Order;
use crate::signals::Tell;
use crate::web::body::{MaybeBody, NoBody};
use crate::web::caller::{Caller, PrivacyExport, PrivacyManage};
use crate::web::docs::Problems;
use crate::web::idempotency;
use crate::web::path::At;
use crate::web::query::{Nothing, Query};
use crate::web::reply::One;
use crate::web::routes::Routes;

/// `/people/{person_id}/export`, `/people/{person_id}/erase` and `/orders/{order_id}/erase_buyer`.
pub fn routes(routes: Routes) -> Routes {
    routes.with(routes!(export)).with(routes!(erase)).with(routes!(erase_buyer))
}

/// Export everything held about a person
///
/// For the person who asks what the club knows about them. What the key has no scope to read
/// (`events:read`, `messages:read`, `orders:read`) is `null`, so use one that has them all. Whoever exports it is
/// entered in the audit log. A key that is narrowed to certain teams cannot do this.
#[utoipa::path(get, path = "/people/{person_id}/export", operation_id = "people_export", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "Everything held about the person.", body = One<Dossier>), Problems),
    security(("key" = ["roster:read"])))]
async fn export(
    caller: Caller<PrivacyExport>,
    At(id): At<PersonId>,
    Query(Nothing): Query<Nothing>,
) -> Result<Response> {
    caller.reaches_all()?;
    let subject = id.to_string();
    let enter = move |tx: &Tx<'_>| {
        person::find(tx, id)?;
        tx.audit("person.exported", &subject, &serde_json::json!({ "person_ids": [subject] }))
    };
    caller.app().db.write(caller.scope(), enter).await?;
    let scopes = caller.credential().scopes;
    caller.look(move |db| dossier::gather(db, scopes, id)).await
}

/// Erase a person
///
/// Replaces everything that tells who they are, everywhere, and cannot be undone. They leave every
/// team; what was played, answered and ordered stays, by nobody. Guardians who are known only because
/// of them are erased too. A key that is narrowed to certain teams cannot do this.
#[utoipa::path(post, path = "/people/{person_id}/erase", operation_id = "people_erase", tag = "Roster",
    params(("person_id" = PersonId, Path)),
    responses((status = 200, description = "What is left of the person.", body = One<Profile>), Problems),
    security(("key" = ["roster:write"])))]
async fn erase(
    caller: Caller<PrivacyManage>,
    At(id): At<PersonId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    caller.reaches_all()?;
    let app = caller.app().clone();
    let answer = caller
        .change(body, move |tx, NoBody, expected| {
            expected.check(person::find(tx, id))?;
            let (profile, ids) = erasure::erase(tx, id)?;
            forget_answers(tx, &ids)?;
            Ok(profile)
        })
        .await?;
    scrub(&app);
    Ok(answer)
}

/// Erase who bought something
///
/// For a buyer who is on no roster and was only named with the order: the name, the address, what they noted, and
/// the reasons and references that were written down with it. What was bought and paid stays. A buyer who is a
/// person of the club is erased with that person (409 `invalid_state` here). A key that is narrowed to certain
/// teams cannot do this.
#[utoipa::path(post, path = "/orders/{order_id}/erase_buyer", operation_id = "orders_erase_buyer", tag = "Store",
    params(("order_id" = OrderId, Path)),
    responses((status = 200, description = "What is left of the order.", body = One<Order>), Problems),
    security(("key" = ["roster:write"])))]
async fn erase_buyer(
    caller: Caller<PrivacyManage>,
    At(id): At<OrderId>,
    Query(Nothing): Query<Nothing>,
    MaybeBody(body): MaybeBody<NoBody>,
) -> Result<Response> {
    caller.reaches_all()?;
    let (app, reach) = (caller.app().clone(), caller.reach());
    let answer = caller
        .change(body, move |tx, NoBody, expected| {
            let (order, ids) = erasure::erase_buyer(tx, &reach, id, expected)?;
            forget_answers(tx, &ids)?;
            Ok(order)
        })
        .await?;
    scrub(&app);
    Ok(answer)
}

/// What was answered before is not answered again with what is erased now.
fn forget_answers(tx: &Tx<'_>, ids: &[String]) -> Result<()> {
    for id in ids {
        idempotency::rewrite_mentions(tx, id, |text| redaction::redacted(text, ids))?;
    }
    Ok(())
}

/// The change is committed; what is left of the old pages need not hold up the answer.
fn scrub(app: &App) {
    let db = app.db.clone();
    app.spawn(async move { db.scrub().await });
}
