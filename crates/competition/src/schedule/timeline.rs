//! The free time of a venue.

/// A time span in microseconds, from `start` up to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Span {
    pub(super) const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether two spans overlap that are not empty.
    pub(super) const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    pub(super) const fn widen(self, by: i64) -> Self {
        Self { start: self.start.saturating_sub(by), end: self.end.saturating_add(by) }
    }

    const fn is_long_enough(self, length: i64) -> bool {
        self.start.saturating_add(length) <= self.end
    }
}

/// The free time of a venue, as spans in order in which at least one game fits. Games that have a place, and
/// blackouts, are left out or not.
#[derive(Debug)]
pub(super) struct Timeline {
    length: i64,
    /// The time between two games.
    pause: i64,
    /// Without games and blackouts, without games, without blackouts, everything.
    free: [Vec<Span>; 4],
}

impl Timeline {
    /// The windows may overlap.
    pub(super) fn new(windows: Vec<Span>, blackouts: &[Span], length: i64, pause: i64) -> Self {
        let mut all = merge_spans(windows);
        all.retain(|span| span.is_long_enough(length));
        let mut without_blackouts = all.clone();
        for blackout in blackouts {
            subtract(&mut without_blackouts, *blackout, length);
        }
        let free = [without_blackouts.clone(), all.clone(), without_blackouts, all];
        Self { length, pause, free }
    }

    /// The free spans.
    pub(super) fn free(&self, ignore_games: bool, ignore_blackouts: bool) -> &[Span] {
        &self.free[usize::from(ignore_games) * 2 + usize::from(ignore_blackouts)]
    }

    /// Takes the time of a game and the breaks around it.
    pub(super) fn occupy(&mut self, game: Span) {
        let taken = game.widen(self.pause);
        subtract(&mut self.free[0], taken, self.length);
        subtract(&mut self.free[1], taken, self.length);
    }
}

/// The spans in order, with those that overlap or touch as one.
fn merge_spans(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| !span.is_empty());
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// Removes a span, which is not empty, from ordered spans. Keeps only what is long enough.
fn subtract(spans: &mut Vec<Span>, taken: Span, length: i64) {
    let first = spans.partition_point(|span| span.end <= taken.start);
    let last = spans.partition_point(|span| span.start < taken.end);
    let parts: Vec<Span> = spans[first..last]
        .iter()
        .flat_map(|span| [Span { end: taken.start, ..*span }, Span { start: taken.end, ..*span }])
        .filter(|part| !part.is_empty() && part.is_long_enough(length))
        .collect();
    spans.splice(first..last, parts);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(spans: &[(i64, i64)]) -> Vec<Span> {
        spans.iter().map(|&(start, end)| Span { start, end }).collect()
    }

    #[test]
    fn overlapping_windows_count_once() {
        let timeline = Timeline::new(spans(&[(20, 30), (0, 10), (5, 20), (40, 30)]), &[], 5, 0);
        assert_eq!(timeline.free(false, false), spans(&[(0, 30)]));
    }

    #[test]
    fn games_take_their_time_and_the_breaks() {
        let blackouts = spans(&[(90, 95)]);
        let mut timeline = Timeline::new(spans(&[(0, 100), (200, 205)]), &blackouts, 10, 5);
        timeline.occupy(Span { start: 20, end: 30 });
        assert_eq!(timeline.free(false, false), spans(&[(0, 15), (35, 90)]));
        timeline.occupy(Span { start: 40, end: 50 });
        assert_eq!(timeline.free(false, false), spans(&[(0, 15), (55, 90)]));
        assert_eq!(timeline.free(false, true), spans(&[(0, 15), (55, 100)]));
        assert_eq!(timeline.free(true, false), spans(&[(0, 90)]));
        assert_eq!(timeline.free(true, true), spans(&[(0, 100)]));
    }
}
