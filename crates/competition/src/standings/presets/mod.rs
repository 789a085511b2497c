//! The rules of well-known competitions and of each sport.
//!
//! A list ends with `lots` where an organizer may draw them: it has no effect until their result is entered.

mod football;
mod sports;
mod leagues;

use super::rules::{Metric, Rules, Scope, TieBreaker};

/// Rules that a competition can start from.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    pub key: &'static str,
    pub name: &'static str,
    pub sport: &'static str,
    build: fn() -> Rules,
}

impl Preset {
    pub fn rules(&self) -> Rules {
        (self.build)()
    }
}

const fn of(
    key: &'static str,
    name: &'static str,
    sport: &'static str,
    build: fn() -> Rules,
) -> Preset {
    Preset { key, name, sport, build }
}

/// All presets. Those of a sport come first.
#[rustfmt::skip]
pub const PRESETS: &[Preset] = &[
    of("soccer", "Soccer", "soccer", sports::soccer),
    of("basketball", "Basketball", "basketball", sports::basketball),
    of("ice-hockey", "Ice hockey", "ice_hockey", sports::ice_hockey),
    of("volleyball", "Volleyball", "volleyball", leagues::fivb),
    of("baseball", "Baseball", "baseball", sports::baseball),
    of("softball", "Softball", "softball", sports::baseball),
    of("american-football", "American football", "american_football", sports::american_football),
    of("handball", "Handball", "handball", sports::two_points_a_win),
    of("floorball", "Floorball", "floorball", sports::two_points_a_win),
    of("lacrosse", "Lacrosse", "lacrosse", sports::two_points_a_win),
    of("water-polo", "Water polo", "water_polo", sports::two_points_a_win),
    of("netball", "Netball", "netball", sports::two_points_a_win),
    of("field-hockey", "Field hockey", "field_hockey", leagues::fih),
    of("rugby", "Rugby union", "rugby", sports::rugby),
    of("australian-football", "Australian football", "australian_football", leagues::afl),
    of("cricket", "Cricket", "cricket", leagues::ipl),
    of("tennis", "Tennis", "tennis", sports::tennis),
    of("table-tennis", "Table tennis", "table_tennis", sports::table_tennis),
    of("ultimate", "Ultimate", "ultimate", leagues::wfdf),
    of("chess", "Chess", "chess", sports::chess),
    of("other", "Other sports", "other", sports::other),
    of("fifa-wc-2026", "FIFA World Cup from 2026", "soccer", football::fifa_wc_2026),
    of("fifa-wc-2010-2022", "FIFA World Cup 2010 to 2022", "soccer", football::fifa_wc_2010),
    of("uefa-euro", "UEFA European Championship", "soccer", football::uefa_euro),
    of("afcon", "Africa Cup of Nations 2015", "soccer", football::afcon),
    of("ucl-league-phase", "UEFA Champions League, league phase", "soccer", football::ucl_league_phase),
    of("premier-league", "Premier League", "soccer", football::premier_league),
    of("laliga", "La Liga", "soccer", football::laliga),
    of("serie-a", "Serie A from 2022", "soccer", football::serie_a),
    of("bundesliga", "Bundesliga", "soccer", football::bundesliga),
    of("ligue-1-2017", "Ligue 1 from 2017 to 2025", "soccer", football::ligue_1_2017),
    of("ligue-1-2025", "Ligue 1 from 2025", "soccer", football::ligue_1_2025),
    of("mls", "Major League Soccer", "soccer", football::mls),
    of("us-youth", "US youth tournament", "soccer", football::us_youth),
    of("us-youth-10-point", "US youth tournament, 10-point system", "soccer", football::us_youth_10_point),
    of("nhl", "NHL", "ice_hockey", leagues::nhl),
    of("iihf", "IIHF", "ice_hockey", leagues::iihf),
    of("nba", "NBA", "basketball", leagues::nba),
    of("fiba", "FIBA", "basketball", leagues::fiba),
    of("euroleague", "EuroLeague", "basketball", leagues::euroleague),
    of("mlb", "MLB", "baseball", leagues::mlb),
    of("nfl", "NFL division", "american_football", leagues::nfl),
    of("nfl-wild-card", "NFL wild card", "american_football", leagues::nfl_wild_card),
    of("fivb", "FIVB", "volleyball", leagues::fivb),
    of("rwc", "Rugby World Cup", "rugby", leagues::rwc),
    of("six-nations", "Six Nations", "rugby", leagues::six_nations),
    of("afl", "AFL", "australian_football", leagues::afl),
    of("ipl", "Indian Premier League", "cricket", leagues::ipl),
    of("ehf", "EHF European Championship", "handball", leagues::ehf),
    of("ihf", "IHF World Championship", "handball", leagues::ehf),
    of("fih", "FIH", "field_hockey", leagues::fih),
    of("wfdf", "WFDF", "ultimate", leagues::wfdf),
    of("usau", "USA Ultimate", "ultimate", leagues::usau),
    of("swiss", "Swiss system", "chess", leagues::swiss),
];

/// The rules of a preset.
pub fn preset(key: &str) -> Option<Rules> {
    PRESETS.iter().find(|preset| preset.key == key).map(Preset::rules)
}

/// Compares a metric over all games.
fn overall(metric: Metric) -> TieBreaker {
    TieBreaker::new(metric, Scope::Overall)
}

/// Compares a metric among the entries of the tie.
fn head_to_head(metric: Metric) -> TieBreaker {
    TieBreaker::new(metric, Scope::HeadToHead)
}

/// Compares a metric among exactly two entries.
fn only_two(breaker: TieBreaker) -> TieBreaker {
    TieBreaker { only_two: true, ..breaker }
}

/// Compares the average of a metric over the games.
fn per_game(breaker: TieBreaker) -> TieBreaker {
    TieBreaker { per_game: true, ..breaker }
}

/// Compares a metric with a limit in each game.
fn capped(metric: Metric, cap: u32) -> TieBreaker {
    TieBreaker { cap: Some(cap), ..overall(metric) }
}
