//! What the main menu shows: the visitor's teams, and the number of unread messages.

use std::collections::BTreeSet;

use crate::accounts::roster_access::RosterAccess;
use crate::prelude::*;

row! {
    /// A team in the menu.
    pub struct MenuTeam {
        pub id: TeamId,
        pub name: String,
        pub color: Option<String>,
        pub logo_file_id: Option<FileId>,
    }
}

/// The teams of the user and their family by name, and for admins also the other active teams, up to a limit.
pub fn teams(db: &Reader<'_>, own: &BTreeSet<TeamId>, is_admin: bool) -> Result<Vec<MenuTeam>> {
    let mut teams = own_teams(db, own)?;
    if is_admin {
        let others: Vec<MenuTeam> = db.all(
            "select id, name, color, logo_file_id from team
             where account_id = :account and status = 'active' order by id limit 100",
            bind! {},
        )?;
        teams.extend(others.into_iter().filter(|team| !own.contains(&team.id)));
    }
    Ok(teams)
}

fn own_teams(db: &Reader<'_>, own: &BTreeSet<TeamId>) -> Result<Vec<MenuTeam>> {
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let own: Vec<_> = own.iter().copied().collect();
    Ok(db.all(
        "select id, name, color, logo_file_id from team
         where account_id = :account and id in (:own) order by name_folded, id",
        bind! { own },
    )?)
}

/// The number of messages that the user has received and not read.
pub fn count_unread(db: &Reader<'_>, roster_access: &RosterAccess) -> Result<i64> {
    let own = roster_access.own_person_ids.clone();
    if own.is_empty() {
        return Ok(0);
    }
    let (count,): (i64,) = db.one(
        "select count(distinct r.message_id) from receipt r
         join message m on m.account_id = r.account_id and m.id = r.message_id
         where r.account_id = :account and r.person_id in (:own) and r.read_at is null
           and m.status = 'published'",
        bind! { own },
    )?;
    Ok(count)
}
