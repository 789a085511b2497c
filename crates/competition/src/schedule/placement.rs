//! Where and when games are played: the request, the result, and the interface of what decides it.

use kit::Timestamp;

use super::game::Game;

/// Decides where and when games are played. The same request always gives the same plan.
///
/// [`FirstFit`](super::FirstFit) places each game as early as possible. Other implementations may search longer for
/// better plans.
pub trait Placer {
    /// Places games. A plan
    ///
    /// - keeps games within the windows of their venue, and the break between games at a venue;
    /// - gives entries their rest before each game, also those of a bracket that are not known yet: a game starts after
    ///   the games that its entries come from, plus rest;
    /// - keeps the order of each entry's games and of the rounds of a Swiss tournament;
    /// - avoids blackouts, of an entry only in games that it certainly plays;
    /// - leaves out games against [`Source::Bye`](super::Source::Bye).
    fn place(&self, request: &PlacementRequest<'_>) -> Plan;
}

/// Games to place, and the constraints.
#[derive(Debug, Clone, Copy)]
pub struct PlacementRequest<'a> {
    /// The games to place, and those that `fixed` or other games refer to.
    pub games: &'a [Game],
    pub venues: &'a [Venue],
    pub blackouts: &'a [Blackout],
    /// Games that keep their place, such as those that have been played. If games that they depend on are to be
    /// placed, these may come too late.
    pub fixed: &'a [Placement],
    pub game_minutes: u32,
    /// The time between two games at the same venue.
    pub break_minutes: u32,
    /// The time between two games of an entry.
    pub rest_minutes: u32,
}

/// A place for one game at a time. It is identified by its index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Venue {
    /// When games can be played, in any order. Windows that overlap or touch count as one.
    pub windows: Vec<Window>,
}

/// A time span. It is empty if it ends before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
}

/// A time without games.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blackout {
    pub window: Window,
    /// The only entry it applies to.
    pub entry: Option<usize>,
}

/// Where and when a game is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The number of the game.
    pub game: u32,
    /// The index of the venue.
    pub venue: usize,
    pub starts_at: Timestamp,
}

/// Which games are played where and when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The placed games without the fixed ones, in the order of their numbers.
    pub placed: Vec<Placement>,
    /// The games without a place, in the order of their numbers.
    pub unplaced: Vec<Unplaced>,
}

/// A game without a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unplaced {
    /// The number of the game.
    pub game: u32,
    pub reason: UnplacedReason,
}

kit::string_enum! {
    /// Why a game has no place.
    pub enum UnplacedReason {
        /// No venue has a window as long as a game.
        NoWindowLongEnough = "no_window_long_enough",
        /// Other games take all the time.
        NoFreeField = "no_free_field",
        /// There would be time during a blackout only.
        Blackout = "blackout",
        /// There would be time if the entries needed no rest after their earlier games.
        RestTime = "rest_time",
        /// A game that has to be played before has no place.
        EarlierGameUnplaced = "earlier_game_unplaced",
        /// No window is left after the games that have to be played before.
        NoTimeLeft = "no_time_left",
    }
}
