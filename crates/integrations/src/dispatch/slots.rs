//! Divides the webhooks among the nodes. Each webhook belongs to a slot. The live nodes on one database share the slots
//! and lease them for a limited time, so the leases of a node that dies expire.

use std::collections::HashMap;
use std::time::Duration;

use store::Dialect;

use crate::prelude::*;
use crate::webhooks::webhook::SLOTS;

/// How long a lease lasts unless it is renewed.
const LEASE_TIME: Duration = Duration::from_secs(35);
/// A node without a heartbeat for this long counts as dead.
const NODE_TIMEOUT: Duration = Duration::from_secs(20);

/// The slots that a node has leased, and when each lease ends.
pub(super) type Leases = HashMap<i64, Timestamp>;

/// Records a node's heartbeat, leases the free slots of its share, renews the leases that it has and releases slots that
/// belong to another node now. A slot in which a worker is still running (`busy_slots`) is released after that worker
/// has ended, but it is not in the returned leases, so nothing new is started there. Also returns whether the node has
/// leased all of its slots and no slot of another node.
pub(super) fn renew(tx: &Tx<'_>, node: NodeId, busy_slots: &[i64]) -> Result<(Leases, bool)> {
    tx.execute(
        "insert into dispatch_node (id, seen_at) values (:node, :now)
         on conflict (id) do update set seen_at = excluded.seen_at /* any account */",
        bind! { node },
    )?;
    let delete = "delete from dispatch_node where seen_at < :silent /* any account */";
    tx.execute(delete, bind! { silent: tx.now().minus(NODE_TIMEOUT) })?;
    let nodes: Vec<(NodeId,)> =
        tx.all("select id from dispatch_node order by id /* any account */", bind! {})?;
    let node_index = nodes.iter().position(|(id,)| *id == node).unwrap_or(0);
    let is_assigned = |slot: i64| slot.unsigned_abs() as usize % nodes.len().max(1) == node_index;
    let current: Vec<(i64, NodeId, Timestamp)> =
        tx.all("select slot, holder, held_until from dispatch_slot /* any account */", bind! {})?;
    let held_until = tx.now().plus(LEASE_TIME);
    let (mut leases, mut balanced) = (Leases::new(), true);
    for slot in 0..SLOTS {
        let (is_held, is_free) = match current.iter().find(|(leased, ..)| *leased == slot) {
            Some((_, holder, end)) => (*holder == node, *end <= tx.now()),
            None => (false, true),
        };
        let keep = is_assigned(slot) && (is_held || is_free);
        balanced &= keep || !(is_assigned(slot) || is_held);
        if keep || (is_held && busy_slots.contains(&slot)) {
            tx.execute_deferred(
                "insert into dispatch_slot (slot, holder, held_until) values (:slot, :node, :held_until)
                 on conflict (slot) do update set
                     holder = excluded.holder, held_until = excluded.held_until /* any account */",
                bind! { slot, node, held_until },
            )?;
            if keep {
                leases.insert(slot, held_until);
            }
        } else if is_held {
            let delete = "delete from dispatch_slot where slot = :slot /* any account */";
            tx.execute_deferred(delete, bind! { slot })?;
        }
    }
    Ok((leases, balanced))
}

/// Releases all leases of a node that stops.
pub(super) fn release_all(tx: &Tx<'_>, node: NodeId) -> Result<()> {
    tx.execute("delete from dispatch_slot where holder = :node /* any account */", bind! { node })?;
    tx.execute("delete from dispatch_node where id = :node /* any account */", bind! { node })?;
    Ok(())
}

/// Clears all leases on SQLite. There is only one node there, so they can only be from an earlier process.
pub(super) fn clear_on_sqlite(tx: &Tx<'_>) -> Result<()> {
    if tx.dialect() == Dialect::Sqlite {
        tx.execute("delete from dispatch_slot /* any account */", bind! {})?;
        tx.execute("delete from dispatch_node /* any account */", bind! {})?;
    }
    Ok(())
}
