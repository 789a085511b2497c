//! Statistics of cricket.
//!
//! Overs are recorded as balls, and shown as overs by `OVERS`: 19 balls are 3.1 overs. The balls of
//! the net run rate are those of all overs of the innings if the side was all out.

use crate::stats::definition::{
    Group, SportDefinition, approximate_score, count, error, flag, games_played, games_with, group,
    periods, ratio, setting, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const CRICKET: SportDefinition = SportDefinition {
    sport: Sport::Cricket,
    positions: &[
        ("BAT", "Batter"),
        ("BWL", "Bowler"),
        ("AR", "All-rounder"),
        ("WK", "Wicketkeeper"),
    ],
    periods: periods("Innings", 2, None),
    settings: &[setting("OVER_BALLS", "Balls in an over", 6.0, (1.0, 10.0))],
    groups: &[BATTING, BOWLING, FIELDING, TEAM],
    rules: &[
        error("NO <= INN"),
        error("4 * 4S + 6 * 6S <= R"),
        warning("4S + 6S <= BF"),
        error("M * OVER_BALLS <= BALLS"),
        warning("W <= 20").of_team(),
        warning("CT + ST <= 20").of_team(),
    ],
    scored: Some(approximate_score("R + EXTRAS")),
    conceded: Some(approximate_score("RUNS_AGAINST")),
};

const BATTING: Group = group(
    "batting",
    "Batting",
    &["INN", "NO", "R", "BF", "4S", "6S"],
    &[
        games_played().abbreviation("M"),
        count("INN", "Innings batted").at_most(2),
        count("NO", "Not outs").at_most(2),
        count("R", "Runs"),
        count("BF", "Balls faced"),
        count("4S", "Fours").abbreviation("4s"),
        count("6S", "Sixes").abbreviation("6s"),
        ratio("AVG", "Batting average", "R / (INN - NO)").abbreviation("Avg").minimum("INN", 0.5),
        ratio("SR", "Batting strike rate", "R / BF * 100").minimum("BF", 5.0),
        games_with("HS", "Highest score", "R").largest(),
        games_with("50S", "Fifties", "R >= 50 and R < 100").abbreviation("50s"),
        games_with("100S", "Hundreds", "R >= 100").abbreviation("100s"),
        games_with("DUCKS", "Ducks", "INN > NO and R == 0").abbreviation("0s").lower_is_better(),
    ],
);

const BOWLING: Group = group(
    "bowling",
    "Bowling",
    &["BALLS", "M", "RUNS_CONCEDED", "W"],
    &[
        count("BALLS", "Balls bowled").abbreviation("B"),
        ratio(
            "OVERS",
            "Overs bowled",
            "floor(BALLS / OVER_BALLS) \
             + (BALLS - OVER_BALLS * floor(BALLS / OVER_BALLS)) / 10",
        )
        .precision(1)
        .abbreviation("O"),
        count("M", "Maidens"),
        count("RUNS_CONCEDED", "Runs conceded").abbreviation("R").lower_is_better(),
        count("W", "Wickets").at_most(20),
        count("WD", "Wides").lower_is_better(),
        count("NB", "No-balls").lower_is_better(),
        ratio("ECON", "Economy rate", "RUNS_CONCEDED * OVER_BALLS / BALLS")
            .abbreviation("Econ")
            .lower_is_better()
            .minimum("BALLS", 6.0),
        ratio("BOWL_AVG", "Bowling average", "RUNS_CONCEDED / W")
            .abbreviation("Avg")
            .lower_is_better()
            .minimum("W", 0.5),
        ratio("BOWL_SR", "Bowling strike rate", "BALLS / W")
            .precision(1)
            .abbreviation("SR")
            .lower_is_better()
            .minimum("W", 0.5),
        games_with("5W", "Games with five wickets", "W >= 5"),
    ],
);

const FIELDING: Group = group(
    "fielding",
    "Fielding",
    &["CT"],
    &[
        count("CT", "Catches"),
        count("ST", "Stumpings"),
        count("RO", "Run-outs"),
        total("DISMISSALS", "Dismissals", "CT + ST + RO").abbreviation("Dis"),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["EXTRAS", "RUNS_FOR", "BALLS_FOR", "RUNS_AGAINST", "BALLS_AGAINST"],
    &[
        count("EXTRAS", "Extras"),
        flag("TOSS", "Tosses won"),
        count("RUNS_FOR", "Runs for").abbreviation("RF"),
        count("BALLS_FOR", "Balls faced by the side").abbreviation("BF"),
        count("RUNS_AGAINST", "Runs against").abbreviation("RA").lower_is_better(),
        count("BALLS_AGAINST", "Balls faced by the opponent").abbreviation("BA"),
        ratio(
            "NRR",
            "Net run rate",
            "(RUNS_FOR / BALLS_FOR - RUNS_AGAINST / BALLS_AGAINST) * OVER_BALLS",
        )
        .precision(3),
    ],
)
.of_team();
