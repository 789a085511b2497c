//! The demo club's teams.

use store::Tx;

use crate::demo_club::DemoClub;
use crate::error::Result;
use crate::teams::team::{self, NewTeam, Team};

/// A team of the demo club and its weekly schedule.
#[derive(Debug)]
pub struct SampleTeam {
    pub name: &'static str,
    pub sport: &'static str,
    pub season: &'static str,
    pub age_group: &'static str,
    pub gender: &'static str,
    pub color: &'static str,
    pub description: &'static str,
    /// The approximate age of its players. Players under 18 have guardians.
    pub age: i16,
    /// The days (as in an RRULE's BYDAY) and the local hour of its practices.
    pub practices: (&'static str, i8),
    /// The home ground: name, address, latitude, longitude.
    pub home_ground: (&'static str, &'static str, f64, f64),
    pub positions: [&'static str; 4],
    pub opponents: [&'static str; 5],
}

impl SampleTeam {
    /// Whether its players are minors, who have guardians.
    pub fn has_minors(&self) -> bool {
        self.age < 18
    }
}

/// The teams of the demo club.
pub static TEAMS: [SampleTeam; 6] = [
    SampleTeam {
        name: "Harbour Hawks U12",
        sport: "soccer",
        season: "2026/27",
        age_group: "U12",
        gender: "girls",
        color: "#0b5cad",
        description: "Tuesday and Thursday on the lower pitch.",
        age: 11,
        practices: ("TU,TH", 17),
        home_ground: ("Lower pitch", "3 Quay Street, Harbour", 38.7071, -9.1355),
        positions: ["goalkeeper", "defender", "midfielder", "forward"],
        opponents: [
            "Breakwater Juniors",
            "Saltmarsh FC",
            "Northgate Girls",
            "Pier United",
            "Dunes Academy",
        ],
    },
    SampleTeam {
        name: "Harbour Hawks U14",
        sport: "soccer",
        season: "2026/27",
        age_group: "U14",
        gender: "boys",
        color: "#14532d",
        description: "Promoted last season; looking for a second keeper.",
        age: 13,
        practices: ("MO,WE", 18),
        home_ground: ("Upper pitch", "5 Quay Street, Harbour", 38.7079, -9.1361),
        positions: ["goalkeeper", "defender", "midfielder", "forward"],
        opponents: [
            "Breakwater Juniors",
            "Saltmarsh FC",
            "Hillside Rangers",
            "Pier United",
            "Mill Lane",
        ],
    },
    SampleTeam {
        name: "Lighthouse Netters",
        sport: "volleyball",
        season: "2026/27",
        age_group: "Adult",
        gender: "mixed",
        color: "#9a3412",
        description: "Sports hall B, all levels welcome.",
        age: 31,
        practices: ("WE", 20),
        home_ground: ("Sports hall B", "18 Lighthouse Road, Harbour", 38.7102, -9.1290),
        positions: ["setter", "outside hitter", "middle blocker", "libero"],
        opponents: ["Spike City", "Old Town Volley", "Campus Smash", "Sandbar", "Tide Rollers"],
    },
    SampleTeam {
        name: "Breakwater Bears",
        sport: "basketball",
        season: "2026/27",
        age_group: "U16",
        gender: "boys",
        color: "#7c2d12",
        description: "Home games on Saturdays at noon.",
        age: 15,
        practices: ("TU,FR", 18),
        home_ground: ("Sports hall A", "16 Lighthouse Road, Harbour", 38.7101, -9.1292),
        positions: ["guard", "forward", "center", "wing"],
        opponents: ["Ridge Hoops", "Downtown Dunkers", "Valley Five", "Rockets", "Westside"],
    },
    SampleTeam {
        name: "Anchor Sluggers",
        sport: "softball",
        season: "2026",
        age_group: "Adult",
        gender: "women",
        color: "#5b21b6",
        description: "Slow pitch, fast runners.",
        age: 27,
        practices: ("TH", 19),
        home_ground: ("Park diamond", "1 Meadow Way, Harbour", 38.7150, -9.1401),
        positions: ["pitcher", "catcher", "infielder", "outfielder"],
        opponents: ["Capital Clubs", "River Bats", "Nine Lives", "Home Run Heroes", "Curveballs"],
    },
    SampleTeam {
        name: "Dockside Rovers",
        sport: "ice_hockey",
        season: "2026/27",
        age_group: "U18",
        gender: "mixed",
        color: "#155e75",
        description: "Ice time Sunday mornings; bring your own tape.",
        age: 16,
        practices: ("SU", 9),
        home_ground: ("Ice rink", "40 Dock Road, Harbour", 38.7011, -9.1422),
        positions: ["goalie", "defense", "center", "wing"],
        opponents: ["Glacier Kings", "Frostbite", "Blue Line", "Polar Pucks", "Cold Harbour"],
    },
];

/// Creates the teams, in the order of [`TEAMS`].
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    let teams = TEAMS.iter().map(|sample| create_team(tx, sample)).collect::<Result<Vec<_>>>()?;
    club.insert(teams);
    Ok(())
}

fn create_team(tx: &Tx<'_>, sample: &SampleTeam) -> Result<Team> {
    let some = |text: &str| Some(text.to_owned());
    let new = NewTeam {
        name: sample.name.to_owned(),
        sport: some(sample.sport),
        season: some(sample.season),
        age_group: some(sample.age_group),
        gender: some(sample.gender),
        color: some(sample.color),
        description: some(sample.description),
        unique_jerseys: sample.sport == "soccer",
        ..NewTeam::default()
    };
    team::create(tx, new)
}
