//! Lists of messages, narrowed to what somebody wants to see.

use kit::{Timestamp, words};
use store::{Reader, bind, sql};

use super::message::{self, Kind, Message, Status, Stored};
use crate::accounts::rights::Reach;
use crate::error::{Code, Result};
use crate::ids::{MessageId, PersonId, TeamId};
use crate::paging::{Order, Page};

words! {
    /// Which messages to list, by where they stand.
    pub enum Standing {
        /// Everything that was published, also what was retracted since.
        Posted = "posted",
        Published = "published",
        Scheduled = "scheduled",
        Retracted = "retracted",
    }
}

/// Which messages to list.
#[derive(Debug, Default)]
pub struct MessageFilter {
    pub team_id: Option<TeamId>,
    pub kind: Option<Kind>,
    pub parent_id: Option<MessageId>,
    pub thread_id: Option<MessageId>,
    /// `None` is every status.
    pub standing: Option<Standing>,
    pub pinned: Option<bool>,
    /// Only what reached this person.
    pub person_id: Option<PersonId>,
    /// Only what the person has not read yet, or has.
    pub unread: Option<bool>,
}

/// A page of messages, by when they were published or are to be.
pub fn list(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &MessageFilter,
    page: &Page<(Timestamp, MessageId)>,
) -> Result<Vec<Message>> {
    let MessageFilter { team_id, kind, parent_id, pinned, person_id, unread, .. } = filter;
    team_id.map_or(Ok(()), |team| reach.check(team))?;
    let thread_id = match (filter.thread_id, parent_id) {
        // Replies are found by their conversation, which has an order of its own.
        (None, Some(parent)) => match message::stored(db, reach, *parent) {
            Ok(parent) => Some(parent.thread_id),
            Err(error) if error.code == Code::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        },
        (thread, _) => thread,
    };
    let (posted, status) = match filter.standing {
        Some(Standing::Posted) => (true, None),
        Some(Standing::Published) => (false, Some(Status::Published)),
        Some(Standing::Scheduled) => (false, Some(Status::Scheduled)),
        Some(Standing::Retracted) => (false, Some(Status::Retracted)),
        None => (false, None),
    };
    let reach = person_id.map_or_else(|| Ok(reach.clone()), |person| reach.around(person))?;
    let (narrowed, teams) = reach.narrowing();
    let ((open, leads), (own, family)) = (reach.opening(), reach.kin());
    let least = (Timestamp::from_micros(i64::MIN), MessageId::LEAST);
    let greatest = (Timestamp::from_micros(i64::MAX), MessageId::GREATEST);
    let (after, after_id) = page.after(least, greatest);
    let limit = page.fetch();
    let rows = db.all(
        text(page.order, person_id.is_some(), thread_id.is_some(), team_id.is_some()),
        bind! { narrowed, teams, open, leads, own, family, team_id, kind, parent_id, thread_id, posted, status, pinned,
        person_id, unread, after, after_id, limit },
    )?;
    message::all_shown(db, &reach, rows)
}

/// The statement whose narrowest filter an index answers.
fn text(order: Order, person: bool, thread: bool, team: bool) -> &'static str {
    match (order, person, thread, team) {
        (Order::Asc, true, ..) => sql!(Stored::SELECT, FILTER, OF_PERSON, ASCENDING),
        (Order::Desc, true, ..) => sql!(Stored::SELECT, FILTER, OF_PERSON, DESCENDING),
        (Order::Asc, _, true, _) => sql!(Stored::SELECT, FILTER, OF_THREAD, ASCENDING),
        (Order::Desc, _, true, _) => sql!(Stored::SELECT, FILTER, OF_THREAD, DESCENDING),
        (Order::Asc, _, _, true) => sql!(Stored::SELECT, FILTER, OF_TEAM, ASCENDING),
        (Order::Desc, _, _, true) => sql!(Stored::SELECT, FILTER, OF_TEAM, DESCENDING),
        (Order::Asc, ..) => sql!(Stored::SELECT, FILTER, ASCENDING),
        (Order::Desc, ..) => sql!(Stored::SELECT, FILTER, DESCENDING),
    }
}

const FILTER: &str = "
    where account_id = :account
      and (not cast(:narrowed as boolean) or team_id in (:teams))
      and (cast(:open as boolean) or team_id in (:leads) or author_person_id in (:own)
           or exists (select 1 from receipt r
                      where r.account_id = message.account_id and r.message_id = message.id
                        and r.person_id in (:family)))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (cast(:kind as text) is null or kind = :kind)
      and (cast(:parent_id as bytea) is null or parent_id = :parent_id)
      and (cast(:thread_id as bytea) is null or thread_id = :thread_id)
      and (cast(:status as text) is null or status = :status)
      and (not cast(:posted as boolean) or published_at is not null)
      and (cast(:pinned as boolean) is null or pinned = :pinned)";
const OF_PERSON: &str = "
      and id in (select message_id from receipt
                 where account_id = :account and person_id = :person_id
                   and (cast(:unread as boolean) is null or (read_at is null) = :unread))";
const OF_THREAD: &str = " and thread_id = :thread_id";
const OF_TEAM: &str = " and team_id = :team_id";
const ASCENDING: &str =
    " and (listed_at, id) > (:after, :after_id) order by listed_at, id limit :limit";
const DESCENDING: &str =
    " and (listed_at, id) < (:after, :after_id) order by listed_at desc, id desc limit :limit";
