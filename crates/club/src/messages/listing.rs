//! Lists of messages with filters.

use kit::string_enum;
use macros::query;

use super::message::{self, Kind, Message, MessageRecord, Status};
use crate::paging::page_sql;
use crate::prelude::*;

string_enum! {
    /// Filter by status.
    pub enum StatusFilter {
        /// Published messages, including those that were retracted later.
        Posted = "posted",
        Published = "published",
        Scheduled = "scheduled",
        Retracted = "retracted",
    }
}

/// Filters for listing messages.
#[query(items = "messages", order = Desc, check = super::api::check_filter)]
#[derive(Default)]
pub struct MessageFilter {
    /// Only objects of these teams, separated by commas; at most 50.
    #[param(several(team_ids))]
    pub team_id: Option<TeamId>,
    /// Only messages of these teams; empty if there are fewer than two.
    #[param(skip)]
    pub team_ids: Vec<TeamId>,
    /// Only announcements, or only messages in conversations.
    pub kind: Option<Kind>,
    /// Only replies to this message.
    pub parent_id: Option<MessageId>,
    /// Only the conversation that starts with this message.
    pub thread_id: Option<MessageId>,
    /// Only messages about this event.
    pub event_id: Option<EventId>,
    /// Filter by status: `posted` (default; published messages, including those retracted later), `published`,
    /// `scheduled`, `retracted` or `all`.
    #[param(or_all(StatusFilter::Posted))]
    pub status: Option<StatusFilter>,
    /// Only pinned messages (`true`) or only messages that are not pinned (`false`).
    pub pinned: Option<bool>,
    pub updated_since: Option<Timestamp>,
    /// Only messages that this person received.
    pub person_id: Option<PersonId>,
    /// Only messages that the person has not read (`true`) or has read (`false`). Requires `person_id`.
    pub unread: Option<bool>,
}

/// A page of messages, sorted by the time of publication.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &MessageFilter,
    page: &Page<(Timestamp, MessageId)>,
) -> Result<Vec<Message>> {
    let MessageFilter { team_id, kind, parent_id, event_id, pinned, person_id, unread, .. } =
        filter;
    let (team_ids, updated_since) = (&filter.team_ids, filter.updated_since);
    access.check_filter(*team_id, team_ids)?;
    let several_teams = !team_ids.is_empty();
    let thread_id = match (filter.thread_id, parent_id) {
        // Replies are read by their thread, which has an index.
        (None, Some(parent)) => match message::find_record(db, access, *parent).or_none()? {
            Some(parent) => Some(parent.thread_id),
            None => return Ok(Vec::new()),
        },
        (thread, _) => thread,
    };
    let (posted, status) = match filter.status {
        Some(StatusFilter::Posted) => (true, None),
        Some(StatusFilter::Published) => (false, Some(Status::Published)),
        Some(StatusFilter::Scheduled) => (false, Some(Status::Scheduled)),
        Some(StatusFilter::Retracted) => (false, Some(Status::Retracted)),
        None => (false, None),
    };
    let access = person_id
        .map_or_else(|| Ok(access.clone()), |person| access.for_private_data_of(person))?;
    let (narrowed, teams) = access.team_filter();
    let ((open, leads), (own, family)) = (access.full_access_filter(), access.own_and_family_ids());
    let least = (Timestamp::from_micros(i64::MIN), MessageId::MIN);
    let greatest = (Timestamp::from_micros(i64::MAX), MessageId::MAX);
    let (after, after_id) = page.after(least, greatest);
    let limit = page.fetch_limit();
    // The statement for the most selective filter that has an index.
    let text = match (person_id, thread_id, event_id, team_id) {
        (Some(_), ..) => page_sql!(page, by("listed_at", "id"), SELECT, OF_PERSON),
        (_, Some(_), ..) => page_sql!(page, by("listed_at", "id"), SELECT, OF_THREAD),
        (_, _, Some(_), _) => page_sql!(page, by("listed_at", "id"), SELECT, OF_EVENT),
        (_, _, _, Some(_)) => page_sql!(page, by("listed_at", "id"), SELECT, OF_TEAM),
        _ => page_sql!(page, by("listed_at", "id"), SELECT),
    };
    let rows = db.all(
        text,
        bind! { narrowed, teams, open, leads, own, family, team_id, several_teams, team_ids, kind, parent_id, thread_id,
        event_id, posted, status, pinned, updated_since, person_id, unread, after, after_id, limit },
    )?;
    message::with_authors(db, &access, rows)
}

const SELECT: &str = sql!(MessageRecord::SELECT, FILTER);
const FILTER: &str = "
    where account_id = :account
      and (not cast(:narrowed as boolean) or team_id in (:teams))
      and (cast(:open as boolean) or team_id in (:leads) or author_person_id in (:own)
           or exists (select 1 from receipt r
                      where r.account_id = message.account_id and r.message_id = message.id
                        and r.person_id in (:family)))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (not cast(:several_teams as boolean) or team_id in (:team_ids))
      and (cast(:kind as text) is null or kind = :kind)
      and (cast(:parent_id as bytea) is null or parent_id = :parent_id)
      and (cast(:thread_id as bytea) is null or thread_id = :thread_id)
      and (cast(:event_id as bytea) is null or event_id = :event_id)
      and (cast(:status as text) is null or status = :status)
      and (not cast(:posted as boolean) or published_at is not null)
      and (cast(:pinned as boolean) is null or pinned = :pinned)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)";
const OF_PERSON: &str = "
      and id in (select message_id from receipt
                 where account_id = :account and person_id = :person_id
                   and (cast(:unread as boolean) is null or (read_at is null) = :unread))";
const OF_THREAD: &str = " and thread_id = :thread_id";
const OF_EVENT: &str = " and event_id = :event_id";
const OF_TEAM: &str = " and team_id = :team_id";
