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
    const fn new(
        key: &'static str,
        name: &'static str,
        sport: &'static str,
        build: fn() -> Rules,
    ) -> Self {
        Self { key, name, sport, build }
    }

    pub fn rules(&self) -> Rules {
        (self.build)()
    }
}

/// All presets. Those of a sport come first.
#[rustfmt::skip]
pub const PRESETS: &[Preset] = &[
    Preset::new("soccer", "Soccer", "soccer", sports::soccer),
    Preset::new("basketball", "Basketball", "basketball", sports::basketball),
    Preset::new("ice-hockey", "Ice hockey", "ice_hockey", sports::ice_hockey),
    Preset::new("volleyball", "Volleyball", "volleyball", leagues::fivb),
    Preset::new("baseball", "Baseball", "baseball", sports::baseball),
    Preset::new("softball", "Softball", "softball", sports::baseball),
    Preset::new("american-football", "American football", "american_football", sports::american_football),
    Preset::new("handball", "Handball", "handball", sports::two_points_a_win),
    Preset::new("floorball", "Floorball", "floorball", sports::two_points_a_win),
    Preset::new("lacrosse", "Lacrosse", "lacrosse", sports::two_points_a_win),
    Preset::new("water-polo", "Water polo", "water_polo", sports::two_points_a_win),
    Preset::new("netball", "Netball", "netball", sports::two_points_a_win),
    Preset::new("field-hockey", "Field hockey", "field_hockey", leagues::fih),
    Preset::new("rugby", "Rugby union", "rugby", sports::rugby),
    Preset::new("australian-football", "Australian football", "australian_football", leagues::afl),
    Preset::new("cricket", "Cricket", "cricket", leagues::ipl),
    Preset::new("tennis", "Tennis", "tennis", sports::tennis),
    Preset::new("table-tennis", "Table tennis", "table_tennis", sports::table_tennis),
    Preset::new("ultimate", "Ultimate", "ultimate", leagues::wfdf),
    Preset::new("chess", "Chess", "chess", sports::chess),
    Preset::new("other", "Other sports", "other", sports::other),
    Preset::new("fifa-wc-2026", "FIFA World Cup from 2026", "soccer", football::fifa_wc_2026),
    Preset::new("fifa-wc-2010-2022", "FIFA World Cup 2010 to 2022", "soccer", football::fifa_wc_2010),
    Preset::new("uefa-euro", "UEFA European Championship", "soccer", football::uefa_euro),
    Preset::new("afcon", "Africa Cup of Nations 2015", "soccer", football::afcon),
    Preset::new("ucl-league-phase", "UEFA Champions League, league phase", "soccer", football::ucl_league_phase),
    Preset::new("premier-league", "Premier League", "soccer", football::premier_league),
    Preset::new("laliga", "La Liga", "soccer", football::laliga),
    Preset::new("serie-a", "Serie A from 2022", "soccer", football::serie_a),
    Preset::new("bundesliga", "Bundesliga", "soccer", football::bundesliga),
    Preset::new("ligue-1-2017", "Ligue 1 from 2017 to 2025", "soccer", football::ligue_1_2017),
    Preset::new("ligue-1-2025", "Ligue 1 from 2025", "soccer", football::ligue_1_2025),
    Preset::new("mls", "Major League Soccer", "soccer", football::mls),
    Preset::new("us-youth", "US youth tournament", "soccer", football::us_youth),
    Preset::new("us-youth-10-point", "US youth tournament, 10-point system", "soccer", football::us_youth_10_point),
    Preset::new("nhl", "NHL", "ice_hockey", leagues::nhl),
    Preset::new("iihf", "IIHF", "ice_hockey", leagues::iihf),
    Preset::new("nba", "NBA", "basketball", leagues::nba),
    Preset::new("fiba", "FIBA", "basketball", leagues::fiba),
    Preset::new("euroleague", "EuroLeague", "basketball", leagues::euroleague),
    Preset::new("mlb", "MLB", "baseball", leagues::mlb),
    Preset::new("nfl", "NFL division", "american_football", leagues::nfl),
    Preset::new("nfl-wild-card", "NFL wild card", "american_football", leagues::nfl_wild_card),
    Preset::new("fivb", "FIVB", "volleyball", leagues::fivb),
    Preset::new("rwc", "Rugby World Cup", "rugby", leagues::rwc),
    Preset::new("six-nations", "Six Nations", "rugby", leagues::six_nations),
    Preset::new("afl", "AFL", "australian_football", leagues::afl),
    Preset::new("ipl", "Indian Premier League", "cricket", leagues::ipl),
    Preset::new("ehf", "EHF European Championship", "handball", leagues::ehf),
    Preset::new("ihf", "IHF World Championship", "handball", leagues::ehf),
    Preset::new("fih", "FIH", "field_hockey", leagues::fih),
    Preset::new("wfdf", "WFDF", "ultimate", leagues::wfdf),
    Preset::new("usau", "USA Ultimate", "ultimate", leagues::usau),
    Preset::new("swiss", "Swiss system", "chess", leagues::swiss),
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
