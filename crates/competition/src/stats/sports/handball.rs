//! Statistics of handball.

use crate::stats::definition::{
    Group, SportDefinition, approximate_score, count, error, games_played, goals_against_average,
    group, per_game, percent, periods, score, seconds, setting, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const HANDBALL: SportDefinition = SportDefinition {
    sport: Sport::Handball,
    positions: &[
        ("GK", "Goalkeeper"),
        ("LW", "Left wing"),
        ("LB", "Left back"),
        ("CB", "Center back"),
        ("RB", "Right back"),
        ("RW", "Right wing"),
        ("P", "Pivot"),
    ],
    periods: periods("Half", 2, Some(30)),
    settings: &[setting("MATCH_MINUTES", "Length of a match in minutes", 60.0, (10.0, 120.0))],
    groups: &[FIELD, GOALKEEPER, TEAM],
    rules: &[
        error("G <= SH"),
        error("7MG <= 7MA"),
        error("7MG <= G"),
        warning("7MA <= SH"),
        error("7MS <= SV"),
    ],
    scored: Some(score("G + OGF")),
    conceded: Some(approximate_score("GA")),
};

const FIELD: Group = group(
    "field",
    "Field",
    &["G", "SH", "7MG", "7MA", "YC", "2MIN", "RC"],
    &[
        games_played(),
        seconds("SECONDS", "Time played").abbreviation("MIN").only_members(),
        count("G", "Goals"),
        count("SH", "Shots"),
        percent("SH_PCT", "Shooting percentage", "G / SH").abbreviation("G%").minimum("SH", 1.0),
        count("7MG", "Seven-meter goals").abbreviation("7m"),
        count("7MA", "Seven-meter throws").abbreviation("7mA"),
        percent("7M_PCT", "Seven-meter percentage", "7MG / 7MA")
            .abbreviation("7m%")
            .minimum("7MA", 0.5),
        per_game("G_GP", "Goals per game", "G / GP").abbreviation("G/GP"),
        count("A", "Assists"),
        count("TF", "Technical faults").lower_is_better(),
        count("STL", "Steals"),
        count("BLK", "Blocks"),
        count("YC", "Yellow cards").at_most(1).lower_is_better(),
        count("2MIN", "Two-minute suspensions").abbreviation("2min").at_most(3).lower_is_better(),
        count("RC", "Red cards").at_most(1).lower_is_better(),
        count("BC", "Blue cards").at_most(1).lower_is_better(),
    ],
);

const GOALKEEPER: Group = group(
    "goalkeeper",
    "Goalkeeper",
    &["SV", "GA", "7MS"],
    &[
        seconds("GK_SECONDS", "Time in goal").abbreviation("MIN"),
        count("SV", "Saves"),
        count("GA", "Goals against").lower_is_better(),
        percent("SV_PCT", "Save percentage", "SV / (SV + GA)")
            .abbreviation("SV%")
            .minimum("SV", 3.0),
        goals_against_average("GA * MATCH_MINUTES * 60 / GK_SECONDS", 1_200.0),
        count("7MS", "Seven-meter throws saved").abbreviation("7mS"),
    ],
)
.positions(&["GK"]);

const TEAM: Group = group(
    "team",
    "Team",
    &["TIMEOUTS"],
    &[
        count("TIMEOUTS", "Timeouts taken").abbreviation("TMO"),
        count("OGF", "Own goals by the opponent"),
    ],
)
.of_team();
