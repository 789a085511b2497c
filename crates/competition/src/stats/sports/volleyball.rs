//! Statistics of volleyball.
//!
//! The score of a match is in sets, so nothing in a box score can be compared with it.

use crate::stats::definition::{
    Group, SportDefinition, average, count, error, games_played, group, percent, periods, ratio,
    total,
};
use crate::stats::sport::Sport;

pub(in crate::stats) const VOLLEYBALL: SportDefinition = SportDefinition {
    sport: Sport::Volleyball,
    positions: &[
        ("OH", "Outside hitter"),
        ("OPP", "Opposite hitter"),
        ("MB", "Middle blocker"),
        ("S", "Setter"),
        ("L", "Libero"),
        ("DS", "Defensive specialist"),
    ],
    periods: periods("Set", 5, None),
    settings: &[],
    groups: &[ATTACK, SETTING, SERVING, RECEIVING, DEFENSE, TEAM],
    rules: &[
        error("K + E <= TA"),
        error("SA + SE <= TS"),
        error("RE <= REC"),
        error("RATING <= 3 * REC"),
    ],
    scored: None,
    conceded: None,
};

const ATTACK: Group = group(
    "attack",
    "Attack",
    &["SP", "K", "E", "TA"],
    &[
        games_played(),
        count("SP", "Sets played").at_most(9).shared(),
        count("K", "Kills"),
        count("E", "Attack errors").lower_is_better(),
        count("TA", "Attack attempts"),
        average("HIT_PCT", "Hitting percentage", "(K - E) / TA")
            .abbreviation("Hit%")
            .minimum("TA", 3.0),
        ratio("K_S", "Kills per set", "K / SP").abbreviation("K/S").minimum("SP", 1.0),
        total("PTS", "Points", "K + SA + BS + BA / 2").precision(1),
        ratio("PTS_S", "Points per set", "PTS / SP").abbreviation("PTS/S").minimum("SP", 1.0),
    ],
);

const SETTING: Group = group(
    "setting",
    "Setting",
    &["AST"],
    &[
        count("AST", "Assists"),
        count("BHE", "Ball handling errors").lower_is_better(),
        ratio("A_S", "Assists per set", "AST / SP").abbreviation("A/S").minimum("SP", 1.0),
    ],
);

const SERVING: Group = group(
    "serving",
    "Serving",
    &["SA", "SE", "TS"],
    &[
        count("SA", "Service aces"),
        count("SE", "Service errors").lower_is_better(),
        count("TS", "Serves"),
        percent("ACE_PCT", "Ace percentage", "SA / TS").abbreviation("Ace%").minimum("TS", 1.0),
        ratio("SA_S", "Service aces per set", "SA / SP").abbreviation("SA/S").minimum("SP", 1.0),
    ],
);

const RECEIVING: Group = group(
    "receiving",
    "Serve receive",
    &["REC", "RE"],
    &[
        count("REC", "Serves received"),
        count("RE", "Reception errors").lower_is_better(),
        count("RATING", "Sum of pass ratings, 0 to 3 each").abbreviation("RA"),
        ratio("PASS", "Pass rating", "RATING / REC").minimum("REC", 1.0),
    ],
);

const DEFENSE: Group = group(
    "defense",
    "Defense",
    &["DIG", "BS", "BA"],
    &[
        count("DIG", "Digs"),
        ratio("D_S", "Digs per set", "DIG / SP").abbreviation("D/S").minimum("SP", 1.0),
        count("BS", "Solo blocks"),
        count("BA", "Block assists"),
        count("BE", "Block errors").lower_is_better(),
        total("B", "Blocks", "BS + BA").only_members(),
        ratio("B_S", "Blocks per set", "B / SP").abbreviation("B/S").minimum("SP", 1.0),
    ],
);

const TEAM: Group = group(
    "team",
    "Team",
    &["TIMEOUTS"],
    &[
        count("TIMEOUTS", "Timeouts taken").abbreviation("TMO"),
        // Each player who shares a block has a block assist. It counts as half a block, even if three
        // players share it.
        total("TEAM_B", "Team blocks", "BS + BA / 2").abbreviation("B").precision(1),
        ratio("TEAM_B_S", "Team blocks per set", "TEAM_B / SP").abbreviation("B/S"),
    ],
)
.of_team();
