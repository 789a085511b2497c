//! Keeping children safe: no adult writes to a minor without a second adult who can read it.
//!
//! The rule is always on. Wherever a minor is on a conversation, at least two adults who count are too,
//! whoever wrote first, or each minor has a guardian of their own there. If there are too few, the
//! guardians of the minors join. If there still are too few, nothing is sent. Only people count: an API
//! key reads nothing. Who is a minor and who counts is decided in `roster::safeguarding`.

use std::collections::BTreeSet;

use crate::ids::PersonId;

/// How many adults must see what is said to a minor.
const ADULTS: usize = 2;

/// Whether these minors are safe among these adults: there are two, or each minor has a guardian among
/// them. `guardianships` are pairs of a minor and a guardian.
pub fn is_safe(
    minors: &BTreeSet<PersonId>,
    adults: &BTreeSet<PersonId>,
    guardianships: &[(PersonId, PersonId)],
) -> bool {
    let has_guardian = |minor| {
        guardianships.iter().any(|(ward, guardian)| ward == minor && adults.contains(guardian))
    };
    adults.len() >= ADULTS || minors.iter().all(has_guardian)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_needs_two_adults_or_a_guardian_and_adults_need_nobody() {
        let people = |bits: &[u128]| bits.iter().map(|n| PersonId::from_bits(*n)).collect();
        let (mia, leo, father) = (1, 2, 8);
        let guardianships = [(PersonId::from_bits(mia), PersonId::from_bits(father))];
        let safe = |minors: &[u128], adults: &[u128]| {
            is_safe(&people(minors), &people(adults), &guardianships)
        };
        assert!(safe(&[], &[]) && safe(&[], &[7]));
        assert!(!safe(&[mia], &[]) && !safe(&[mia], &[7]) && safe(&[mia], &[7, 9]));
        assert!(
            safe(&[mia], &[father]) && !safe(&[leo], &[father]) && !safe(&[mia, leo], &[father])
        );
        assert!(safe(&[mia, leo, 3], &[7, 9]) && !safe(&[mia, leo, 3], &[]));
    }
}
