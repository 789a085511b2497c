//! Statistics of boys', girls', men's and women's lacrosse. Penalties are counted in seconds.

use crate::stats::definition::{
    Group, SportDefinition, approximate_score, average, count, error, flag, games_played,
    goals_against_average, group, per_game, percent, periods, score, seconds, setting, total,
    warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const LACROSSE: SportDefinition = SportDefinition {
    sport: Sport::Lacrosse,
    positions: &[("G", "Goalie"), ("D", "Defense"), ("M", "Midfield"), ("A", "Attack")],
    periods: periods("Quarter", 4, Some(15)),
    settings: &[setting("GAME_MINUTES", "Length of a game in minutes", 60.0, (10.0, 120.0))],
    groups: &[FIELD, GOALIE, TEAM],
    rules: &[
        error("SOG <= SH"),
        error("G <= SH"),
        error("G <= SOG"),
        error("FOW <= FOA"),
        error("W + L <= 1"),
        error("CLR <= CLRA"),
        warning("EMG <= EMO").of_team(),
        warning("MDG <= MDO").of_team(),
    ],
    scored: Some(score("G")),
    conceded: Some(approximate_score("GA")),
};

const FIELD: Group = group(
    "field",
    "Field",
    &["G", "A", "SH", "GB", "CT", "TO"],
    &[
        games_played(),
        flag("GS", "Games started").only_members(),
        count("G", "Goals"),
        count("A", "Assists"),
        total("PTS", "Points", "G + A"),
        count("SH", "Shots"),
        count("SOG", "Shots on goal"),
        percent("SH_PCT", "Shooting percentage", "G / SH").abbreviation("S%").minimum("SH", 1.0),
        percent("SOG_PCT", "Shots on goal percentage", "SOG / SH")
            .abbreviation("SOG%")
            .minimum("SH", 1.0),
        count("GB", "Ground balls"),
        count("CT", "Caused turnovers"),
        count("TO", "Turnovers").lower_is_better(),
        count("DC", "Draw controls"),
        count("FOA", "Faceoffs taken"),
        count("FOW", "Faceoffs won"),
        percent("FO_PCT", "Faceoff percentage", "FOW / FOA")
            .abbreviation("FO%")
            .minimum("FOA", 3.0),
        count("EMG", "Extra-man goals"),
        seconds("PENALTY_SECONDS", "Penalty time").abbreviation("PIM").lower_is_better(),
        per_game("PTS_GP", "Points per game", "PTS / GP").precision(2).abbreviation("PTS/G"),
    ],
)
.positions(&["D", "M", "A"]);

const GOALIE: Group = group(
    "goalie",
    "Goalie",
    &["GK_SECONDS", "SV", "GA"],
    &[
        seconds("GK_SECONDS", "Time in goal").abbreviation("MIN"),
        count("SV", "Saves"),
        count("GA", "Goals against").lower_is_better(),
        average("SV_PCT", "Save percentage", "SV / (SV + GA)")
            .abbreviation("SV%")
            .minimum("GK_SECONDS", 1_200.0),
        goals_against_average("GA * GAME_MINUTES * 60 / GK_SECONDS", 1_200.0),
        flag("W", "Wins"),
        flag("L", "Losses").lower_is_better(),
    ],
)
.positions(&["G"]);

const TEAM: Group = group(
    "team",
    "Team",
    &["CLR", "CLRA", "EMO", "MDO", "MDG"],
    &[
        count("CLR", "Successful clears"),
        count("CLRA", "Clears attempted"),
        percent("CLR_PCT", "Clear percentage", "CLR / CLRA").abbreviation("CLR%"),
        count("EMO", "Extra-man opportunities"),
        percent("EMO_PCT", "Extra-man percentage", "EMG / EMO").abbreviation("EMO%"),
        count("MDO", "Man-down situations").lower_is_better(),
        count("MDG", "Man-down goals against").lower_is_better(),
        percent("MDD_PCT", "Man-down defense percentage", "(MDO - MDG) / MDO").abbreviation("MDD%"),
    ],
)
.of_team();
