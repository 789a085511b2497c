//! What members answered over time, and who has not answered at all.

use kit::Timestamp;
use serde::Serialize;
use store::{Reader, bind, row, sql};
use utoipa::ToSchema;

use super::event::Event;
use super::rsvp::Answer;
use crate::error::Result;
use crate::ids::{EventId, MemberId, PersonId};
use crate::paging::{Order, Page, Paged};

row! {
    /// An answer as it once was.
    #[derive(Debug, Clone, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "rsvp_change")]
    pub struct Answered {
        pub event_id: EventId,
        pub member_id: MemberId,
        /// Counts the member's answers to this event, from 1.
        pub position: i64,
        /// `null` where the answer was taken back because the member left.
        pub answer: Option<Answer>,
        pub note: Option<String>,
        /// Who answered.
        pub answered_by: String,
        pub answered_at: Timestamp,
    }
}

impl Paged for Answered {
    type Place = i64;

    fn place(&self) -> i64 {
        self.position
    }
}

row! {
    /// A member whose answer is missing.
    #[derive(Debug, Clone, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "unanswered")]
    pub struct Unanswered {
        #[serde(rename = "member_id")]
        pub id: MemberId,
        pub person_id: PersonId,
        #[schema(examples("player"))]
        pub role: String,
        pub first_name: String,
        pub last_name: Option<String>,
    }
}

impl Paged for Unanswered {
    type Place = MemberId;

    fn place(&self) -> MemberId {
        self.id
    }
}

/// A page of everything a member answered to an event, oldest first.
pub fn list(
    db: &Reader<'_>,
    event: EventId,
    member: MemberId,
    page: &Page<i64>,
) -> Result<Vec<Answered>> {
    let (after, limit) = (page.after(0, i64::MAX), page.fetch());
    let text = match page.order {
        Order::Asc => sql!(ANSWERED, " and position > :after order by position limit :limit"),
        Order::Desc => sql!(ANSWERED, " and position < :after order by position desc limit :limit"),
    };
    Ok(db.all(text, bind! { event, member, after, limit })?)
}

const ANSWERED: &str =
    "select event_id, member_id, position, answer, note, answered_by, answered_at
    from rsvp_change where account_id = :account and event_id = :event and member_id = :member";

/// A page of the members who could answer an event and have not.
pub fn unanswered(
    db: &Reader<'_>,
    event: &Event,
    page: &Page<MemberId>,
) -> Result<Vec<Unanswered>> {
    if !event.asks_rsvp {
        return Ok(Vec::new());
    }
    let (event, team) = (event.id, event.team_id);
    let (after, limit) = (page.after(MemberId::LEAST, MemberId::GREATEST), page.fetch());
    let text = match page.order {
        Order::Asc => sql!(SILENT, " and m.id > :after order by m.id limit :limit"),
        Order::Desc => sql!(SILENT, " and m.id < :after order by m.id desc limit :limit"),
    };
    Ok(db.all(text, bind! { event, team, after, limit })?)
}

const SILENT: &str = "select m.id, m.person_id, m.role, p.first_name, p.last_name
    from member m join person p on p.account_id = m.account_id and p.id = m.person_id
    where m.account_id = :account and m.team_id = :team and m.status in ('active', 'injured')
      and not exists (select 1 from rsvp r
          where r.account_id = :account and r.event_id = :event and r.member_id = m.id)";
