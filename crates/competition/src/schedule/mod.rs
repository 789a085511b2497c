//! Pairings of tournaments, and where and when the games are played.

mod bracket;
mod double_elimination;
mod elimination;
mod game;
mod random;
mod round_robin;

pub use double_elimination::double_elimination;
pub use elimination::{BracketOptions, single_elimination};
pub use game::{
    Game, InvalidSource, PairingError, Position, Source, Stage, group_index, group_name,
};
pub use random::{SplitMix64, shuffle};
pub use round_robin::{Pair, Round, group_games, league, round_robin};
