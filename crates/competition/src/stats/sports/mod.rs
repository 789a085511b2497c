//! The built-in statistics of each sport.

use super::definition::SportDefinition;
use super::sport::Sport;

mod american_football;
mod baseball;
mod basketball;
mod cricket;
mod field_hockey;
mod flag_football;
mod floorball;
mod handball;
mod ice_hockey;
mod lacrosse;
mod netball;
mod rugby_union;
mod soccer;
mod ultimate;
mod volleyball;
mod water_polo;

impl Sport {
    /// What is built in for this sport.
    pub fn definition(self) -> &'static SportDefinition {
        match self {
            Self::Soccer => &soccer::SOCCER,
            Self::Basketball => &basketball::BASKETBALL,
            Self::Baseball => &baseball::BASEBALL,
            Self::Softball => &baseball::SOFTBALL,
            Self::IceHockey => &ice_hockey::ICE_HOCKEY,
            Self::Floorball => &floorball::FLOORBALL,
            Self::Volleyball => &volleyball::VOLLEYBALL,
            Self::AmericanFootball => &american_football::AMERICAN_FOOTBALL,
            Self::FlagFootball => &flag_football::FLAG_FOOTBALL,
            Self::Lacrosse => &lacrosse::LACROSSE,
            Self::RugbyUnion => &rugby_union::RUGBY_UNION,
            Self::Cricket => &cricket::CRICKET,
            Self::Handball => &handball::HANDBALL,
            Self::Netball => &netball::NETBALL,
            Self::Ultimate => &ultimate::ULTIMATE,
            Self::WaterPolo => &water_polo::WATER_POLO,
            Self::FieldHockey => &field_hockey::FIELD_HOCKEY,
        }
    }
}
