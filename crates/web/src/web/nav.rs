//! The main menu of a visitor: the teams they can open, and what waits for them.

use super::team_look::{CLUB_COLOR, TeamLook, sheet_href};
use crate::hook::Hook;
use crate::prelude::*;

/// The maximum number of teams in the menu.
const MAX_LISTED: usize = 8;

/// A team in the main menu.
#[derive(Debug, Clone)]
pub struct NavTeam {
    pub id: TeamId,
    pub name: String,
    pub look: TeamLook,
    /// Whether the visitor or somebody in their family is on its roster. Admins also see other teams.
    pub is_own: bool,
}

/// The data of the main menu.
#[derive(Debug, Clone, Default)]
pub struct Nav {
    /// The teams that the visitor can see, their own first.
    pub teams: Vec<NavTeam>,
    /// The number of messages that the visitor has not read.
    pub unread: i64,
    /// Whether the visitor coaches or manages a team.
    pub is_staff: bool,
}

/// Loads the menu of a user in the account of the job. The flag says whether the user is an admin.
type LoadNav = fn(&Reader<'_>, UserId, bool) -> Result<Nav>;

/// How the menu is loaded.
pub static LOAD_NAV: Hook<LoadNav> = Hook::new("nav::LOAD_NAV");

impl Nav {
    /// The visitor's own teams, as far as they fit into the menu.
    pub fn listed(&self) -> impl Iterator<Item = &NavTeam> {
        self.teams.iter().filter(|team| team.is_own).take(MAX_LISTED)
    }

    /// The look of a team. A team that the visitor cannot see gets the default of its name.
    pub fn look(&self, id: TeamId, name: &str) -> TeamLook {
        let team = self.teams.iter().find(|team| team.id == id);
        team.map_or_else(|| TeamLook::new(id, name, None), |team| team.look.clone())
    }

    /// The URL of the stylesheet with the colors of the club and of all teams.
    pub fn colors_href(&self) -> String {
        let teams = self.teams.iter().map(|team| team.look.color);
        sheet_href([CLUB_COLOR].into_iter().chain(teams))
    }

    /// The number of unread messages for a narrow place.
    pub fn unread_text(&self) -> String {
        if self.unread > 99 { "99+".to_owned() } else { self.unread.to_string() }
    }
}
