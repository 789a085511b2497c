//! Deletion of expired sessions, links, passkey ceremonies and sign-in failures.

use super::throttle;
use crate::accounts::session;
use crate::prelude::*;

/// Deletes a limited batch of each, so that other writes do not wait long. Returns the number of deleted rows.
pub fn delete_expired(tx: &Tx<'_>) -> Result<u64> {
    let links = tx.execute(
        "delete from once_link where hash in
             (select hash from once_link where expires_at <= :now order by expires_at limit 500) /* any account */",
        bind! {},
    )?;
    let ceremonies = tx.execute(
        "delete from ceremony where id in
             (select id from ceremony where expires_at <= :now order by expires_at limit 500) /* any account */",
        bind! {},
    )?;
    let failures = tx.execute(
        "delete from sign_in_failure where subject in
             (select subject from sign_in_failure where last_at <= :before order by last_at limit 500) /* any account */",
        bind! { before: tx.now().minus(throttle::KNOWN_LOCATION_TTL) },
    )?;
    Ok(session::delete_expired(tx)? + links + ceremonies + failures)
}
