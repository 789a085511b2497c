//! Which games count, and the points of each result.

use super::*;
use crate::standings::{BonusRules, Decided, Details, Side, Withdrawal};

fn scored(rules: &Rules, game: Game) -> (String, String) {
    let rows = standings(rules, &entries(2), &[game]);
    (points(&rows, 0), points(&rows, 1))
}

fn text(pair: (&str, &str)) -> (String, String) {
    (pair.0.to_owned(), pair.1.to_owned())
}

#[test]
fn only_final_games_between_two_known_entries_count() {
    let game = Game::played(0, 1, 1, 0);
    let ignored = [
        Game { state: GameState::Scheduled, ..game.clone() },
        Game { state: GameState::InProgress, ..game.clone() },
        Game { state: GameState::Annulled, ..game.clone() },
        Game { score: None, ..game.clone() },
        Game::played(0, 0, 5, 0),
        Game::played(0, 7, 5, 0),
    ];
    let rows = standings(&preset("soccer").unwrap(), &entries(2), &ignored);
    assert!(rows.iter().all(|row| row.played == 0 && row.rank == 1));
}

#[test]
fn overtime_and_shootouts_have_points_of_their_own() {
    let rules = preset("iihf").unwrap();
    let overtime = Game { decided: Decided::Overtime, ..Game::played(0, 1, 3, 2) };
    assert_eq!(scored(&rules, overtime), text(("2", "1")));
    let shootout = Game { shootout: Some(Pair::new(0, 2)), ..Game::played(0, 1, 3, 3) };
    assert_eq!(scored(&rules, shootout.clone()), text(("1", "2")));

    let rows = standings(&rules, &entries(2), std::slice::from_ref(&shootout));
    assert_eq!((rows[0].entry, rows[0].wins, rows[0].overtime_wins), (1, 1, 1));
    assert_eq!((rows[0].points_for, rows[0].points_against), (4, 3));
    let soccer = standings(&preset("soccer").unwrap(), &entries(2), &[shootout]);
    assert_eq!((soccer[0].points_for, soccer[0].points_against), (3, 3));
}

#[test]
fn a_narrow_win_in_volleyball_is_worth_two_points() {
    let rules = preset("volleyball").unwrap();
    assert_eq!(scored(&rules, Game::played(0, 1, 3, 2)), text(("2", "1")));
    assert_eq!(scored(&rules, Game::played(0, 1, 1, 3)), text(("0", "3")));
}

#[test]
fn a_forfeit_is_won_by_the_other_side() {
    let fiba = preset("fiba").unwrap();
    let forfeit = Game {
        score: None,
        state: GameState::Final,
        forfeited_by: Some(Side::Home),
        ..Game::scheduled(0, 1)
    };
    assert_eq!(scored(&fiba, forfeit.clone()), text(("0", "2")));
    let rows = standings(&fiba, &entries(2), std::slice::from_ref(&forfeit));
    assert_eq!((rows[0].entry, rows[0].points_for, rows[0].difference), (1, 20, 20));

    let leading = Game { score: Some(Pair::new(50, 40)), ..forfeit.clone() };
    assert_eq!(standings(&fiba, &entries(2), &[leading])[0].points_for, 20);
    let trailing = Game { score: Some(Pair::new(40, 90)), ..forfeit };
    assert_eq!(standings(&fiba, &entries(2), &[trailing])[0].points_for, 90);
}

#[test]
fn bonus_points_are_those_recorded_or_follow_from_the_game() {
    let rules = preset("rwc").unwrap();
    let details = Pair::new(Details { tries: 4, ..Details::default() }, Details::default());
    let game = Game { details, ..Game::played(0, 1, 27, 20) };
    assert_eq!(scored(&rules, game.clone()), text(("5", "1")));
    let recorded = Game { bonus: Some(Pair::new(Points::ZERO, Points::ZERO)), ..game };
    assert_eq!(scored(&rules, recorded), text(("4", "0")));
    assert_eq!(scored(&rules, Game::played(0, 1, 27, 19)), text(("4", "0")));
}

#[test]
fn the_ten_point_system_rewards_goals_and_shutouts() {
    let rules = preset("us-youth-10-point").unwrap();
    assert_eq!(scored(&rules, Game::played(0, 1, 5, 0)), text(("10", "0")));
    assert_eq!(scored(&rules, Game::played(0, 1, 0, 0)), text(("4", "4")));
    assert_eq!(scored(&rules, Game::played(0, 1, 2, 1)), text(("8", "1")));
}

#[test]
fn a_grand_slam_is_rewarded_once_all_games_are_won() {
    let rules = preset("six-nations").unwrap();
    let all = games("0-1 30:0, 2-0 0:30, 1-2 9:9");
    assert_eq!(points(&standings(&rules, &entries(3), &all), 0), "11");
    assert_eq!(points(&standings(&rules, &entries(3), &all[..1]), 0), "4");
    let no_bonus = Rules { bonus: BonusRules::default(), ..rules };
    assert_eq!(points(&standings(&no_bonus, &entries(3), &all), 0), "8");
}

#[test]
fn an_entry_that_withdraws_is_last() {
    let mut entries = entries(3);
    entries[0].withdrawn = true;
    let mut games = games("0-1 4:0, 1-2 1:0");
    games.push(Game::scheduled(2, 0));

    let annul = rules(vec![overall(Metric::Difference)]);
    let rows = standings(&annul, &entries, &games);
    assert_eq!((order(&rows), rows[2].played), (vec![1, 2, 0], 0));
    assert_eq!(reasons(&rows)[2], Some(Metric::Withdrawn));

    let award = Rules { withdrawal: Withdrawal::Award, forfeit_score: 3, ..annul };
    let rows = standings(&award, &entries, &games);
    assert_eq!(order(&rows), [2, 1, 0]);
    assert_eq!((rows[0].points_for, rows[0].difference, rows[2].played), (3, 2, 2));
    assert_eq!(reasons(&rows), [None, Some(Metric::Difference), Some(Metric::Withdrawn)]);
}

#[test]
fn the_largest_scores_do_not_overflow() {
    let extremes = [i32::MAX, i32::MIN, 0, -1];
    let mut games = Vec::new();
    for (round, home) in (1..).zip(extremes) {
        for away in extremes {
            let details = Details {
                tries: home,
                set_points: away,
                balls: home,
                wickets: away,
                fair_play: home,
            };
            let mut game = Game::played(games.len() % 3, (games.len() + 1) % 3, home, away);
            game.details = Pair::new(details, details);
            game.bonus = Some(Pair::new(Points::new(home), Points::new(away)));
            game.shootout = Some(Pair::new(home, away));
            games.push(Game { round, ..game });
        }
    }
    for preset in crate::standings::PRESETS {
        let mut rules = preset.rules();
        rules.points.win = Points::new(i32::MAX);
        assert_eq!(standings(&rules, &entries(3), &games).len(), 3);
    }
}
