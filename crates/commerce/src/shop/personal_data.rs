//! Personal data in the store: export, erasure, and the move to another record of a person.

use super::order::{self, Order, OrderRecord};
use crate::money::payment;
use crate::personal_data::MergedRecords;
use crate::prelude::*;

/// All orders of a person with their payments and refunds.
pub fn export_person(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let records = find_by_buyer(db, person)?;
    let lines = order::lines_of(db, records.iter().map(|record| record.id).collect())?;
    let orders = records.into_iter().map(|record| {
        let subject = record.id.to_string();
        let own = lines.iter().filter(|line| line.order_id == record.id).cloned().collect();
        let mut order = json!(Order::new(record, own));
        order["payments"] = json!(payment::find_by_subject(db, &subject)?);
        order["refunds"] = json!(payment::find_refunds_by_subject(db, &subject)?);
        Ok(order)
    });
    Ok(json!({ "orders": orders.collect::<Result<Vec<_>>>()? }))
}

fn find_by_buyer(db: &Reader<'_>, person: PersonId) -> Result<Vec<OrderRecord>> {
    let text = sql!(
        OrderRecord::SELECT,
        " where account_id = :account and buyer_person_id = :person order by id"
    );
    Ok(db.all(text, bind! { person })?)
}

/// Removes the buyer's name, email and all free text from a person's orders. Items and amounts are kept. Returns the
/// affected orders.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<Vec<String>> {
    let orders: Vec<_> = find_by_buyer(tx, person)?.into_iter().map(|record| record.id).collect();
    orders.iter().try_for_each(|id| clear_buyer(tx, *id))?;
    Ok(orders.iter().map(ToString::to_string).collect())
}

/// Does the same for the buyer of one order who is not on a roster. People on a roster are erased as a person instead,
/// in all modules.
pub fn erase_buyer(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: OrderId,
    expected: &IfMatch,
) -> Result<Order> {
    let before = expected.check(order::find(tx, access, id))?;
    if before.record.buyer_person_id.is_some() {
        let detail = "The buyer is a person in this account. Erase that person instead.";
        return Err(Error::invalid_state(detail));
    }
    clear_buyer(tx, id)?;
    order::load(tx, id)
}

fn clear_buyer(tx: &Tx<'_>, id: OrderId) -> Result<()> {
    tx.execute(
        "update shop_order set buyer_name = 'Erased', buyer_email = null, note = null,
             cancel_reason = null, metadata = '{}', updated_at = :now, version = version + 1
         where account_id = :account and id = :id",
        bind! { id },
    )?;
    payment::clear_free_text(tx, &id.to_string())
}

/// Moves the orders to another record of the same person. They keep the buyer's name at the time of the order.
pub fn merge_person(tx: &Tx<'_>, records: &MergedRecords) -> Result<()> {
    for (from, into) in &records.members {
        tx.execute(
            "update shop_order set buyer_member_id = :into, updated_at = :now,
                 version = version + 1
             where account_id = :account and buyer_member_id = :from",
            bind! { from, into },
        )?;
    }
    let (from, into) = (records.from, records.into);
    tx.execute(
        "update shop_order set buyer_person_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and buyer_person_id = :from",
        bind! { from, into },
    )?;
    Ok(())
}
