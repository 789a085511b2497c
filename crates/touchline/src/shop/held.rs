//! What the store holds about a person: to be handed over, or to be erased.

use serde_json::{Value, json};
use store::{Reader, Tx, bind, sql};

use super::order::{self, Order, Stored};
use crate::error::Result;
use crate::ids::PersonId;

/// Every order of a person.
pub fn held_about(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let kept: Vec<Stored> = db.all(
        sql!(
            Stored::SELECT,
            " where account_id = :account and buyer_person_id = :person order by id"
        ),
        bind! { person },
    )?;
    let lines = order::lines_of(db, kept.iter().map(|kept| kept.id).collect())?;
    let orders = kept.into_iter().map(|kept| {
        let own = lines.iter().filter(|line| line.order_id == kept.id).cloned().collect();
        Order::new(kept, own)
    });
    Ok(json!({ "orders": orders.collect::<Vec<_>>() }))
}

/// Takes away who bought something, and what they noted. What was bought and paid is kept.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.run(
        "update shop_order set buyer_name = 'Erased', buyer_email = null, note = null,
             updated_at = :now, version = version + 1
         where account_id = :account and buyer_person_id = :person",
        bind! { person },
    )?;
    Ok(())
}
