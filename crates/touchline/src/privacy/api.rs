//! Endpoints to export and erase personal data, and to merge people.

use super::erasure;
use super::person_export::{self, PersonExport};
use super::person_merge;
use crate::prelude::*;
use crate::privacy::redaction;
use crate::privacy::{PeopleManage, PrivacyExport, PrivacyManage};
use crate::roster::merge::{self as roster_merge, MergeRequest};
use crate::roster::person;
use crate::roster::private_data::{PrivateAccess, redact_response};
use crate::roster::profile::Profile;
use crate::shop::order::Order;
use crate::web::idempotency;
use crate::web::prelude::*;

/// `/people/{person_id}/export`, `/people/{person_id}/merge`, `/people/{person_id}/erase` and
/// `/orders/{order_id}/erase_buyer`.
pub fn routes(routes: Routes) -> Routes {
    routes
        .with(routes!(export))
        .with(routes!(merge))
        .with(routes!(erase))
        .with(routes!(erase_buyer))
}

/// Merge two people
///
/// The person becomes part of the person in `into_person_id`, who keeps their own values and takes over the missing
/// ones and both medical notes. Memberships, guardians, RSVPs, messages, dues, orders and invitations move. The two
/// members on the same team become one. If either person was known to be a minor, the remaining one is treated as a
/// minor. Confirmations are not taken over. Afterwards, the ID of the merged person leads to 410 `gone`. This cannot be
/// undone. Not available to keys that are limited to certain teams.
#[endpoint(post, "/people/{person_id}/merge", id = "people.merge", tag = "Roster",
    example = json!({ "into_person_id": "per_01kbm2x5q8f7vr0n3hd9tzc4wy" }),
    200(ObjectResponse<Profile>, "The remaining person."))]
async fn merge(
    caller: Caller<PeopleManage>,
    id: PersonId,
    body: Body<MergeRequest>,
) -> Result<Response> {
    caller.require_all_teams()?;
    let can_read = caller.credential().scopes.contains(ScopeName::RosterRead);
    let private_access = PrivateAccess { can_read, wrote_note: false };
    caller
        .change(body, move |tx, request, expected| {
            let person = person_merge::merge(tx, id, expected, &request)?;
            redact_response(tx, private_access, person)
        })
        .await
}

/// Export a person's data
///
/// Returns all data about a person, for a person who requests a copy. Sections that the key has no scope to read
/// (`events:read`, `messages:read`, `orders:read`) are `null`, so use a key with all of them. The export is recorded in
/// the audit log. Not available to keys that are limited to certain teams.
#[endpoint(get, "/people/{person_id}/export", id = "people.export", tag = "Roster",
    200(ObjectResponse<PersonExport>, "All stored data about the person."))]
async fn export(caller: Caller<PrivacyExport>, id: PersonId) -> Result<Response> {
    caller.require_all_teams()?;
    let record = move |tx: &Tx<'_>| person_export::record(tx, id);
    caller.app().db.write(caller.scope(), record).await?;
    let scopes = caller.credential().scopes;
    caller.read(move |db| person_export::collect(db, scopes, id)).await
}

/// Erase a person
///
/// Replaces all data that identifies the person. This cannot be undone. The person leaves every team. Their games,
/// RSVPs and orders stay, without a name. Guardians who are only known because of this person are erased too. Not
/// available to keys that are limited to certain teams.
#[endpoint(post, "/people/{person_id}/erase", id = "people.erase", tag = "Roster",
    200(ObjectResponse<Profile>, "The erased person."))]
async fn erase(
    caller: Caller<PrivacyManage>,
    id: PersonId,
    body: Body<NoBody>,
) -> Result<Response> {
    let work = move |tx: &Tx<'_>, expected: &IfMatch| {
        let found = person::find(tx, id);
        expected.check(roster_merge::or_gone(tx, &TeamAccess::AllTeams, id, found))?;
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
#[endpoint(post, "/orders/{order_id}/erase_buyer", id = "orders.erase_buyer", tag = "Store",
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
        redact_stored_responses(tx, &ids)?;
        Ok(object)
    };
    let answer = caller.change(body, change).await?;
    clear_erased_pages(&app);
    Ok(answer)
}

/// Redacts the stored responses that mention these objects, because repeating an earlier request must not return erased
/// data.
pub(crate) fn redact_stored_responses(tx: &Tx<'_>, ids: &[String]) -> Result<()> {
    ids.iter().try_for_each(|id| {
        idempotency::rewrite_mentions(tx, id, |text| redaction::redact_json(text, ids))
    })
}

/// Removes remains of erased data from the database file. Runs in the background, since the erasure is already
/// committed.
pub(crate) fn clear_erased_pages(app: &App) {
    let db = app.db.clone();
    app.spawn(async move { db.truncate_wal().await });
}
