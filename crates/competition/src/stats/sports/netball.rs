//! Statistics of netball.

use crate::stats::definition::{
    Group, SportDefinition, count, error, games_played, group, per_game, percent, periods, ratio,
    score, total,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const NETBALL: SportDefinition = SportDefinition {
    sport: Sport::Netball,
    positions: &[
        ("GS", "Goal shooter"),
        ("GA", "Goal attack"),
        ("WA", "Wing attack"),
        ("C", "Center"),
        ("WD", "Wing defense"),
        ("GD", "Goal defense"),
        ("GK", "Goal keeper"),
    ],
    periods: periods("Quarter", 4, Some(15)),
    settings: &[],
    groups: &[ATTACK, DEFENSE, TEAM],
    rules: &[error("G <= GATT"), error("CPG <= CPR"), error("CPC <= CP").of_team()],
    scored: Some(score("G")),
    conceded: None,
};

const ATTACK: Group = group(
    "attack",
    "Attack",
    &["G", "GATT", "GAST", "FEED", "CPR"],
    &[
        games_played(),
        count("QP", "Quarters played").at_most(8).only_members(),
        count("G", "Goals"),
        count("GATT", "Goal attempts").abbreviation("GA"),
        percent("G_PCT", "Goal percentage", "G / GATT").abbreviation("G%").minimum("GATT", 5.0),
        per_game("G_GP", "Goals per game", "G / GP").abbreviation("G/GP"),
        count("GAST", "Goal assists").abbreviation("A"),
        count("FEED", "Feeds"),
        percent("FEED_PCT", "Share of feeds that led to a goal", "GAST / FEED")
            .abbreviation("A%")
            .minimum("FEED", 3.0),
        count("CPR", "Center pass receives"),
        count("CPG", "Center pass receives that led to a goal"),
        total("GI", "Goals and goal assists", "G + GAST"),
    ],
);

const DEFENSE: Group = group(
    "defense",
    "Defense and discipline",
    &["R", "I", "D", "P", "TO"],
    &[
        count("R", "Rebounds"),
        count("I", "Intercepts"),
        count("D", "Deflections"),
        total("GAINS", "Rebounds, intercepts and deflections", "R + I + D").abbreviation("RID"),
        count("P", "Penalties").lower_is_better(),
        count("TO", "Turnovers").lower_is_better(),
        ratio("GAIN_TO", "Gains per turnover", "GAINS / TO").abbreviation("RID/TO"),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["CP", "CPC"],
    &[
        count("CP", "Center passes"),
        count("CPC", "Center passes converted to goals"),
        percent("CP_PCT", "Center pass conversion", "CPC / CP").abbreviation("CP%"),
    ],
)
.of_team();
