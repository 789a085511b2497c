//! The lines of the page on which a coach records attendance: the players of the team with their answers.

use super::sheet::{Entry, Sheet, Status};
use crate::events::event::Event;
use crate::events::rsvp::{Answer, BY_AWAY_DATE};
use crate::prelude::*;

row! {
    struct LineRow {
        member_id: MemberId,
        first_name: String,
        last_name: Option<String>,
        answer: Option<Answer>,
        answered_by: Option<String>,
        note: Option<String>,
    }
}

/// A player, their answer to the event, and their attendance if it was recorded.
#[derive(Debug, Clone)]
pub struct Line {
    pub member_id: MemberId,
    pub name: String,
    pub answer: Option<Answer>,
    /// Whether the answer was set because the player is away.
    pub is_away: bool,
    /// The note that came with the answer.
    pub answer_note: Option<String>,
    pub entry: Option<Entry>,
}

impl Line {
    /// The status that is filled in: the recorded one, or else what the answer says.
    pub fn suggestion(&self) -> Option<Status> {
        let from_answer = || match self.answer? {
            Answer::Yes => Some(Status::Present),
            Answer::No => Some(Status::Excused),
            Answer::Maybe | Answer::Waitlisted => None,
        };
        self.entry.as_ref().map(|entry| entry.status).or_else(from_answer)
    }
}

/// The active and injured players of the event's team, and everybody whose attendance is recorded, by name.
pub fn load(db: &Reader<'_>, event: &Event, sheet: &Sheet) -> Result<Vec<Line>> {
    let rows: Vec<LineRow> = db.all(
        "select m.id as member_id, coalesce(p.preferred_name, p.first_name) as first_name,
             p.last_name, r.answer, r.answered_by, r.note
         from member m
         join person p on p.account_id = m.account_id and p.id = m.person_id
         left join rsvp r on r.account_id = m.account_id and r.event_id = :event
             and r.member_id = m.id
         where m.account_id = :account and m.team_id = :team
           and (m.role = 'player' and m.status in ('active', 'injured') or exists (
               select 1 from attendance a
               where a.account_id = m.account_id and a.event_id = :event and a.member_id = m.id))
         order by p.name_folded, m.id",
        bind! { event: event.id, team: event.team_id },
    )?;
    let line = |row: LineRow| Line {
        member_id: row.member_id,
        name: [Some(row.first_name), row.last_name]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
        answer: row.answer,
        is_away: row.answered_by.as_deref() == Some(BY_AWAY_DATE),
        answer_note: row.note,
        entry: sheet.entries.iter().find(|entry| entry.member_id == row.member_id).cloned(),
    };
    Ok(rows.into_iter().map(line).collect())
}
