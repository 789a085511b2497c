//! An excerpt of an account's log, read once for several webhooks that have come about as far in it.

use store::Reader;

use crate::error::Result;
use crate::signals::{self, Notification};
use crate::webhooks::outcome::Parcel;

/// As much as is held in memory for one webhook, unless a single notification is larger.
const HEAVY: usize = 256 * 1024;
/// As much of the log as is held in memory for several webhooks of an account while it is looked what they want.
const REMEMBERED: usize = 4 * HEAVY;

/// A notification as it stands in the log, and as it is sent to whoever wants it.
type News = (Notification, Parcel);

pub(super) struct Excerpt {
    /// The last number of the log that is looked at.
    until: i64,
    /// It begins after this number, and was read up to that.
    after: i64,
    reached: i64,
    all: Vec<News>,
    /// How much that is.
    weight: usize,
    /// Whether nothing more can be read.
    ended: bool,
    /// Whether the log goes on all the same.
    more: bool,
}

impl Excerpt {
    pub(super) fn new(until: i64) -> Self {
        let (all, weight) = (Vec::new(), 0);
        Self { until, after: 0, reached: 0, all, weight, ended: false, more: false }
    }

    /// What comes after a number: as many as that, unless it is too much to be held at once; and whether there is more.
    pub(super) fn after(
        &mut self,
        db: &Reader<'_>,
        seen: i64,
        many: i64,
    ) -> Result<(&[News], bool)> {
        if seen >= self.until {
            return Ok((&[], false));
        }
        if seen < self.after || seen > self.reached {
            *self = Self { after: seen, reached: seen, ..Self::new(self.until) };
        }
        let most = usize::try_from(many).unwrap_or_default();
        loop {
            let first = self.all.partition_point(|(news, _)| news.sequence <= seen);
            let (count, room) = fitting(&self.all[first..], most);
            if !room || self.ended {
                let last = first + count;
                let more = last < self.all.len() || !self.ended || self.more;
                return Ok((&self.all[first..last], more));
            }
            self.forget(first);
            self.read_on(db, many)?;
        }
    }

    /// Makes room, if need be, by leaving out so many of the first.
    fn forget(&mut self, most: usize) {
        if self.weight > REMEMBERED
            && let Some((last, _)) = self.all[..most].last()
        {
            self.after = last.sequence;
            self.weight -= weight(&self.all[..most]);
            self.all.drain(..most);
        }
    }

    fn read_on(&mut self, db: &Reader<'_>, many: i64) -> Result<()> {
        let found = signals::notifications(db, self.reached, many)?;
        let full = i64::try_from(found.len()).is_ok_and(|found| found >= many);
        // What happened later is looked at the next time, as the webhooks may want other things by then.
        let (now, later): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|news| news.sequence <= self.until);
        self.reached = now.last().map_or(self.reached, |news| news.sequence);
        self.more = !later.is_empty();
        self.ended = self.more || !full || self.reached >= self.until;
        let read = now.into_iter().map(|news| {
            let parcel = Parcel::from(&news);
            (news, parcel)
        });
        let before = self.all.len();
        self.all.extend(read);
        self.weight += weight(&self.all[before..]);
        Ok(())
    }
}

fn weight(news: &[News]) -> usize {
    news.iter().map(|(news, _)| news.body.len()).sum()
}

/// How many of these can be held at once, and whether there is room for more.
fn fitting(news: &[News], most: usize) -> (usize, bool) {
    let mut weight = 0;
    let held = news.iter().take(most).take_while(|(news, _)| {
        let fits = weight < HEAVY;
        weight += if fits { news.body.len() } else { 0 };
        fits
    });
    let count = held.count();
    (count, count < most && weight < HEAVY)
}
