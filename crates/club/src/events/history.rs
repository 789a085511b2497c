//! The history of RSVPs, and members who have not answered.

use super::event::Event;
use super::rsvp::{self, Answer};
use crate::paging::page_sql;
use crate::prelude::*;
use crate::roster::membership::Role;

row! {
    /// An entry in the history of a member's RSVP.
    #[macros::object("rsvp_change")]
    #[derive(Debug, Clone, Serialize, ToSchema)]
    #[schema(as = RsvpHistoryEntry)]
    pub struct RsvpChange {
        pub event_id: EventId,
        pub member_id: MemberId,
        /// Number of the entry among the member's answers to this event, starting at 1.
        pub position: i64,
        /// The answer; `null` if it was withdrawn because the member left the team or is no longer away.
        pub answer: Option<Answer>,
        /// Note that came with the answer.
        pub note: Option<String>,
        /// ID of the person, user or key that answered; `away_date` if the member is away on that day.
        pub answered_by: String,
        /// When the answer was given.
        pub answered_at: Timestamp,
    }
}

paged_by!(RsvpChange, position: i64);

row! {
    /// A member who has not answered.
    #[macros::object("unanswered")]
    #[derive(Debug, Clone, Serialize, ToSchema)]
    #[schema(as = UnansweredMember)]
    pub struct UnansweredMember {
        #[serde(rename = "member_id")]
        pub id: MemberId,
        pub person_id: PersonId,
        /// Role on the team.
        pub role: Role,
        /// First name of the member.
        pub first_name: String,
        /// Last name of the member.
        pub last_name: Option<String>,
    }
}

impl_resource!(UnansweredMember by MemberId: Paged);

/// A page of a member's answers to an event, oldest first.
pub fn list(
    db: &Reader<'_>,
    event: EventId,
    member: MemberId,
    page: &Page<i64>,
) -> Result<Vec<RsvpChange>> {
    let (after, limit) = (page.after(0, i64::MAX), page.fetch_limit());
    let text = page_sql!(page, by "position", SELECT_HISTORY);
    Ok(db.all(text, bind! { event, member, after, limit })?)
}

const SELECT_HISTORY: &str =
    "select event_id, member_id, position, answer, note, answered_by, answered_at
    from rsvp_change where account_id = :account and event_id = :event and member_id = :member";

/// The latest entries of a member's answers to an event, newest first.
pub(super) fn list_latest(
    db: &Reader<'_>,
    event: EventId,
    member: MemberId,
    limit: i64,
) -> Result<Vec<RsvpChange>> {
    let text = sql!(SELECT_HISTORY, " order by position desc limit :limit");
    Ok(db.all(text, bind! { event, member, limit })?)
}

/// A page of the members who have not answered an event.
pub fn list_unanswered(
    db: &Reader<'_>,
    event: &Event,
    page: &Page<MemberId>,
) -> Result<Vec<UnansweredMember>> {
    if !event.rsvp_enabled {
        return Ok(Vec::new());
    }
    let (event, team) = (event.id, event.team_id);
    let (after, limit) = page.bounds();
    let text = page_sql!(page, by "m.id", SELECT_UNANSWERED);
    Ok(db.all(text, bind! { event, team, after, limit })?)
}

const SELECT_UNANSWERED: &str = "select m.id, m.person_id, m.role, p.first_name, p.last_name
    from member m join person p on p.account_id = m.account_id and p.id = m.person_id
    where m.account_id = :account and m.team_id = :team and m.status in ('active', 'injured')
      and not exists (select 1 from rsvp r
          where r.account_id = :account and r.event_id = :event and r.member_id = m.id)";

/// Whether anybody has ever answered one of these events. Answers that away dates have set do not count.
pub fn has_answers(db: &Reader<'_>, events: Vec<EventId>) -> Result<bool> {
    db.exists(
        "select 1 from rsvp_change
         where account_id = :account and event_id in (:events) and answered_by <> :away limit 1",
        bind! { events, away: rsvp::BY_AWAY_DATE },
    )
}
