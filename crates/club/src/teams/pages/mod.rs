//! The pages of teams: the list, and the forms to create, edit, archive and restore a team.

mod archive;
pub mod choose;
mod color_picker;
mod form;
pub mod header;
mod list;

use crate::accounts::permissions::AdminArea;
use crate::prelude::*;
use crate::web::prelude::*;

/// The list of teams.
const TEAMS: &str = "/teams";

/// Routes of the team pages.
pub fn router() -> Router<App> {
    Router::new()
        .route("/teams", get(list::show))
        .route("/teams/new", get(form::new).post(form::create))
        .route("/teams/{team}/edit", get(form::edit).post(form::save))
        .route("/teams/{team}/archive", get(archive::confirm_archiving).post(archive::archive))
        .route("/teams/{team}/restore", get(archive::confirm_restoring).post(archive::restore))
        .route("/admin/teams", get(redirect_from_admin))
        .route("/admin/teams/new", get(redirect_from_admin))
}

/// The pages of teams were in the admin area.
async fn redirect_from_admin(visitor: Visitor<AdminArea>) -> PageResult {
    let path = &visitor.guest.path_and_query;
    Ok(see_other(path.strip_prefix("/admin").unwrap_or(TEAMS)))
}

/// The path of a team.
fn team_path(id: TeamId) -> String {
    format!("{TEAMS}/{id}")
}
