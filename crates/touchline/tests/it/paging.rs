//! Tests of paging: each row appears once, whatever happens between two pages.

use std::collections::BTreeSet;
use std::time::Duration;

use store::{Reader, Scope, bind};
use testkit::world::new_key;
use testkit::{Client, TestResponse, World, both, json, seconds};
use touchline::accounts::api_key::NewKey;
use touchline::ids::TeamId;
use touchline::signals;
use touchline::teams::team;
use touchline::web::fields::Fields;

/// Creates teams named `Team 000` and so on, all in one transaction.
async fn fill(w: &World, count: usize) {
    let created = w.db().write(Scope::account(w.harbour, "test"), move |tx| {
        for number in 0..count {
            team::create(tx, Fields::read(json!({ "name": name(number) }))?)?;
        }
        Ok::<_, touchline::error::Error>(())
    });
    created.await.unwrap();
}

fn name(number: usize) -> String {
    format!("Team {number:03}")
}

fn names(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(name).collect()
}

/// The cursor of the next page, which must exist.
#[track_caller]
fn cursor(page: &TestResponse) -> &str {
    assert_eq!(page.body["has_more"], true, "{}", page.text);
    page.body["next_cursor"].as_str().expect("a cursor")
}

#[track_caller]
fn assert_last(page: &TestResponse) {
    assert_eq!((&page.body["has_more"], &page.body["next_cursor"]), (&json!(false), &json!(null)));
    assert_eq!(page.header("link"), None);
}

/// The names on this page and all following pages. The path must end in a parameter.
async fn walk(client: &Client, path: &str) -> Vec<String> {
    let (mut seen, mut next) = (Vec::new(), path.to_owned());
    loop {
        let page = client.get(&next).await.ok();
        seen.extend(page.names().into_iter().map(str::to_owned));
        if page.body["has_more"] == false {
            assert_last(&page);
            return seen;
        }
        next = format!("{path}&cursor={}", cursor(&page));
    }
}

/// The id of the last team on a page.
fn last_id(page: &TestResponse) -> TeamId {
    let last = page.data().as_array().and_then(|rows| rows.last()).expect("a row");
    last["id"].as_str().unwrap().parse().unwrap()
}

/// Deletes a team row, which no request can do.
async fn delete(w: &World, id: TeamId) {
    let scope = Scope::account(w.harbour, "test");
    let deleted = w.db().write(scope, move |tx| {
        tx.execute("delete from team where account_id = :account and id = :id", bind! { id })
    });
    assert_eq!(deleted.await, Ok(1));
}

both! {
    async fn page_has_fifty_rows_by_default_and_at_most_one_hundred(w: &World) {
        fill(w, 101).await;
        assert_eq!(w.reader.get("/teams").await.ok().names(), names(0..50));
        assert_eq!(w.reader.get("/teams?limit=1").await.ok().names(), names(0..1));
        assert_eq!(w.reader.get("/teams?limit=100").await.ok().names(), names(0..100));
        assert_eq!(walk(&w.reader, "/teams?limit=7").await, names(0..101));
        assert_eq!(walk(&w.reader, "/teams?limit=7&order=desc").await, names((0..101).rev()));
    }

    async fn rejects_a_limit_that_is_not_a_plain_number_in_range(w: &World) {
        let wrong = ["0", "-1", "101", "1e9", "1000000000", "99999999999999999999", "1e3", "5.0",
            "%205", "5%20", "%2B5", "+5", "05", "", "%D9%A5", "0x5", "5,0", "five", "null"];
        for limit in wrong {
            let refused = w.reader.get(&format!("/teams?limit={limit}")).await;
            let refused = refused.assert_problem(400, "invalid_parameter");
            assert_eq!(refused.parameters(), ["limit"], "{limit}");
        }
        let repeated = w.reader.get("/teams?limit=5&limit=5").await.assert_problem(400, "invalid_parameter");
        assert_eq!(repeated.parameters(), ["limit"]);
        // All errors are reported, not only the first.
        let refused = w.reader.get("/teams?limit=0&order=up&status=x").await;
        let refused = refused.assert_problem(400, "invalid_parameter");
        assert_eq!(refused.parameters(), ["limit", "order", "status"]);
    }

    async fn full_last_page_has_no_cursor(w: &World) {
        assert_last(&w.reader.get("/teams?limit=3").await.ok());
        fill(w, 3).await;
        assert_last(&w.reader.get("/teams?limit=3").await.ok());
        assert_last(&w.reader.get("/teams?limit=4").await.ok());
        let first = w.reader.get("/teams?limit=2").await.ok();
        let second = w.reader.get(&format!("/teams?limit=1&cursor={}", cursor(&first))).await.ok();
        assert_eq!(second.names(), names(2..3));
        assert_last(&second);
    }

    async fn link_header_leads_to_the_next_page(w: &World) {
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

    async fn rows_added_while_paging_do_not_shift_pages(w: &World) {
        fill(w, 6).await;
        let first = w.reader.get("/teams?limit=2&order=desc").await.ok();
        for name in ["New 1", "New 2", "New 3"] {
            w.owner.post("/teams", json!({ "name": name })).await.created();
        }
        let next_page = format!("/teams?limit=2&order=desc&cursor={}", cursor(&first));
        let second = w.reader.get(&next_page).await.ok();
        assert_eq!([first.names(), second.names()].concat(), names([5, 4, 3, 2]));
        let next_page = format!("/teams?limit=2&order=desc&cursor={}", cursor(&second));
        assert_eq!(w.reader.get(&next_page).await.ok().names(), names([1, 0]));
        // A client that reads from the oldest gets the new ones at the end.
        assert_eq!(walk(&w.reader, "/teams?limit=4").await.len(), 9);
    }

    async fn continues_after_a_deleted_row(w: &World) {
        fill(w, 6).await;
        for order in ["asc", "desc"] {
            let first = w.reader.get(&format!("/teams?limit=2&order={order}")).await.ok();
            delete(w, last_id(&first)).await;
            let next_page = format!("/teams?limit=2&order={order}&cursor={}", cursor(&first));
            let expected = if order == "asc" { [2, 3] } else { [3, 2] };
            assert_eq!(w.reader.get(&next_page).await.ok().names(), names(expected));
        }
    }

    async fn page_of_deleted_rows_is_empty_and_last(w: &World) {
        fill(w, 4).await;
        let all = w.reader.get("/teams").await.ok();
        let first = w.reader.get("/teams?limit=2").await.ok();
        for row in &all.data().as_array().unwrap()[1..] {
            delete(w, row["id"].as_str().unwrap().parse().unwrap()).await;
        }
        let next_page = format!("/teams?limit=2&cursor={}", cursor(&first));
        let second = w.reader.get(&next_page).await.ok();
        assert!(second.names().is_empty());
        assert_last(&second);
    }

    async fn continues_after_a_row_that_no_longer_matches(w: &World) {
        for number in 0..6 {
            let body = json!({ "name": name(number), "sport": "soccer" });
            w.owner.post("/teams", body).await.created();
        }
        let first = w.reader.get("/teams?sport=soccer&limit=2").await.ok();
        let last_team = format!("/teams/{}", last_id(&first));
        w.owner.patch(&last_team, json!({ "sport": "rugby" })).await.ok();
        let next_page = format!("/teams?sport=soccer&limit=2&cursor={}", cursor(&first));
        let second = w.reader.get(&next_page).await.ok();
        assert_eq!(second.names(), names(2..4));
        w.owner.delete(&format!("/teams/{}", last_id(&second))).await.ok();
        let next_page = format!("/teams?sport=soccer&limit=2&cursor={}", cursor(&second));
        assert_eq!(w.reader.get(&next_page).await.ok().names(), names(4..6));
    }

    async fn lists_rows_with_the_same_timestamp_once_each(w: &World) {
        fill(w, 1000).await;
        let seen = walk(&w.reader, "/teams?limit=99").await;
        assert_eq!(seen, names(0..1000));
        let first = w.reader.get("/teams?limit=100").await.ok();
        let moments: BTreeSet<_> =
            first.data().as_array().unwrap().iter().map(|row| row["created_at"].as_str()).collect();
        assert_eq!(moments.len(), 1);
    }

    async fn orders_rows_one_microsecond_apart(w: &World) {
        for number in 0..10 {
            w.owner.post("/teams", json!({ "name": name(number) })).await.created();
            w.advance_clock(Duration::from_micros(1));
        }
        assert_eq!(walk(&w.reader, "/teams?limit=3").await, names(0..10));
        assert_eq!(walk(&w.reader, "/teams?limit=1&order=desc").await, names((0..10).rev()));
        let last = w.reader.get("/teams?limit=1&order=desc").await.ok();
        assert_eq!(last.data()[0]["created_at"], "2026-09-05T10:00:00.000009Z");
    }

    async fn limit_may_change_between_pages(w: &World) {
        fill(w, 10).await;
        let first = w.reader.get("/teams?limit=2").await.ok();
        let second = w.reader.get(&format!("/teams?limit=5&cursor={}", cursor(&first))).await.ok();
        assert_eq!(second.names(), names(2..7));
        let third = w.reader.get(&format!("/teams?cursor={}", cursor(&second))).await.ok();
        assert_eq!(third.names(), names(7..10));
    }

    async fn rejects_a_tampered_cursor(w: &World) {
        fill(w, 3).await;
        let page = w.reader.get("/teams?limit=2").await.ok();
        let valid = cursor(&page);
        let mut tampered: Vec<String> = (0..valid.len())
            .map(|index| {
                let other = if &valid[index..=index] == "A" { "B" } else { "A" };
                format!("{}{other}{}", &valid[..index], &valid[index + 1..])
            })
            .collect();
        tampered.extend((0..valid.len()).map(|length| valid[..length].to_owned()));
        tampered.extend(["A", "=", "%00", "%FF", "..", "%22"].map(|more| format!("{valid}{more}")));
        tampered.extend(["x".repeat(10_000), valid.repeat(2), "team_1".to_owned()]);
        for cursor in tampered {
            let refused = w.reader.get(&format!("/teams?limit=2&cursor={cursor}")).await;
            refused.assert_problem(400, "invalid_cursor");
        }
        w.reader.get(&format!("/teams?limit=2&cursor={valid}")).await.ok();
    }

    async fn cursor_works_only_for_its_own_list(w: &World) {
        fill(w, 3).await;
        w.stranger.post("/teams", json!({ "name": "Theirs" })).await.created();
        let page = w.reader.get("/teams?limit=1&status=all&q=team").await.ok();
        let valid = cursor(&page);
        let path = format!("/teams?limit=1&status=all&q=team&cursor={valid}");
        w.stranger.get(&path).await.assert_problem(400, "invalid_cursor");
        for query in ["limit=1", "status=all", "q=team", "status=active&q=team", "status=all&q=tea",
            "status=all&q=team&sport=x", "status=all&q=team&order=desc"]
        {
            let refused = w.reader.get(&format!("/teams?{query}&cursor={valid}")).await;
            refused.assert_problem(400, "invalid_cursor");
        }
        // Another endpoint does not accept cursors at all.
        w.reader.get(&format!("/me?cursor={valid}")).await.assert_problem(400, "invalid_parameter");
        // The order of the filters and an explicit default order make no difference.
        let reordered = format!("/teams?cursor={valid}&q=team&order=asc&status=all&limit=2");
        assert_eq!(w.reader.get(&reordered).await.ok().names(), names(1..3));
    }

    async fn next_page_shows_only_teams_of_the_key(w: &World) {
        fill(w, 6).await;
        let all = w.reader.get("/teams").await.ok();
        let id = |number: usize| all.data()[number]["id"].as_str().unwrap().parse().unwrap();
        let team_key = |numbers: &[usize]| {
            let team_ids = Some(numbers.iter().map(|number| id(*number)).collect());
            NewKey { team_ids, ..new_key("teams:read") }
        };
        let (_, wide) = w.client_with_key(team_key(&[0, 1, 2, 3, 5])).await;
        let (_, narrow) = w.client_with_key(team_key(&[0, 3])).await;
        let first = wide.get("/teams?limit=2").await.ok();
        assert_eq!(first.names(), names(0..2));
        let next_page = format!("/teams?limit=2&cursor={}", cursor(&first));
        assert_eq!(wide.get(&next_page).await.ok().names(), names([2, 3]));
        let second = narrow.get(&next_page).await.ok();
        assert_eq!(second.names(), names([3]));
        assert_last(&second);
        assert_eq!(walk(&wide, "/teams?limit=2&order=desc").await, names([5, 3, 2, 1, 0]));
    }

    async fn changes_do_not_affect_the_creation_order(w: &World) {
        fill(w, 6).await;
        let first = w.reader.get("/teams?limit=3").await.ok();
        // Names and change times that would sort differently.
        for row in w.reader.get("/teams").await.ok().data().as_array().unwrap() {
            w.advance_clock(seconds(1));
            let change = json!({ "name": format!("A {}", row["name"].as_str().unwrap()) });
            w.owner.patch(&format!("/teams/{}", row["id"].as_str().unwrap()), change).await.ok();
        }
        let second = w.reader.get(&format!("/teams?limit=3&cursor={}", cursor(&first))).await.ok();
        assert_eq!(second.names(), ["A Team 003", "A Team 004", "A Team 005"]);
        assert_last(&second);
    }

    async fn log_readers_never_miss_a_slow_writer(w: &World) {
        let other = w.database.open(w.clock.clock());
        let (started, has_started) = tokio::sync::oneshot::channel();
        // It starts first and commits last: its notification must not appear behind the position of
        // a reader.
        let slow = other.write(Scope::account(w.harbour, "test"), move |tx| {
            let created = team::create(tx, Fields::read(json!({ "name": "Slow" }))?);
            started.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(300));
            created
        });
        let quick = async {
            has_started.await.unwrap();
            w.advance_clock(seconds(1));
            for number in 0..5 {
                w.owner.post("/teams", json!({ "name": name(number) })).await.created();
            }
        };
        let follow = async {
            let (mut seen, scope) = (Vec::new(), Scope::account(w.harbour, "test"));
            while seen.len() < 6 {
                let after = seen.last().copied().unwrap_or(0);
                let rows = move |db: &Reader<'_>| signals::notifications(db, after, 2);
                let rows = w.db().read(scope.clone(), rows).await.unwrap();
                seen.extend(rows.into_iter().map(|rows| rows.sequence));
            }
            seen
        };
        let (slow, (), seen) = tokio::join!(slow, quick, follow);
        assert_eq!(slow.unwrap().name, "Slow");
        assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
        assert_eq!(w.notifications().await.len(), 6);
        tokio::task::spawn_blocking(move || other.close()).await.unwrap();
    }
}
