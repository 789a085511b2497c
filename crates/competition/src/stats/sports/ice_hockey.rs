//! Statistics of ice hockey.
//!
//! Penalties are counted in minutes, as on every scoresheet; all other times are in seconds.

use crate::stats::definition::{
    Group, SportDefinition, approximate_score, average, count, error, flag, games_played,
    games_with, goals_against_average, group, per_game, percent, periods, score, seconds, setting,
    signed, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const ICE_HOCKEY: SportDefinition = SportDefinition {
    sport: Sport::IceHockey,
    positions: &[
        ("G", "Goalie"),
        ("D", "Defense"),
        ("C", "Center"),
        ("LW", "Left wing"),
        ("RW", "Right wing"),
    ],
    periods: periods("Period", 3, Some(20)),
    settings: &[
        setting("GAME_MINUTES", "Length of a game in minutes", 60.0, (10.0, 120.0)),
        setting("EMPTY_NET", "Charge empty-net goals to the goalie (1 or 0)", 0.0, (0.0, 1.0)),
    ],
    groups: &[SKATER, GOALIE, TEAM],
    rules: &[
        error("G <= S"),
        error("PPG + SHG <= G"),
        error("GWG <= G"),
        error("OTG <= G"),
        error("FOW <= FO"),
        error("GA <= SA"),
        error("W + L + OTL <= 1"),
        error("SO == 0 or GA == 0"),
        // A team can score several times during a major penalty.
        warning("PPG <= PPO").of_team(),
        warning("PPGA <= PPOA").of_team(),
    ],
    scored: Some(score("G")),
    conceded: Some(approximate_score("EVGA + PPGA + SHGA + ENGA")),
};

const SKATER: Group = group(
    "skater",
    "Skater",
    &["G", "A", "S", "PIM", "PLUS_MINUS"],
    &[
        games_played(),
        count("G", "Goals"),
        count("A", "Assists"),
        total("P", "Points", "G + A"),
        signed("PLUS_MINUS", "Plus/minus").abbreviation("+/-").only_members(),
        count("PIM", "Penalty minutes").lower_is_better(),
        count("PPG", "Power-play goals"),
        count("PPA", "Power-play assists"),
        count("SHG", "Short-handed goals"),
        count("GWG", "Game-winning goals"),
        count("OTG", "Overtime goals"),
        count("S", "Shots on goal"),
        percent("S_PCT", "Shooting percentage", "G / S").abbreviation("S%").minimum("S", 1.0),
        seconds("TOI", "Time on ice").only_members(),
        count("SHIFTS", "Shifts").only_members(),
        count("FO", "Faceoffs taken"),
        count("FOW", "Faceoffs won"),
        percent("FO_PCT", "Faceoff percentage", "FOW / FO").abbreviation("FO%").minimum("FO", 3.0),
        count("H", "Hits"),
        count("BS", "Blocked shots"),
        per_game("P_GP", "Points per game", "P / GP").precision(2).abbreviation("P/GP"),
        per_game("TOI_GP", "Time on ice per game", "TOI / GP").time().abbreviation("TOI/GP"),
        games_with("HT", "Hat tricks", "G >= 3"),
    ],
)
.positions(&["D", "C", "LW", "RW"]);

const GOALIE: Group = group(
    "goalie",
    "Goalie",
    &["GK_SECONDS", "SA", "EVGA", "PPGA", "SHGA"],
    &[
        seconds("GK_SECONDS", "Time in goal").abbreviation("MIN"),
        flag("W", "Wins"),
        flag("L", "Losses").lower_is_better(),
        flag("OTL", "Overtime losses").lower_is_better(),
        count("SA", "Shots against"),
        count("EVGA", "Even-strength goals against").lower_is_better(),
        count("PPGA", "Power-play goals against").lower_is_better(),
        count("SHGA", "Short-handed goals against").lower_is_better(),
        count("ENGA", "Empty-net goals against").lower_is_better(),
        total("GA", "Goals against", "EVGA + PPGA + SHGA + EMPTY_NET * ENGA").lower_is_better(),
        total("SV", "Saves", "if(SA > 0, SA - GA, null)"),
        average("SV_PCT", "Save percentage", "(SA - GA) / SA")
            .abbreviation("SV%")
            .minimum("GK_SECONDS", 1_200.0),
        goals_against_average("GA * GAME_MINUTES * 60 / GK_SECONDS", 1_200.0),
        flag("SO", "Shutouts"),
    ],
)
.positions(&["G"]);

const TEAM: Group = group(
    "team",
    "Team",
    &["PPO", "PPOA"],
    &[
        count("PPO", "Power plays"),
        percent("PP_PCT", "Power-play percentage", "PPG / PPO").abbreviation("PP%"),
        count("PPOA", "Times short-handed").abbreviation("TSH").lower_is_better(),
        percent("PK_PCT", "Penalty-kill percentage", "(PPOA - PPGA) / PPOA").abbreviation("PK%"),
    ],
)
.of_team();
