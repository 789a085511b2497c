//! The rules of a table: points, tie-breakers, and how ties are resolved.

use std::fmt;

use kit::string_enum;

use super::number::Points;

string_enum! {
    /// What a tie-breaker compares.
    pub enum Metric {
        /// Points of the table. Adjustments count only over all games.
        Points = "points",
        Wins = "wins",
        Losses = "losses",
        /// Wins plus half the draws, divided by games.
        WinPercentage = "win_percentage",
        /// Wins without overtime and shootout.
        RegulationWins = "regulation_wins",
        /// Wins without shootout.
        RegulationOvertimeWins = "regulation_overtime_wins",
        /// Games played.
        Played = "played",
        /// Points scored minus points conceded.
        Difference = "difference",
        PointsFor = "points_for",
        PointsAgainst = "points_against",
        /// Points scored divided by points conceded; sets in volleyball.
        Ratio = "ratio",
        /// Sum of the ratios of all games.
        RatioSum = "ratio_sum",
        /// Games without a point conceded.
        Shutouts = "shutouts",
        AwayWins = "away_wins",
        AwayPointsFor = "away_points_for",
        AwayDifference = "away_difference",
        HomePointsFor = "home_points_for",
        HomeDifference = "home_difference",
        /// Tries or touchdowns.
        Tries = "tries",
        TryDifference = "try_difference",
        /// Points won in all sets divided by points lost.
        SetPointRatio = "set_point_ratio",
        /// Runs per over scored minus runs per over conceded.
        NetRunRate = "net_run_rate",
        /// Wickets taken per ball bowled.
        WicketsPerBall = "wickets_per_ball",
        /// Games forfeited.
        Forfeits = "forfeits",
        /// Conduct points, zero or below.
        FairPlay = "fair_play",
        /// 1 if the entry won more games than it lost against every other entry of the tie, otherwise 0.
        BeatAll = "beat_all",
        /// 1 if the entry lost more games than it won against every other entry of the tie, otherwise 0.
        LostToAll = "lost_to_all",
        /// Points of all opponents.
        OpponentsPoints = "opponents_points",
        OpponentsDifference = "opponents_difference",
        OpponentsPointsFor = "opponents_points_for",
        /// Win percentage of the opponents that the entry beat.
        StrengthOfVictory = "strength_of_victory",
        /// Win percentage of all opponents.
        StrengthOfSchedule = "strength_of_schedule",
        /// Rank in points scored plus rank in points conceded, in the conference or among all entries.
        CombinedRank = "combined_rank",
        /// 1 if the entry is first in its division, otherwise 0.
        DivisionWinner = "division_winner",
        /// 1 if no other entry of the tie is above it in the same division, otherwise 0.
        BestOfDivision = "best_of_division",
        /// Sum of the points of the opponents.
        Buchholz = "buchholz",
        /// Buchholz without the lowest opponent.
        BuchholzCut1 = "buchholz_cut_1",
        /// Buchholz without the highest and the lowest opponent.
        MedianBuchholz = "median_buchholz",
        /// Points of beaten opponents, plus half the points of opponents with whom the entry drew.
        SonnebornBerger = "sonneborn_berger",
        Spirit = "spirit",
        Rating = "rating",
        Coefficient = "coefficient",
        /// Position in a ranking.
        Ranking = "ranking",
        /// Position in the seeding.
        Seed = "seed",
        /// Score in a play-off or shoot-out between the entries.
        PlayOff = "play_off",
        /// Position in a drawing of lots.
        Lots = "lots",
        /// Entries that withdrew are ranked last. Not a tie-breaker.
        Withdrawn = "withdrawn",
    }
}

string_enum! {
    /// Which games a tie-breaker counts.
    pub enum Scope {
        /// All games.
        Overall = "overall",
        /// Games among the entries of the tie.
        HeadToHead = "head_to_head",
        /// As `head_to_head`, without the first game at the home of the entry that had one home game more than the other.
        BalancedHeadToHead = "balanced_head_to_head",
        /// Games against opponents that all entries of the tie have met.
        CommonOpponents = "common_opponents",
        /// Games within the own division.
        Division = "division",
        /// Games within the division, if all entries of the tie are in the same one.
        SameDivision = "same_division",
        /// Games within the own conference.
        Conference = "conference",
        /// Games within the own conference against other divisions.
        OtherDivisions = "other_divisions",
        /// Games against the best entries of the own conference.
        ConferenceTop = "conference_top",
        /// Games against the best entries of other conferences.
        OtherConferenceTop = "other_conference_top",
        /// The last half of the games within the own conference, then one game more until the tie is broken.
        LastHalf = "last_half",
        /// Games against entries outside the tie.
        OutsideTie = "outside_tie",
        /// Games against the best entry outside the tie, then against the next one until the tie is broken.
        BestOutsideTie = "best_outside_tie",
    }
}

impl Scope {
    /// Counts only games among the entries of the tie.
    pub(super) fn is_head_to_head(self) -> bool {
        matches!(self, Self::HeadToHead | Self::BalancedHeadToHead)
    }
}

string_enum! {
    /// Which value of a tie-breaker ranks first.
    pub enum Direction {
        /// The lowest value.
        Ascending = "asc",
        /// The highest value.
        Descending = "desc",
    }
}

string_enum! {
    /// How head-to-head tie-breakers treat three or more entries.
    pub enum MultiTeam {
        /// They count the games among all entries of the tie.
        MiniLeague = "mini_league",
        /// They are skipped.
        Skip = "skip",
    }
}

string_enum! {
    /// What follows once a tie-breaker has separated some entries of a tie.
    pub enum Restart {
        /// Consecutive head-to-head tie-breakers are applied to one mini-league. Entries level on all of them repeat these
        /// tie-breakers in a mini-league of their own, then the list continues.
        Block = "block",
        /// Entries that are still level restart the list in a mini-league of their own.
        Each = "each",
        /// Only the best entry is placed. All others restart the list.
        Top = "top",
        /// The list continues with the first mini-league.
        None = "none",
    }
}

string_enum! {
    /// What happens to head-to-head tie-breakers while entries of the tie have games to play against each other.
    pub enum Unfinished {
        /// They count the games played so far.
        Apply = "apply",
        /// They are skipped.
        Skip = "skip",
        /// The entries share a rank.
        Share = "share",
    }
}

string_enum! {
    /// What happens to the games of an entry that withdraws.
    pub enum Withdrawal {
        /// None of its games count.
        Annul = "annul",
        /// Its results count, and its opponents win the remaining games by forfeit.
        Award = "award",
    }
}

impl Metric {
    /// The direction in which the metric is normally compared.
    pub fn default_direction(self) -> Direction {
        match self {
            Self::Losses
            | Self::Played
            | Self::PointsAgainst
            | Self::Forfeits
            | Self::LostToAll
            | Self::CombinedRank
            | Self::Ranking
            | Self::Seed
            | Self::Lots
            | Self::Withdrawn => Direction::Ascending,
            _ => Direction::Descending,
        }
    }

    /// A sum over games that can be limited per game.
    fn has_cap(self) -> bool {
        matches!(self, Self::Difference | Self::PointsFor | Self::PointsAgainst)
    }

    /// The metric ignores the scope, or has no meaning within a part of the games.
    fn is_overall_only(self) -> bool {
        match self {
            Self::OpponentsPoints
            | Self::OpponentsDifference
            | Self::OpponentsPointsFor
            | Self::StrengthOfVictory
            | Self::StrengthOfSchedule
            | Self::DivisionWinner
            | Self::BestOfDivision
            | Self::Buchholz
            | Self::BuchholzCut1
            | Self::MedianBuchholz
            | Self::SonnebornBerger => true,
            _ => self.is_external(),
        }
    }

    /// The value of the metric is entered, not computed from games.
    pub(super) fn is_external(self) -> bool {
        matches!(
            self,
            Self::Spirit
                | Self::Rating
                | Self::Coefficient
                | Self::Ranking
                | Self::Seed
                | Self::PlayOff
                | Self::Lots
        )
    }
}

/// One criterion that separates entries of a tie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TieBreaker {
    pub metric: Metric,
    pub scope: Scope,
    pub direction: Direction,
    /// Limit of each game: the difference counts at most this, either way.
    pub cap: Option<u32>,
    /// Divides the sum by the number of games.
    pub per_game: bool,
    /// Applies only if exactly two entries are tied.
    pub only_two: bool,
    /// Applies only if all entries of the tie have met each other.
    pub all_met: bool,
    /// Applies only if each entry of the tie has this many games in the scope.
    pub min_games: u32,
    /// If not empty, applies only to ties across one of these places and the next: `[17]` for places 17 and 18.
    pub places: Vec<u32>,
}

impl TieBreaker {
    pub fn new(metric: Metric, scope: Scope) -> Self {
        Self {
            metric,
            scope,
            direction: metric.default_direction(),
            cap: None,
            per_game: false,
            only_two: false,
            all_met: false,
            min_games: 0,
            places: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), RulesError> {
        if self.metric == Metric::Withdrawn {
            return Err(RulesError::NotATieBreaker(self.metric));
        }
        if self.cap.is_some_and(|cap| cap == 0 || !self.metric.has_cap()) {
            return Err(RulesError::Cap(self.metric));
        }
        let fits = match self.metric {
            Metric::BeatAll | Metric::LostToAll => self.scope.is_head_to_head(),
            Metric::CombinedRank => matches!(self.scope, Scope::Overall | Scope::Conference),
            metric => self.scope == Scope::Overall || !metric.is_overall_only(),
        };
        if fits { Ok(()) } else { Err(RulesError::Scope(self.metric, self.scope)) }
    }
}

/// Points of each result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointRules {
    pub win: Points,
    pub draw: Points,
    pub loss: Points,
    /// A win in overtime or in a shootout.
    pub overtime_win: Points,
    pub overtime_loss: Points,
    pub forfeit_win: Points,
    /// For the side that forfeits.
    pub forfeit_loss: Points,
    /// A round without an opponent.
    pub bye: Points,
}

impl PointRules {
    /// The same points in overtime and for forfeits as in regulation.
    pub const fn new(win: i32, draw: i32, loss: i32) -> Self {
        let (win, draw, loss) = (Points::new(win), Points::new(draw), Points::new(loss));
        Self {
            win,
            draw,
            loss,
            overtime_win: win,
            overtime_loss: loss,
            forfeit_win: win,
            forfeit_loss: loss,
            bye: win,
        }
    }
}

/// Bonus points. A number of 0 turns the bonus off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BonusRules {
    /// One point for this many tries.
    pub tries: u32,
    /// One point for a loss by at most this margin.
    pub losing_margin: u32,
    /// One point for each goal, up to this many.
    pub goals: u32,
    /// One point for a game without a goal conceded.
    pub shutout: bool,
    /// Points for winning all games, once every other entry of the group has been met.
    pub all_wins: u32,
}

/// The rules of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pub points: PointRules,
    pub bonus: BonusRules,
    /// What ranks entries before any tie-breaker: points, wins or win percentage.
    pub rank_by: Metric,
    pub tie_breakers: Vec<TieBreaker>,
    /// The list for three or more entries, if it differs.
    pub multi_tie_breakers: Option<Vec<TieBreaker>>,
    pub multi_team: MultiTeam,
    pub restart: Restart,
    pub unfinished: Unfinished,
    pub withdrawal: Withdrawal,
    /// Score of the winner of a forfeited game whose score is not recorded.
    pub forfeit_score: u16,
    /// A win by at most this margin counts as a win in overtime: 1 for the fifth set in volleyball.
    pub overtime_margin: u32,
    /// The winner of a shootout is credited with one goal, if the score does not include it.
    pub shootout_goal: bool,
    /// Points scored in overtime do not count as points for and against.
    pub ignore_overtime_scores: bool,
    /// Places of each conference that count as its top.
    pub top_places: u32,
    /// The rules of the tables of the divisions, if they differ.
    pub division_rules: Option<Box<Rules>>,
}

/// Largest number of tie-breakers in a list.
pub const MAX_TIE_BREAKERS: usize = 40;

/// What is wrong with rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulesError {
    TooManyTieBreakers,
    /// The metric cannot rank the whole table.
    RankBy(Metric),
    /// The metric cannot be used in a list.
    NotATieBreaker(Metric),
    /// The cap is 0, or the metric has no cap.
    Cap(Metric),
    /// The metric cannot be limited to the scope.
    Scope(Metric, Scope),
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyTieBreakers => {
                write!(f, "a list has at most {MAX_TIE_BREAKERS} tie-breakers")
            }
            Self::RankBy(metric) => write!(f, "entries cannot be ranked by `{metric}`"),
            Self::NotATieBreaker(metric) => write!(f, "`{metric}` is not a tie-breaker"),
            Self::Cap(metric) => write!(f, "`{metric}` cannot have this cap"),
            Self::Scope(metric, scope) => {
                write!(f, "`{metric}` cannot be used with the scope `{scope}`")
            }
        }
    }
}

impl std::error::Error for RulesError {}

impl Rules {
    /// Ranks by points, with these tie-breakers. Ties of three or more are resolved in a mini-league.
    pub fn new(points: PointRules, tie_breakers: Vec<TieBreaker>) -> Self {
        Self {
            points,
            bonus: BonusRules::default(),
            rank_by: Metric::Points,
            tie_breakers,
            multi_tie_breakers: None,
            multi_team: MultiTeam::MiniLeague,
            restart: Restart::None,
            unfinished: Unfinished::Apply,
            withdrawal: Withdrawal::Annul,
            forfeit_score: 1,
            overtime_margin: 0,
            shootout_goal: false,
            ignore_overtime_scores: false,
            top_places: 0,
            division_rules: None,
        }
    }

    /// The tie-breakers for a tie of two, or of three or more entries.
    pub(super) fn tie_breakers_for(&self, multi: bool) -> &[TieBreaker] {
        match &self.multi_tie_breakers {
            Some(list) if multi => list,
            _ => &self.tie_breakers,
        }
    }

    /// All tie-breakers of both lists.
    pub(super) fn all_tie_breakers(&self) -> impl Iterator<Item = &TieBreaker> {
        self.tie_breakers.iter().chain(self.multi_tie_breakers.iter().flatten())
    }

    /// Checks that each tie-breaker has a meaning. Rules that fail still give an order.
    pub fn check(&self) -> Result<(), RulesError> {
        let ranks = matches!(self.rank_by, Metric::Points | Metric::Wins | Metric::WinPercentage);
        if !ranks {
            return Err(RulesError::RankBy(self.rank_by));
        }
        if [false, true].iter().any(|m| self.tie_breakers_for(*m).len() > MAX_TIE_BREAKERS) {
            return Err(RulesError::TooManyTieBreakers);
        }
        self.all_tie_breakers().try_for_each(TieBreaker::check)?;
        self.division_rules.as_ref().map_or(Ok(()), |rules| rules.check())
    }
}
