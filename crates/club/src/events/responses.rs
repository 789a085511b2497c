//! Who comes to an event: all members who are asked, with their answers.

use super::event::Event;
use super::rsvp::{self, Answer};
use crate::prelude::*;
use crate::roster::membership::Role;

row! {
    /// A member with their answer to an event.
    #[derive(Debug, Clone)]
    pub struct Response {
        pub member_id: MemberId,
        pub person_id: PersonId,
        pub role: Role,
        pub first_name: String,
        pub last_name: Option<String>,
        pub preferred_name: Option<String>,
        pub answer: Option<Answer>,
        pub note: Option<String>,
        /// The order on the waiting list.
        pub place: Option<i64>,
        pub answered_by: Option<String>,
        pub answered_at: Option<Timestamp>,
    }
}

impl Response {
    /// The name that the person prefers, and the last name.
    pub fn name(&self) -> String {
        match &self.last_name {
            Some(last) => format!("{} {last}", self.first_name()),
            None => self.first_name().to_owned(),
        }
    }

    /// Whether the answer comes from the dates on which the person is away.
    pub fn is_away(&self) -> bool {
        self.answered_by.as_deref() == Some(rsvp::BY_AWAY_DATE)
    }

    /// The first name, or the name that the person prefers.
    pub fn first_name(&self) -> &str {
        self.preferred_name.as_ref().unwrap_or(&self.first_name)
    }
}

/// Everybody who is asked to come to an event or has answered it, by name. Those on the waiting list are in its order.
/// Families see all answers, but the notes and who answered only of their own family.
pub fn list(db: &Reader<'_>, access: &TeamAccess, event: &Event) -> Result<Vec<Response>> {
    let (id, team) = (event.id, event.team_id);
    let mut responses: Vec<Response> = db.all(
        "select m.id as member_id, m.person_id, m.role, p.first_name, p.last_name,
                p.preferred_name, r.answer, r.note, r.place, r.answered_by, r.answered_at
         from member m
         join person p on p.account_id = m.account_id and p.id = m.person_id
         left join rsvp r on r.account_id = m.account_id and r.event_id = :id
             and r.member_id = m.id
         where m.account_id = :account and m.team_id = :team and p.erased_at is null
           and (m.status in ('active', 'injured') or r.answer is not null)
         order by p.name_folded, m.id",
        bind! { id, team },
    )?;
    for response in &mut responses {
        if access.check_person(team, response.person_id).is_err() {
            (response.note, response.answered_by) = (None, None);
        }
    }
    responses.sort_by_key(|response| response.place);
    Ok(responses)
}
