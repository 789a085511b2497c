//! Keeping children safe: no adult writes to a child without a second adult who sees it.
//!
//! The rule is always on. Wherever a minor is on a conversation, at least two adults are too, whoever
//! wrote first; if there are too few, the guardians of the minors join, and if there still are too few,
//! nothing is sent. Nothing here asks the database: the facts come in, the judgement goes out.

use kit::Day;
use store::row;

use crate::ids::PersonId;
use crate::roster::membership::Role;

/// From this age on a person is an adult.
const OF_AGE: i64 = 18;
/// So many adults see what is said to a minor.
const ADULTS: usize = 2;

row! {
    /// Somebody on a conversation, as far as it matters here.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Facts {
        pub person_id: PersonId,
        pub birth_date: Option<Day>,
        /// Whether somebody looks after them.
        pub guarded: bool,
        /// `None` for those who are not on the team themselves, such as guardians.
        pub role: Option<Role>,
    }
}

/// Whether a team's age group says that adults play. `U12`, `u-14`, `12U`, `under 16` and `juniors` say
/// that they do not; a word that says neither is no reason to think so.
pub fn plays_adults(age_group: Option<&str>) -> bool {
    let text = age_group.unwrap_or_default().to_lowercase();
    let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let says = |known: &[&str]| words.iter().any(|word| known.iter().any(|k| word.starts_with(k)));
    match under(&words) {
        _ if says(&["youth", "junior", "kid", "child"]) => false,
        Some(limit) => limit > OF_AGE,
        None => says(&["adult", "senior", "master", "open"]),
    }
}

/// The age that players are under, if one is said. Of several, such as `U12/U14`, the least.
fn under(words: &[&str]) -> Option<i64> {
    let mut ages = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let next = words.get(place + 1).copied().unwrap_or_default();
        ages.extend(match (leading(word), next) {
            // `12U`, `12 U` and `12 under`.
            (Some((age, "u")), _) | (Some((age, "")), "u" | "under") => Some(age),
            // `U12`, `u12s`, `under12`, `U 12` and `under 12`.
            _ => word
                .strip_prefix("under")
                .or_else(|| word.strip_prefix('u'))
                .and_then(|rest| leading(if rest.is_empty() { next } else { rest }))
                .map(|(age, _)| age),
        });
    }
    ages.into_iter().min()
}

/// The number that a word begins with, and what comes after it.
fn leading(word: &str) -> Option<(i64, &str)> {
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    Some((word[..end].parse().ok()?, &word[end..]))
}

/// Whether a person is a minor today. Who may be one is treated as one.
pub fn is_minor(person: &Facts, team_plays_adults: bool, today: Day) -> bool {
    match (person.birth_date, person.role) {
        (Some(born), _) => born.age_on(today).is_none_or(|age| age < OF_AGE),
        (None, _) if person.guarded => true,
        (None, Some(Role::Player)) => !team_plays_adults,
        (None, _) => false,
    }
}

/// Whether somebody on a conversation is a minor and a second adult is missing. An API key that writes
/// along without a person's name stands for one adult.
pub fn lacks_an_adult(minors: usize, adults: usize, key_writes: bool) -> bool {
    minors > 0 && adults + usize::from(key_writes) < ADULTS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn today() -> Day {
        "2026-09-05".parse().unwrap()
    }

    fn person(birth_date: Option<&str>, guarded: bool, role: Option<Role>) -> Facts {
        let birth_date = birth_date.map(|day| day.parse().unwrap());
        Facts { person_id: PersonId::from_bits(1), birth_date, guarded, role }
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
        ] {
            assert!(!plays_adults(Some(young)), "{young}");
        }
        for old in ["Adult", "seniors", "Masters 40+", "open", "U19", "u-21", "23U", "under 20"] {
            assert!(plays_adults(Some(old)), "{old}");
        }
        for unknown in [None, Some(""), Some("Tigers"), Some("United 2"), Some("2012"), Some("u")] {
            assert!(!plays_adults(unknown), "{unknown:?}");
        }
    }

    #[test]
    fn a_birth_date_decides_before_anything_else() {
        let player = Some(Role::Player);
        assert!(is_minor(&person(Some("2008-09-06"), false, Some(Role::Coach)), true, today()));
        assert!(!is_minor(&person(Some("2008-09-05"), true, player), false, today()));
    }

    #[test]
    fn without_a_birth_date_whoever_may_be_a_child_is_one() {
        let player = Some(Role::Player);
        assert!(is_minor(&person(None, true, player), true, today()));
        assert!(is_minor(&person(None, true, Some(Role::Staff)), true, today()));
        assert!(is_minor(&person(None, false, player), false, today()));
        assert!(!is_minor(&person(None, false, player), true, today()));
        for grown in [Some(Role::Coach), Some(Role::Manager), Some(Role::Staff), None] {
            assert!(!is_minor(&person(None, false, grown), false, today()), "{grown:?}");
        }
    }

    #[test]
    fn a_minor_needs_two_adults_and_adults_need_nobody() {
        assert!(!lacks_an_adult(0, 0, false) && !lacks_an_adult(0, 1, false));
        assert!(lacks_an_adult(1, 0, true) && lacks_an_adult(1, 1, false));
        assert!(!lacks_an_adult(1, 1, true) && !lacks_an_adult(3, 2, false));
        assert!(lacks_an_adult(5, 0, false));
    }
}
