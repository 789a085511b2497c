//! Detects whether a team's age group is for adults.

/// Age of majority, in years.
pub const ADULT_AGE: i64 = 18;
/// Words for adult age groups.
const ADULT_WORDS: [&str; 15] = [
    "adult", "adults", "senior", "seniors", "master", "masters", "veteran", "veterans", "open",
    "men", "mens", "women", "womens", "ladies", "vets",
];
/// Words that say nothing about age.
const NEUTRAL_WORDS: [&str; 15] = [
    "u", "under", "o", "over", "plus", "and", "s", "a", "b", "mixed", "coed", "team", "league",
    "division", "age",
];

/// Whether an age group is for adults: it consists of words for adults or ages from 19 on, such as `Men's open`,
/// `Masters 40+` or `U21`. Any unknown word or younger age makes the result `false`.
pub fn is_adult_age_group(age_group: Option<&str>) -> bool {
    let text = age_group.unwrap_or_default().to_lowercase();
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_adult = |word: &str| ADULT_WORDS.contains(&word) || is_age_of_adults(word);
    words().any(is_adult) && words().all(|word| is_adult(word) || NEUTRAL_WORDS.contains(&word))
}

/// Whether a word such as `40`, `o35`, `u21`, `under21s` or `23u` names an age above 18.
fn is_age_of_adults(word: &str) -> bool {
    let word = word.trim_start_matches("under").trim_start_matches("over");
    let word = word.trim_start_matches(['u', 'o']).trim_end_matches(['u', 's']);
    word.parse().is_ok_and(|age: i64| (ADULT_AGE + 1..100).contains(&age))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adult_age_groups_are_recognized_in_many_spellings() {
        let young = "U12, u-14, 12U, under 16, Under-18s, U 9, U18, U12/U21, 16 and under, 14u girls, \
                     u12b, Youth, juniors, Kids open, Junior masters, U16 open, 12-14 open, \
                     Boys open, Teens open, Cadets open, Minis senior, 2014 masters, \
                     under twelve masters";
        for young in young.split(", ") {
            assert!(!is_adult_age_group(Some(young)), "{young}");
        }
        let old = "Adult, seniors, Masters 40+, open, U19, u-21, 23U, under 20, Men's, Women, O35, \
                   35+, Over-35s, Open / Mixed, 21 and under";
        for old in old.split(", ") {
            assert!(is_adult_age_group(Some(old)), "{old}");
        }
        for unknown in [None, Some(""), Some("Tigers"), Some("United 2"), Some("2012"), Some("u")] {
            assert!(!is_adult_age_group(unknown), "{unknown:?}");
        }
    }
}
