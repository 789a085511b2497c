//! The header of all pages of a team: a band in the team's color, and tabs.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::files::pages;
use crate::prelude::*;
use crate::teams::team::{self, Team};
use crate::web::team_look::TeamLook;

/// What the header of a team shows.
#[derive(Debug, Clone)]
pub struct TeamHeader {
    pub team: Team,
    pub look: TeamLook,
    /// Whether the visitor coaches or manages the team, or is an admin.
    pub is_staff: bool,
}

/// A tab below the header.
#[derive(Debug)]
struct Tab {
    name: &'static str,
    label: &'static str,
    href: String,
}

impl TeamHeader {
    /// The header of a team that the visitor can access.
    pub fn load(db: &Reader<'_>, access: &TeamAccess, id: TeamId) -> Result<Self> {
        access.check(id)?;
        let team = team::find(db, id)?;
        let logo = team.logo_file_id.map(pages::thumbnail_url);
        let look = TeamLook::new(team.id, &team.name, team.color.as_deref()).with_logo(logo);
        Ok(Self { look, is_staff: access.has_full_access(id), team })
    }

    /// The header with the current tab: `schedule`, `roster`, `messages`, `attendance` or `dues`.
    pub fn show(&self, current: &'static str) -> HeaderView<'_> {
        HeaderView { header: self, current }
    }

    fn tabs(&self) -> Vec<Tab> {
        let id = self.team.id;
        let tab = |name, label, path: &str| Tab { name, label, href: format!("/teams/{id}{path}") };
        let mut tabs = vec![
            tab("schedule", t!("Schedule"), ""),
            tab("roster", t!("Roster"), "/roster"),
            tab("messages", t!("Messages"), "/messages"),
        ];
        if self.is_staff {
            tabs.push(tab("attendance", t!("Attendance"), "/attendance"));
            let href = format!("/dues/teams/{id}");
            tabs.push(Tab { name: "dues", label: t!("Dues"), href });
        }
        tabs
    }

    /// The season and the number of people on the roster, in one line.
    fn about(&self) -> String {
        let count = tn!("{count} person", "{count} people", self.team.roster_count);
        match &self.team.season {
            Some(season) => format!("{season} · {count}"),
            None => count,
        }
    }
}

/// The HTML of a team's header.
#[derive(Template, Debug)]
#[template(path = "teams/header.html")]
pub struct HeaderView<'a> {
    header: &'a TeamHeader,
    current: &'static str,
}

impl HeaderView<'_> {
    fn is_current(&self, tab: &Tab) -> bool {
        tab.name == self.current
    }
}

impl HtmlSafe for HeaderView<'_> {}
