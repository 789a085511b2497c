//! Statistics of rugby union. Other codes can set the points of each kind of score.

use crate::stats::definition::{
    Group, SportDefinition, count, error, flag, games_played, group, per_game, percent, periods,
    score, seconds, setting, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const RUGBY_UNION: SportDefinition = SportDefinition {
    sport: Sport::RugbyUnion,
    positions: &[
        ("PR", "Prop"),
        ("HK", "Hooker"),
        ("LK", "Lock"),
        ("FL", "Flanker"),
        ("N8", "Number eight"),
        ("SH", "Scrum-half"),
        ("FH", "Fly-half"),
        ("CE", "Center"),
        ("WG", "Wing"),
        ("FB", "Fullback"),
    ],
    periods: periods("Half", 2, Some(40)),
    settings: &[
        setting("TRY_POINTS", "Points for a try", 5.0, (0.0, 20.0)),
        setting("CONVERSION_POINTS", "Points for a conversion", 2.0, (0.0, 20.0)),
        setting("PENALTY_POINTS", "Points for a penalty goal", 3.0, (0.0, 20.0)),
        setting("DROP_GOAL_POINTS", "Points for a drop goal", 3.0, (0.0, 20.0)),
        setting("PENALTY_TRY_POINTS", "Points for a penalty try", 7.0, (0.0, 20.0)),
    ],
    groups: &[ATTACK, KICKING, DEFENSE, TEAM],
    rules: &[
        error("C <= CA"),
        error("PG <= PGA"),
        error("YC + RC <= 3"),
        error("LW <= LT"),
        error("SW <= ST"),
        // A try of a player is followed by one kick at goal; in rugby union, a penalty try by none.
        warning("CA <= T").of_team(),
        warning("C <= T").of_team(),
    ],
    scored: Some(score("PTS + PENALTY_TRY_POINTS * PT")),
    conceded: None,
};

const ATTACK: Group = group(
    "attack",
    "Attack",
    &["T", "C", "PG", "DG", "YC", "RC"],
    &[
        games_played(),
        flag("GS", "Games started").only_members(),
        seconds("SECONDS", "Time played").abbreviation("MIN").only_members(),
        count("T", "Tries"),
        total(
            "PTS",
            "Points",
            "TRY_POINTS * T + CONVERSION_POINTS * C + PENALTY_POINTS * PG + DROP_GOAL_POINTS * DG",
        ),
        per_game("PPG", "Points per game", "PTS / GP"),
        count("TA", "Try assists"),
        count("CARRIES", "Carries").abbreviation("CAR"),
        count("METERS", "Meters gained").abbreviation("M"),
        count("LB", "Line breaks"),
        count("OFFLOADS", "Offloads").abbreviation("OFL"),
        count("KO", "Knock-ons").lower_is_better(),
        count("YC", "Yellow cards").at_most(2).lower_is_better(),
        count("RC", "Red cards").at_most(1).lower_is_better(),
    ],
);

const KICKING: Group = group(
    "kicking",
    "Kicking",
    &["CA", "PGA"],
    &[
        count("C", "Conversions"),
        count("CA", "Conversions attempted"),
        count("PG", "Penalty goals").abbreviation("PK"),
        count("PGA", "Penalty goals attempted").abbreviation("PKA"),
        count("DG", "Drop goals"),
        percent("KICK_PCT", "Goal-kicking percentage", "(C + PG) / (CA + PGA)")
            .abbreviation("KICK%")
            .minimum("CA", 1.0),
    ],
);

const DEFENSE: Group = group(
    "defense",
    "Defense",
    &["TK", "MT"],
    &[
        count("TK", "Tackles"),
        count("MT", "Missed tackles").lower_is_better(),
        percent("TK_PCT", "Tackle percentage", "TK / (TK + MT)")
            .abbreviation("TK%")
            .minimum("TK", 3.0),
        count("TW", "Turnovers won"),
        count("PC", "Penalties conceded").lower_is_better(),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["PT", "LW", "LT", "SW", "ST"],
    &[
        count("PT", "Penalty tries"),
        count("LW", "Own lineouts won"),
        count("LT", "Own lineouts"),
        percent("LINEOUT_PCT", "Lineout percentage", "LW / LT").abbreviation("LO%"),
        count("SW", "Own scrums won"),
        count("ST", "Own scrums"),
        percent("SCRUM_PCT", "Scrum percentage", "SW / ST").abbreviation("SCR%"),
    ],
)
.of_team();
