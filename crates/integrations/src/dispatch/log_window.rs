//! A window of an account's log, read once for several webhooks that are at about the same position.

use store::Reader;

use crate::error::Result;
use crate::signals::{self, Notification};
use crate::webhooks::outcome::OutgoingMessage;

/// The most bytes held in memory for one webhook, unless a single notification is larger.
const MAX_BATCH_BYTES: usize = 256 * 1024;
/// The most bytes of the log held in memory while several webhooks of an account are planned.
const MAX_WINDOW_BYTES: usize = 4 * MAX_BATCH_BYTES;

/// A notification as it is in the log, and as it is sent to webhooks.
type LogEntry = (Notification, OutgoingMessage);

/// Part of an account's log, in memory.
#[derive(Default)]
pub(super) struct LogWindow {
    /// The last sequence number that may be read.
    end: i64,
    /// The window starts after this sequence number.
    start: i64,
    /// The last sequence number that was read.
    read_to: i64,
    entries: Vec<LogEntry>,
    /// The total size of the bodies, in bytes.
    bytes: usize,
    /// Whether everything up to the end was read.
    is_exhausted: bool,
    /// Whether the log has entries after the end.
    has_more_after_end: bool,
}

impl LogWindow {
    pub(super) fn new(until: i64) -> Self {
        Self { end: until, ..Self::default() }
    }

    /// Up to `limit` entries after a sequence number, fewer if they are too large together, and whether the log has
    /// more.
    pub(super) fn entries_after(
        &mut self,
        db: &Reader<'_>,
        position: i64,
        limit: i64,
    ) -> Result<(&[LogEntry], bool)> {
        if position >= self.end {
            return Ok((&[], false));
        }
        if position < self.start || position > self.read_to {
            *self = Self { start: position, read_to: position, ..Self::new(self.end) };
        }
        let max_count = usize::try_from(limit).unwrap_or_default();
        loop {
            let first = self.entries.partition_point(|(entry, _)| entry.sequence <= position);
            let (count, has_room) = fitting_prefix(&self.entries[first..], max_count);
            if !has_room || self.is_exhausted {
                let last = first + count;
                let is_end = last == self.entries.len() && self.is_exhausted;
                let has_more = !is_end || self.has_more_after_end;
                return Ok((&self.entries[first..last], has_more));
            }
            self.evict(first);
            self.read_more(db, limit)?;
        }
    }

    /// Drops the first `count` entries if the window has become too large.
    fn evict(&mut self, count: usize) {
        if self.bytes > MAX_WINDOW_BYTES
            && let Some((last, _)) = self.entries[..count].last()
        {
            self.start = last.sequence;
            self.bytes -= total_bytes(&self.entries[..count]);
            self.entries.drain(..count);
        }
    }

    fn read_more(&mut self, db: &Reader<'_>, limit: i64) -> Result<()> {
        let rows = signals::notifications(db, self.read_to, limit)?;
        let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= limit);
        // Entries after the end are left for the next plan: the webhooks may have other subscriptions by then.
        let (within, beyond): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.sequence <= self.end);
        self.read_to = within.last().map_or(self.read_to, |row| row.sequence);
        self.has_more_after_end = !beyond.is_empty();
        self.is_exhausted = self.has_more_after_end || !is_full || self.read_to >= self.end;
        let before = self.entries.len();
        self.entries.extend(within.into_iter().map(|row| {
            let message = OutgoingMessage::from(&row);
            (row, message)
        }));
        self.bytes += total_bytes(&self.entries[before..]);
        Ok(())
    }
}

fn total_bytes(entries: &[LogEntry]) -> usize {
    entries.iter().map(|(entry, _)| entry.body.len()).sum()
}

/// How many of the first entries fit into memory for one webhook, and whether there is room for more.
fn fitting_prefix(entries: &[LogEntry], max_count: usize) -> (usize, bool) {
    let mut bytes = 0;
    let prefix = entries.iter().take(max_count).take_while(|(entry, _)| {
        let fits = bytes < MAX_BATCH_BYTES;
        bytes += if fits { entry.body.len() } else { 0 };
        fits
    });
    let count = prefix.count();
    (count, count < max_count && bytes < MAX_BATCH_BYTES)
}
