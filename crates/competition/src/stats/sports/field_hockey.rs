//! Statistics of field hockey.

use crate::stats::definition::{
    Group, SportDefinition, approximate_score, count, error, flag, games_played,
    goals_against_average, group, per_game, percent, periods, save_percentage, score, seconds,
    setting, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const FIELD_HOCKEY: SportDefinition = SportDefinition {
    sport: Sport::FieldHockey,
    positions: &[("GK", "Goalkeeper"), ("DF", "Defender"), ("MF", "Midfielder"), ("FW", "Forward")],
    periods: periods("Quarter", 4, Some(15)),
    settings: &[
        setting("MATCH_MINUTES", "Length of a match in minutes", 60.0, (10.0, 120.0)),
        setting("GOAL_POINTS", "Points for a goal", 2.0, (0.0, 10.0)),
        setting("ASSIST_POINTS", "Points for an assist", 1.0, (0.0, 10.0)),
    ],
    groups: &[FIELD, GOALKEEPER, TEAM],
    rules: &[
        error("SOG <= SH"),
        error("G <= SH"),
        error("G <= SOG"),
        error("PCG + PSG <= G"),
        error("GWG <= G"),
        error("PSG <= PSA"),
        error("CS == 0 or GA == 0"),
        warning("PCG <= PC").of_team(),
    ],
    scored: Some(score("G")),
    conceded: Some(approximate_score("GA")),
};

const FIELD: Group = group(
    "field",
    "Field",
    &["G", "A", "SH", "SOG", "GC", "YC", "RC"],
    &[
        games_played(),
        flag("GS", "Games started").only_members(),
        count("G", "Goals"),
        count("A", "Assists"),
        total("PTS", "Points", "GOAL_POINTS * G + ASSIST_POINTS * A"),
        count("SH", "Shots"),
        count("SOG", "Shots on goal"),
        percent("SH_PCT", "Shooting percentage", "G / SH").abbreviation("S%").minimum("SH", 1.0),
        count("PCG", "Penalty corner goals"),
        count("PSG", "Penalty stroke goals"),
        count("PSA", "Penalty strokes"),
        count("GWG", "Game-winning goals"),
        per_game("G_GP", "Goals per game", "G / GP").precision(2).abbreviation("G/GP"),
        count("DS", "Defensive saves"),
        count("GC", "Green cards").lower_is_better(),
        count("YC", "Yellow cards").lower_is_better(),
        count("RC", "Red cards").at_most(1).lower_is_better(),
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
        save_percentage(1_200.0),
        goals_against_average("GA * MATCH_MINUTES * 60 / GK_SECONDS", 1_200.0),
        flag("CS", "Clean sheets"),
    ],
)
.positions(&["GK"]);

const TEAM: Group = group(
    "team",
    "Team",
    &["PC"],
    &[
        count("PC", "Penalty corners"),
        percent("PC_PCT", "Penalty corner percentage", "PCG / PC").abbreviation("PC%"),
    ],
)
.of_team();
