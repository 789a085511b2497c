//! Tests of usage counts of keys and apps, and of the usage page.

use store::Scope;
use testkit::world::{new_key, test_config};
use testkit::{Node, World, both, seconds};
use touchline::accounts::account;
use touchline::accounts::usage::{self, UsageHour};
use touchline::accounts::user::Role;
use touchline::jobs;
use touchline::tier::Tier;

/// The stored usage of Harbour.
async fn stored_usage(w: &World) -> Vec<UsageHour> {
    let since = "2026-01-01T00:00:00Z".parse().unwrap();
    let scope = Scope::account(w.harbour, "test");
    w.db().read(scope, move |db| usage::list_since(db, since)).await.unwrap()
}

both! {
    async fn counts_each_request_once_across_hours_and_writes(w: &World) {
        let (key, caller) = w.client_with_key(new_key("teams:read")).await;
        let coach = w.user(Role::Admin, "ana@harbour.example").await;
        let app = w.client_for_user(coach.id, "teams:read").await;
        for _ in 0..5 {
            caller.get("/teams").await.ok();
        }
        // A forbidden request with a valid key is counted.
        caller.post("/teams", testkit::json!({ "name": "No" })).await.assert_problem(403, "insufficient_scope");
        // Requests without credentials are not counted.
        w.nobody.get("/teams").await.assert_problem(401, "missing_credentials");
        w.node.app.flush_usage().await;
        for _ in 0..3 {
            caller.get("/teams").await.ok();
        }
        app.get("/me").await.ok();
        w.node.app.flush_usage().await;
        w.node.app.flush_usage().await;
        w.advance_clock(seconds(3600));
        caller.get("/teams").await.ok();
        w.node.app.flush_usage().await;

        let hours = stored_usage(w).await;
        let counts_of = |credential: &str| -> Vec<(i64, i64)> {
            let own = hours.iter().filter(|hour| hour.credential == credential);
            own.map(|hour| (hour.requests, hour.refused)).collect()
        };
        assert_eq!(counts_of(&key.id.to_string()), [(9, 0), (1, 0)]);
        let apps: Vec<_> = hours.iter().filter(|hour| hour.credential.starts_with("app_")).collect();
        assert_eq!(apps.iter().map(|hour| hour.requests).collect::<Vec<_>>(), [1]);
    }

    async fn counts_rate_limited_requests_too(w: &World) {
        let scope = Scope::account(w.harbour, "test");
        w.db().write(scope, |tx| account::set_tier(tx, Tier::Free)).await.unwrap();
        let (key, caller) = w.client_with_key(new_key("teams:read")).await;
        let mut refused = 0;
        for _ in 0..70 {
            refused += i64::from(caller.get("/me").await.status == 429);
        }
        assert!(refused >= 9, "{refused}");
        w.node.app.flush_usage().await;
        let hours = stored_usage(w).await;
        let own: Vec<_> = hours.iter().filter(|hour| hour.credential == key.id.to_string()).collect();
        assert_eq!(own.len(), 1);
        assert_eq!((own[0].requests, own[0].refused), (70, refused));
    }

    async fn counts_of_two_nodes_add_up_and_a_stopping_node_stores_its_counts(w: &World) {
        let (key, caller) = w.client_with_key(new_key("teams:read")).await;
        let second = Node::start(&w.database, w.clock.clock(), test_config()).await;
        let second_caller = testkit::Client::new(second.address, caller.key.as_deref());
        for _ in 0..4 {
            second_caller.get("/me").await.ok();
        }
        caller.get("/me").await.ok();
        w.node.app.flush_usage().await;
        second.stop().await;
        let hours = stored_usage(w).await;
        let own = hours.iter().filter(|hour| hour.credential == key.id.to_string());
        assert_eq!(own.map(|hour| hour.requests).sum::<i64>(), 5);
    }

    async fn deletes_old_hours_and_drops_counts_of_deleted_accounts(w: &World) {
        w.owner.get("/me").await.ok();
        w.node.app.flush_usage().await;
        w.advance_clock(seconds(89 * 86_400));
        w.owner.get("/me").await.ok();
        w.node.app.flush_usage().await;
        jobs::delete_expired_records(&w.node.app).await;
        assert_eq!(stored_usage(w).await.len(), 2);
        w.advance_clock(seconds(2 * 86_400));
        jobs::delete_expired_records(&w.node.app).await;
        assert_eq!(stored_usage(w).await.len(), 1);

        w.owner.get("/me").await.ok();
        let scope = Scope::account(w.harbour, "test");
        w.db().write(scope, account::delete).await.unwrap();
        w.node.app.flush_usage().await;
        assert!(w.node.app.usage.take().is_empty(), "it is not kept for ever");
        assert_eq!(w.count("usage_hour").await, 0);
    }

    async fn the_page_shows_requests_by_hour_and_by_key(w: &World) {
        let admin = w.user(Role::Admin, "ana@harbour.example").await;
        let (key, caller) = w.client_with_key(new_key("teams:read")).await;
        let (idle, _) = w.client_with_key(new_key("teams:read")).await;
        for _ in 0..12 {
            caller.get("/me").await.ok();
        }
        w.owner.get("/me").await.ok();
        let mut browser = w.browser(admin.id).await;
        let page = browser.get("/admin/usage").await.ok();
        let page = page.shows("<svg class=\"chart\"").shows("<title id=\"chart-title\">").shows("13 requests in the last 24 hours")
            .shows("Show as table").shows("6,000").shows("The limit of the league tier");
        assert!(page.text.contains(&format!("/admin/keys/{}", key.id)) && !page.text.contains(&idle.id.to_string()));
        let only = browser.get(&format!("/admin/usage?range=7d&credential={}", key.id)).await.ok();
        only.shows("12 requests in the last 7 days");
        // After a day, only the 7-day range shows the requests.
        w.advance_clock(seconds(25 * 3600));
        let mut browser = w.browser(admin.id).await;
        browser.get("/admin/usage").await.ok().shows("No requests yet");
        browser.get("/admin/usage?range=7d").await.ok().shows("13 requests in the last 7 days");
        browser.get("/admin/usage?range=nonsense&credential=%3Cscript%3E").await.ok();
    }
}
