//! The draw of groups.

use super::game::PairingError;
use super::random::{SplitMix64, shuffle_with};

kit::string_enum! {
    /// How entries are drawn into groups.
    pub enum GroupDraw {
        /// By seeds alone, back and forth: A, B, C, then C, B, A.
        Snake = "snake",
        /// One entry of each pot into each group. A pot has as many entries as there are groups, the best seeds
        /// first.
        Pots = "pots",
        /// Without regard to seeds.
        Random = "random",
    }
}

/// Draws entries into groups whose sizes differ by at most one, unless `preset` entries make that impossible.
///
/// `entries` are in the order of their seeds, best first. `preset` entries already have a group, and are not among
/// `entries`. The same `seed` gives the same groups.
pub fn draw_groups(
    entries: &[usize],
    preset: &[(usize, u32)],
    groups: u32,
    draw: GroupDraw,
    seed: u64,
) -> Result<Vec<Vec<usize>>, PairingError> {
    if groups == 0 || preset.iter().any(|(_, group)| *group >= groups) {
        return Err(PairingError::NoSuchGroup);
    }
    if entries.len() + preset.len() < groups as usize * 2 {
        return Err(PairingError::TooFewEntries);
    }
    let mut drawn = vec![Vec::new(); groups as usize];
    for &(entry, group) in preset {
        drawn[group as usize].push(entry);
    }
    for entry in drawing_order(entries, groups as usize, draw, seed) {
        let group = next_group(&drawn, draw);
        drawn[group].push(entry);
    }
    let complete = drawn.iter().all(|group| group.len() >= 2);
    if complete { Ok(drawn) } else { Err(PairingError::TooFewEntries) }
}

fn drawing_order(entries: &[usize], groups: usize, draw: GroupDraw, seed: u64) -> Vec<usize> {
    let mut order = entries.to_vec();
    let mut random = SplitMix64::new(seed);
    match draw {
        GroupDraw::Snake => {}
        GroupDraw::Pots => {
            order.chunks_mut(groups).for_each(|pot| shuffle_with(pot, &mut random));
        }
        GroupDraw::Random => shuffle_with(&mut order, &mut random),
    }
    order
}

/// The first of the smallest groups, or for every second row of a snake the last.
fn next_group(groups: &[Vec<usize>], draw: GroupDraw) -> usize {
    let smallest = groups.iter().map(Vec::len).min().unwrap_or(0);
    let is_smallest = |group: &Vec<usize>| group.len() == smallest;
    let found = if draw == GroupDraw::Snake && smallest % 2 == 1 {
        groups.iter().rposition(is_smallest)
    } else {
        groups.iter().position(is_smallest)
    };
    found.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snake_goes_back_and_forth() {
        let entries: Vec<usize> = (1..=8).collect();
        let groups = draw_groups(&entries, &[], 3, GroupDraw::Snake, 0).unwrap();
        assert_eq!(groups, [vec![1, 6, 7], vec![2, 5, 8], vec![3, 4]]);
    }

    #[test]
    fn each_group_has_one_entry_of_each_pot() {
        let entries: Vec<usize> = (0..12).collect();
        for seed in 0..20 {
            for group in draw_groups(&entries, &[], 4, GroupDraw::Pots, seed).unwrap() {
                let pots: Vec<usize> = group.iter().map(|entry| entry / 4).collect();
                assert_eq!(pots, [0, 1, 2]);
            }
        }
    }

    #[test]
    fn a_seed_repeats_its_draw() {
        let entries: Vec<usize> = (0..9).collect();
        let groups = |seed| draw_groups(&entries, &[], 2, GroupDraw::Random, seed).unwrap();
        assert_eq!(groups(1), groups(1));
        assert_ne!(groups(1), groups(2));
        assert_eq!(groups(7), [vec![2, 5, 7, 0, 3], vec![6, 1, 8, 4]]);
    }

    #[test]
    fn preset_entries_keep_their_group() {
        let groups = draw_groups(&[0, 1, 2], &[(8, 1), (9, 1)], 2, GroupDraw::Snake, 0).unwrap();
        assert_eq!(groups, [vec![0, 1, 2], vec![8, 9]]);
    }

    #[test]
    fn every_group_has_at_least_two_entries() {
        let draw = |entries: &[usize], preset: &[(usize, u32)], groups| {
            draw_groups(entries, preset, groups, GroupDraw::Random, 0)
        };
        assert_eq!(draw(&[0, 1, 2], &[], 2), Err(PairingError::TooFewEntries));
        assert_eq!(draw(&[0], &[(1, 0), (2, 0), (3, 0)], 2), Err(PairingError::TooFewEntries));
        assert_eq!(draw(&[0, 1], &[(2, 1)], 1), Err(PairingError::NoSuchGroup));
        assert_eq!(draw(&[0, 1], &[], 0), Err(PairingError::NoSuchGroup));
    }
}
