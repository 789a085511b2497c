//! Teams as options of a select field.

use crate::prelude::*;
use crate::teams::team::{self, Status, TeamFilter};

/// Maximum number of teams in a select field.
const MAX_TEAMS: i64 = 200;

/// The teams that match a filter: id and name.
pub fn list(db: &Reader<'_>, filter: &TeamFilter) -> Result<Vec<(TeamId, String)>> {
    let page = Page { limit: MAX_TEAMS, order: Order::Asc, last: None };
    let teams = team::list(db, &TeamAccess::AllTeams, filter, &page)?;
    Ok(teams.into_iter().map(|team| (team.id, team.name)).collect())
}

/// The active teams: id and name.
pub fn active(db: &Reader<'_>) -> Result<Vec<(TeamId, String)>> {
    list(db, &TeamFilter { status: Some(Status::Active), ..TeamFilter::default() })
}
