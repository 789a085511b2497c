//! Stories about paging: every row once, whatever happens between two pages.

use std::collections::BTreeSet;
use std::time::Duration;

use store::{Reader, Scope, bind};
use testkit::world::new_key;
use testkit::{Answer, Client, World, both, json, seconds};
use touchline::accounts::api_key::NewKey;
use touchline::ids::TeamId;
use touchline::signals;
use touchline::teams::team;
use touchline::web::fields::Fields;

/// Makes so many teams, `Team 000` and so on, all in one moment.
async fn fill(w: &World, count: usize) {
    let made = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
        for number in 0..count {
            team::create(tx, Fields::read(json!({ "name": name(number) }))?)?;
        }
        Ok::<_, touchline::error::Error>(())
    });
    made.await.unwrap();
}

fn name(number: usize) -> String {
    format!("Team {number:03}")
}

fn names(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(name).collect()
}

/// The cursor of the next page, which there must be.
#[track_caller]
fn cursor(page: &Answer) -> &str {
    assert_eq!(page.body["has_more"], true, "{}", page.text);
    page.body["next_cursor"].as_str().expect("a cursor")
}

#[track_caller]
fn is_last(page: &Answer) {
    assert_eq!((&page.body["has_more"], &page.body["next_cursor"]), (&json!(false), &json!(null)));
    assert_eq!(page.header("link"), None);
}

/// The names on this page and on all that follow. The path ends in a parameter.
async fn walk(client: &Client, path: &str) -> Vec<String> {
    let (mut seen, mut next) = (Vec::new(), path.to_owned());
    loop {
        let page = client.get(&next).await.ok();
        seen.extend(page.names().into_iter().map(str::to_owned));
        if page.body["has_more"] == false {
            is_last(&page);
            return seen;
        }
        next = format!("{path}&cursor={}", cursor(&page));
    }
}

/// The id of the last team on a page.
fn last_id(page: &Answer) -> TeamId {
    let last = page.data().as_array().and_then(|rows| rows.last()).expect("a row");
    last["id"].as_str().unwrap().parse().unwrap()
}

/// Takes a team away as if it had never been, which no request can do.
async fn delete(w: &World, id: TeamId) {
    let scope = Scope::account(w.harbour, "test");
    let deleted = w.db().write(scope, move |tx| {
        tx.run("delete from team where account_id = :account and id = :id", bind! { id })
    });
    assert_eq!(deleted.await, Ok(1));
}

both! {
    async fn a_page_has_fifty_rows_if_nobody_says_otherwise_and_a_hundred_at_most(w: &World) {
        fill(w, 101).await;
        assert_eq!(w.reader.get("/teams").await.ok().names(), names(0..50));
        assert_eq!(w.reader.get("/teams?limit=1").await.ok().names(), names(0..1));
        assert_eq!(w.reader.get("/teams?limit=100").await.ok().names(), names(0..100));
        assert_eq!(walk(&w.reader, "/teams?limit=7").await, names(0..101));
        assert_eq!(walk(&w.reader, "/teams?limit=7&order=desc").await, names((0..101).rev()));
    }

    async fn a_limit_is_plain_digits_within_its_bounds(w: &World) {
        let wrong = ["0", "-1", "101", "1e9", "1000000000", "99999999999999999999", "1e3", "5.0",
            "%205", "5%20", "%2B5", "+5", "05", "", "%D9%A5", "0x5", "5,0", "five", "null"];
        for limit in wrong {
            let refused = w.reader.get(&format!("/teams?limit={limit}")).await;
            let refused = refused.refused(400, "invalid_parameter");
            assert_eq!(refused.pointers(), ["?limit"], "{limit}");
        }
        let twice = w.reader.get("/teams?limit=5&limit=5").await.refused(400, "invalid_parameter");
        assert_eq!(twice.pointers(), ["?limit"]);
        // Every fault is told, not only the first.
        let refused = w.reader.get("/teams?limit=0&order=up&status=x").await;
        let refused = refused.refused(400, "invalid_parameter");
        assert_eq!(refused.pointers(), ["?limit", "?order", "?status"]);
    }

    async fn exactly_as_many_rows_as_wanted_are_the_last_page(w: &World) {
        is_last(&w.reader.get("/teams?limit=3").await.ok());
        fill(w, 3).await;
        is_last(&w.reader.get("/teams?limit=3").await.ok());
        is_last(&w.reader.get("/teams?limit=4").await.ok());
        let first = w.reader.get("/teams?limit=2").await.ok();
        let second = w.reader.get(&format!("/teams?limit=1&cursor={}", cursor(&first))).await.ok();
        assert_eq!(second.names(), names(2..3));
        is_last(&second);
    }

    async fn the_link_leads_to_the_next_page(w: &World) {
        fill(w, 5).await;
        let mut page = w.reader.get("/teams?q=team%20&limit=2&status=all&order=desc").await.ok();
        let mut seen: Vec<String> = page.names().into_iter().map(str::to_owned).collect();
        while let Some(link) = page.header("link") {
            assert!(link.contains(cursor(&page)));
            let path = link.strip_prefix('<').and_then(|link| link.strip_suffix(">; rel=\"next\""));
            page = w.reader.get(path.unwrap()).await.ok();
            seen.extend(page.names().into_iter().map(str::to_owned));
        }
        assert_eq!(seen, names((0..5).rev()));
    }

    async fn rows_that_come_at_the_head_while_paging_are_not_seen_and_hide_nothing(w: &World) {
        fill(w, 6).await;
        let first = w.reader.get("/teams?limit=2&order=desc").await.ok();
        for name in ["New 1", "New 2", "New 3"] {
            w.owner.post("/teams", json!({ "name": name })).await.created();
        }
        let rest = format!("/teams?limit=2&order=desc&cursor={}", cursor(&first));
        let second = w.reader.get(&rest).await.ok();
        assert_eq!([first.names(), second.names()].concat(), names([5, 4, 3, 2]));
        let rest = format!("/teams?limit=2&order=desc&cursor={}", cursor(&second));
        assert_eq!(w.reader.get(&rest).await.ok().names(), names([1, 0]));
        // Whoever reads from the oldest on gets the new ones at the end.
        assert_eq!(walk(&w.reader, "/teams?limit=4").await.len(), 9);
    }

    async fn a_page_goes_on_after_a_row_that_is_gone(w: &World) {
        fill(w, 6).await;
        for order in ["asc", "desc"] {
            let first = w.reader.get(&format!("/teams?limit=2&order={order}")).await.ok();
            delete(w, last_id(&first)).await;
            let rest = format!("/teams?limit=2&order={order}&cursor={}", cursor(&first));
            let expected = if order == "asc" { [2, 3] } else { [3, 2] };
            assert_eq!(w.reader.get(&rest).await.ok().names(), names(expected));
        }
    }

    async fn a_page_whose_rows_are_all_gone_is_empty_and_the_last(w: &World) {
        fill(w, 4).await;
        let all = w.reader.get("/teams").await.ok();
        let first = w.reader.get("/teams?limit=2").await.ok();
        for row in &all.data().as_array().unwrap()[1..] {
            delete(w, row["id"].as_str().unwrap().parse().unwrap()).await;
        }
        let rest = format!("/teams?limit=2&cursor={}", cursor(&first));
        let second = w.reader.get(&rest).await.ok();
        assert!(second.names().is_empty());
        is_last(&second);
    }

    async fn a_page_goes_on_after_a_row_that_no_longer_fits_the_filter(w: &World) {
        for number in 0..6 {
            let body = json!({ "name": name(number), "sport": "soccer" });
            w.owner.post("/teams", body).await.created();
        }
        let first = w.reader.get("/teams?sport=soccer&limit=2").await.ok();
        let edge = format!("/teams/{}", last_id(&first));
        w.owner.patch(&edge, json!({ "sport": "rugby" })).await.ok();
        let rest = format!("/teams?sport=soccer&limit=2&cursor={}", cursor(&first));
        let second = w.reader.get(&rest).await.ok();
        assert_eq!(second.names(), names(2..4));
        w.owner.delete(&format!("/teams/{}", last_id(&second))).await.ok();
        let rest = format!("/teams?sport=soccer&limit=2&cursor={}", cursor(&second));
        assert_eq!(w.reader.get(&rest).await.ok().names(), names(4..6));
    }

    async fn a_thousand_rows_of_one_moment_are_seen_once_each(w: &World) {
        fill(w, 1000).await;
        let seen = walk(&w.reader, "/teams?limit=99").await;
        assert_eq!(seen, names(0..1000));
        let first = w.reader.get("/teams?limit=100").await.ok();
        let moments: BTreeSet<_> =
            first.data().as_array().unwrap().iter().map(|row| row["created_at"].as_str()).collect();
        assert_eq!(moments.len(), 1);
    }

    async fn rows_a_microsecond_apart_are_told_apart(w: &World) {
        for number in 0..10 {
            w.owner.post("/teams", json!({ "name": name(number) })).await.created();
            w.pass(Duration::from_micros(1));
        }
        assert_eq!(walk(&w.reader, "/teams?limit=3").await, names(0..10));
        assert_eq!(walk(&w.reader, "/teams?limit=1&order=desc").await, names((0..10).rev()));
        let last = w.reader.get("/teams?limit=1&order=desc").await.ok();
        assert_eq!(last.data()[0]["created_at"], "2026-09-05T10:00:00.000009Z");
    }

    async fn the_limit_may_change_from_page_to_page(w: &World) {
        fill(w, 10).await;
        let first = w.reader.get("/teams?limit=2").await.ok();
        let second = w.reader.get(&format!("/teams?limit=5&cursor={}", cursor(&first))).await.ok();
        assert_eq!(second.names(), names(2..7));
        let third = w.reader.get(&format!("/teams?cursor={}", cursor(&second))).await.ok();
        assert_eq!(third.names(), names(7..10));
    }

    async fn a_cursor_that_was_touched_is_refused(w: &World) {
        fill(w, 3).await;
        let page = w.reader.get("/teams?limit=2").await.ok();
        let good = cursor(&page);
        let mut touched: Vec<String> = (0..good.len())
            .map(|at| {
                let other = if &good[at..=at] == "A" { "B" } else { "A" };
                format!("{}{other}{}", &good[..at], &good[at + 1..])
            })
            .collect();
        touched.extend((0..good.len()).map(|length| good[..length].to_owned()));
        touched.extend(["A", "=", "%00", "%FF", "..", "%22"].map(|more| format!("{good}{more}")));
        touched.extend(["x".repeat(10_000), good.repeat(2), "team_1".to_owned()]);
        for cursor in touched {
            let refused = w.reader.get(&format!("/teams?limit=2&cursor={cursor}")).await;
            refused.refused(400, "invalid_cursor");
        }
        w.reader.get(&format!("/teams?limit=2&cursor={good}")).await.ok();
    }

    async fn a_cursor_fits_only_the_list_it_came_from(w: &World) {
        fill(w, 3).await;
        w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let page = w.reader.get("/teams?limit=1&status=all&q=team").await.ok();
        let good = cursor(&page);
        let path = format!("/teams?limit=1&status=all&q=team&cursor={good}");
        w.stranger.get(&path).await.refused(400, "invalid_cursor");
        for query in ["limit=1", "status=all", "q=team", "status=active&q=team", "status=all&q=tea",
            "status=all&q=team&sport=x", "status=all&q=team&order=desc"]
        {
            let refused = w.reader.get(&format!("/teams?{query}&cursor={good}")).await;
            refused.refused(400, "invalid_cursor");
        }
        // Another endpoint does not know cursors at all.
        w.reader.get(&format!("/me?cursor={good}")).await.refused(400, "invalid_parameter");
        // The order in which the filters stand, and the default order said aloud, change nothing.
        let same = format!("/teams?cursor={good}&q=team&order=asc&status=all&limit=2");
        assert_eq!(w.reader.get(&same).await.ok().names(), names(1..3));
    }

    async fn a_key_that_reaches_fewer_teams_gets_fewer_on_the_next_page(w: &World) {
        fill(w, 6).await;
        let all = w.reader.get("/teams").await.ok();
        let id = |number: usize| all.data()[number]["id"].as_str().unwrap().parse().unwrap();
        let narrowed = |numbers: &[usize]| {
            let team_ids = Some(numbers.iter().map(|number| id(*number)).collect());
            NewKey { team_ids, ..new_key("teams:read") }
        };
        let (_, before) = w.caller(narrowed(&[0, 1, 2, 3, 5])).await;
        let (_, after) = w.caller(narrowed(&[0, 3])).await;
        let first = before.get("/teams?limit=2").await.ok();
        assert_eq!(first.names(), names(0..2));
        let rest = format!("/teams?limit=2&cursor={}", cursor(&first));
        assert_eq!(before.get(&rest).await.ok().names(), names([2, 3]));
        let second = after.get(&rest).await.ok();
        assert_eq!(second.names(), names([3]));
        is_last(&second);
        assert_eq!(walk(&before, "/teams?limit=2&order=desc").await, names([5, 3, 2, 1, 0]));
    }

    async fn a_list_by_creation_does_not_care_about_changes(w: &World) {
        fill(w, 6).await;
        let first = w.reader.get("/teams?limit=3").await.ok();
        // Names that would sort elsewhere, and times of change that do.
        for row in w.reader.get("/teams").await.ok().data().as_array().unwrap() {
            w.pass(seconds(1));
            let change = json!({ "name": format!("A {}", row["name"].as_str().unwrap()) });
            w.owner.patch(&format!("/teams/{}", row["id"].as_str().unwrap()), change).await.ok();
        }
        let second = w.reader.get(&format!("/teams?limit=3&cursor={}", cursor(&first))).await.ok();
        assert_eq!(second.names(), ["A Team 003", "A Team 004", "A Team 005"]);
        is_last(&second);
    }

    async fn whoever_follows_the_log_misses_no_slow_writer(w: &World) {
        let other = w.database.open(w.clock.clock());
        let (begun, is_begun) = tokio::sync::oneshot::channel();
        // It begins first and commits last: its news must not slip in behind somebody's back.
        let slow = other.write(Scope::account(w.harbour, "test"), move |tx| {
            let made = team::create(tx, Fields::read(json!({ "name": "Slow" }))?);
            begun.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            made
        });
        let quick = async {
            is_begun.await.unwrap();
            w.pass(seconds(1));
            for number in 0..5 {
                w.owner.post("/teams", json!({ "name": name(number) })).await.created();
            }
        };
        let follow = async {
            let (mut seen, scope) = (Vec::new(), Scope::account(w.harbour, "test"));
            while seen.len() < 6 {
                let after = seen.last().copied().unwrap_or(0);
                let news = move |db: &Reader<'_>| signals::notifications(db, after, 2);
                let news = w.db().read(scope.clone(), news).await.unwrap();
                seen.extend(news.into_iter().map(|news| news.sequence));
            }
            seen
        };
        let (slow, (), seen) = tokio::join!(slow, quick, follow);
        assert_eq!(slow.unwrap().name, "Slow");
        assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
        assert_eq!(w.news().await.len(), 6);
        tokio::task::spawn_blocking(move || other.close()).await.unwrap();
    }
}
