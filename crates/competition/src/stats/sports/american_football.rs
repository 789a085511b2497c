//! Statistics of American football.
//!
//! Half a sack or tackle is recorded as an assist, because recorded values are whole numbers.

use crate::stats::definition::{
    Group, SportDefinition, count, error, flag, games_played, group, per_game, percent, periods,
    ratio, score, seconds, signed, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const AMERICAN_FOOTBALL: SportDefinition = SportDefinition {
    sport: Sport::AmericanFootball,
    positions: &[
        ("QB", "Quarterback"),
        ("RB", "Running back"),
        ("FB", "Fullback"),
        ("WR", "Wide receiver"),
        ("TE", "Tight end"),
        ("OL", "Offensive line"),
        ("DL", "Defensive line"),
        ("LB", "Linebacker"),
        ("CB", "Cornerback"),
        ("S", "Safety"),
        ("K", "Kicker"),
        ("P", "Punter"),
    ],
    periods: periods("Quarter", 4, Some(15)),
    settings: &[],
    groups: &[PASSING, RUSHING, RECEIVING, DEFENSE, KICKING, RETURNS, SCORING, TEAM],
    rules: &[
        error("CMP + PASS_INT <= ATT"),
        error("CMP <= ATT"),
        error("PASS_TD <= CMP"),
        error("REC <= TGT"),
        error("FGM <= FGA"),
        error("XPM <= XPA"),
        error("FUM_LOST <= FUM"),
        error("3DC <= 3DA"),
        // Laterals: a player can score or gain yards without a catch or carry.
        warning("REC_TD <= REC"),
        warning("RUSH_TD <= CAR"),
        warning("REC == CMP").of_team(),
        warning("REC_YDS == PASS_YDS").of_team(),
        warning("REC_TD == PASS_TD").of_team(),
    ],
    scored: Some(score("PTS")),
    conceded: None,
};

const PASSING: Group = group(
    "passing",
    "Passing",
    &["CMP", "ATT", "PASS_YDS", "PASS_TD", "PASS_INT"],
    &[
        games_played(),
        flag("GS", "Games started").only_members(),
        count("CMP", "Completions"),
        count("ATT", "Passing attempts"),
        signed("PASS_YDS", "Passing yards").abbreviation("YDS"),
        count("PASS_TD", "Passing touchdowns").abbreviation("TD"),
        count("PASS_INT", "Interceptions thrown").abbreviation("INT").lower_is_better(),
        count("SACKED", "Times sacked").abbreviation("SACK").lower_is_better(),
        percent("CMP_PCT", "Completion percentage", "CMP / ATT")
            .abbreviation("CMP%")
            .minimum("ATT", 14.0),
        ratio("Y_A", "Yards per attempt", "PASS_YDS / ATT")
            .precision(1)
            .abbreviation("Y/A")
            .minimum("ATT", 14.0),
        ratio(
            "RATING",
            "Passer rating (NFL)",
            "(clamp((CMP / ATT - 0.3) * 5, 0, 2.375) \
             + clamp((PASS_YDS / ATT - 3) * 0.25, 0, 2.375) \
             + clamp(PASS_TD / ATT * 20, 0, 2.375) \
             + clamp(2.375 - PASS_INT / ATT * 25, 0, 2.375)) / 6 * 100",
        )
        .precision(1)
        .abbreviation("RTG")
        .minimum("ATT", 14.0),
        ratio(
            "EFF",
            "Passing efficiency (NCAA)",
            "(8.4 * PASS_YDS + 330 * PASS_TD + 100 * CMP - 200 * PASS_INT) / ATT",
        )
        .precision(1)
        .minimum("ATT", 14.0),
        per_game("PASS_YDS_GP", "Passing yards per game", "PASS_YDS / GP").abbreviation("YDS/G"),
    ],
)
.positions(&["QB"]);

const RUSHING: Group = group(
    "rushing",
    "Rushing",
    &["CAR", "RUSH_YDS", "RUSH_TD"],
    &[
        count("CAR", "Carries"),
        signed("RUSH_YDS", "Rushing yards").abbreviation("YDS"),
        count("RUSH_TD", "Rushing touchdowns").abbreviation("TD"),
        signed("RUSH_LNG", "Longest run").abbreviation("LNG").largest(),
        ratio("Y_C", "Yards per carry", "RUSH_YDS / CAR")
            .precision(1)
            .abbreviation("Y/C")
            .minimum("CAR", 6.25),
        per_game("RUSH_YDS_GP", "Rushing yards per game", "RUSH_YDS / GP").abbreviation("YDS/G"),
        count("FUM", "Fumbles").lower_is_better(),
        count("FUM_LOST", "Fumbles lost").abbreviation("LOST").lower_is_better(),
    ],
)
.positions(&["QB", "RB", "FB", "WR"]);

const RECEIVING: Group = group(
    "receiving",
    "Receiving",
    &["REC", "REC_YDS", "REC_TD"],
    &[
        count("TGT", "Targets"),
        count("REC", "Receptions"),
        signed("REC_YDS", "Receiving yards").abbreviation("YDS"),
        count("REC_TD", "Receiving touchdowns").abbreviation("TD"),
        signed("REC_LNG", "Longest reception").abbreviation("LNG").largest(),
        ratio("Y_R", "Yards per reception", "REC_YDS / REC")
            .precision(1)
            .abbreviation("Y/R")
            .minimum("REC", 1.875),
        percent("CATCH_PCT", "Catch percentage", "REC / TGT")
            .abbreviation("CTCH%")
            .minimum("TGT", 1.875),
    ],
)
.positions(&["RB", "FB", "WR", "TE"]);

const DEFENSE: Group = group(
    "defense",
    "Defense",
    &["SOLO", "AST", "SACK_SOLO", "INT", "PD"],
    &[
        count("SOLO", "Solo tackles"),
        count("AST", "Assisted tackles"),
        total("TOT", "Tackles", "SOLO + AST"),
        count("TFL_SOLO", "Solo tackles for loss").abbreviation("TFLS"),
        count("TFL_AST", "Assisted tackles for loss").abbreviation("TFLA"),
        total("TFL", "Tackles for loss", "TFL_SOLO + TFL_AST / 2").precision(1),
        count("SACK_SOLO", "Solo sacks").abbreviation("SCK"),
        count("SACK_AST", "Shared sacks").abbreviation("SCKA"),
        total("SACK", "Sacks", "SACK_SOLO + SACK_AST / 2").precision(1),
        count("INT", "Interceptions"),
        signed("INT_YDS", "Interception return yards").abbreviation("INT YDS"),
        count("PD", "Passes defended"),
        count("FF", "Forced fumbles"),
        count("FR", "Fumble recoveries"),
        count("DEF_TD", "Defensive touchdowns").abbreviation("TD"),
        count("SAF", "Safeties"),
    ],
)
.positions(&["DL", "LB", "CB", "S"]);

const KICKING: Group = group(
    "kicking",
    "Kicking",
    &["FGM", "FGA", "XPM", "XPA", "PUNTS", "PUNT_YDS"],
    &[
        count("FGM", "Field goals made"),
        count("FGA", "Field goals attempted"),
        percent("FG_PCT", "Field goal percentage", "FGM / FGA")
            .abbreviation("FG%")
            .minimum("FGA", 1.0),
        count("FG_LNG", "Longest field goal").abbreviation("LNG").largest(),
        count("XPM", "Extra points made"),
        count("XPA", "Extra points attempted"),
        percent("XP_PCT", "Extra point percentage", "XPM / XPA")
            .abbreviation("XP%")
            .minimum("XPA", 1.5),
        count("PUNTS", "Punts"),
        signed("PUNT_YDS", "Punting yards").abbreviation("YDS"),
        ratio("PUNT_AVG", "Yards per punt", "PUNT_YDS / PUNTS")
            .precision(1)
            .abbreviation("AVG")
            .minimum("PUNTS", 2.5),
    ],
)
.positions(&["K", "P"]);

const RETURNS: Group = group(
    "returns",
    "Returns",
    &["KR", "KR_YDS", "PR", "PR_YDS"],
    &[
        count("KR", "Kick returns"),
        signed("KR_YDS", "Kick return yards").abbreviation("YDS"),
        count("KR_TD", "Kick return touchdowns").abbreviation("TD"),
        ratio("KR_AVG", "Yards per kick return", "KR_YDS / KR")
            .precision(1)
            .abbreviation("AVG")
            .minimum("KR", 1.25),
        count("PR", "Punt returns"),
        signed("PR_YDS", "Punt return yards").abbreviation("YDS"),
        count("PR_TD", "Punt return touchdowns").abbreviation("TD"),
        ratio("PR_AVG", "Yards per punt return", "PR_YDS / PR")
            .precision(1)
            .abbreviation("AVG")
            .minimum("PR", 1.25),
    ],
);

const SCORING: Group = group(
    "scoring",
    "Scoring",
    &["2PT"],
    &[
        count("2PT", "Two-point conversions"),
        total("TD", "Touchdowns", "RUSH_TD + REC_TD + DEF_TD + KR_TD + PR_TD"),
        total("PTS", "Points", "6 * TD + XPM + 3 * FGM + 2 * (2PT + SAF)"),
        per_game("PPG", "Points per game", "PTS / GP"),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["FIRST_DOWNS", "3DC", "3DA", "PEN", "PEN_YDS"],
    &[
        count("FIRST_DOWNS", "First downs").abbreviation("1D"),
        count("3DC", "Third downs converted"),
        count("3DA", "Third downs"),
        percent("3D_PCT", "Third-down percentage", "3DC / 3DA").abbreviation("3D%"),
        total("YDS", "Total yards", "PASS_YDS + RUSH_YDS"),
        count("PEN", "Penalties").lower_is_better(),
        count("PEN_YDS", "Penalty yards").abbreviation("PEN YDS").lower_is_better(),
        seconds("POSSESSION", "Time of possession").abbreviation("TOP"),
    ],
)
.of_team();
