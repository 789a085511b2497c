//! What dues hold about a person: to be handed over, or to be erased.

use serde_json::{Value, json};
use store::{Reader, Tx, bind, sql};

use super::due::{self, Due};
use crate::error::Result;
use crate::ids::{DueId, PersonId};
use crate::mail::letter;
use crate::money::payment;

/// Everything dues hold about a person: what they or others were to pay for them, and what was paid.
pub fn held_about(db: &Reader<'_>, person: PersonId) -> Result<Value> {
    let dues = due::wholes(db, of(db, person)?)?;
    let dues = dues.iter().map(|whole| {
        let payments = payment::of_subject(db, &whole.due.id.to_string())?;
        let refunds = payment::refunds_of(db, &whole.due.id.to_string())?;
        Ok(json!({ "due": whole.shown(db.now()), "payments": payments, "refunds": refunds }))
    });
    Ok(Value::Array(dues.collect::<Result<_>>()?))
}

/// Lets go of a person who is being erased: notes, reasons and references, and what letters about their dues
/// said. What was owed and paid is kept, by nobody. Says which dues they were.
pub fn erase_person(tx: &Tx<'_>, person: PersonId) -> Result<Vec<DueId>> {
    let dues = of(tx, person)?;
    for due in &dues {
        let (id, subject) = (due.id, due.id.to_string());
        tx.run(
            "update due set note = null, discount_reason = null, waive_reason = null,
                 metadata = '{}', updated_at = :now, version = version + 1
             where account_id = :account and id = :id",
            bind! { id },
        )?;
        payment::forget_words(tx, &subject)?;
        letter::erase_about(tx, &subject)?;
    }
    Ok(dues.into_iter().map(|due| due.id).collect())
}

/// The dues that are theirs or that they pay, each once.
fn of(db: &Reader<'_>, person: PersonId) -> Result<Vec<Due>> {
    let own = sql!(Due::SELECT, " where account_id = :account and person_id = :person order by id");
    let paid = sql!(
        Due::SELECT,
        " where account_id = :account and payer_id = :person and person_id <> :person order by id"
    );
    let mut dues: Vec<Due> = db.all(own, bind! { person })?;
    dues.extend(db.all::<Due>(paid, bind! { person })?);
    Ok(dues)
}
