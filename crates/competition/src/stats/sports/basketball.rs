//! Statistics of basketball. Field goals include three-pointers.

use crate::stats::definition::{
    Group, SportDefinition, count, error, flag, games_played, games_with, group, per_game, percent,
    periods, ratio, score, seconds, signed, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const BASKETBALL: SportDefinition = SportDefinition {
    sport: Sport::Basketball,
    positions: &[
        ("PG", "Point guard"),
        ("SG", "Shooting guard"),
        ("SF", "Small forward"),
        ("PF", "Power forward"),
        ("C", "Center"),
    ],
    periods: periods("Quarter", 4, Some(10)),
    settings: &[],
    groups: &[SCORING, PLAY, TEAM],
    rules: &[
        error("FGM <= FGA"),
        error("3PM <= 3PA"),
        error("FTM <= FTA"),
        error("3PM <= FGM"),
        error("3PA <= FGA"),
        warning("TF <= 2"),
    ],
    scored: Some(score("PTS")),
    conceded: None,
};

const SCORING: Group = group(
    "scoring",
    "Scoring",
    &["FGM", "FGA", "3PM", "3PA", "FTM", "FTA"],
    &[
        games_played(),
        flag("GS", "Games started").only_members(),
        seconds("SECONDS", "Time played").abbreviation("MIN").only_members(),
        total("PTS", "Points", "2 * FGM + 3PM + FTM"),
        count("FGM", "Field goals made, including three-pointers"),
        count("FGA", "Field goals attempted"),
        percent("FG_PCT", "Field goal percentage", "FGM / FGA")
            .abbreviation("FG%")
            .minimum("FGA", 3.0),
        count("3PM", "Three-pointers made"),
        count("3PA", "Three-pointers attempted"),
        percent("3P_PCT", "Three-point percentage", "3PM / 3PA")
            .abbreviation("3P%")
            .minimum("3PA", 1.0),
        count("FTM", "Free throws made"),
        count("FTA", "Free throws attempted"),
        percent("FT_PCT", "Free throw percentage", "FTM / FTA")
            .abbreviation("FT%")
            .minimum("FTA", 1.0),
        percent("EFG_PCT", "Effective field goal percentage", "(FGM + 0.5 * 3PM) / FGA")
            .abbreviation("eFG%")
            .minimum("FGA", 3.0),
        percent("TS_PCT", "True shooting percentage", "PTS / (2 * (FGA + 0.44 * FTA))")
            .abbreviation("TS%")
            .minimum("FGA", 3.0),
        per_game("PPG", "Points per game", "PTS / GP"),
        per_game("MPG", "Time played per game", "SECONDS / GP").time(),
    ],
);

const PLAY: Group = group(
    "play",
    "Rebounds, assists and fouls",
    &["OREB", "DREB", "AST", "STL", "BLK", "TO", "PF"],
    &[
        count("OREB", "Offensive rebounds"),
        count("DREB", "Defensive rebounds"),
        total("REB", "Rebounds", "OREB + DREB"),
        count("AST", "Assists"),
        count("STL", "Steals"),
        count("BLK", "Blocks"),
        count("BLKA", "Own shots blocked").lower_is_better(),
        count("TO", "Turnovers").lower_is_better(),
        count("PF", "Personal fouls").lower_is_better(),
        count("TF", "Technical fouls").lower_is_better(),
        count("FD", "Fouls drawn"),
        signed("PLUS_MINUS", "Plus/minus").abbreviation("+/-").only_members(),
        ratio("AST_TO", "Assists per turnover", "AST / TO").abbreviation("AST/TO"),
        per_game("RPG", "Rebounds per game", "REB / GP"),
        per_game("APG", "Assists per game", "AST / GP"),
        per_game("SPG", "Steals per game", "STL / GP"),
        per_game("BPG", "Blocks per game", "BLK / GP"),
        per_game("TOPG", "Turnovers per game", "TO / GP").lower_is_better(),
        total("EFF", "Efficiency", "PTS + REB + AST + STL + BLK - (FGA - FGM) - (FTA - FTM) - TO"),
        total("PIR", "Performance index rating", "EFF + FD - PF - BLKA"),
        games_with(
            "DD",
            "Double-doubles",
            "(PTS >= 10) + (REB >= 10) + (AST >= 10) + (STL >= 10) + (BLK >= 10) >= 2",
        ),
        games_with(
            "TD",
            "Triple-doubles",
            "(PTS >= 10) + (REB >= 10) + (AST >= 10) + (STL >= 10) + (BLK >= 10) >= 3",
        ),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["TEAM_REB"],
    &[
        count("TEAM_REB", "Team rebounds").abbreviation("REB"),
        count("TEAM_TO", "Team turnovers").abbreviation("TO").lower_is_better(),
        count("TIMEOUTS", "Timeouts taken").abbreviation("TMO"),
    ],
)
.of_team();
