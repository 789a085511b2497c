//! What news of one room makes another room do, in the same transaction.
//!
//! A room knows only rooms above it. Where something that happens in one must have a consequence in a
//! room below, such as a place at an event that becomes free when a member leaves, it stands here.

use store::Tx;

use crate::error::Result;

/// Does what follows from news about these subjects.
pub fn after(tx: &Tx<'_>, kind: &str, subjects: impl Iterator<Item = String>) -> Result<()> {
    // The rooms that react are added with them.
    let _ = (tx, kind, subjects);
    Ok(())
}
