//! The attendance of the demo club: at the practices and games of the last four weeks.

use super::sheet::{self, NewEntries, NewEntry, Status};
use crate::demo_club::DemoClub;
use crate::events::event::{self, EventFilter, EventView};
use crate::events::rsvp::{self, Answer, RsvpFilter};
use crate::prelude::*;
use crate::roster::demo::DemoTeam;
use crate::roster::member::Member;
use crate::roster::membership::Role;

const WEEKS: u64 = 4;

/// Records the attendance of all teams.
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    club.get::<Vec<DemoTeam>>()?.iter().try_for_each(|demo| record_past(tx, demo))
}

fn record_past(tx: &Tx<'_>, demo: &DemoTeam) -> Result<()> {
    let weeks = std::time::Duration::from_secs(WEEKS * 7 * 86_400);
    let filter = EventFilter {
        team_id: Some(demo.team.id),
        from: Some(tx.now().minus(weeks)),
        to: Some(tx.now().minus(std::time::Duration::from_secs(2 * 3600))),
        ..EventFilter::default()
    };
    let page = Page { limit: 100, order: Order::Asc, last: None };
    let past = event::list(tx, &TeamAccess::AllTeams, &filter, &page)?;
    let takes_place = |past: &EventView| past.event.status != event::Status::Cancelled;
    for (index, past) in past.into_iter().filter(takes_place).enumerate() {
        let entries = entries(tx, past.event.id, &demo.roster, index)?;
        let (access, new) = (TeamAccess::AllTeams, NewEntries { entries });
        sheet::record(tx, &access, past.event.id, &IfMatch::Absent, new)?;
    }
    Ok(())
}

/// Most players do what they answered; a few are late or do not come.
fn entries(
    tx: &Tx<'_>,
    event: EventId,
    roster: &[Member],
    event_index: usize,
) -> Result<Vec<NewEntry>> {
    let page = Page { limit: 100, order: Order::Asc, last: None };
    let answers = rsvp::list(tx, event, &RsvpFilter::default(), &page)?;
    let players = roster.iter().filter(|member| member.role == Role::Player).enumerate();
    let entry = |(index, member): (usize, &Member)| {
        let answer = answers.iter().find(|answer| answer.member_id == member.id);
        let seed = event_index * 7 + index * 3;
        let status = match (answer.map(|answer| answer.answer), seed % 13) {
            (Some(Answer::No), _) => Status::Excused,
            (Some(Answer::Yes), 4) | (_, 1) => Status::Late,
            (Some(Answer::Yes), _) => Status::Present,
            (_, 0 | 5 | 9) => Status::Absent,
            _ => Status::Present,
        };
        let note =
            (status == Status::Late && seed.is_multiple_of(2)).then(|| "Bus was late".to_owned());
        NewEntry { member_id: member.id, status, note }
    };
    Ok(players.map(entry).collect())
}
