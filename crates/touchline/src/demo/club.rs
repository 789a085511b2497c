//! The demo club's teams.

use store::Tx;

use crate::error::Result;
use crate::metadata::Metadata;
use crate::teams::team::{self, NewTeam, Team};

/// A team of the demo club and how its weeks look.
pub(super) struct Sample {
    pub name: &'static str,
    pub sport: &'static str,
    pub season: &'static str,
    pub age_group: &'static str,
    pub gender: &'static str,
    pub color: &'static str,
    pub description: &'static str,
    /// How old its players are, about; adults' guardians are nobody's business.
    pub age: i16,
    /// The days and the local time of its practices, as a rule says them.
    pub practices: (&'static str, i8),
    /// Where it practises and plays at home.
    pub ground: (&'static str, &'static str, f64, f64),
    pub positions: [&'static str; 4],
    pub opponents: [&'static str; 5],
}

impl Sample {
    /// Whether its players have guardians.
    pub(super) fn is_young(&self) -> bool {
        self.age < 18
    }
}

pub(super) const TEAMS: [Sample; 6] = [
    Sample {
        name: "Harbour Hawks U12",
        sport: "soccer",
        season: "2026/27",
        age_group: "U12",
        gender: "girls",
        color: "#0b5cad",
        description: "Tuesday and Thursday on the lower pitch.",
        age: 11,
        practices: ("TU,TH", 17),
        ground: ("Lower pitch", "3 Quay Street, Harbour", 38.7071, -9.1355),
        positions: ["goalkeeper", "defender", "midfielder", "forward"],
        opponents: [
            "Breakwater Juniors",
            "Saltmarsh FC",
            "Northgate Girls",
            "Pier United",
            "Dunes Academy",
        ],
    },
    Sample {
        name: "Harbour Hawks U14",
        sport: "soccer",
        season: "2026/27",
        age_group: "U14",
        gender: "boys",
        color: "#14532d",
        description: "Promoted last season; looking for a second keeper.",
        age: 13,
        practices: ("MO,WE", 18),
        ground: ("Upper pitch", "5 Quay Street, Harbour", 38.7079, -9.1361),
        positions: ["goalkeeper", "defender", "midfielder", "forward"],
        opponents: [
            "Breakwater Juniors",
            "Saltmarsh FC",
            "Hillside Rangers",
            "Pier United",
            "Mill Lane",
        ],
    },
    Sample {
        name: "Lighthouse Netters",
        sport: "volleyball",
        season: "2026/27",
        age_group: "Adult",
        gender: "mixed",
        color: "#9a3412",
        description: "Sports hall B, all levels welcome.",
        age: 31,
        practices: ("WE", 20),
        ground: ("Sports hall B", "18 Lighthouse Road, Harbour", 38.7102, -9.1290),
        positions: ["setter", "outside hitter", "middle blocker", "libero"],
        opponents: ["Spike City", "Old Town Volley", "Campus Smash", "Sandbar", "Tide Rollers"],
    },
    Sample {
        name: "Breakwater Bears",
        sport: "basketball",
        season: "2026/27",
        age_group: "U16",
        gender: "boys",
        color: "#7c2d12",
        description: "Home games on Saturdays at noon.",
        age: 15,
        practices: ("TU,FR", 18),
        ground: ("Sports hall A", "16 Lighthouse Road, Harbour", 38.7101, -9.1292),
        positions: ["guard", "forward", "centre", "wing"],
        opponents: ["Ridge Hoops", "Downtown Dunkers", "Valley Five", "Rockets", "Westside"],
    },
    Sample {
        name: "Anchor Sluggers",
        sport: "softball",
        season: "2026",
        age_group: "Adult",
        gender: "women",
        color: "#5b21b6",
        description: "Slow pitch, fast runners.",
        age: 27,
        practices: ("TH", 19),
        ground: ("Park diamond", "1 Meadow Way, Harbour", 38.7150, -9.1401),
        positions: ["pitcher", "catcher", "infielder", "outfielder"],
        opponents: ["Capital Clubs", "River Bats", "Nine Lives", "Home Run Heroes", "Curveballs"],
    },
    Sample {
        name: "Dockside Rovers",
        sport: "ice_hockey",
        season: "2026/27",
        age_group: "U18",
        gender: "mixed",
        color: "#155e75",
        description: "Ice time Sunday mornings; bring your own tape.",
        age: 16,
        practices: ("SU", 9),
        ground: ("Ice rink", "40 Dock Road, Harbour", 38.7011, -9.1422),
        positions: ["goalie", "defence", "centre", "wing"],
        opponents: ["Glacier Kings", "Frostbite", "Blue Line", "Polar Pucks", "Cold Harbour"],
    },
];

pub(super) fn found(tx: &Tx<'_>, sample: &Sample) -> Result<Team> {
    let some = |text: &str| Some(text.to_owned());
    team::create(
        tx,
        NewTeam {
            name: sample.name.to_owned(),
            sport: some(sample.sport),
            season: some(sample.season),
            age_group: some(sample.age_group),
            gender: some(sample.gender),
            timezone: None,
            color: some(sample.color),
            description: some(sample.description),
            unique_jerseys: sample.sport == "soccer",
            external_id: None,
            metadata: Metadata::default(),
        },
    )
}
