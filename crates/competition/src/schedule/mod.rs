//! Pairings of tournaments, and where and when the games are played.

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
