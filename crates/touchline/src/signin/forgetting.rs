//! What is too old to be needed: ended sessions, links and questions nobody answered, old failures.

use store::{Tx, bind};

use super::throttle;
use crate::error::Result;

/// Forgets some of it, in small steps, so that no write waits long. Says how much there was.
pub fn forget(tx: &Tx<'_>) -> Result<u64> {
    let before = tx.now().minus(throttle::REMEMBERED);
    let sessions = tx.run(
        "delete from session where id in
             (select id from session where expires_at <= :now order by expires_at limit 500) /* any account */",
        bind! {},
    )?;
    let links = tx.run(
        "delete from once_link where hash in
             (select hash from once_link where expires_at <= :now order by expires_at limit 500) /* any account */",
        bind! {},
    )?;
    let ceremonies = tx.run(
        "delete from ceremony where id in
             (select id from ceremony where expires_at <= :now order by expires_at limit 500) /* any account */",
        bind! {},
    )?;
    let failures = tx.run(
        "delete from sign_in_failure where subject in
             (select subject from sign_in_failure where last_at <= :before order by last_at limit 500) /* any account */",
        bind! { before },
    )?;
    Ok(sessions + links + ceremonies + failures)
}
