//! The header of all pages of a team: a band in the team's color, and tabs.

use askama::filters::HtmlSafe;

use crate::accounts::permissions::Permission;
use crate::files::pages;
use crate::hook::Hook;
use crate::prelude::*;
use crate::teams::team::{self, Team};
use crate::web::prelude::*;
use crate::web::team_look::TeamLook;

/// The path of a tab that another module provides. `None` if the team has nothing there for the visitor.
pub type TabPath = fn(&Reader<'_>, &TeamAccess, TeamId) -> Result<Option<String>>;
pub static DUES_TAB: Hook<TabPath> = Hook::new("header::DUES_TAB");
pub static STORE_TAB: Hook<TabPath> = Hook::new("header::STORE_TAB");

/// What the header of a team shows.
#[derive(Debug, Clone)]
pub struct TeamHeader {
    pub team: Team,
    pub look: TeamLook,
    /// Whether the visitor coaches or manages the team, or is an admin.
    pub is_staff: bool,
    dues: Option<String>,
    store: Option<String>,
}

impl Team {
    /// The color of the team, and its logo or initials.
    pub fn look(&self) -> TeamLook {
        let logo = self.logo_file_id.map(pages::thumbnail_url);
        TeamLook::new(self.id, &self.name, self.color.as_deref()).with_logo(logo)
    }
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
        Ok(Self {
            look: team.look(),
            is_staff: access.has_full_access(id),
            dues: DUES_TAB.get()?(db, access, id)?,
            store: STORE_TAB.get()?(db, access, id)?,
            team,
        })
    }

    /// The header of the team in the query, on a page that also exists without a team.
    pub async fn from_query<N: Permission>(visitor: &Visitor<N>) -> Result<Option<Self>> {
        let query = visitor.guest.query()?;
        let Some(team) = query.optional("team") else { return Ok(None) };
        let team = team.parse().map_err(|_| Error::not_found())?;
        let access = visitor.team_access().await?;
        visitor.read(move |db| Self::load(db, &access, team)).await.map(Some)
    }

    /// The header with the current tab: `schedule`, `roster`, `messages`, `attendance`, `dues` or `store`.
    pub fn show(&self, current: &'static str) -> HeaderView<'_> {
        HeaderView { header: self, current }
    }

    fn tabs(&self) -> Vec<Tab> {
        let id = self.team.id;
        let path = |rest: &str| Some(format!("/teams/{id}{rest}"));
        let tabs = [
            ("schedule", t!("Schedule"), path("")),
            ("roster", t!("Roster"), path("/roster")),
            ("messages", t!("Messages"), path("/messages")),
            ("attendance", t!("Attendance"), path("/attendance").filter(|_| self.is_staff)),
            ("dues", t!("Dues"), self.dues.clone()),
            ("store", t!("Store"), self.store.clone()),
        ];
        let tabs = tabs.into_iter();
        tabs.filter_map(|(name, label, href)| Some(Tab { name, label, href: href? })).collect()
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
