//! Permanent erasure of a person's identifying data in all modules.

use crate::prelude::*;
use crate::privacy::redaction;
use crate::roster::profile::{self, Profile};
use crate::shop::order::Order;
use crate::{personal_data, roster, shop};

/// Erases a person and the guardians who are only known because of them. Also returns the ids of all objects whose stored
/// data must be redacted: the people, and their scheduled messages, dues and orders.
pub fn erase(tx: &Tx<'_>, id: PersonId) -> Result<(Profile, Vec<String>)> {
    let erased = roster::erasure::erase(tx, id)?;
    let mut ids: Vec<_> = erased.iter().map(ToString::to_string).collect();
    let details = serde_json::json!({ "person_ids": ids });
    for person in &erased {
        // The logs still have the ids of records that were merged into this one.
        let merged = roster::merge::find_merged(tx, *person)?;
        ids.extend(merged.iter().map(ToString::to_string));
        for personal_data in personal_data() {
            ids.extend((personal_data.erase)(tx, *person)?);
        }
    }
    redaction::redact(tx, &ids)?;
    tx.audit("person.erased", &id.to_string(), &details)?;
    Ok((profile::show(tx, &TeamAccess::AllTeams, id)?, ids))
}

/// Erases a buyer who was only named in an order.
pub fn erase_buyer(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: OrderId,
    expected: &IfMatch,
) -> Result<(Order, Vec<String>)> {
    let order = shop::personal_data::erase_buyer(tx, access, id, expected)?;
    let ids = vec![id.to_string()];
    redaction::redact(tx, &ids)?;
    tx.publish("order.buyer_erased", &order.snapshot())?;
    Ok((order, ids))
}
