//! Pairings of tournaments, and where and when the games are played.
//!
//! 1. Pairings: [`league`], [`draw_groups`] with [`group_games`] and [`knockout`], [`single_elimination`],
//!    [`double_elimination`], and [`pair_next_round`] with [`swiss_games`] make the [`Game`]s of a tournament. Entries
//!    are indexes; their order is the order of seeds. A [`Source`] says which entry plays, such as the winner of game 12.
//! 2. Progress: [`resolve`] finds the opponents of all games from the [`Results`] so far, [`correct`] what another
//!    result changes, and [`walkovers`] which games an entry gives up by withdrawing.
//! 3. Placement: a [`Placer`], such as [`FirstFit`], gives games a venue and a time.
//!
//! Everything is deterministic. What is random takes a seed, which gives the same result in every version.

mod assignment;
mod best_ranked;
mod bracket;
mod double_elimination;
mod elimination;
mod first_fit;
mod game;
mod groups;
mod knockout;
mod matching;
mod placement;
mod progress;
mod random;
mod round_robin;
mod swiss;
mod timeline;

pub use double_elimination::double_elimination;
pub use elimination::{BracketOptions, single_elimination};
pub use first_fit::FirstFit;
pub use game::{
    Game, InvalidSource, PairingError, Position, Source, Stage, group_index, group_name,
};
pub use groups::{GroupDraw, draw_groups};
pub use knockout::{Qualifiers, knockout};
pub use placement::{
    Blackout, Placement, PlacementRequest, Placer, Plan, Unplaced, UnplacedReason, Venue, Window,
};
pub use progress::{
    Correction, GameState, Opponent, Outcome, ResolvedGame, Results, Side, champion, compare,
    correct, resolve, walkovers,
};
pub use random::{SplitMix64, shuffle};
pub use round_robin::{Pair, Round, group_games, league, round_robin};
pub use swiss::{SwissEntry, pair_next_round, swiss_games};
