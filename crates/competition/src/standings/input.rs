//! Entries and games.

use super::number::Points;

/// A value for each side of a game.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pair<T> {
    pub home: T,
    pub away: T,
}

impl<T> Pair<T> {
    pub const fn new(home: T, away: T) -> Self {
        Self { home, away }
    }
}

/// A participant. Games name entries by their index in the slice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Entries of the same group are ranked together. Games across groups count in both.
    pub group: Option<u32>,
    pub division: Option<u32>,
    pub conference: Option<u32>,
    /// Points awarded or deducted. They count in the table but not among the games of a tie.
    pub adjustment: Points,
    /// Its games count as [`Withdrawal`](super::Withdrawal) says, and it is ranked below all others.
    pub withdrawn: bool,
    pub byes: Vec<Bye>,
    pub external: External,
}

/// A round in which an entry had no opponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bye {
    pub round: u32,
    /// Half a point or none, if the entry asked for the bye. Otherwise the points of the rules.
    pub points: Option<Points>,
}

/// Values that do not follow from the games. A tie-breaker is skipped unless all entries of the tie have the value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct External {
    /// Conduct points, zero or below. Added to those of the games; missing counts as 0.
    pub fair_play: Option<i32>,
    pub spirit: Option<i32>,
    pub rating: Option<i32>,
    pub coefficient: Option<i32>,
    /// Position in a ranking: 1 is the best.
    pub ranking: Option<i32>,
    /// Position in the seeding: 1 is the best.
    pub seed: Option<i32>,
    /// Score in a play-off or shoot-out between the entries.
    pub play_off: Option<i32>,
    /// Position in a drawing of lots: 1 is the best.
    pub lots: Option<i32>,
}

/// Whether a game counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GameState {
    #[default]
    Scheduled,
    InProgress,
    Final,
    /// Does not count and will not be played, such as an abandoned game without an award.
    Annulled,
}

/// When the winner of a game was decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decided {
    #[default]
    Regulation,
    Overtime,
    Shootout,
}

/// A side of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Home,
    Away,
}

/// Numbers of one side that only some tie-breakers need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Details {
    /// Tries or touchdowns.
    pub tries: i32,
    /// Points won in all sets.
    pub set_points: i32,
    /// Balls faced; the full quota if the side was all out.
    pub balls: i32,
    /// Wickets lost.
    pub wickets: i32,
    /// Conduct points: zero or below.
    pub fair_play: i32,
}

/// A game between two entries. A game of an entry against itself, or of an unknown entry, is ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Game {
    pub home: usize,
    pub away: usize,
    pub state: GameState,
    /// Goals, points, runs or sets. A final game without a score counts only if it is a forfeit.
    pub score: Option<Pair<i32>>,
    pub decided: Decided,
    /// Score of the shootout. It decides a game whose score is level.
    pub shootout: Option<Pair<i32>>,
    /// Score before overtime, for rules that ignore points scored in overtime.
    pub regulation_score: Option<Pair<i32>>,
    /// The other side wins with the score of the game if that is a win, otherwise with the score of the rules.
    pub forfeited_by: Option<Side>,
    /// Neither side played at home.
    pub neutral: bool,
    /// Bonus points as recorded. Otherwise the rules determine them.
    pub bonus: Option<Pair<Points>>,
    pub details: Pair<Details>,
    /// Round, or position in the order of play.
    pub round: u32,
}

impl Game {
    /// A game to be played.
    pub fn scheduled(home: usize, away: usize) -> Self {
        Self { home, away, ..Self::default() }
    }

    /// A game decided in regulation.
    pub fn played(home: usize, away: usize, home_score: i32, away_score: i32) -> Self {
        Self {
            state: GameState::Final,
            score: Some(Pair::new(home_score, away_score)),
            ..Self::scheduled(home, away)
        }
    }
}
