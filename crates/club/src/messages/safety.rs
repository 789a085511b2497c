//! The two-adult rule: no adult writes to a minor without a second adult who can read the message.
//!
//! The rule cannot be turned off. A conversation with a minor needs at least two adults, or a guardian of each minor,
//! regardless of who starts it. If there are too few adults, the guardians of the minors are added. If there are still
//! too few, the message is rejected. API keys do not count as adults. [`crate::roster::safeguarding`] decides who is a
//! minor and which adults count.

use std::collections::BTreeSet;

use crate::ids::PersonId;

/// Minimum number of adults in a conversation with a minor.
const MIN_ADULTS: usize = 2;

/// Whether the rule is met: there are two adults, or each minor has a guardian among the adults. `guardianships` are
/// pairs of a minor and a guardian.
pub fn is_safe(
    minors: &BTreeSet<PersonId>,
    adults: &BTreeSet<PersonId>,
    guardianships: &[(PersonId, PersonId)],
) -> bool {
    let has_guardian = |minor| {
        guardianships.iter().any(|(child, guardian)| child == minor && adults.contains(guardian))
    };
    adults.len() >= MIN_ADULTS || minors.iter().all(has_guardian)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_needs_two_adults_or_a_guardian() {
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
