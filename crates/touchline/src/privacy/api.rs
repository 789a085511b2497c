//! Endpoints to export and erase personal data.

use super::erasure;
use super::person_export::{self, PersonExport};
use crate::prelude::*;
use crate::privacy::redaction;
use crate::privacy::{PrivacyExport, PrivacyManage};
use crate::roster::person;
use crate::roster::profile::Profile;
use crate::shop::order::Order;
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
#[endpoint(get, "/people/{person_id}/export", id = "people_export", tag = "Roster",
    200(ObjectResponse<PersonExport>, "All stored data about the person."))]
async fn export(caller: Caller<PrivacyExport>, id: PersonId) -> Result<Response> {
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
#[endpoint(post, "/people/{person_id}/erase", id = "people_erase", tag = "Roster",
    200(ObjectResponse<Profile>, "The erased person."))]
async fn erase(
    caller: Caller<PrivacyManage>,
    id: PersonId,
    body: Body<NoBody>,
) -> Result<Response> {
    let work = move |tx: &Tx<'_>, expected: &IfMatch| {
        expected.check(person::find(tx, id))?;
        erasure::erase(tx, id)
    };
    erase_with(caller, body, work).await
}

/// Erase the buyer of an order
///
/// For a buyer who is not on a roster and was only named in the order. Erases the name, the email address, the note, and
/// the reasons and payment references of the order. Items and payments stay. A buyer who is a person of the club is erased
/// together with that person; here the response is 409 `invalid_state`. Not available to keys that are limited to certain
/// teams.
#[endpoint(post, "/orders/{order_id}/erase_buyer", id = "orders_erase_buyer", tag = "Store",
    200(ObjectResponse<Order>, "The order without its buyer."))]
async fn erase_buyer(
    caller: Caller<PrivacyManage>,
    id: OrderId,
    body: Body<NoBody>,
) -> Result<Response> {
    let access = caller.team_access();
    let work =
        move |tx: &Tx<'_>, expected: &IfMatch| erasure::erase_buyer(tx, &access, id, expected);
    erase_with(caller, body, work).await
}

/// Erases data. `work` returns the erased object, and the ids of all objects whose stored data must be redacted.
async fn erase_with<T: Serialize + Versioned + Send + 'static>(
    caller: Caller<PrivacyManage>,
    body: Body<NoBody>,
    work: impl FnOnce(&Tx<'_>, &IfMatch) -> Result<(T, Vec<String>)> + Send + 'static,
) -> Result<Response> {
    caller.require_all_teams()?;
    let app = caller.app().clone();
    let change = move |tx: &Tx<'_>, NoBody, expected: &IfMatch| {
        let (object, ids) = work(tx, expected)?;
        // Repeating an earlier request must not return erased data.
        for id in &ids {
            idempotency::rewrite_mentions(tx, id, |text| redaction::redact_json(text, &ids))?;
        }
        Ok(object)
    };
    let answer = caller.change(body, change).await?;
    // Removes remains of the erased data from the database file. Runs in the background, since the erasure is already
    // committed.
    let db = app.db.clone();
    app.spawn(async move { db.truncate_wal().await });
    Ok(answer)
}
