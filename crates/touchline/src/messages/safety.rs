//! Keeping children safe: no adult writes to a child without a second adult who sees it.
//!
//! The rule is always on. Wherever a minor is on a conversation, at least two adults are too, whoever
//! wrote first, or each minor has a guardian of their own there; if there are too few, the guardians of
//! the minors join, and if there still are too few, nothing is sent. Only people count: a key reads
//! nothing. Nothing here asks the database: the facts come in, the judgement goes out.

use std::collections::BTreeSet;

use kit::Day;

use crate::ids::PersonId;
use crate::roster::person::OF_AGE;

/// So many adults see what is said to a minor.
const ADULTS: usize = 2;
/// What teams of adults are called.
const GROWN: [&str; 15] = [
    "adult", "adults", "senior", "seniors", "master", "masters", "veteran", "veterans", "open",
    "men", "mens", "women", "womens", "ladies", "vets",
];
/// Words that say nothing about age.
const IDLE: [&str; 15] = [
    "u", "under", "o", "over", "plus", "and", "s", "a", "b", "mixed", "coed", "team", "league",
    "division", "age",
];

/// Somebody on a conversation, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub person_id: PersonId,
    pub birth_date: Option<Day>,
    /// Whether somebody looks after them.
    pub guarded: bool,
    /// The age groups of all teams they play on, or ever played on.
    pub played: Vec<Option<String>>,
}

/// Whether a team's age group says that adults play: by words for adults and ages from 19 on, such as
/// `Men's open`, `Masters 40+` or `U21`. A word that is not understood, or an age below, is a reason
/// not to think so.
pub fn plays_adults(age_group: Option<&str>) -> bool {
    let text = age_group.unwrap_or_default().to_lowercase();
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let says = |word: &str| GROWN.contains(&word) || is_age_of_adults(word);
    words().any(says) && words().all(|word| says(word) || IDLE.contains(&word))
}

/// Whether a word such as `40`, `o35`, `u21`, `under21s` or `23u` names an age that adults are.
fn is_age_of_adults(word: &str) -> bool {
    let word = word.trim_start_matches("under").trim_start_matches("over");
    let word = word.trim_start_matches(['u', 'o']).trim_end_matches(['u', 's']);
    word.parse().is_ok_and(|age: i64| (OF_AGE + 1..100).contains(&age))
}

/// Whether a person is a minor today. Who may be one is treated as one, whatever else they do.
pub fn is_minor(person: &Facts, today: Day) -> bool {
    match person.birth_date {
        Some(born) => born.age_on(today).is_none_or(|age| age < OF_AGE),
        None => person.guarded || person.played.iter().any(|group| !plays_adults(group.as_deref())),
    }
}

/// Whether these minors are safe among these adults: there are two, or each minor has a guardian among
/// them. `ties` are the minors with their guardians.
pub fn is_safe(
    minors: &BTreeSet<PersonId>,
    adults: &BTreeSet<PersonId>,
    ties: &[(PersonId, PersonId)],
) -> bool {
    let looked_after =
        |minor| ties.iter().any(|(ward, guardian)| ward == minor && adults.contains(guardian));
    adults.len() >= ADULTS || minors.iter().all(looked_after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn today() -> Day {
        "2026-09-05".parse().unwrap()
    }

    fn person(birth_date: Option<&str>, guarded: bool, played: &[&str]) -> Facts {
        let birth_date = birth_date.map(|day| day.parse().unwrap());
        let played = played.iter().map(|group| Some((*group).to_owned())).collect();
        Facts { person_id: PersonId::from_bits(1), birth_date, guarded, played }
    }

    #[test]
    fn an_age_group_is_understood_however_it_is_written() {
        for young in [
            "U12",
            "u-14",
            "12U",
            "under 16",
            "Under-18s",
            "U 9",
            "U18",
            "U12/U21",
            "16 and under",
            "14u girls",
            "u12b",
            "Youth",
            "juniors",
            "Kids open",
            "Junior masters",
            "U16 open",
            "12-14 open",
            "Boys open",
            "Teens open",
            "Cadets open",
            "Minis senior",
            "2014 masters",
            "under twelve masters",
        ] {
            assert!(!plays_adults(Some(young)), "{young}");
        }
        for old in [
            "Adult",
            "seniors",
            "Masters 40+",
            "open",
            "U19",
            "u-21",
            "23U",
            "under 20",
            "Men's",
            "Women",
            "O35",
            "35+",
            "Over-35s",
            "Open / Mixed",
            "21 and under",
        ] {
            assert!(plays_adults(Some(old)), "{old}");
        }
        for unknown in [None, Some(""), Some("Tigers"), Some("United 2"), Some("2012"), Some("u")] {
            assert!(!plays_adults(unknown), "{unknown:?}");
        }
    }

    #[test]
    fn a_birth_date_decides_before_anything_else() {
        assert!(is_minor(&person(Some("2008-09-06"), false, &["open"]), today()));
        assert!(!is_minor(&person(Some("2008-09-05"), true, &["U12"]), today()));
    }

    #[test]
    fn without_a_birth_date_whoever_may_be_a_child_is_one() {
        assert!(is_minor(&person(None, true, &["open"]), today()));
        assert!(is_minor(&person(None, true, &[]), today()));
        assert!(is_minor(&person(None, false, &["U12"]), today()));
        assert!(is_minor(&person(None, false, &["open", "U12"]), today()));
        assert!(!is_minor(&person(None, false, &["open", "U21"]), today()));
        assert!(!is_minor(&person(None, false, &[]), today()));
    }

    #[test]
    fn a_minor_needs_two_adults_or_a_guardian_and_adults_need_nobody() {
        let people = |bits: &[u128]| bits.iter().map(|n| PersonId::from_bits(*n)).collect();
        let (mia, leo, father) = (1, 2, 8);
        let ties = [(PersonId::from_bits(mia), PersonId::from_bits(father))];
        let safe =
            |minors: &[u128], adults: &[u128]| is_safe(&people(minors), &people(adults), &ties);
        assert!(safe(&[], &[]) && safe(&[], &[7]));
        assert!(!safe(&[mia], &[]) && !safe(&[mia], &[7]) && safe(&[mia], &[7, 9]));
        assert!(
            safe(&[mia], &[father]) && !safe(&[leo], &[father]) && !safe(&[mia, leo], &[father])
        );
        assert!(safe(&[mia, leo, 3], &[7, 9]) && !safe(&[mia, leo, 3], &[]));
    }
}
