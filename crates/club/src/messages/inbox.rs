//! The messages that a user has received or sent, as the pages list them: each conversation once, by its last message.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::listing::{self, MessageFilter, StatusFilter};
use super::message::{self, Kind, Message, MessageRecord};
use super::receipt;
use crate::accounts::roster_access::RosterAccess;
use crate::events::event_messages::{EventMessage, EventMessages};
use crate::paging::page_sql;
use crate::prelude::*;
use crate::roster::person;

/// Maximum number of scheduled messages in a list.
const MAX_SCHEDULED: i64 = 20;
/// How long a message that could not be published is listed.
const WITHHELD_SHOWN: Duration = Duration::from_secs(30 * 86_400);
/// Maximum number of messages about an event that are counted.
const MAX_OF_EVENT: i64 = 100;

/// Who looks at messages.
#[derive(Debug, Clone)]
pub struct Viewer {
    pub user: UserId,
    pub access: TeamAccess,
    /// The positions on the rosters, which admins have too.
    pub roster: RosterAccess,
}

impl Viewer {
    /// The ids that messages of the viewer have as their author.
    fn author_ids(&self) -> Vec<String> {
        let own = self.roster.own_person_ids.iter().map(ToString::to_string);
        own.chain([self.user.to_string()]).collect()
    }

    /// Whether the viewer wrote a message.
    pub fn is_author(&self, message: &Message) -> bool {
        self.author_ids().contains(&message.author.id)
    }

    /// The people for whom the viewer reads messages: themselves, and dependents who do not sign in.
    fn readers(&self, db: &Reader<'_>) -> Result<Vec<PersonId>> {
        let dependents = person::find_many(db, self.roster.dependent_ids.clone())?.into_values();
        let dependents = dependents.filter(|one| one.user_id.is_none()).map(|one| one.id);
        Ok(self.roster.own_person_ids.iter().copied().chain(dependents).collect())
    }
}

/// Filters of the list.
#[derive(Debug, Clone, Copy, Default)]
pub struct InboxFilter {
    /// Only messages of this team.
    pub team: Option<TeamId>,
    /// Also messages that the viewer neither received nor sent, if they have full access to the team.
    pub all_of_team: bool,
    pub kind: Option<Kind>,
    /// Only messages that the viewer has not read.
    pub unread: bool,
    pub pinned: Option<bool>,
}

/// An announcement, or the last message of a conversation.
#[derive(Debug)]
pub struct InboxRow {
    pub message: Message,
    /// The subject of the conversation.
    pub subject: Option<String>,
    /// Whether the viewer has not read it or an earlier message of the conversation.
    pub is_unread: bool,
}

impl Paged for InboxRow {
    type SortKey = (Timestamp, MessageId);

    fn sort_key(&self) -> Self::SortKey {
        self.message.sort_key()
    }
}

/// A page of messages, most recent first.
pub fn list(
    db: &Reader<'_>,
    viewer: &Viewer,
    filter: &InboxFilter,
    page: &Page<(Timestamp, MessageId)>,
) -> Result<Vec<InboxRow>> {
    let InboxFilter { team, kind, unread, pinned, .. } = *filter;
    let all = filter.all_of_team && team.is_some_and(|team| viewer.access.has_full_access(team));
    let (narrowed, teams) = viewer.access.team_filter();
    let (own, family) = (viewer.roster.own_person_ids.clone(), viewer.roster.family_person_ids());
    let authors = viewer.author_ids();
    let authors: Vec<_> = authors.iter().map(String::as_str).collect();
    let least = (Timestamp::from_micros(i64::MIN), MessageId::MIN);
    let greatest = (Timestamp::from_micros(i64::MAX), MessageId::MAX);
    let (after, after_id) = page.after(least, greatest);
    let limit = page.fetch_limit();
    let text = if all {
        page_sql!(page, by("listed_at", "id"), SELECT, OF_TEAM)
    } else {
        page_sql!(page, by("listed_at", "id"), SELECT, OF_VIEWER)
    };
    let records: Vec<MessageRecord> = db.all(
        text,
        bind! { narrowed, teams, team, kind, unread, pinned, all, own, family, authors, after,
        after_id, limit },
    )?;
    rows(db, viewer, records)
}

const SELECT: &str = sql!(MessageRecord::SELECT, FILTER);
/// A conversation is listed by the last message that the viewer may see, and by its pinned messages.
const FILTER: &str = "
    where account_id = :account
      and published_at is not null
      and (not cast(:narrowed as boolean) or team_id in (:teams))
      and (cast(:team as bytea) is null or team_id = :team)
      and (cast(:kind as text) is null or kind = :kind)
      and (cast(:pinned as boolean) is null or pinned = :pinned)
      and (not cast(:unread as boolean) or status = 'published' and exists (
              select 1 from receipt r
              where r.account_id = message.account_id and r.message_id = message.id
                and r.person_id in (:own) and r.read_at is null))
      and (pinned or not exists (
              select 1 from message later
              where later.account_id = message.account_id and later.thread_id = message.thread_id
                and later.published_at is not null
                and (later.listed_at, later.id) > (message.listed_at, message.id)
                and (cast(:all as boolean) or later.author_id in (:authors) or exists (
                        select 1 from receipt r
                        where r.account_id = later.account_id and r.message_id = later.id
                          and r.person_id in (:family)))))";
const OF_TEAM: &str = " and team_id = :team";
const OF_VIEWER: &str = "
      and id in (select message_id from receipt
                 where account_id = :account and person_id in (:family)
                 union
                 select id from message where account_id = :account and author_id in (:authors))";

/// The rows of these messages.
fn rows(db: &Reader<'_>, viewer: &Viewer, records: Vec<MessageRecord>) -> Result<Vec<InboxRow>> {
    let threads: Vec<_> = records.iter().map(|one| one.thread_id).collect();
    let first: Vec<(MessageId, Option<String>)> = db.all(
        "select id, subject from message
         where account_id = :account and id in (:threads) and status <> 'retracted'",
        bind! { threads: threads.clone() },
    )?;
    let subjects: BTreeMap<_, _> = first.into_iter().collect();
    let unread = receipt::unread_threads(db, viewer.roster.own_person_ids.clone(), threads)?;
    let messages = message::with_authors(db, &viewer.access, records)?;
    let row = |message: Message| InboxRow {
        subject: subjects.get(&message.thread_id).cloned().flatten(),
        is_unread: unread.contains(&message.thread_id),
        message,
    };
    Ok(messages.into_iter().map(row).collect())
}

/// The scheduled messages that the viewer may change, the next one first.
pub fn list_scheduled(
    db: &Reader<'_>,
    viewer: &Viewer,
    team_id: Option<TeamId>,
) -> Result<Vec<InboxRow>> {
    let status = Some(StatusFilter::Scheduled);
    let filter = MessageFilter { team_id, status, ..MessageFilter::default() };
    let page = Page { limit: MAX_SCHEDULED, order: Order::Asc, last: None };
    let messages = listing::list(db, &viewer.access, &filter, &page)?;
    Ok(messages.into_iter().map(unlisted_row).collect())
}

/// The latest scheduled messages that could not be published, for those who may manage them.
pub fn list_withheld(
    db: &Reader<'_>,
    viewer: &Viewer,
    team_id: Option<TeamId>,
) -> Result<Vec<InboxRow>> {
    let status = Some(StatusFilter::Retracted);
    let filter = MessageFilter { team_id, status, ..MessageFilter::default() };
    let page = Page { limit: MAX_SCHEDULED, order: Order::Desc, last: None };
    let messages = listing::list(db, &viewer.access, &filter, &page)?.into_iter();
    let since = db.now().minus(WITHHELD_SHOWN);
    let is_shown = |message: &Message| {
        message.withheld_reason.is_some() && message.retracted_at.is_some_and(|at| at > since)
    };
    Ok(messages.filter(is_shown).map(unlisted_row).collect())
}

/// The row of a message without receipts.
fn unlisted_row(message: Message) -> InboxRow {
    InboxRow { subject: message.subject.clone(), is_unread: false, message }
}

/// Marks the messages of a conversation as read, for the viewer and for dependents who do not sign in.
pub fn mark_read(tx: &Tx<'_>, viewer: &Viewer, thread: MessageId) -> Result<()> {
    for (message, person) in unread_receipts(tx, viewer, thread)? {
        receipt::mark_read(tx, &viewer.access, (message, person), &IfMatch::Absent)?;
    }
    Ok(())
}

/// The messages of a conversation that the viewer has not read, each with the person who received it.
pub fn unread_receipts(
    db: &Reader<'_>,
    viewer: &Viewer,
    thread: MessageId,
) -> Result<Vec<(MessageId, PersonId)>> {
    let readers = viewer.readers(db)?;
    Ok(db.all(
        "select receipt.message_id, receipt.person_id from receipt
         join message on message.account_id = receipt.account_id
                     and message.id = receipt.message_id
         where receipt.account_id = :account and receipt.person_id in (:readers)
           and receipt.read_at is null and message.thread_id = :thread
           and message.status = 'published'",
        bind! { readers, thread },
    )?)
}

/// The latest messages about an event that a reader may see.
pub(super) fn of_event(
    db: &Reader<'_>,
    access: &TeamAccess,
    roster: &RosterAccess,
    event: EventId,
    limit: usize,
) -> Result<EventMessages> {
    let filter = MessageFilter {
        event_id: Some(event),
        status: Some(StatusFilter::Posted),
        ..MessageFilter::default()
    };
    let page = Page { limit: MAX_OF_EVENT - 1, order: Order::Desc, last: None };
    let messages = listing::list(db, access, &filter, &page)?;
    let ids = messages.iter().map(|message| message.id).collect();
    let unread = receipt::unread(db, roster.own_person_ids.clone(), ids)?;
    let shown = messages.iter().take(limit).rev();
    Ok(EventMessages {
        latest: shown.map(|message| event_message(message, &unread)).collect(),
        count: messages.len(),
        unread: unread.len(),
    })
}

fn event_message(message: &Message, unread: &BTreeSet<MessageId>) -> EventMessage {
    EventMessage {
        id: message.id,
        subject: message.subject.clone(),
        body_html: message.body_html.clone(),
        author: message.author.name.clone(),
        published_at: message.published_at.unwrap_or(message.created_at),
        is_unread: unread.contains(&message.id),
    }
}
