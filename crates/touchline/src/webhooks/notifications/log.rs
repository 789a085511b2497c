//! Looking through the account's log of notifications for somebody who may see a part of it.

use store::{Reader, bind, sql};

use super::super::asking;
use super::super::ears::Ears;
use super::super::kinds;
use crate::error::{Code, Error, Result};
use crate::ids::TeamId;
use crate::paging::{Order, Page, Stretch};
use crate::signals::{self, Notification};

/// How many numbers of the log are looked at for one answer, seen or not.
const LOOKED_AT: usize = 1_000;
/// No answer becomes much larger than this, in bytes.
const LARGE: usize = 512 * 1024;
/// How many are read together, at least.
const STEP: usize = 32;

/// What of the log is wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// What comes after this number; `None` for everything that is kept.
    pub after: Option<i64>,
    /// A kind such as `team.created`, or `team.*`.
    pub kind: Option<String>,
    pub team_id: Option<TeamId>,
}

impl Filter {
    /// Whether this is wanted and may be told.
    fn takes(&self, ears: &Ears, news: &Notification) -> bool {
        let kind = self.kind.as_ref();
        kind.is_none_or(|wish| kinds::means(wish, &news.kind)) && ears.hear(&news.kind, &news.body)
    }
}

/// What was found of the log, as far as it was looked through.
#[derive(Debug)]
pub struct Found {
    pub news: Vec<Notification>,
    /// The last number that was looked at.
    pub until: i64,
    /// Whether the log goes on.
    pub more: bool,
}

/// Which way and how far to look.
struct Way {
    order: Order,
    /// Above this number, and below that.
    above: i64,
    below: i64,
    limit: usize,
}

/// A page of what one may hear.
pub fn page(db: &Reader<'_>, ears: &Ears, filter: &Filter, page: &Page<i64>) -> Result<Stretch> {
    let limit = usize::try_from(page.limit).unwrap_or(STEP);
    let mut way =
        Way { order: page.order, above: filter.after.unwrap_or(0), below: i64::MAX, limit };
    match (page.order, page.last) {
        (Order::Asc, Some(last)) => way.above = last,
        (Order::Desc, Some(last)) => way.below = last,
        (_, None) => {}
    }
    let from_oldest = page.order == Order::Desc || page.last.is_none();
    if !(from_oldest && filter.after.is_none()) {
        is_kept(db, way.above)?;
    }
    let found = walk(db, ears, filter, &way)?;
    let bodies = found.news.into_iter().map(|news| news.body).collect();
    Ok(Stretch { found: bodies, until: found.until, more: found.more })
}

/// What comes after a number, as far as one may hear it; fails when that is no longer kept.
pub fn after(db: &Reader<'_>, ears: &Ears, filter: &Filter, above: i64) -> Result<Found> {
    is_kept(db, above)?;
    walk(db, ears, filter, &Way { order: Order::Asc, above, below: i64::MAX, limit: LOOKED_AT })
}

/// Where a stream begins that wants everything that is kept.
pub fn beginning(db: &Reader<'_>) -> Result<i64> {
    Ok(asking::oldest(db)? - 1)
}

/// Fails when what comes right after this number is no longer kept, or when the log has not come so far: whoever
/// remembers more than there is remembers a log from before a backup was restored, and would miss what comes.
pub fn is_kept(db: &Reader<'_>, after: i64) -> Result<()> {
    let next: Option<(i64,)> = db.maybe(
        "select sequence from notification
         where account_id = :account and sequence > :after order by sequence limit 1",
        bind! { after },
    )?;
    match next {
        Some((oldest,)) if oldest - 1 > after => {
            let detail = format!(
                "The log begins with number {oldest}. The operator of this server sets how long it is kept with \
                     TOUCHLINE_NEWS_KEPT."
            );
            Err(Error::new(Code::Gone, detail))
        }
        Some(_) => Ok(()),
        // The newest is always kept, so nothing at all means that nothing came after.
        None => match signals::sequence(db)? {
            newest if newest < after => {
                let detail =
                    format!("The log ends with number {newest}; nothing has come after that yet.");
                Err(Error::new(Code::InvalidParameter, detail))
            }
            _ => Ok(()),
        },
    }
}

/// Looks through the log until there is enough.
fn walk(db: &Reader<'_>, ears: &Ears, filter: &Filter, way: &Way) -> Result<Found> {
    let until = if way.order == Order::Asc { way.above } else { way.below };
    let mut found = Found { news: Vec::new(), until, more: false };
    let (mut looked, mut size) = (0, 0);
    loop {
        // One more than wanted tells whether the log goes on.
        let step = (way.limit - found.news.len() + 1).clamp(STEP, 4 * STEP);
        let rows = read(db, way, found.until, step)?;
        let last = rows.len() < step;
        for news in rows {
            if found.news.len() == way.limit || looked == LOOKED_AT || size > LARGE {
                return Ok(Found { more: true, ..found });
            }
            looked += 1;
            found.until = news.sequence;
            if filter.takes(ears, &news) {
                size += news.body.len();
                found.news.push(news);
            }
        }
        if last {
            return Ok(found);
        }
    }
}

/// The next rows on the way.
fn read(db: &Reader<'_>, way: &Way, until: i64, step: usize) -> Result<Vec<Notification>> {
    let limit = i64::try_from(step).unwrap_or(i64::MAX);
    if way.order == Order::Asc {
        return signals::notifications(db, until, limit);
    }
    Ok(db.all(
        sql!(
            Notification::SELECT,
            " where account_id = :account and sequence > :above and sequence < :until
              order by sequence desc limit :limit"
        ),
        bind! { above: way.above, until, limit },
    )?)
}
