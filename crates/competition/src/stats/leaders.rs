//! Leaderboards.

use super::definition::Minimum;
use super::format::round_half_away;
use super::statistic::Statistic;
use super::totals::StatisticValues;

/// A member in a leaderboard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leader {
    /// The rank, from 1. Members with the same value share it.
    pub rank: usize,
    /// Index of the member in the list.
    pub index: usize,
    /// The value of the statistic.
    pub value: f64,
}

impl Minimum {
    /// How much of the statistic qualifies after this number of games, rounded to a whole number:
    /// 502 plate appearances after 162 games with 3.1 per game.
    pub fn after(&self, team_games: i64) -> f64 {
        round_half_away(self.per_team_game * team_games as f64, 0)
    }
}

impl Statistic {
    /// Whether a member with these values can appear in the leaderboard.
    pub fn qualifies(&self, values: &StatisticValues, team_games: i64) -> bool {
        let value = |key: &str| values.get(key).copied().flatten();
        value(&self.key).is_some()
            && self.minimum.is_none_or(|minimum| {
                value(minimum.key).unwrap_or(0.0) >= minimum.after(team_games)
            })
    }

    /// The members who qualify, the best first. Each has values, and the number of games that the
    /// team has played.
    pub fn leaders<'a>(
        &self,
        members: impl IntoIterator<Item = (&'a StatisticValues, i64)>,
    ) -> Vec<Leader> {
        let mut leaders: Vec<Leader> = members
            .into_iter()
            .enumerate()
            .filter(|(_, (values, team_games))| self.qualifies(values, *team_games))
            .filter_map(|(index, (values, _))| {
                let value = values.get(self.key.as_ref()).copied().flatten()?;
                Some(Leader { rank: 0, index, value })
            })
            .collect();
        leaders.sort_by(|a, b| {
            let ascending = a.value.total_cmp(&b.value);
            if self.higher_is_better { ascending.reverse() } else { ascending }
        });
        for place in 0..leaders.len() {
            let shared =
                place > 0 && leaders[place].value.total_cmp(&leaders[place - 1].value).is_eq();
            leaders[place].rank = if shared { leaders[place - 1].rank } else { place + 1 };
        }
        leaders
    }
}
