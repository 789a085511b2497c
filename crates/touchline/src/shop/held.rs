//! What the store holds about a person: to be handed over, or to be erased.

use serde_json::{Value, json};
use store::{Reader, Tx, bind, sql};

use super::order::{self, Order, Stored};
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::ids::{OrderId, PersonId};
use crate::money::payment;

/// Every order of a person, with what was paid and given back.
pub fn held_about(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let kept = of(db, person)?;
    let lines = order::lines_of(db, kept.iter().map(|kept| kept.id).collect())?;
    let orders = kept.into_iter().map(|kept| {
        let subject = kept.id.to_string();
        let own = lines.iter().filter(|line| line.order_id == kept.id).cloned().collect();
        let mut order = json!(Order::new(kept, own));
        order["payments"] = json!(payment::of_subject(db, &subject)?);
        order["refunds"] = json!(payment::refunds_of(db, &subject)?);
        Ok(order)
    });
    Ok(json!({ "orders": orders.collect::<Result<Vec<_>>>()? }))
}

fn of(db: &Reader<'_>, person: PersonId) -> Result<Vec<Stored>> {
    let text = sql!(
        Stored::SELECT,
        " where account_id = :account and buyer_person_id = :person order by id"
    );
    Ok(db.all(text, bind! { person })?)
}

/// Takes away who bought something, and what they and others noted. What was bought and paid is kept. Says which
/// orders they were.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<Vec<OrderId>> {
    let orders: Vec<_> = of(tx, person)?.into_iter().map(|kept| kept.id).collect();
    orders.iter().try_for_each(|id| forget_buyer(tx, *id))?;
    Ok(orders)
}

/// The same for somebody who is on no roster and was only named with an order. Whoever is on file is erased as
/// a person, everywhere.
pub fn erase_buyer(tx: &Tx<'_>, reach: &Reach, id: OrderId, expected: &Expected) -> Result<Order> {
    let before = expected.check(order::find(tx, reach, id))?;
    if before.kept.buyer_person_id.is_some() {
        let why = "The buyer is a person the club knows; erase that person instead.";
        return Err(Error::invalid_state(why));
    }
    forget_buyer(tx, id)?;
    order::load(tx, id)
}

fn forget_buyer(tx: &Tx<'_>, id: OrderId) -> Result<()> {
    tx.run(
        "update shop_order set buyer_name = 'Erased', buyer_email = null, note = null,
             cancel_reason = null, metadata = '{}', updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id },
    )?;
    payment::forget_words(tx, &id.to_string())
}
