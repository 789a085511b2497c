//! Erasing a person: what tells who they are is replaced everywhere, for good.

use store::Tx;

use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::expected::Expected;
use crate::ids::{OrderId, PersonId};
use crate::redaction;
use crate::roster::profile::{self, Profile};
use crate::shop::order::Order;
use crate::signals::Tell;
use crate::{dues, events, mail, messages, roster, shop};

/// Erases a person, and the guardians who are known only because of them. Also gives the ids of everything
/// that is no longer to be told: those people, what they never came to say, and what they owed and ordered.
pub fn erase(tx: &Tx<'_>, id: PersonId) -> Result<(Profile, Vec<String>)> {
    let erased = roster::erasure::erase(tx, id)?;
    let mut ids: Vec<_> = erased.iter().map(ToString::to_string).collect();
    let details = serde_json::json!({ "person_ids": ids });
    for person in &erased {
        events::held::erase_person(tx, *person)?;
        ids.extend(messages::held::erase_person(tx, *person)?.iter().map(ToString::to_string));
        ids.extend(dues::held::erase_person(tx, *person)?.iter().map(ToString::to_string));
        mail::letter::erase_person(tx, *person)?;
        mail::letter::erase_about(tx, &person.to_string())?;
        ids.extend(shop::held::erase_person(tx, *person)?.iter().map(ToString::to_string));
    }
    redaction::redact(tx, &ids)?;
    tx.audit("person.erased", &id.to_string(), &details)?;
    Ok((profile::show(tx, &Reach::Everywhere, id)?, ids))
}

/// Erases somebody who was only named with an order.
pub fn erase_buyer(
    tx: &Tx<'_>,
    reach: &Reach,
    id: OrderId,
    expected: &Expected,
) -> Result<(Order, Vec<String>)> {
    let order = shop::held::erase_buyer(tx, reach, id, expected)?;
    let ids = vec![id.to_string()];
    redaction::redact(tx, &ids)?;
    tx.tell("order.buyer_erased", &order.told())?;
    Ok((order, ids))
}
