//! Places games one after the other, each as early as possible.

use std::collections::BTreeMap;

use super::game::{Game, Source, Stage};
use super::placement::{
    Placement, PlacementRequest, Placer, Plan, Unplaced, UnplacedReason, Window,
};
use super::timeline::{Span, Timeline};
use kit::Timestamp;

/// Places games in the order of their numbers, each at the earliest time and there at the first venue. Later games
/// fill the gaps that earlier ones leave.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstFit;

impl Placer for FirstFit {
    fn place(&self, request: &PlacementRequest<'_>) -> Plan {
        let mut state = State::new(request);
        let mut plan = Plan::default();
        let fixed: BTreeMap<u32, &Placement> =
            request.fixed.iter().map(|placement| (placement.game, placement)).collect();
        let mut games: Vec<&Game> = request.games.iter().collect();
        games.sort_by_key(|game| game.number);
        for game in &games {
            if let Some(placement) = fixed.get(&game.number) {
                state.occupy(game, placement.venue, placement.starts_at.micros());
            }
        }
        let open = |game: &&Game| {
            !fixed.contains_key(&game.number) && !game.sources().contains(&Source::Bye)
        };
        for game in games.into_iter().filter(open) {
            match state.find(game) {
                Ok((venue, start)) => {
                    state.occupy(game, venue, start);
                    let starts_at = Timestamp::from_micros(start);
                    plan.placed.push(Placement { game: game.number, venue, starts_at });
                }
                Err(reason) => {
                    state.mark_unplaced(game);
                    plan.unplaced.push(Unplaced { game: game.number, reason });
                }
            }
        }
        plan
    }
}

/// When games end that others have to wait for.
#[derive(Debug, Clone, Copy)]
enum End {
    At(i64),
    /// A game has no place, so that its end is unknown.
    Unknown,
}

impl End {
    /// The end of the one that ends later.
    fn latest(self, other: Self) -> Self {
        match (self, other) {
            (Self::At(one), Self::At(other)) => Self::At(one.max(other)),
            _ => Self::Unknown,
        }
    }
}

/// What other games wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Milestone {
    Game(u32),
    Group(u32),
    AllGroups,
    SwissRound(u32),
}

/// When a game may start, apart from the venues.
#[derive(Debug)]
struct Bounds {
    earliest: i64,
    /// Spans that the game must not overlap.
    blocked: Vec<Span>,
}

struct State<'a> {
    request: &'a PlacementRequest<'a>,
    length: i64,
    rest: i64,
    /// The free time of each venue.
    venues: Vec<Timeline>,
    ends: BTreeMap<Milestone, End>,
    /// The placed games of each entry, with their numbers.
    games_of_entry: BTreeMap<usize, Vec<(u32, Span)>>,
}

/// Constraints that are ignored to find the reason why a game has no place.
#[derive(Debug, Clone, Copy, Default)]
struct Ignored {
    other_games: bool,
    blackouts: bool,
    rest: bool,
}

impl<'a> State<'a> {
    fn new(request: &'a PlacementRequest<'a>) -> Self {
        let length = micros(request.game_minutes);
        let blackouts: Vec<Span> = blackouts_of(request, None).collect();
        let timeline = |windows: &[Window]| {
            let windows = windows.iter().map(|window| span_of(*window)).collect();
            Timeline::new(windows, &blackouts, length, micros(request.break_minutes))
        };
        Self {
            request,
            length,
            rest: micros(request.rest_minutes),
            venues: request.venues.iter().map(|venue| timeline(&venue.windows)).collect(),
            ends: BTreeMap::new(),
            games_of_entry: BTreeMap::new(),
        }
    }

    /// The venue and the earliest start of a game.
    fn find(&self, game: &Game) -> Result<(usize, i64), UnplacedReason> {
        let fits = |ignored: Ignored| -> Option<(usize, i64)> {
            let bounds = self.bounds(game, ignored)?;
            let venues = self.venues.iter().enumerate();
            let starts = venues.filter_map(|(venue, timeline)| {
                let free = timeline.free(ignored.other_games, ignored.blackouts);
                Some((earliest_start(free, self.length, &bounds)?, venue))
            });
            starts.min().map(|(start, venue)| (venue, start))
        };
        let nothing = Ignored::default();
        if let Some(found) = fits(nothing) {
            return Ok(found);
        }
        if self.venues.iter().all(|timeline| timeline.free(true, true).is_empty()) {
            return Err(UnplacedReason::NoWindowLongEnough);
        }
        if self.bounds(game, nothing).is_none() {
            return Err(UnplacedReason::EarlierGameUnplaced);
        }
        // One constraint alone is the best explanation, then two together.
        let attempts = [
            (Ignored { other_games: true, ..nothing }, UnplacedReason::NoFreeField),
            (Ignored { blackouts: true, ..nothing }, UnplacedReason::Blackout),
            (Ignored { rest: true, ..nothing }, UnplacedReason::RestTime),
            (Ignored { blackouts: false, other_games: true, rest: true }, UnplacedReason::RestTime),
            (Ignored { blackouts: true, other_games: true, rest: true }, UnplacedReason::Blackout),
        ];
        let reason = attempts.into_iter().find(|(ignored, _)| fits(*ignored).is_some());
        Err(reason.map_or(UnplacedReason::NoTimeLeft, |(_, reason)| reason))
    }

    /// When a game may start. `None` if a game that has to be played before has no place.
    fn bounds(&self, game: &Game, ignored: Ignored) -> Option<Bounds> {
        let rest = if ignored.rest { 0 } else { self.rest };
        let mut bounds = Bounds { earliest: i64::MIN, blocked: Vec::new() };
        for milestone in milestones_before(game) {
            match self.ends.get(&milestone) {
                Some(End::At(end)) => bounds.wait_until(end.saturating_add(rest)),
                Some(End::Unknown) => return None,
                None => {}
            }
        }
        for entry in entries(game) {
            for (number, span) in self.games_of_entry.get(&entry).into_iter().flatten() {
                if *number < game.number {
                    bounds.wait_until(span.end.saturating_add(rest));
                } else {
                    bounds.blocked.push(span.widen(rest));
                }
            }
            if !ignored.blackouts {
                bounds.blocked.extend(blackouts_of(self.request, Some(entry)));
            }
        }
        Some(bounds)
    }

    fn occupy(&mut self, game: &Game, venue: usize, start: i64) {
        let span = Span { start, end: start.saturating_add(self.length) };
        if let Some(timeline) = self.venues.get_mut(venue) {
            timeline.occupy(span);
        }
        for entry in entries(game) {
            self.games_of_entry.entry(entry).or_default().push((game.number, span));
        }
        self.set_end(game, End::At(span.end));
    }

    fn mark_unplaced(&mut self, game: &Game) {
        self.set_end(game, End::Unknown);
    }

    fn set_end(&mut self, game: &Game, end: End) {
        for milestone in milestones_of(game) {
            let known = self.ends.get(&milestone).copied();
            self.ends.insert(milestone, known.map_or(end, |known| known.latest(end)));
        }
    }
}

impl Bounds {
    fn wait_until(&mut self, time: i64) {
        self.earliest = self.earliest.max(time);
    }
}

/// What a game is part of.
fn milestones_of(game: &Game) -> Vec<Milestone> {
    let mut milestones = vec![Milestone::Game(game.number)];
    match (game.stage, game.group) {
        (Stage::Group, Some(group)) => {
            milestones.extend([Milestone::Group(group), Milestone::AllGroups]);
        }
        (Stage::Swiss, _) => milestones.push(Milestone::SwissRound(game.round)),
        _ => {}
    }
    milestones
}

/// What has to be finished before a game.
fn milestones_before(game: &Game) -> Vec<Milestone> {
    let of_source = |source| match source {
        Source::Winner(number) | Source::Loser(number) => Some(Milestone::Game(number)),
        Source::GroupRank { group, .. } => Some(Milestone::Group(group)),
        Source::BestRanked { .. } => Some(Milestone::AllGroups),
        Source::Entry(_) | Source::Bye => None,
    };
    let mut milestones: Vec<Milestone> = game.sources().into_iter().filter_map(of_source).collect();
    if game.stage == Stage::Swiss && game.round > 1 {
        milestones.push(Milestone::SwissRound(game.round - 1));
    }
    milestones
}

/// The entries that certainly play a game.
fn entries(game: &Game) -> impl Iterator<Item = usize> {
    game.sources().into_iter().filter_map(|source| match source {
        Source::Entry(entry) => Some(entry),
        _ => None,
    })
}

/// The earliest start of a game in one of these free spans, which are in order.
fn earliest_start(free: &[Span], length: i64, bounds: &Bounds) -> Option<i64> {
    let first = free.partition_point(|span| span.end < bounds.earliest.saturating_add(length));
    for span in &free[first..] {
        let mut start = span.start.max(bounds.earliest);
        while start.saturating_add(length) <= span.end {
            let game = Span { start, end: start.saturating_add(length) };
            let blocked = bounds.blocked.iter().filter(|blocked| blocked.overlaps(game));
            match blocked.map(|blocked| blocked.end).max() {
                Some(end) => start = end,
                None => return Some(start),
            }
        }
    }
    None
}

fn micros(minutes: u32) -> i64 {
    i64::from(minutes) * 60_000_000
}

/// The blackouts of an entry, or those for everyone.
fn blackouts_of(
    request: &PlacementRequest<'_>,
    entry: Option<usize>,
) -> impl Iterator<Item = Span> {
    let blackouts = request.blackouts.iter().filter(move |blackout| blackout.entry == entry);
    blackouts.map(|blackout| span_of(blackout.window)).filter(|span| !span.is_empty())
}

fn span_of(window: Window) -> Span {
    Span { start: window.starts_at.micros(), end: window.ends_at.micros() }
}
