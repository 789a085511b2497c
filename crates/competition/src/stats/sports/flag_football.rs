//! Statistics of flag football.

use crate::stats::definition::{
    Group, SportDefinition, count, error, games_played, group, per_game, percent, periods, ratio,
    score, signed, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const FLAG_FOOTBALL: SportDefinition = SportDefinition {
    sport: Sport::FlagFootball,
    positions: &[
        ("QB", "Quarterback"),
        ("C", "Center"),
        ("RB", "Running back"),
        ("WR", "Wide receiver"),
        ("RU", "Rusher"),
        ("DB", "Defensive back"),
    ],
    periods: periods("Half", 2, Some(20)),
    settings: &[],
    groups: &[PASSING, RUSHING, RECEIVING, DEFENSE, SCORING, TEAM],
    rules: &[
        error("CMP + PASS_INT <= ATT"),
        error("CMP <= ATT"),
        error("PASS_TD <= CMP"),
        warning("REC_TD <= REC"),
        warning("RUSH_TD <= CAR"),
        warning("REC == CMP").of_team(),
        warning("REC_YDS == PASS_YDS").of_team(),
        warning("REC_TD == PASS_TD").of_team(),
    ],
    scored: Some(score("PTS")),
    conceded: None,
};

const PASSING: Group = group(
    "passing",
    "Passing",
    &["CMP", "ATT", "PASS_YDS", "PASS_TD", "PASS_INT"],
    &[
        games_played(),
        count("CMP", "Completions"),
        count("ATT", "Passing attempts"),
        signed("PASS_YDS", "Passing yards").abbreviation("YDS"),
        count("PASS_TD", "Passing touchdowns").abbreviation("TD"),
        count("PASS_INT", "Interceptions thrown").abbreviation("INT").lower_is_better(),
        percent("CMP_PCT", "Completion percentage", "CMP / ATT")
            .abbreviation("CMP%")
            .minimum("ATT", 5.0),
        ratio("Y_A", "Yards per attempt", "PASS_YDS / ATT")
            .precision(1)
            .abbreviation("Y/A")
            .minimum("ATT", 5.0),
    ],
)
.positions(&["QB"]);

const RUSHING: Group = group(
    "rushing",
    "Rushing",
    &["CAR", "RUSH_YDS", "RUSH_TD"],
    &[
        count("CAR", "Carries"),
        signed("RUSH_YDS", "Rushing yards").abbreviation("YDS"),
        count("RUSH_TD", "Rushing touchdowns").abbreviation("TD"),
        ratio("Y_C", "Yards per carry", "RUSH_YDS / CAR")
            .precision(1)
            .abbreviation("Y/C")
            .minimum("CAR", 2.0),
    ],
);

const RECEIVING: Group = group(
    "receiving",
    "Receiving",
    &["REC", "REC_YDS", "REC_TD"],
    &[
        count("REC", "Receptions"),
        signed("REC_YDS", "Receiving yards").abbreviation("YDS"),
        count("REC_TD", "Receiving touchdowns").abbreviation("TD"),
        ratio("Y_R", "Yards per reception", "REC_YDS / REC")
            .precision(1)
            .abbreviation("Y/R")
            .minimum("REC", 1.0),
    ],
);

const DEFENSE: Group = group(
    "defense",
    "Defense",
    &["FP", "SACK", "INT", "PD"],
    &[
        count("FP", "Flag pulls"),
        count("SACK", "Sacks"),
        count("INT", "Interceptions"),
        count("PD", "Passes defended"),
        count("DEF_TD", "Defensive touchdowns").abbreviation("TD"),
        count("SAF", "Safeties"),
    ],
);

const SCORING: Group = group(
    "scoring",
    "Scoring",
    &["1PT", "2PT"],
    &[
        count("1PT", "One-point conversions"),
        count("2PT", "Two-point conversions"),
        total("TD", "Touchdowns", "RUSH_TD + REC_TD + DEF_TD"),
        total("PTS", "Points", "6 * TD + 1PT + 2 * (2PT + SAF)"),
        per_game("PPG", "Points per game", "PTS / GP"),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["FIRST_DOWNS", "PEN"],
    &[
        count("FIRST_DOWNS", "First downs").abbreviation("1D"),
        total("YDS", "Total yards", "PASS_YDS + RUSH_YDS"),
        count("PEN", "Penalties").lower_is_better(),
    ],
)
.of_team();
