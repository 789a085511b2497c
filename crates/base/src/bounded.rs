//! Eviction for in-memory maps of bounded size.
//!
//! A full map never forgets everything at once: that would let anybody who can fill it reset what it keeps about
//! others.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// One entry in this many of a full map is evicted at once, so an insertion into a full map costs little on average.
const EVICTION_DIVISOR: usize = 10;

/// Makes room for one more entry: when the map holds `capacity` entries, evicts the tenth of them with the lowest rank.
///
/// Choose a rank that is costly to raise, such as the time that a caller still has to wait. Then many new entries
/// push out each other, and not the entries that matter.
pub fn make_room<K: Eq + Hash, V, S: BuildHasher, R: Ord + Copy>(
    map: &mut HashMap<K, V, S>,
    capacity: usize,
    rank: impl Fn(&V) -> R,
) {
    if map.len() < capacity {
        return;
    }
    let evicted = (capacity / EVICTION_DIVISOR).max(1).min(map.len());
    let mut ranks: Vec<R> = map.values().map(&rank).collect();
    let (lower, highest, _) = ranks.select_nth_unstable(evicted - 1);
    let highest = *highest;
    // Of the entries with the highest rank that is evicted, only as many go as are still needed.
    let mut ties_left = evicted - lower.iter().filter(|rank| **rank < highest).count();
    map.retain(|_, value| {
        let rank = rank(value);
        let evict_tie = rank == highest && ties_left > 0;
        ties_left -= usize::from(evict_tie);
        rank >= highest && !evict_tie
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_map_evicts_its_lowest_entries() {
        let mut map: HashMap<u32, u32> = (0..100).map(|key| (key, key)).collect();
        make_room(&mut map, 101, |rank| *rank);
        assert_eq!(map.len(), 100);
        make_room(&mut map, 100, |rank| *rank);
        assert_eq!(map.len(), 90);
        assert!((10..100).all(|key| map.contains_key(&key)));
    }

    #[test]
    fn entries_of_equal_rank_make_room_too() {
        let mut map: HashMap<u32, u32> = (0..100).map(|key| (key, u32::from(key >= 95))).collect();
        make_room(&mut map, 100, |rank| *rank);
        assert_eq!(map.len(), 90);
        assert!((95..100).all(|key| map.contains_key(&key)));
        let mut one = HashMap::from([(1, 1)]);
        make_room(&mut one, 1, |rank| *rank);
        assert!(one.is_empty());
    }
}
