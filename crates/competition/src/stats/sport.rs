//! The sports with built-in statistics.

use kit::string_enum;

string_enum! {
    /// A sport with built-in statistics.
    pub enum Sport {
        Soccer = "soccer",
        Basketball = "basketball",
        Baseball = "baseball",
        Softball = "softball",
        IceHockey = "ice_hockey",
        Floorball = "floorball",
        Volleyball = "volleyball",
        AmericanFootball = "american_football",
        FlagFootball = "flag_football",
        Lacrosse = "lacrosse",
        RugbyUnion = "rugby_union",
        Cricket = "cricket",
        Handball = "handball",
        Netball = "netball",
        Ultimate = "ultimate",
        WaterPolo = "water_polo",
        FieldHockey = "field_hockey",
    }
}
