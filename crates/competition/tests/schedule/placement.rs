//! Plans keep all constraints, and say why a game has no place.

use std::collections::{BTreeMap, BTreeSet};

use competition::schedule::{
    Blackout, BracketOptions, FirstFit, Game, Placement, PlacementRequest, Placer, Plan,
    Qualifiers, Source, Stage, SwissEntry, UnplacedReason, Venue, Window, double_elimination,
    group_games, knockout, league, pair_next_round, single_elimination, swiss_games,
};
use kit::Timestamp;
use proptest::prelude::*;

use super::entries;

const MINUTE: i64 = 60_000_000;

fn at(minute: i64) -> Timestamp {
    Timestamp::from_micros(minute * MINUTE)
}

fn window(start: i64, end: i64) -> Window {
    Window { starts_at: at(start), ends_at: at(end) }
}

fn venue(windows: &[(i64, i64)]) -> Venue {
    Venue { windows: windows.iter().map(|&(start, end)| window(start, end)).collect() }
}

fn minute(time: Timestamp) -> i64 {
    time.micros() / MINUTE
}

/// A tournament with its constraints.
#[derive(Debug, Clone)]
struct Setup {
    games: Vec<Game>,
    venues: Vec<Venue>,
    blackouts: Vec<Blackout>,
    fixed: Vec<Placement>,
    minutes: [u32; 3],
}

impl Setup {
    /// Games of 60 minutes without break and rest.
    fn new(games: Vec<Game>, venues: Vec<Venue>) -> Self {
        Self { games, venues, blackouts: Vec::new(), fixed: Vec::new(), minutes: [60, 0, 0] }
    }

    fn place(&self) -> Plan {
        let [game_minutes, break_minutes, rest_minutes] = self.minutes;
        FirstFit.place(&PlacementRequest {
            games: &self.games,
            venues: &self.venues,
            blackouts: &self.blackouts,
            fixed: &self.fixed,
            game_minutes,
            break_minutes,
            rest_minutes,
        })
    }

    fn reasons(&self) -> Vec<UnplacedReason> {
        self.place().unplaced.iter().map(|unplaced| unplaced.reason).collect()
    }

    /// The venue and the start of each placed game, in minutes.
    fn starts(&self) -> Vec<(usize, i64)> {
        self.place().placed.iter().map(|p| (p.venue, minute(p.starts_at))).collect()
    }

    /// Checks all constraints, each by comparing every game with every other one.
    fn check(&self, plan: &Plan) {
        let mut found: Vec<u32> = plan.placed.iter().map(|placement| placement.game).collect();
        found.extend(plan.unplaced.iter().map(|unplaced| unplaced.game));
        found.sort_unstable();
        let needed = self.games.iter().filter(|game| game.away != Source::Bye);
        assert_eq!(found, needed.map(|game| game.number).collect::<Vec<_>>());
        let game: BTreeMap<u32, &Game> =
            self.games.iter().map(|game| (game.number, game)).collect();
        for placement in &plan.placed {
            self.check_times(placement, game[&placement.game]);
            for other in plan.placed.iter().filter(|other| other.game != placement.game) {
                self.check_pair((placement, game[&placement.game]), (other, game[&other.game]));
            }
        }
    }

    fn check_times(&self, placement: &Placement, game: &Game) {
        let start = minute(placement.starts_at);
        let end = start + i64::from(self.minutes[0]);
        let windows = &self.venues[placement.venue].windows;
        let mut covered = start;
        while covered < end {
            let window = windows.iter().find(|window| {
                minute(window.starts_at) <= covered && covered < minute(window.ends_at)
            });
            covered =
                minute(window.unwrap_or_else(|| panic!("{placement:?} has no window")).ends_at);
        }
        for Blackout { window, entry } in &self.blackouts {
            let is_empty = window.ends_at <= window.starts_at;
            let overlaps =
                !is_empty && minute(window.starts_at) < end && start < minute(window.ends_at);
            let concerns = entry.is_none_or(|entry| game.sources().contains(&Source::Entry(entry)));
            assert!(!(overlaps && concerns), "{placement:?} is in a blackout");
        }
    }

    fn check_pair(&self, (first, game): (&Placement, &Game), (second, later): (&Placement, &Game)) {
        let [length, pause, rest] = self.minutes.map(i64::from);
        let gap = minute(second.starts_at) - minute(first.starts_at) - length;
        if first.venue == second.venue && first.starts_at <= second.starts_at {
            assert!(gap >= pause, "{first:?} and {second:?} are too close at the venue");
        }
        let depends = later.sources().iter().any(|source| match *source {
            Source::Winner(number) | Source::Loser(number) => number == game.number,
            Source::GroupRank { group, .. } => game.group == Some(group),
            Source::BestRanked { .. } => game.stage == Stage::Group,
            Source::Entry(_) => game.number < later.number && game.sources().contains(source),
            Source::Bye => false,
        });
        let next_round = later.stage == Stage::Swiss && game.round < later.round;
        if depends || next_round {
            assert!(gap >= rest, "{second:?} starts too early after {first:?}");
        }
    }
}

fn swiss(count: usize, rounds: u32) -> Vec<Game> {
    let standings: Vec<SwissEntry> =
        entries(count).into_iter().map(|entry| SwissEntry { entry, score: 0 }).collect();
    let (mut history, mut games) = (Vec::new(), Vec::new());
    for number in 1..=rounds {
        if let Ok(round) = pair_next_round(&standings, &history) {
            games.extend(swiss_games(&round, number, rounds, games.len() as u32 + 1));
            history.push(round);
        }
    }
    games
}

fn groups_and_knockout(count: usize) -> Vec<Game> {
    let all = entries(count);
    let groups: Vec<Vec<usize>> = all.chunks(count.div_ceil(3).max(2)).map(<[_]>::to_vec).collect();
    if groups.iter().any(|group| group.len() < 2) {
        return league(&all, 1).unwrap();
    }
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    let mut games = group_games(&groups, 1).unwrap();
    let options = BracketOptions { third_place: true, consolation: true };
    let number = games.len() as u32 + 1;
    games.extend(knockout(&sizes, Qualifiers::usual(&sizes), options, number).unwrap());
    games
}

fn tournaments() -> impl Strategy<Value = Vec<Game>> {
    (0..5u8, 2..=14usize).prop_map(|(format, count)| {
        let options = BracketOptions { third_place: true, consolation: true };
        match format {
            0 => league(&entries(count), 2).unwrap(),
            1 => single_elimination(&entries(count), options).unwrap(),
            2 => double_elimination(&entries(count)).unwrap(),
            3 => swiss(count, 4),
            _ => groups_and_knockout(count),
        }
    })
}

fn setups() -> impl Strategy<Value = Setup> {
    let span = (0..3000i64, -20..900i64).prop_map(|(start, length)| (start, start + length));
    let blackouts = (span.clone(), prop::option::of(0..14usize))
        .prop_map(|((start, end), entry)| Blackout { window: window(start, end), entry });
    let venues = prop::collection::vec(prop::collection::vec(span, 0..5), 0..4)
        .prop_map(|venues| venues.iter().map(|windows| venue(windows)).collect());
    let minutes = (1..120u32, 0..30u32, 0..200u32);
    (tournaments(), venues, prop::collection::vec(blackouts, 0..3), minutes).prop_map(
        |(games, venues, blackouts, (game, pause, rest))| Setup {
            games,
            venues,
            blackouts,
            fixed: Vec::new(),
            minutes: [game, pause, rest],
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn plans_keep_all_constraints(setup in setups()) {
        let plan = setup.place();
        setup.check(&plan);
        prop_assert_eq!(plan, setup.place());
    }

    #[test]
    fn with_enough_time_every_game_has_a_place(games in tournaments(), rest in 0..500u32) {
        let mut setup = Setup::new(games, vec![venue(&[(0, 1_000_000)])]);
        setup.minutes[2] = rest;
        let plan = setup.place();
        prop_assert_eq!(&plan.unplaced, &[]);
        setup.check(&plan);
    }

    #[test]
    fn fixed_games_keep_their_place(mut setup in setups(), kept in 0..10usize) {
        let plan = setup.place();
        setup.fixed = plan.placed.iter().copied().take(kept).collect();
        let mut again = setup.place();
        prop_assert!(again.placed.iter().all(|placement| !setup.fixed.contains(placement)));
        again.placed.splice(0..0, setup.fixed.iter().copied());
        again.placed.sort_by_key(|placement| placement.game);
        setup.check(&again);
    }
}

#[test]
fn games_are_placed_at_the_earliest_time_and_venue() {
    let mut setup = Setup::new(league(&entries(4), 1).unwrap(), vec![venue(&[(0, 600)]); 2]);
    assert_eq!(setup.starts(), [(0, 0), (1, 0), (0, 60), (1, 60), (0, 120), (1, 120)]);
    setup.minutes = [60, 10, 30];
    assert_eq!(setup.starts(), [(0, 0), (1, 0), (0, 90), (1, 90), (0, 180), (1, 180)]);
    setup.blackouts = vec![Blackout { window: window(30, 100), entry: Some(0) }];
    // Entry 0 plays in games 1, 4 and 6.
    assert_eq!(setup.starts()[0], (0, 100));
}

#[test]
fn a_window_shorter_than_a_game_is_of_no_use() {
    let games = league(&entries(2), 1).unwrap();
    let reasons = |venues| Setup::new(games.clone(), venues).reasons();
    assert_eq!(reasons(vec![]), [UnplacedReason::NoWindowLongEnough]);
    assert_eq!(reasons(vec![venue(&[])]), [UnplacedReason::NoWindowLongEnough]);
    assert_eq!(reasons(vec![venue(&[(0, 59)])]), [UnplacedReason::NoWindowLongEnough]);
    assert_eq!(reasons(vec![venue(&[(0, 30), (30, 60)])]), []);
}

#[test]
fn reasons_name_the_constraint() {
    let two_legs = league(&entries(2), 2).unwrap();
    let mut setup = Setup::new(two_legs, vec![venue(&[(0, 120)])]);
    assert_eq!(setup.reasons(), []);
    setup.minutes = [60, 1, 0];
    assert_eq!(setup.reasons(), [UnplacedReason::NoFreeField]);
    setup.minutes = [60, 0, 10_000];
    assert_eq!(setup.reasons(), [UnplacedReason::RestTime]);
    setup.minutes = [60, 0, 0];
    setup.blackouts = vec![Blackout { window: window(60, 61), entry: Some(1) }];
    assert_eq!(setup.reasons(), [UnplacedReason::Blackout]);
    setup.blackouts[0].entry = None;
    assert_eq!(setup.reasons(), [UnplacedReason::Blackout]);
    setup.blackouts.clear();
    setup.venues = vec![venue(&[(0, 60)]); 2];
    assert_eq!(setup.reasons(), [UnplacedReason::NoTimeLeft]);
}

#[test]
fn games_keep_away_from_later_ones_that_are_fixed() {
    let mut setup = Setup::new(league(&entries(2), 2).unwrap(), vec![venue(&[(0, 600)]); 2]);
    setup.minutes = [60, 0, 30];
    setup.fixed = vec![Placement { game: 2, venue: 1, starts_at: at(80) }];
    assert_eq!(setup.starts(), [(0, 170)]);
    setup.fixed[0].starts_at = at(90);
    assert_eq!(setup.starts(), [(0, 0)]);
}

#[test]
fn empty_windows_mean_nothing() {
    let mut setup = Setup::new(league(&entries(2), 1).unwrap(), vec![venue(&[(90, 80), (0, 60)])]);
    for entry in [None, Some(0)] {
        setup.blackouts = vec![Blackout { window: window(30, 30), entry }];
        assert_eq!(setup.starts(), [(0, 0)]);
    }
}

#[test]
fn games_wait_for_unplaced_ones() {
    let games = single_elimination(&entries(4), BracketOptions::default()).unwrap();
    let setup = Setup::new(games, vec![venue(&[(0, 60)])]);
    let expected = [UnplacedReason::NoFreeField, UnplacedReason::EarlierGameUnplaced];
    assert_eq!(setup.reasons(), expected);
}

#[test]
fn a_bye_needs_no_field() {
    let setup = Setup::new(swiss(3, 1), vec![venue(&[(0, 60)])]);
    let plan = setup.place();
    assert_eq!((plan.placed.len(), plan.unplaced.len()), (1, 0));
}

#[test]
fn four_hundred_games_use_all_fields() {
    let groups: Vec<Vec<usize>> = entries(100).chunks(10).map(<[_]>::to_vec).collect();
    let mut games = group_games(&groups, 1).unwrap();
    games.truncate(400);
    let days: Vec<(i64, i64)> = (0..7).map(|day| (day * 1440, day * 1440 + 720)).collect();
    let mut setup = Setup::new(games, vec![venue(&days); 10]);
    setup.minutes = [60, 15, 60];
    let plan = setup.place();
    setup.check(&plan);
    assert_eq!(plan.unplaced, []);
    let used: BTreeSet<usize> = plan.placed.iter().map(|placement| placement.venue).collect();
    assert_eq!(used.len(), 10);
}
