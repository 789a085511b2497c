//! Which share of the work is whose. The nodes on one database divide the slots among those that are alive;
//! a slot is held for a while at a time, and a node that dies lets go by itself.

use std::collections::HashMap;
use std::time::Duration;

use kit::Timestamp;
use store::{Dialect, Tx, bind};

use crate::error::Result;
use crate::ids::NodeId;
use crate::webhooks::webhook::SLOTS;

/// How long a slot is held without being heard of.
const LEASE: Duration = Duration::from_secs(35);
/// A node that was not heard of for so long is not counted any more.
const SILENT: Duration = Duration::from_secs(20);

/// The slots a node holds, and until when.
pub(super) type Held = HashMap<i64, Timestamp>;

/// A node's share of the work.
pub(super) struct Share {
    pub(super) held: Held,
    /// Whether nothing of it is still another's, and the node has nothing that is another's by now.
    pub(super) settled: bool,
}

/// Says that a node is alive, takes what of its share is free, keeps what it has, and lets go of what is
/// another's by now. Where it is still at work it lets go only once that has ended, and begins nothing more.
pub(super) fn share(tx: &Tx<'_>, node: NodeId, at_work: &[i64]) -> Result<Share> {
    tx.run(
        "insert into dispatch_node (id, seen_at) values (:node, :now)
         on conflict (id) do update set seen_at = excluded.seen_at /* any account */",
        bind! { node },
    )?;
    tx.run(
        "delete from dispatch_node where seen_at < :silent /* any account */",
        bind! { silent: tx.now().minus(SILENT) },
    )?;
    let nodes: Vec<(NodeId,)> =
        tx.all("select id from dispatch_node order by id /* any account */", bind! {})?;
    let own = nodes.iter().position(|(id,)| *id == node).unwrap_or(0);
    let is_own = |slot: i64| slot.unsigned_abs() as usize % nodes.len().max(1) == own;
    let held: Vec<(i64, NodeId, Timestamp)> =
        tx.all("select slot, holder, held_until from dispatch_slot /* any account */", bind! {})?;
    let held: HashMap<_, _> =
        held.into_iter().map(|(slot, node, end)| (slot, (node, end))).collect();
    let held_until = tx.now().plus(LEASE);
    let (mut mine, mut settled) = (Held::new(), true);
    for slot in 0..SLOTS {
        let (ours, free) = match held.get(&slot) {
            Some((holder, end)) => (*holder == node, *end <= tx.now()),
            None => (false, true),
        };
        let stays = is_own(slot) && (ours || free);
        settled &= stays || !(is_own(slot) || ours);
        if stays || (ours && at_work.contains(&slot)) {
            tx.later(
                "insert into dispatch_slot (slot, holder, held_until) values (:slot, :node, :held_until)
                 on conflict (slot) do update set
                     holder = excluded.holder, held_until = excluded.held_until /* any account */",
                bind! { slot, node, held_until },
            )?;
            if stays {
                mine.insert(slot, held_until);
            }
        } else if ours {
            tx.later(
                "delete from dispatch_slot where slot = :slot /* any account */",
                bind! { slot },
            )?;
        }
    }
    Ok(Share { held: mine, settled })
}

/// Lets go of everything a node holds, when it stops.
pub(super) fn let_go(tx: &Tx<'_>, node: NodeId) -> Result<()> {
    tx.run("delete from dispatch_slot where holder = :node /* any account */", bind! { node })?;
    tx.run("delete from dispatch_node where id = :node /* any account */", bind! { node })?;
    Ok(())
}

/// On SQLite there is one service, so whatever an earlier one held is free.
pub(super) fn begin(tx: &Tx<'_>) -> Result<()> {
    if tx.dialect() == Dialect::Sqlite {
        tx.run("delete from dispatch_slot /* any account */", bind! {})?;
        tx.run("delete from dispatch_node /* any account */", bind! {})?;
    }
    Ok(())
}
