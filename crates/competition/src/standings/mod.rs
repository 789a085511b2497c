//! The order of the entries of a competition, and what separates them.
//!
//! [`standings`] ranks entries by their points (or wins, or percentage of wins), and entries that are level by an ordered
//! list of tie-breakers. [`Rules`] hold the points of each result, the tie-breakers, and what happens once a tie-breaker
//! has separated some of the entries. [`preset`] returns the rules of well-known competitions.
//!
//! - A **tie** is a set of entries that are level on what [`Rules::rank_by`] names.
//! - A **mini-league** is the table of the games among the entries of a tie. Tie-breakers with the scope
//!   [`Scope::HeadToHead`] compare entries in it.
//! - [`Restart`] decides which mini-league counts after a tie-breaker has separated some entries of a tie. The same results
//!   give a different order under another mode.
//! - Every row carries an [`Explanation`]: the rule that separates it from the row above, with the numbers. Entries that
//!   no rule separates share a rank.
//!
//! The order depends neither on the order of the games nor on the order of the entries. Ratios are compared exactly.

mod across_groups;
mod input;
mod measure;
mod number;
mod presets;
mod results;
mod rules;
mod scope;
mod swiss;
mod table;
mod ties;

#[cfg(test)]
mod tests;

pub use across_groups::best_across_groups;
pub use input::{Bye, Decided, Details, Entry, External, Game, GameState, Pair, Side};
pub use number::{Points, Value};
pub use presets::{PRESETS, Preset, preset};
pub use rules::{
    BonusRules, Direction, MAX_TIE_BREAKERS, Metric, MultiTeam, PointRules, Restart, Rules,
    RulesError, Scope, TieBreaker, Unfinished, Withdrawal,
};
pub use table::{Row, standings};
pub use ties::Explanation;
