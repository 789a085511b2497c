//! Statistics of water polo.

use crate::stats::definition::{
    Group, SportDefinition, approximate_score, count, error, games_played, goals_against_average,
    group, per_game, percent, periods, save_percentage, score, seconds, setting, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const WATER_POLO: SportDefinition = SportDefinition {
    sport: Sport::WaterPolo,
    positions: &[
        ("GK", "Goalkeeper"),
        ("CF", "Center forward"),
        ("CB", "Center back"),
        ("W", "Wing"),
        ("D", "Driver"),
        ("P", "Point"),
    ],
    periods: periods("Quarter", 4, Some(8)),
    settings: &[setting("GAME_MINUTES", "Length of a game in minutes", 32.0, (8.0, 60.0))],
    groups: &[FIELD, GOALKEEPER, TEAM],
    rules: &[
        error("G <= SH"),
        error("PSG <= PSA"),
        error("PSG + EPG <= G"),
        error("SPW <= SP"),
        // Three exclusions end a player's game.
        warning("EX <= 3"),
        warning("EPG <= EPO").of_team(),
    ],
    scored: Some(score("G")),
    conceded: Some(approximate_score("GA")),
};

const FIELD: Group = group(
    "field",
    "Field",
    &["G", "SH", "A", "STL", "EX", "EXD"],
    &[
        games_played(),
        count("G", "Goals"),
        count("SH", "Shots"),
        percent("SH_PCT", "Shooting percentage", "G / SH").abbreviation("S%").minimum("SH", 1.0),
        count("EPG", "Extra-player goals"),
        count("PSG", "Penalty goals"),
        count("PSA", "Penalty shots"),
        percent("PS_PCT", "Penalty percentage", "PSG / PSA").abbreviation("PS%"),
        count("A", "Assists"),
        per_game("G_GP", "Goals per game", "G / GP").precision(2).abbreviation("G/GP"),
        count("STL", "Steals"),
        count("BLK", "Field blocks"),
        count("TO", "Turnovers").lower_is_better(),
        count("EXD", "Exclusions drawn"),
        count("EX", "Exclusions").lower_is_better(),
        count("SP", "Sprints"),
        count("SPW", "Sprints won"),
        percent("SP_PCT", "Sprint percentage", "SPW / SP").abbreviation("SP%").minimum("SP", 1.0),
    ],
);

const GOALKEEPER: Group = group(
    "goalkeeper",
    "Goalkeeper",
    &["GK_SECONDS", "SV", "GA"],
    &[
        seconds("GK_SECONDS", "Time in goal").abbreviation("MIN"),
        count("SV", "Saves"),
        count("GA", "Goals against").lower_is_better(),
        save_percentage(600.0),
        goals_against_average("GA * GAME_MINUTES * 60 / GK_SECONDS", 600.0),
    ],
)
.positions(&["GK"]);

const TEAM: Group = group(
    "team",
    "Team",
    &["EPO"],
    &[
        count("EPO", "Extra-player opportunities"),
        percent("EP_PCT", "Extra-player percentage", "EPG / EPO").abbreviation("EP%"),
    ],
)
.of_team();
