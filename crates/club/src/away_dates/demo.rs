//! An away date of the demo club: one player is away for a week.

use super::away_date::{self, NewAwayDate};
use crate::demo_club::DemoClub;
use crate::prelude::*;
use crate::roster::demo::DemoTeam;
use crate::roster::person;

/// Adds the away dates.
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    let Some(demo) = club.get::<Vec<DemoTeam>>()?.first() else { return Ok(()) };
    let Some(player) = demo.roster.first() else { return Ok(()) };
    let today = person::today(tx.now());
    let (Some(starts_on), Some(ends_on)) = (today.plus_days(18), today.plus_days(24)) else {
        return Ok(());
    };
    let new = NewAwayDate { starts_on, ends_on, note: Some("Visiting grandparents".to_owned()) };
    let access = TeamAccess::AllTeams;
    away_date::create(tx, &access, player.person_id, &IfMatch::Absent, new).map(drop)
}
