//! Statistics of floorball. Penalties are counted in minutes.

use crate::stats::definition::{
    Group, SportDefinition, approximate_score, count, error, flag, games_played, games_with,
    goals_against_average, group, per_game, percent, periods, save_percentage, score, seconds,
    setting, signed, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const FLOORBALL: SportDefinition = SportDefinition {
    sport: Sport::Floorball,
    positions: &[("G", "Goalkeeper"), ("D", "Defender"), ("C", "Center"), ("F", "Forward")],
    periods: periods("Period", 3, Some(20)),
    settings: &[setting("GAME_MINUTES", "Length of a game in minutes", 60.0, (10.0, 120.0))],
    groups: &[FIELD, GOALKEEPER, TEAM],
    rules: &[
        error("G <= S"),
        error("PPG + SHG <= G"),
        error("PSG <= PSA"),
        error("PSG <= G"),
        error("GWG <= G"),
        error("W + L + T <= 1"),
        error("SO == 0 or GA == 0"),
        warning("PPG <= PPO").of_team(),
        warning("PPGA <= PPOA").of_team(),
    ],
    scored: Some(score("G + OGF")),
    conceded: Some(approximate_score("GA")),
};

const FIELD: Group = group(
    "field",
    "Field",
    &["G", "A", "S", "PIM"],
    &[
        games_played(),
        count("G", "Goals"),
        count("A", "Assists"),
        total("P", "Points", "G + A"),
        signed("PLUS_MINUS", "Plus/minus").abbreviation("+/-").only_members(),
        count("PIM", "Penalty minutes").lower_is_better(),
        count("PPG", "Power-play goals"),
        count("SHG", "Short-handed goals"),
        count("GWG", "Game-winning goals"),
        count("PSG", "Penalty shot goals"),
        count("PSA", "Penalty shots"),
        count("S", "Shots on goal"),
        percent("S_PCT", "Shooting percentage", "G / S").abbreviation("S%").minimum("S", 1.0),
        count("BS", "Blocked shots"),
        per_game("P_GP", "Points per game", "P / GP").precision(2).abbreviation("P/GP"),
        games_with("HT", "Hat tricks", "G >= 3"),
    ],
)
.positions(&["D", "C", "F"]);

const GOALKEEPER: Group = group(
    "goalkeeper",
    "Goalkeeper",
    &["GK_SECONDS", "SV", "GA"],
    &[
        seconds("GK_SECONDS", "Time in goal").abbreviation("MIN"),
        count("SV", "Saves"),
        count("GA", "Goals against").lower_is_better(),
        save_percentage(1_200.0),
        goals_against_average("GA * GAME_MINUTES * 60 / GK_SECONDS", 1_200.0),
        flag("SO", "Shutouts"),
        flag("W", "Wins"),
        flag("L", "Losses").lower_is_better(),
        flag("T", "Ties"),
    ],
)
.positions(&["G"]);

const TEAM: Group = group(
    "team",
    "Team",
    &["PPO", "PPOA", "PPGA"],
    &[
        count("PPO", "Power plays"),
        percent("PP_PCT", "Power-play percentage", "PPG / PPO").abbreviation("PP%"),
        count("PPOA", "Times short-handed").abbreviation("TSH").lower_is_better(),
        count("PPGA", "Power-play goals against").lower_is_better(),
        percent("PK_PCT", "Penalty-kill percentage", "(PPOA - PPGA) / PPOA").abbreviation("PK%"),
        count("OGF", "Own goals by the opponent"),
    ],
)
.of_team();
