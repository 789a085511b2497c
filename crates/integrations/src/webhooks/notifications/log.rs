//! Reads the account's notification log for a client that can see a part of it.

use macros::query;

use super::super::actions;
use super::super::visibility::EventVisibility;
use super::api;
use crate::notification_kinds;
use crate::paging::LogPage;
use crate::prelude::*;
use crate::signals::{self, Notification};

/// The most notifications examined for one response, visible or not.
const MAX_EXAMINED: usize = 1_000;
/// A response stops growing after this many bytes.
const MAX_RESPONSE_BYTES: usize = 512 * 1024;
/// The minimum number of notifications read at once.
const MIN_BATCH: usize = 32;

/// Which notifications to return.
#[query(items = "notifications")]
#[derive(Clone, Default)]
pub struct Filter {
    /// Only notifications after this sequence number. 0 means from the oldest that is stored. Default: 0, and for a
    /// stream only new notifications.
    #[param(number(0, i64::MAX), schema(minimum = 0))]
    pub after: Option<i64>,
    /// Only these types, separated by commas, such as `team.created`, or `team.*` for all types of a group.
    #[param(name = "type", with(api::read_types))]
    pub kinds: Vec<String>,
    /// Only notifications about these teams, separated by commas.
    #[param(name = "team_id")]
    pub team_ids: Vec<TeamId>,
}

impl Filter {
    /// Whether a notification matches and the client can see it.
    fn matches(&self, visibility: &EventVisibility, notification: &Notification) -> bool {
        let Notification { kind, body, .. } = notification;
        (self.kinds.is_empty() || notification_kinds::any_pattern_matches(&self.kinds, kind))
            && visibility.can_see(kind, body)
    }
}

/// The matching notifications of a part of the log.
#[derive(Debug)]
pub struct LogScan {
    pub notifications: Vec<Notification>,
    /// The last sequence number that was examined.
    pub examined_to: i64,
    /// Whether the log has more after that.
    pub has_more: bool,
}

/// The part of the log to examine.
struct ScanRange {
    order: Order,
    /// Only sequence numbers greater than this.
    above: i64,
    /// Only sequence numbers less than this.
    below: i64,
    limit: usize,
}

/// A page of the log.
pub fn page(
    db: &Reader<'_>,
    visibility: &EventVisibility,
    filter: &Filter,
    page: &Page<i64>,
) -> Result<LogPage> {
    let limit = usize::try_from(page.limit).unwrap_or(MIN_BATCH);
    let start = filter.after.unwrap_or(0);
    let (above, below) = match page.order {
        Order::Asc => (page.last.unwrap_or(start), i64::MAX),
        Order::Desc => (start, page.last.unwrap_or(i64::MAX)),
    };
    let range = ScanRange { order: page.order, above, below, limit };
    let from_oldest = page.order == Order::Desc || page.last.is_none();
    if !(from_oldest && filter.after.unwrap_or(0) == 0) {
        check_stored(db, range.above)?;
    }
    let result = scan(db, visibility, filter, &range)?;
    let bodies = result.notifications.into_iter().map(|notification| notification.body).collect();
    Ok(LogPage { entries: bodies, last_sequence: result.examined_to, has_more: result.has_more })
}

/// The matching notifications after a sequence number. Fails if those right after it have been deleted.
pub fn notifications_after(
    db: &Reader<'_>,
    visibility: &EventVisibility,
    filter: &Filter,
    above: i64,
) -> Result<LogScan> {
    check_stored(db, above)?;
    let range = ScanRange { order: Order::Asc, above, below: i64::MAX, limit: MAX_EXAMINED };
    scan(db, visibility, filter, &range)
}

/// The position from which a stream gets everything that is stored.
pub fn start_position(db: &Reader<'_>) -> Result<i64> {
    Ok(actions::oldest_sequence(db)? - 1)
}

/// Fails if the notification after this sequence number has been deleted, or if the log has not reached this number. In
/// that case the client's number is from before a backup was restored, and it would miss new notifications.
pub fn check_stored(db: &Reader<'_>, after: i64) -> Result<()> {
    let next: Option<(i64,)> = db.optional(
        "select sequence from notification
         where account_id = :account and sequence > :after order by sequence limit 1",
        bind! { after },
    )?;
    match next {
        Some((oldest,)) if oldest - 1 > after => {
            let detail = format!(
                "Older notifications have been deleted. The oldest available sequence number is {oldest}. The operator \
                     of this server sets how long notifications are stored with TOUCHLINE_NOTIFICATION_RETENTION."
            );
            Err(Error::new(Code::Gone, detail))
        }
        Some(_) => Ok(()),
        // The newest notification is never deleted, so no row means that nothing came after this number.
        None => match signals::sequence(db)? {
            newest if newest < after => {
                let detail = format!(
                    "This sequence number does not exist yet. The newest sequence number is {newest}."
                );
                let fault = Fault::of_parameter("after", "out_of_range", detail.clone());
                Err(Error { faults: vec![fault], ..Error::new(Code::InvalidParameter, detail) })
            }
            _ => Ok(()),
        },
    }
}

/// Reads the log until the limit or the end is reached.
fn scan(
    db: &Reader<'_>,
    visibility: &EventVisibility,
    filter: &Filter,
    range: &ScanRange,
) -> Result<LogScan> {
    let until = if range.order == Order::Asc { range.above } else { range.below };
    let mut result = LogScan { notifications: Vec::new(), examined_to: until, has_more: false };
    let (mut examined, mut bytes) = (0, 0);
    loop {
        // One more than needed shows whether the log has more.
        let count = (range.limit - result.notifications.len() + 1).clamp(MIN_BATCH, 4 * MIN_BATCH);
        let rows = read(db, range, result.examined_to, count)?;
        let is_end = rows.len() < count;
        for notification in rows {
            if result.notifications.len() == range.limit
                || examined == MAX_EXAMINED
                || bytes > MAX_RESPONSE_BYTES
            {
                return Ok(LogScan { has_more: true, ..result });
            }
            examined += 1;
            result.examined_to = notification.sequence;
            if filter.matches(visibility, &notification) {
                bytes += notification.body.len();
                result.notifications.push(notification);
            }
        }
        if is_end {
            return Ok(result);
        }
    }
}

/// The next rows of a range.
fn read(db: &Reader<'_>, range: &ScanRange, until: i64, count: usize) -> Result<Vec<Notification>> {
    let limit = i64::try_from(count).unwrap_or(i64::MAX);
    if range.order == Order::Asc {
        return signals::notifications(db, until, limit);
    }
    let text = sql!(
        Notification::SELECT,
        " where account_id = :account and sequence > :above and sequence < :until
          order by sequence desc limit :limit"
    );
    Ok(db.all(text, bind! { above: range.above, until, limit })?)
}
