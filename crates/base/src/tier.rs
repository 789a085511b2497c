//! The plans of accounts.

use kit::string_enum;
use store::enum_column;

string_enum! {
    /// The plan of an account. It determines the rate limit.
    pub enum Tier {
        Free = "free",
        Club = "club",
        League = "league",
    }
}
enum_column!(Tier);

impl Tier {
    /// The label shown on pages.
    pub fn label(self) -> &'static str {
        match self {
            Self::Free => "Free",
            Self::Club => "Club",
            Self::League => "League",
        }
    }
}
