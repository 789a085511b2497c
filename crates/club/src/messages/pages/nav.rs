//! The main menu of a visitor.

use std::collections::BTreeSet;

use crate::files::pages;
use crate::messages::menu::{self, MenuTeam};
use crate::prelude::*;
use crate::roster::access;
use crate::web::nav::{Nav, NavTeam};
use crate::web::team_look::TeamLook;

/// The main menu of a user.
pub fn load(db: &Reader<'_>, user: UserId, is_admin: bool) -> Result<Nav> {
    let roster_access = access::for_user(db, user)?;
    let own: BTreeSet<TeamId> = roster_access.visible_team_ids.iter().copied().collect();
    let team = |team: MenuTeam| NavTeam {
        look: TeamLook::new(team.id, &team.name, team.color.as_deref())
            .with_logo(team.logo_file_id.map(pages::thumbnail_url)),
        is_own: own.contains(&team.id),
        id: team.id,
        name: team.name,
    };
    Ok(Nav {
        teams: menu::teams(db, &own, is_admin)?.into_iter().map(team).collect(),
        unread: menu::count_unread(db, &roster_access)?,
        is_staff: !roster_access.managed_team_ids.is_empty(),
    })
}
