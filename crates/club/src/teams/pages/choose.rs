//! The page on which staff of several teams choose the team of what they add.

use crate::accounts::permissions::Permission;
use crate::prelude::*;
use crate::teams::team::{self, Status, Team, TeamFilter};
use crate::web::prelude::*;
use crate::web::team_look::TeamLook;

/// The maximum number of teams to choose from.
const MAX_TEAMS: i64 = 200;

#[derive(Template)]
#[template(path = "teams/choose.html")]
struct ChoosePage {
    frame: Frame,
    /// Crest, link and name of each team.
    teams: Vec<(TeamLook, String, String)>,
}

/// The visitor's only team, or the page on which they choose one of their teams.
pub enum TeamSelection {
    Team(TeamId),
    Page(Response),
}

/// Asks the visitor to choose one of their teams, unless they have only one. `path` is the path of the form of a team.
pub async fn choose<N: Permission>(
    visitor: &Visitor<N>,
    (title, section): (&'static str, Section),
    path: fn(TeamId) -> String,
) -> PageResult<TeamSelection> {
    let access = visitor.team_access().await?;
    let is_limited = access != TeamAccess::AllTeams;
    let read = move |db: &Reader<'_>| {
        let filter = TeamFilter { status: Some(Status::Active), ..TeamFilter::default() };
        let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
        team::list(db, &access, &filter, &page)
    };
    let teams = visitor.read(read).await?;
    match &teams[..] {
        [only] => return Ok(TeamSelection::Team(only.id)),
        [] if is_limited => return Err(Error::forbidden().into()),
        _ => {}
    }
    let row = |team: Team| (team.look(), path(team.id), team.name);
    let teams = teams.into_iter().map(row).collect();
    let page = ChoosePage { frame: visitor.frame(title, section), teams };
    Ok(TeamSelection::Page(render(StatusCode::OK, &page)?))
}
