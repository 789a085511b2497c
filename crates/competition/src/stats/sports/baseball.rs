//! Statistics of baseball and softball.
//!
//! Plate appearances and hits are calculated, so that they always agree with their parts.
//! Statistics of pitchers have the prefix `P_` where batters have the same one.

use crate::stats::definition::{
    Group, RuleRow, SportDefinition, average, count, error, flag, games_played, group, outs,
    percent, periods, ratio, score, setting, total, warning,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const BASEBALL: SportDefinition = SportDefinition {
    sport: Sport::Baseball,
    positions: &[
        ("P", "Pitcher"),
        ("C", "Catcher"),
        ("1B", "First base"),
        ("2B", "Second base"),
        ("3B", "Third base"),
        ("SS", "Shortstop"),
        ("LF", "Left field"),
        ("CF", "Center field"),
        ("RF", "Right field"),
        ("DH", "Designated hitter"),
    ],
    periods: periods("Inning", 9, None),
    settings: &[
        setting("GAME_INNINGS", "Innings in a game", 9.0, (1.0, 15.0)),
        setting("FIP_CONSTANT", "Constant of fielding independent pitching", 3.1, (0.0, 10.0)),
    ],
    groups: &[BATTING, PITCHING, FIELDING, TEAM],
    rules: RULES,
    scored: Some(score("R")),
    conceded: Some(score("P_R")),
};

pub(in crate::stats) const SOFTBALL: SportDefinition = SportDefinition {
    sport: Sport::Softball,
    positions: &[
        ("P", "Pitcher"),
        ("C", "Catcher"),
        ("1B", "First base"),
        ("2B", "Second base"),
        ("3B", "Third base"),
        ("SS", "Shortstop"),
        ("LF", "Left field"),
        ("CF", "Center field"),
        ("RF", "Right field"),
        ("DP", "Designated player"),
        ("FLEX", "Flex player"),
    ],
    periods: periods("Inning", 7, None),
    settings: &[
        setting("GAME_INNINGS", "Innings in a game", 7.0, (1.0, 15.0)),
        setting("FIP_CONSTANT", "Constant of fielding independent pitching", 3.1, (0.0, 10.0)),
    ],
    groups: &[BATTING, PITCHING, FIELDING, TEAM],
    rules: RULES,
    scored: Some(score("R")),
    conceded: Some(score("P_R")),
};

const RULES: &[RuleRow] = &[
    error("H <= AB"),
    error("H + SO <= AB"),
    error("KL <= SO"),
    error("IBB <= BB"),
    warning("QAB <= PA"),
    // The batter scores with every home run, and drives in at least one run: himself.
    error("HR <= R"),
    error("HR <= RBI"),
    error("ER <= P_R"),
    error("P_HR <= P_H"),
    error("P_H + P_BB + P_HBP <= BF"),
    error("P_SO <= BF"),
    error("STRIKES <= PITCHES"),
    error("W + L <= 1"),
    error("SV + BS <= 1"),
    error("SV <= SVO"),
    error("BS <= SVO"),
];

const BATTING: Group = group(
    "batting",
    "Batting",
    &["AB", "R", "1B", "2B", "3B", "HR", "RBI", "BB", "SO"],
    &[
        games_played(),
        flag("GS", "Games started").only_members(),
        total("PA", "Plate appearances", "AB + BB + HBP + SAC + SF + CI"),
        count("AB", "At bats"),
        count("R", "Runs"),
        total("H", "Hits", "1B + 2B + 3B + HR"),
        count("1B", "Singles"),
        count("2B", "Doubles"),
        count("3B", "Triples"),
        count("HR", "Home runs"),
        count("RBI", "Runs batted in"),
        count("BB", "Walks"),
        count("IBB", "Intentional walks"),
        count("SO", "Strikeouts").lower_is_better(),
        count("KL", "Strikeouts looking").abbreviation("K-L").lower_is_better(),
        count("HBP", "Hit by pitch"),
        count("SAC", "Sacrifice bunts"),
        count("SF", "Sacrifice flies"),
        count("CI", "Catcher's interference"),
        count("ROE", "Reached on error"),
        count("FC", "Fielder's choice"),
        count("SB", "Stolen bases"),
        count("CS", "Caught stealing").lower_is_better(),
        count("PIK", "Picked off").lower_is_better(),
        // A runner who stays on base can be counted for several batters.
        count("LOB", "Left on base").lower_is_better().only_members(),
        count("GIDP", "Grounded into double play").lower_is_better(),
        count("PS", "Pitches seen"),
        count("QAB", "Quality at bats"),
        total("TB", "Total bases", "1B + 2 * 2B + 3 * 3B + 4 * HR"),
        total("XBH", "Extra-base hits", "2B + 3B + HR"),
        average("AVG", "Batting average", "H / AB").minimum("PA", 3.1),
        average("OBP", "On-base percentage", "(H + BB + HBP) / (AB + BB + HBP + SF)")
            .minimum("PA", 3.1),
        average("SLG", "Slugging percentage", "TB / AB").minimum("PA", 3.1),
        average("OPS", "On-base plus slugging", "OBP + SLG").minimum("PA", 3.1),
        average("BABIP", "Batting average on balls in play", "(H - HR) / (AB - SO - HR + SF)")
            .minimum("PA", 3.1),
        percent("SB_PCT", "Stolen base percentage", "SB / (SB + CS)")
            .abbreviation("SB%")
            .minimum("SB", 0.1),
        percent("C_PCT", "Contact percentage", "(AB - SO) / AB")
            .abbreviation("C%")
            .minimum("PA", 3.1),
        percent("QAB_PCT", "Quality at bat percentage", "QAB / PA")
            .abbreviation("QAB%")
            .minimum("PA", 3.1),
        ratio("BB_K", "Walks per strikeout", "BB / SO").abbreviation("BB/K").minimum("PA", 3.1),
        ratio("PA_BB", "Plate appearances per walk", "PA / BB")
            .abbreviation("PA/BB")
            .lower_is_better()
            .minimum("PA", 3.1),
        ratio("AB_HR", "At bats per home run", "AB / HR")
            .abbreviation("AB/HR")
            .lower_is_better()
            .minimum("PA", 3.1),
        ratio("PS_PA", "Pitches seen per plate appearance", "PS / PA")
            .abbreviation("PS/PA")
            .minimum("PA", 3.1),
    ],
);

const PITCHING: Group = group(
    "pitching",
    "Pitching",
    &["OUTS", "PITCHES", "P_H", "P_R", "ER", "P_BB", "P_SO"],
    &[
        flag("P_GP", "Games pitched").abbreviation("GP").only_members(),
        flag("P_GS", "Games started as pitcher").abbreviation("GS").only_members(),
        outs("OUTS", "Innings pitched").abbreviation("IP"),
        flag("W", "Wins"),
        flag("L", "Losses").lower_is_better(),
        percent("W_PCT", "Winning percentage", "W / (W + L)").abbreviation("W%"),
        flag("SV", "Saves"),
        flag("SVO", "Save opportunities"),
        flag("BS", "Blown saves").lower_is_better(),
        percent("SV_PCT", "Save percentage", "SV / SVO").abbreviation("SV%"),
        flag("CG", "Complete games"),
        flag("SHO", "Shutouts"),
        count("BF", "Batters faced"),
        count("PITCHES", "Pitches").abbreviation("#P"),
        count("STRIKES", "Strikes").abbreviation("TS"),
        percent("STRIKE_PCT", "Strike percentage", "STRIKES / PITCHES")
            .abbreviation("S%")
            .minimum("OUTS", 3.0),
        count("P_H", "Hits allowed").abbreviation("H").lower_is_better(),
        count("P_R", "Runs allowed").abbreviation("R").lower_is_better(),
        count("ER", "Earned runs").lower_is_better(),
        count("P_BB", "Walks allowed").abbreviation("BB").lower_is_better(),
        count("P_SO", "Batters struck out").abbreviation("SO"),
        count("P_HBP", "Batters hit").abbreviation("HBP").lower_is_better(),
        count("P_HR", "Home runs allowed").abbreviation("HR").lower_is_better(),
        count("P_SAC", "Sacrifice bunts allowed").abbreviation("SAC"),
        count("P_SF", "Sacrifice flies allowed").abbreviation("SF"),
        count("P_CI", "Batters awarded catcher's interference").abbreviation("CI"),
        count("WP", "Wild pitches").lower_is_better(),
        count("BK", "Balks").lower_is_better(),
        ratio("ERA", "Earned run average", "ER * 3 * GAME_INNINGS / OUTS")
            .lower_is_better()
            .minimum("OUTS", 3.0),
        ratio("WHIP", "Walks and hits per inning", "(P_BB + P_H) * 3 / OUTS")
            .precision(3)
            .lower_is_better()
            .minimum("OUTS", 3.0),
        ratio("K_BB", "Strikeouts per walk", "P_SO / P_BB")
            .abbreviation("K/BB")
            .minimum("OUTS", 3.0),
        ratio("K_G", "Strikeouts per full game", "P_SO * 3 * GAME_INNINGS / OUTS")
            .abbreviation("K/G")
            .minimum("OUTS", 3.0),
        ratio("BB_G", "Walks per full game", "P_BB * 3 * GAME_INNINGS / OUTS")
            .abbreviation("BB/G")
            .lower_is_better()
            .minimum("OUTS", 3.0),
        ratio("P_IP", "Pitches per inning", "PITCHES * 3 / OUTS")
            .abbreviation("P/IP")
            .lower_is_better()
            .minimum("OUTS", 3.0),
        ratio("P_BF", "Pitches per batter", "PITCHES / BF")
            .abbreviation("P/BF")
            .lower_is_better()
            .minimum("OUTS", 3.0),
        average(
            "BAA",
            "Batting average against",
            "P_H / (BF - P_BB - P_HBP - P_SAC - P_SF - P_CI)",
        )
        .lower_is_better()
        .minimum("OUTS", 3.0),
        ratio(
            "FIP",
            "Fielding independent pitching",
            "(13 * P_HR + 3 * (P_BB + P_HBP) - 2 * P_SO) * 3 / OUTS + FIP_CONSTANT",
        )
        .lower_is_better()
        .minimum("OUTS", 3.0),
    ],
)
.positions(&["P"]);

const FIELDING: Group = group(
    "fielding",
    "Fielding",
    &["PO", "A", "E"],
    &[
        count("PO", "Putouts"),
        count("A", "Assists"),
        count("E", "Errors").lower_is_better(),
        total("TC", "Total chances", "PO + A + E"),
        average("FPCT", "Fielding percentage", "(PO + A) / TC").minimum("TC", 1.0),
        // Every fielder who takes part is credited with the play.
        count("DP", "Double plays").only_members(),
        count("TP", "Triple plays").only_members(),
        count("PB", "Passed balls").lower_is_better(),
        count("C_SB", "Stolen bases allowed").abbreviation("SB").lower_is_better(),
        count("C_CS", "Runners caught stealing").abbreviation("CS"),
        percent("CS_PCT", "Caught stealing percentage", "C_CS / (C_SB + C_CS)")
            .abbreviation("CS%")
            .minimum("C_CS", 0.1),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["TEAM_LOB", "TEAM_DP"],
    &[
        count("TEAM_LOB", "Runners left on base").abbreviation("LOB").lower_is_better(),
        count("TEAM_DP", "Double plays turned").abbreviation("DP"),
    ],
)
.of_team();
