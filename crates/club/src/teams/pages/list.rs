//! `/teams`: the visitor's teams. Admins see all teams of the club.

use crate::prelude::*;
use crate::teams::TeamsRead;
use crate::teams::team::{self, Status, Team, TeamFilter};
use crate::web::list::FilterBar;
use crate::web::prelude::*;
use crate::web::team_look::TeamLook;

const DONE: [(&str, &str); 3] = [
    ("added", mark!("Team added.")),
    ("archived", mark!("Team archived.")),
    ("restored", mark!("Team restored.")),
];

/// A row of the list.
struct Row {
    team: Team,
    look: TeamLook,
}

impl Row {
    fn new(team: Team) -> Self {
        Self { look: team.look(), team }
    }

    /// Season, age group and number of people.
    fn about(&self) -> String {
        let Team { season, age_group, roster_count, .. } = &self.team;
        let count = tn!("{count} person", "{count} people", *roster_count);
        let parts = [season.clone(), age_group.clone(), Some(count)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    fn is_archived(&self) -> bool {
        self.team.status == Status::Archived
    }
}

#[derive(Template)]
#[template(path = "teams/list.html")]
struct ListPage {
    frame: Frame,
    filters: FilterBar,
    rows: Vec<Row>,
    next: String,
}

pub(super) async fn show(visitor: Visitor<TeamsRead>) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Asc)?;
    let choices = [("archived", t!("Archived teams")), ("all", t!("All teams"))];
    let filters = FilterBar::new(&request.form).input("q", "Name", "search").select(
        "state",
        "Show",
        "Active teams",
        choices,
    );
    let status = match filters.text("state") {
        "archived" => Some(Status::Archived),
        "all" => None,
        _ => Some(Status::Active),
    };
    let q = filters.search("q");
    let filter = TeamFilter { status, q, ..TeamFilter::default() };
    let teams = match visitor.visit.club {
        Some(_) => {
            let access = visitor.team_access().await?;
            let read = move |db: &Reader<'_>, page: &_| team::list(db, &access, &filter, page);
            RowPage::read(&visitor, &request, read).await?
        }
        None => RowPage { rows: Vec::new(), next: String::new() },
    };
    let frame = visitor.frame(t!("Teams"), Section::MyTeams);
    let page = ListPage {
        frame: frame.flash(visitor.guest.done_flash(&DONE)),
        filters,
        rows: teams.rows.into_iter().map(Row::new).collect(),
        next: teams.next,
    };
    render(StatusCode::OK, &page)
}
