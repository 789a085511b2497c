//! Statistics of ultimate.

use crate::stats::definition::{
    Group, SportDefinition, count, error, games_played, group, per_game, percent, periods, ratio,
    score, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const ULTIMATE: SportDefinition = SportDefinition {
    sport: Sport::Ultimate,
    positions: &[("H", "Handler"), ("C", "Cutter")],
    periods: periods("Half", 2, None),
    settings: &[],
    groups: &[OFFENSE, DEFENSE, TEAM],
    rules: &[
        error("CAL <= G"),
        warning("CAL <= D"),
        error("COMP + TA <= THROWS"),
        // A Callahan goal has no assist.
        error("A <= G").of_team(),
        warning("A + CAL == G").of_team(),
        error("HELD <= O_POINTS"),
        error("BREAKS <= D_POINTS"),
    ],
    scored: Some(score("G")),
    conceded: None,
};

const OFFENSE: Group = group(
    "offense",
    "Offense",
    &["G", "A", "TA", "DR"],
    &[
        games_played(),
        count("PP", "Points played").only_members(),
        count("G", "Goals"),
        count("A", "Assists"),
        count("2A", "Second assists"),
        count("THROWS", "Throws").abbreviation("THR"),
        count("COMP", "Completed throws").abbreviation("CMP"),
        percent("COMP_PCT", "Completion percentage", "COMP / THROWS")
            .abbreviation("CMP%")
            .minimum("THROWS", 5.0),
        count("TA", "Throwaways").lower_is_better(),
        count("DR", "Drops").abbreviation("Dr").lower_is_better(),
        total("TO", "Turnovers", "TA + DR").lower_is_better(),
        per_game("G_GP", "Goals per game", "G / GP").precision(2).abbreviation("G/GP"),
        total("PLUS_MINUS", "Goals, assists and blocks minus turnovers", "G + A + D - TO")
            .abbreviation("+/-"),
        ratio("PM_PP", "Plus/minus per point played", "PLUS_MINUS / PP")
            .abbreviation("+/-/PP")
            .minimum("PP", 3.0),
    ],
);

const DEFENSE: Group = group(
    "defense",
    "Defense",
    &["D"],
    &[
        count("D", "Blocks"),
        count("CAL", "Callahan goals"),
        count("PULLS", "Pulls").abbreviation("PUL"),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["O_POINTS", "HELD", "D_POINTS", "BREAKS"],
    &[
        count("O_POINTS", "Points started on offense").abbreviation("OP"),
        count("HELD", "Points scored that started on offense").abbreviation("HLD"),
        percent("HOLD_PCT", "Hold percentage", "HELD / O_POINTS").abbreviation("HLD%"),
        count("D_POINTS", "Points started on defense").abbreviation("DP"),
        count("BREAKS", "Points scored that started on defense").abbreviation("BRK"),
        percent("BREAK_PCT", "Break percentage", "BREAKS / D_POINTS").abbreviation("BRK%"),
    ],
)
.of_team();
