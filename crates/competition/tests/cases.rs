//! Final tables of real competitions: each order is official, and each tie is resolved by the rule that decided it.
//!
//! A data file has one or more cases, separated by empty lines. A case has lines of a key and a value, then its games:
//!
//! - `case`, `preset`, and `team` with a code and a name
//! - `points`: for a win, a draw and a loss, if they are not those of the preset
//! - `conference`, `division`: the codes of its teams
//! - `adjust`, `fair_play`, `lots`, `play_off`: a code and a number
//! - `order`: the codes of the table, best first
//! - `why`: the explanation of each row that its points do not place, from the top
//! - games in the order of play: home team, score, away team, then `OT`, `SO` or bonus points such as `+1+0`

use std::collections::HashMap;
use std::fmt::Write as _;

use competition::standings::{
    BonusRules, Decided, Entry, Explanation, Game, Pair, PointRules, Points, Restart, Row, Rules,
    preset, standings,
};
use kit::string_enum::StringEnum;

const FILES: &[(&str, usize)] = &[
    (include_str!("data/groups.txt"), 19),
    (include_str!("data/champions-league-2024-25.txt"), 1),
    (include_str!("data/laliga-2018-19.txt"), 1),
    (include_str!("data/ligue-1-2023-24.txt"), 1),
    (include_str!("data/nba-2024-25.txt"), 1),
    (include_str!("data/nfl-2023.txt"), 1),
    (include_str!("data/nhl-2023-24.txt"), 1),
    (include_str!("data/premier-league-2011-12.txt"), 1),
    (include_str!("data/serie-a-2022-23.txt"), 1),
];

/// A case of a data file.
struct Case {
    name: String,
    rules: Rules,
    codes: Vec<String>,
    entries: Vec<Entry>,
    games: Vec<Game>,
    order: Vec<String>,
    explanations: Vec<String>,
}

impl Case {
    fn parse(text: &str) -> Self {
        let (head, games) = text.split_once("\ngames\n").expect("games follow the head");
        let mut case = Self {
            name: String::new(),
            rules: Rules::new(PointRules::new(3, 1, 0), Vec::new()),
            codes: Vec::new(),
            entries: Vec::new(),
            games: Vec::new(),
            order: Vec::new(),
            explanations: Vec::new(),
        };
        for (number, game) in (1..).zip(games.split([',', '\n']).filter(|g| !g.trim().is_empty())) {
            let game = case.parse_game(number, game.trim());
            case.games.push(game);
        }
        for (number, line) in (1..).zip(head.lines()) {
            let (key, value) = line.split_once(' ').expect("a key and a value");
            case.parse_line(number, key, value);
        }
        case
    }

    fn parse_line(&mut self, number: u32, key: &str, value: &str) {
        let words: Vec<&str> = value.split(' ').collect();
        let integer = |word: &str| word.parse::<i32>().expect("an integer");
        match key {
            "case" => value.clone_into(&mut self.name),
            "preset" => self.rules = preset(value).expect("a preset"),
            "team" => assert!(self.codes.iter().any(|code| code == words[0]), "{value}"),
            "points" => {
                let points: Vec<i32> = words.iter().map(|word| integer(word)).collect();
                self.rules.points = PointRules::new(points[0], points[1], points[2]);
                self.rules.bonus = BonusRules::default();
            }
            "why" => self.explanations.push(value.to_owned()),
            "order" => {
                self.order = words.iter().map(|&word| word.to_owned()).collect();
                for code in words {
                    self.entry(code).group = Some(1);
                }
            }
            "conference" => words.iter().for_each(|w| self.entry(w).conference = Some(number)),
            "division" => words.iter().for_each(|w| self.entry(w).division = Some(number)),
            _ => {
                let value = integer(words[1]);
                let entry = self.entry(words[0]);
                match key {
                    "adjust" => entry.adjustment = Points::new(value),
                    "fair_play" => entry.external.fair_play = Some(value),
                    "lots" => entry.external.lots = Some(value),
                    "play_off" => entry.external.play_off = Some(value),
                    _ => panic!("unknown key {key}"),
                }
            }
        }
    }

    fn parse_game(&mut self, round: u32, text: &str) -> Game {
        let words: Vec<&str> = text.split(' ').collect();
        let pair = |text: &str, separator| {
            let (home, away) = text.split_once(separator).expect("two numbers");
            Pair::new(home.parse().expect("a number"), away.parse::<i32>().expect("a number"))
        };
        let score = pair(words[1], '-');
        let (home, away) = (self.index(words[0]), self.index(words[2]));
        let mut game = Game { round, ..Game::played(home, away, score.home, score.away) };
        match words.get(3) {
            None => {}
            Some(&"OT") => game.decided = Decided::Overtime,
            Some(&"SO") => game.decided = Decided::Shootout,
            Some(bonus) => {
                let bonus = pair(&bonus[1..], '+');
                game.bonus = Some(Pair::new(Points::new(bonus.home), Points::new(bonus.away)));
            }
        }
        game
    }

    fn index(&mut self, code: &str) -> usize {
        self.codes.iter().position(|known| known == code).unwrap_or_else(|| {
            self.codes.push(code.to_owned());
            self.entries.push(Entry::default());
            self.codes.len() - 1
        })
    }

    fn entry(&mut self, code: &str) -> &mut Entry {
        let index = self.index(code);
        &mut self.entries[index]
    }

    fn rows(&self, rules: &Rules) -> Vec<Row> {
        let rows = standings(rules, &self.entries, &self.games);
        rows.into_iter().filter(|row| row.group.is_some()).collect()
    }

    fn order(&self, rules: &Rules) -> Vec<&str> {
        self.rows(rules).iter().map(|row| self.codes[row.entry].as_str()).collect()
    }

    /// An explanation in the notation of the data files.
    fn explain(&self, entry: usize, explanation: &Explanation) -> String {
        let code = |entry: &usize| self.codes[*entry].as_str();
        let mut with: Vec<&str> = explanation.with.iter().map(code).collect();
        with.sort_by_key(|code| self.order.iter().position(|other| other == code));
        let rule = explanation.rule.map_or("none", StringEnum::as_str);
        let scope = explanation.scope.map_or("none", StringEnum::as_str);
        let mut text = format!("{} {rule} {scope} of {}:", code(&entry), with.join(" "));
        for (entry, value) in explanation.values.iter() {
            write!(text, " {}={value}", code(entry)).expect("strings are written");
        }
        text
    }
}

fn cases() -> HashMap<String, Case> {
    let mut cases = HashMap::new();
    for (text, count) in FILES {
        let parsed: Vec<Case> = text.split("\n\n").map(Case::parse).collect();
        assert_eq!(parsed.len(), *count);
        cases.extend(parsed.into_iter().map(|case| (case.name.clone(), case)));
    }
    assert_eq!(cases.len(), 27);
    cases
}

#[test]
fn every_order_and_every_explanation_is_official() {
    for case in cases().values() {
        assert_eq!(case.order(&case.rules), case.order, "{}", case.name);
        let rows = case.rows(&case.rules);
        let explanations: Vec<String> = rows
            .iter()
            .filter_map(|row| Some(case.explain(row.entry, row.explanation.as_ref()?)))
            .collect();
        assert_eq!(explanations, case.explanations, "{}", case.name);
        assert!(rows.iter().all(|row| !row.shared_rank && row.pending.is_none()), "{}", case.name);
    }
}

/// The order under another restart mode.
fn order_with(case: &Case, restart: Restart) -> Vec<&str> {
    case.order(&Rules { restart, ..case.rules.clone() })
}

#[test]
fn the_restart_mode_decides_euro_2024_group_e() {
    let cases = cases();
    let case = &cases["Euro 2024 Group E"];
    for restart in [Restart::Block, Restart::None] {
        assert_eq!(order_with(case, restart), ["ROU", "BEL", "SVK", "UKR"]);
    }
    for restart in [Restart::Each, Restart::Top] {
        assert_eq!(order_with(case, restart)[..2], ["BEL", "ROU"]);
    }
}

#[test]
fn placing_only_the_best_entry_is_wrong_for_mini_leagues() {
    let cases = cases();
    for name in ["Euro 2020 Group B", "EuroBasket 2015 Group B"] {
        let case = &cases[name];
        assert_ne!(order_with(case, Restart::Top), case.order, "{name}");
    }
}
