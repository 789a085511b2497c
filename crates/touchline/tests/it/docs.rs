//! The developer portal: the reference shows every operation, the search finds it, and admins see ids of their own club.

use testkit::{Value, World, both, json};
use touchline::accounts::user::Role;
use touchline::web::docs::{self, markdown};

use crate::openapi::operations;

/// The part of a page from one id to the next section.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = format!("<section class=\"op\" id=\"{id}\">");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no section {id}"));
    rest.split("</section>").next().unwrap()
}

/// A text as it is on a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('\'', "&#39;")
}

both! {
    async fn the_reference_shows_every_operation(w: &World) {
        let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
        let operations = operations(&document);
        assert!(operations.len() > 100);
        for tag in document["tags"].as_array().unwrap() {
            let slug = markdown::slug(tag["name"].as_str().unwrap());
            let page = w.nobody.get(&format!("/docs/reference/{slug}")).await.ok().text;
            for (method, path, operation) in operations.iter().filter(|(.., operation)| operation["tags"][0] == tag["name"]) {
                let id = operation["operationId"].as_str().unwrap();
                let shown = section(&page, id);
                assert!(shown.contains(&format!(">{method}</span> <code>/api/public/v1{path}</code>")), "{id}");
                assert!(shown.contains(&escaped(operation["summary"].as_str().unwrap())), "{id}");
                for language in ["sh", "ts", "python"] {
                    assert!(shown.contains(&format!("<pre class=\"{language}\"")), "{id} has no example in {language}");
                }
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    let Some(name) = parameter["name"].as_str() else { continue };
                    assert!(shown.contains(&format!("<dt><code>{name}</code>")), "{id} does not describe {name}");
                }
                assert!(!shown.contains("public/v1/…") && !shown.contains("/…"), "{id} has an example without an id");
            }
        }
    }

    async fn every_notification_type_has_an_example(w: &World) {
        let document: Value = serde_json::from_str(&touchline::openapi_json()).unwrap();
        let page = w.nobody.get("/docs/reference/notification-types").await.ok().text;
        for name in document["webhooks"].as_object().unwrap().keys() {
            assert!(section(&page, name).contains("&#34;sequence&#34;"), "{name}");
        }
    }

    async fn pages_load_nothing_from_elsewhere(w: &World) {
        for path in docs::paths().await.unwrap() {
            let page = w.nobody.get(&path).await.ok();
            let policy = page.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
            assert!(!page.text.contains("<style") && !page.text.contains(" style="), "{path}");
            let is_for_operators = path == "/docs/operations";
            assert_eq!(page.text.contains("https://club.example.org"), is_for_operators, "{path}");
            assert!(!page.text.contains("src=\"http"), "{path}");
        }
    }

    async fn errors_have_the_anchors_that_problem_documents_link_to(w: &World) {
        let problem = w.nobody.get("/teams").await;
        let link = problem.body["type"].as_str().unwrap().to_owned();
        problem.assert_problem(401, "missing_credentials");
        let page = w.nobody.get("/docs/errors").await.ok();
        let (_, anchor) = link.split_once('#').unwrap();
        assert!(page.text.contains(&format!("id=\"{anchor}\"")));
        assert!(page.text.contains("id=\"idempotency_key_reused\"") && page.text.contains("id=\"status-429\""));
    }

    async fn the_search_finds_guides_operations_and_errors(w: &World) {
        let first = async |query: &str| {
            let page = w.nobody.get(&format!("/docs/search?q={query}")).await.ok().text;
            let results = page.split_once("<ol class=\"results\">").unwrap_or_else(|| panic!("nothing for {query}")).1;
            results.split_once("href=\"").unwrap().1.split('"').next().unwrap().to_owned()
        };
        assert_eq!(first("rate%20limits").await, "/docs/rate-limits");
        assert_eq!(first("calendar_feeds.list").await, "/docs/reference/calendars#calendar_feeds.list");
        assert_eq!(first("create%20a%20team").await, "/docs/reference/teams#teams.create");
        assert_eq!(first("team.created").await, "/docs/reference/notification-types#team.created");
        assert_eq!(first("rate_limited").await, "/docs/errors#rate_limited");
        assert_eq!(first("team%20object").await, "/docs/reference/teams#team-object");
        let nothing = w.nobody.get("/docs/search?q=%3Cb%3Ezzzz").await.ok().text;
        assert!(nothing.contains("No results") && nothing.contains("&#60;b&#62;zzzz"), "{nothing}");
        w.nobody.get("/docs/search").await.ok();
        w.nobody.get("/docs/reference/nothing").await.assert_problem(404, "not_found");
    }

    async fn pages_are_cached_for_visitors_who_are_not_signed_in(w: &World) {
        let page = w.nobody.get("/docs/reference/teams").await.ok();
        assert_eq!(page.header("cache-control"), Some("public, max-age=300"));
        assert_eq!(page.header("vary"), Some("accept-encoding, cookie"));
        let tag = page.header("etag").unwrap().to_owned();
        let again = w.nobody.with_header("If-None-Match", &tag).get("/docs/reference/teams").await;
        assert_eq!(again.status, 304);
        let gzipped = w.nobody.with_header("Accept-Encoding", "gzip").get("/docs/reference/teams").await.ok();
        assert_eq!(gzipped.header("content-encoding"), Some("gzip"));
    }

    async fn admins_see_ids_of_their_own_club(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Hawks" })).await.created();
        let team = team.data()["id"].as_str().unwrap().to_owned();
        let member = w.owner.post(&format!("/teams/{team}/roster"), json!({ "first_name": "Rui" })).await.created();
        let member = member.data()["id"].as_str().unwrap().to_owned();
        let admin = w.user(Role::Admin, "admin@example.org").await;
        let mut browser = w.browser(admin.id).await;
        let page = browser.open("/docs/reference/roster").await.ok();
        assert_eq!(page.header("cache-control"), Some("private, no-store"));
        assert!(page.text.contains(&format!("/teams/{team}/roster/{member}")));
        assert!(page.text.contains("Examples use IDs of"));
        assert!(!page.text.contains("team_01kbm2x5q8f7vr0n3hd9tzc4wy"));
        assert!(!page.text.contains("tl_live_"));
        let other = w.user(Role::Member, "member@example.org").await;
        let mut browser = w.browser(other.id).await;
        let page = browser.open("/docs/reference/roster").await.ok();
        assert!(!page.text.contains(&team) && page.text.contains("team_01kbm2x5q8f7vr0n3hd9tzc4wy"));
        assert_eq!(page.header("cache-control"), Some("public, max-age=300"));
    }
}
