//! Games of a tournament, and where the entries of a game come from.

use std::fmt;
use std::str::FromStr;

kit::string_enum! {
    /// The part of a tournament that a game belongs to.
    #[derive(PartialOrd, Ord)]
    pub enum Stage {
        /// Everyone plays everyone.
        League = "league",
        /// A game of a group, before the knockout.
        Group = "group",
        /// A round of a Swiss tournament.
        Swiss = "swiss",
        /// A round of single elimination before the final.
        Knockout = "knockout",
        /// The bracket of entries without a defeat, in double elimination.
        Winners = "winners",
        /// The bracket of entries with one defeat, in double elimination.
        Losers = "losers",
        /// The bracket of entries that lost early, in single elimination.
        Consolation = "consolation",
        /// The game between the losers of the semi-finals.
        ThirdPlace = "third_place",
        /// The final. In double elimination, the winners of both brackets meet; the first loss of the entry from the
        /// winners bracket leads to `final_reset`.
        Final = "final",
        /// The second final of double elimination, played only if the entry from the losers bracket won the first.
        FinalReset = "final_reset",
        /// A game added by hand.
        Custom = "custom",
    }
}

/// A game of a tournament. Every number and index is stable: the same input gives the same games.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Game {
    /// The number in the tournament, from 1. A game has a higher number than the games its entries come from.
    pub number: u32,
    pub stage: Stage,
    /// The round within the bracket, the group, the league or the Swiss tournament, from 1.
    pub round: u32,
    /// The rounds that follow in the same bracket, group, league or Swiss tournament. Zero for a final.
    pub rounds_left: u32,
    /// The index of the group, for [`Stage::Group`]. See [`group_name`].
    pub group: Option<u32>,
    /// The leg of a round robin, from 1. Otherwise 1.
    pub leg: u32,
    pub home: Source,
    pub away: Source,
    /// Where to draw the game, if it is part of a bracket.
    pub position: Option<Position>,
}

impl Game {
    /// A game without group and position, in the first leg.
    pub(super) fn new(stage: Stage, round: u32, home: Source, away: Source) -> Self {
        Self {
            number: 0,
            stage,
            round,
            rounds_left: 0,
            group: None,
            leg: 1,
            home,
            away,
            position: None,
        }
    }

    /// The sources of both sides, home first.
    pub const fn sources(&self) -> [Source; 2] {
        [self.home, self.away]
    }
}

/// The place of a game in the drawing of its bracket. There are separate drawings for the losers bracket, for the
/// consolation bracket, and for everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The column from the left, from 0.
    pub column: u32,
    /// The row from the top, from 0. In the main bracket, the winners of rows 0 and 1 meet in row 0 of the next
    /// column.
    pub row: u32,
}

/// Where the entry of one side of a game comes from.
///
/// Has a text form to store: `entry:3`, `winner:12`, `loser:12`, `group:A:1`, `best:3:2`, `bye`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The entry with this index.
    Entry(usize),
    /// The winner of the game with this number.
    Winner(u32),
    /// The loser of the game with this number.
    Loser(u32),
    /// The entry that finishes its group at this rank, from 1.
    GroupRank { group: u32, rank: u32 },
    /// One of the best entries of this rank in their groups, such as the best third-placed. `place` counts these
    /// sources from 1. They are filled so that entries of a group meet as late as possible, see
    /// [`Results::best_ranked`](super::Results::best_ranked).
    BestRanked { rank: u32, place: u32 },
    /// No opponent: the other side advances.
    Bye,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Entry(index) => write!(f, "entry:{index}"),
            Self::Winner(game) => write!(f, "winner:{game}"),
            Self::Loser(game) => write!(f, "loser:{game}"),
            Self::GroupRank { group, rank } => write!(f, "group:{}:{rank}", group_name(group)),
            Self::BestRanked { rank, place } => write!(f, "best:{rank}:{place}"),
            Self::Bye => f.write_str("bye"),
        }
    }
}

/// The text is not a [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSource;

impl fmt::Display for InvalidSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the source of an entry")
    }
}

impl std::error::Error for InvalidSource {}

impl FromStr for Source {
    type Err = InvalidSource;

    /// Parses the form that `Display` writes, and no other.
    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        let parts: Vec<&str> = text.split(':').collect();
        let number = |text: &str| text.parse::<u32>().map_err(|_| InvalidSource);
        let source = match parts[..] {
            ["entry", index] => Self::Entry(index.parse().map_err(|_| InvalidSource)?),
            ["winner", game] => Self::Winner(number(game)?),
            ["loser", game] => Self::Loser(number(game)?),
            ["group", name, rank] => Self::GroupRank {
                group: group_index(name).ok_or(InvalidSource)?,
                rank: number(rank)?,
            },
            ["best", rank, place] => {
                Self::BestRanked { rank: number(rank)?, place: number(place)? }
            }
            ["bye"] => Self::Bye,
            _ => return Err(InvalidSource),
        };
        // Numbers may be parsed from other texts, such as `+1` and `01`.
        if source.to_string() == text { Ok(source) } else { Err(InvalidSource) }
    }
}

/// The name of the group with this index: `A` to `Z`, then `AA`, `AB`, and so on.
pub fn group_name(index: u32) -> String {
    let last = char::from(b'A' + (index % 26) as u8);
    match (index / 26).checked_sub(1) {
        Some(index) => group_name(index) + last.encode_utf8(&mut [0; 4]),
        None => last.into(),
    }
}

/// The index of the group with this name, the reverse of [`group_name`].
pub fn group_index(name: &str) -> Option<u32> {
    let mut next = 0u32;
    for byte in name.bytes() {
        let digit = byte.is_ascii_uppercase().then(|| u32::from(byte - b'A'))?;
        next = next.checked_mul(26)?.checked_add(digit + 1)?;
    }
    next.checked_sub(1)
}

kit::string_enum! {
    /// Why no games can be made.
    pub enum PairingError {
        /// Fewer than two entries, or a group with fewer than two.
        TooFewEntries = "too_few_entries",
        /// No group, or an entry in a group that does not exist.
        NoSuchGroup = "no_such_group",
        /// Zero legs.
        NoLegs = "no_legs",
        /// Fewer than two entries advance from the groups.
        TooFewQualifiers = "too_few_qualifiers",
        /// More entries advance from the groups than there are.
        TooManyQualifiers = "too_many_qualifiers",
        /// The entries of a Swiss tournament cannot be paired again without a rematch.
        OnlyRematches = "only_rematches",
    }
}

impl std::error::Error for PairingError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sources() -> impl Strategy<Value = Source> {
        prop_oneof![
            any::<usize>().prop_map(Source::Entry),
            any::<u32>().prop_map(Source::Winner),
            any::<u32>().prop_map(Source::Loser),
            (0..u32::MAX, any::<u32>()).prop_map(|(group, rank)| Source::GroupRank { group, rank }),
            any::<(u32, u32)>().prop_map(|(rank, place)| Source::BestRanked { rank, place }),
            Just(Source::Bye),
        ]
    }

    proptest! {
        #[test]
        fn a_source_survives_a_round_trip_through_text(source in sources()) {
            prop_assert_eq!(source.to_string().parse(), Ok(source));
        }

        #[test]
        fn no_text_panics(text in "(entry|winner|group|best|bye)?[:A-Z0-9é+-]{0,12}") {
            if let Ok(source) = text.parse::<Source>() {
                prop_assert_eq!(source.to_string(), text);
            }
        }
    }

    #[test]
    fn sources_have_one_text_form() {
        let texts = ["entry:3", "winner:12", "loser:12", "group:A:1", "best:3:2", "bye"];
        for text in texts {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
        for wrong in
            ["", "entry", "entry:-1", "winner:+1", "loser:01", "group:a:1", "group::1", "bye:"]
        {
            assert_eq!(wrong.parse::<Source>(), Err(InvalidSource), "{wrong}");
        }
    }

    #[test]
    fn groups_are_named_from_a_to_z() {
        let names =
            [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")];
        for (index, name) in names {
            assert_eq!((group_name(index).as_str(), group_index(name)), (name, Some(index)));
        }
    }
}
