//! Statistics of soccer.
//!
//! A goal counts for whoever scored it. An opponent's own goal counts only in `OGF` of the team.

use crate::stats::definition::{
    Group, SportDefinition, approximate_score, count, error, flag, games_played, games_with,
    goals_against_average, group, per_game, percent, periods, ratio, save_percentage, score,
    seconds, setting, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const SOCCER: SportDefinition = SportDefinition {
    sport: Sport::Soccer,
    positions: &[("GK", "Goalkeeper"), ("DF", "Defender"), ("MF", "Midfielder"), ("FW", "Forward")],
    periods: periods("Half", 2, Some(45)),
    settings: &[
        setting("MATCH_MINUTES", "Length of a match in minutes", 90.0, (10.0, 240.0)),
        setting("GOAL_POINTS", "Points for a goal", 2.0, (0.0, 10.0)),
        setting("ASSIST_POINTS", "Points for an assist", 1.0, (0.0, 10.0)),
    ],
    groups: &[FIELD, GOALKEEPER, TEAM],
    rules: &[
        error("SOG <= SH"),
        error("G <= SH"),
        error("G <= SOG"),
        error("PKG <= PKA"),
        error("PKG <= G"),
        error("GWG <= G"),
        error("W + L + T <= 1"),
        // Some count shots off target as shots faced, nobody counts fewer.
        warning("SV + GA <= SA"),
        error("GA == 0 or CS == 0"),
    ],
    scored: Some(score("G + OGF")),
    conceded: Some(approximate_score("GA")),
};

const FIELD: Group = group(
    "field",
    "Field",
    &["G", "A", "SH", "SOG", "YC", "RC"],
    &[
        games_played(),
        flag("GS", "Games started").only_members(),
        seconds("SECONDS", "Time played").abbreviation("MIN").only_members(),
        count("G", "Goals"),
        count("A", "Assists"),
        total("PTS", "Points", "GOAL_POINTS * G + ASSIST_POINTS * A"),
        count("SH", "Shots"),
        count("SOG", "Shots on goal"),
        percent("SH_PCT", "Shooting percentage", "G / SH").abbreviation("S%").minimum("SH", 1.0),
        percent("SOG_PCT", "Shots on goal percentage", "SOG / SH")
            .abbreviation("SOG%")
            .minimum("SH", 1.0),
        count("GWG", "Game-winning goals"),
        count("PKG", "Penalty kick goals"),
        count("PKA", "Penalty kick attempts"),
        percent("PK_PCT", "Penalty kick percentage", "PKG / PKA").abbreviation("PK%"),
        per_game("G_GP", "Goals per game", "G / GP").precision(2).abbreviation("G/GP"),
        ratio("G_90", "Goals per full match", "G * MATCH_MINUTES * 60 / SECONDS")
            .abbreviation("G/90")
            .minimum("SECONDS", 1_800.0),
        ratio("A_90", "Assists per full match", "A * MATCH_MINUTES * 60 / SECONDS")
            .abbreviation("A/90")
            .minimum("SECONDS", 1_800.0),
        games_with("HT", "Hat tricks", "G >= 3"),
        count("OFF", "Offsides").lower_is_better(),
        count("FC", "Fouls committed").lower_is_better(),
        count("YC", "Yellow cards").at_most(2).lower_is_better(),
        count("RC", "Red cards").at_most(1).lower_is_better(),
        count("OG", "Own goals").lower_is_better(),
    ],
);

const GOALKEEPER: Group = group(
    "goalkeeper",
    "Goalkeeper",
    &["GK_SECONDS", "SV", "GA"],
    &[
        seconds("GK_SECONDS", "Time in goal").abbreviation("MIN"),
        count("SA", "Shots faced"),
        count("SV", "Saves"),
        count("GA", "Goals against").lower_is_better(),
        save_percentage(1_800.0),
        goals_against_average("GA * MATCH_MINUTES * 60 / GK_SECONDS", 1_800.0),
        count("PKS", "Penalty kicks saved"),
        flag("CS", "Clean sheets"),
        flag("W", "Wins"),
        flag("L", "Losses").lower_is_better(),
        flag("T", "Ties"),
        percent("W_PCT", "Winning percentage", "(W + T / 2) / (W + L + T)").abbreviation("W%"),
    ],
)
.positions(&["GK"]);

const TEAM: Group = group(
    "team",
    "Team",
    &["CK", "OGF"],
    &[
        count("CK", "Corner kicks"),
        count("FK", "Free kicks"),
        count("OGF", "Own goals by the opponent"),
    ],
)
.of_team();
