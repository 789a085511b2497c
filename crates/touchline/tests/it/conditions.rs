//! Tests of conditional requests: `If-Match` and `If-None-Match`.

use testkit::{Client, TestResponse, World, both, json};

/// The same client with `If-Match`.
fn if_match(client: &Client, tags: &str) -> Client {
    client.with_header("If-Match", tags)
}

/// The same client with `If-None-Match`.
fn if_none_match(client: &Client, tags: &str) -> Client {
    client.with_header("If-None-Match", tags)
}

async fn kraken(w: &World) -> TestResponse {
    w.owner.post("/teams", json!({ "name": "Kraken" })).await.created()
}

/// Asserts that the answer is an empty 304 with this tag.
#[track_caller]
fn assert_not_modified(answer: &TestResponse, tag: &str) {
    assert_eq!(answer.status, 304, "{}", answer.text);
    assert_eq!(answer.text, "");
    assert_eq!(answer.header("etag"), Some(tag));
    assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
    assert!(answer.header("request-id").is_some());
    assert_eq!(answer.header("content-type"), None);
}

/// The path of a team that does not exist.
const MISSING_TEAM: &str = "/teams/team_01kbm2x5q8f7vr0n3hd9tzc4wy";

both! {
    async fn etag_is_the_version_and_rises_with_every_change(w: &World) {
        let team = kraken(w).await;
        assert_eq!(team.header("etag"), Some("\"1\""));
        let change = w.owner.patch(&team.path(""), json!({ "name": "Hydra" })).await.ok();
        assert_eq!(change.header("etag"), Some("\"2\""));
        // A change without effect does not raise the version.
        let same = w.owner.patch(&team.path(""), json!({ "name": "Hydra" })).await.ok();
        assert_eq!((same.header("etag"), same.data()), (Some("\"2\""), change.data()));
        assert_eq!(w.owner.delete(&team.path("")).await.ok().header("etag"), Some("\"3\""));
        let restored = w.owner.send("POST", &team.path("/restore"), None).await.ok();
        assert_eq!(restored.header("etag"), Some("\"4\""));
        assert_eq!(w.reader.get(&team.path("")).await.ok().header("etag"), Some("\"4\""));
        assert_eq!(w.reader.get("/teams").await.ok().header("etag"), None);
    }

    async fn a_change_with_the_current_etag_succeeds(w: &World) {
        let team = kraken(w).await;
        let change = json!({ "name": "Hydra" });
        if_match(&w.owner, "\"1\"").patch(&team.path(""), change).await.ok();
        // One matching tag is enough, in one header line or in two. A tag may contain a comma.
        let several = if_match(&w.owner, "\"7\", \"a,b\" ,W/\"1\",\"2\"");
        several.patch(&team.path(""), json!({ "sport": "chess" })).await.ok();
        let lines = if_match(&if_match(&w.owner, "\"7\""), "\"3\"");
        lines.patch(&team.path(""), json!({ "sport": null })).await.ok();
        if_match(&w.owner, "*").delete(&team.path("")).await.ok();
        let restore = if_match(&w.owner, "\"5\"");
        restore.send("POST", &team.path("/restore"), None).await.ok();
    }

    async fn a_change_with_another_etag_is_rejected_with_412(w: &World) {
        let team = kraken(w).await;
        let change = json!({ "name": "Hydra" });
        // Stale, future, never issued, weak, and versions in other notations.
        for tag in ["\"0\"", "\"2\"", "\"\"", "\"x\"", "\"a,b\"", "W/\"1\"", "\"+1\"", "\"01\""] {
            let client = if_match(&w.owner, tag);
            let refused = client.patch(&team.path(""), change.clone()).await;
            refused.assert_problem(412, "precondition_failed");
            client.delete(&team.path("")).await.assert_problem(412, "precondition_failed");
        }
        assert_eq!(w.reader.get(&team.path("")).await.ok().data(), team.data());
        assert_eq!(w.notifications().await.len(), 1);
    }

    async fn a_412_answer_has_the_current_etag(w: &World) {
        let team = kraken(w).await;
        w.owner.patch(&team.path(""), json!({ "name": "Hydra" })).await.ok();
        let stale = if_match(&w.owner, "\"1\"").delete(&team.path("")).await;
        let refused = stale.assert_problem(412, "precondition_failed");
        assert_eq!(refused.header("etag"), Some("\"2\""));
    }

    async fn a_condition_is_checked_before_the_state(w: &World) {
        let team = kraken(w).await;
        w.owner.delete(&team.path("")).await.ok();
        let stale = if_match(&w.owner, "\"1\"");
        stale.delete(&team.path("")).await.assert_problem(412, "precondition_failed");
        let fresh = if_match(&w.owner, "\"2\"");
        fresh.delete(&team.path("")).await.assert_problem(409, "invalid_state");
    }

    async fn if_match_star_requires_an_existing_resource(w: &World) {
        let star = if_match(&w.owner, "*");
        star.patch(MISSING_TEAM, json!({ "name": "X" })).await.assert_problem(412, "precondition_failed");
        star.delete(MISSING_TEAM).await.assert_problem(412, "precondition_failed");
        w.owner.delete(MISSING_TEAM).await.assert_problem(404, "not_found");
        // Another account's team counts as missing.
        let team = kraken(w).await;
        let foreign = if_match(&w.stranger, "*").delete(&team.path("")).await;
        foreign.assert_problem(412, "precondition_failed");
    }

    async fn of_two_concurrent_changes_with_one_etag_one_succeeds(w: &World) {
        let team = kraken(w).await;
        for version in 1..=20 {
            let client = if_match(&w.owner, &format!("\"{version}\""));
            let rename = |name: &str| json!({ "name": format!("{name} {version}") });
            let (path, a, b) = (team.path(""), rename("Scylla"), rename("Charybdis"));
            let (a, b) = tokio::join!(client.patch(&path, a), client.patch(&path, b));
            let (won, lost) = if a.status == 200 { (a, b) } else { (b, a) };
            assert_eq!(won.ok().data()["version"], version + 1);
            lost.assert_problem(412, "precondition_failed");
        }
    }

    async fn an_unchanged_resource_is_not_sent_again(w: &World) {
        let team = kraken(w).await;
        let path = team.path("");
        for tags in ["\"1\"", "W/\"1\"", "*", "\"7\", W/\"a,b\", \"1\"", "\"7\",W/\"1\""] {
            assert_not_modified(&if_none_match(&w.reader, tags).get(&path).await, "\"1\"");
        }
        let lines = if_none_match(&if_none_match(&w.reader, "\"7\""), "\"1\"");
        assert_not_modified(&lines.get(&path).await, "\"1\"");
        for tags in ["\"2\"", "\"7\", \"8\"", "\"01\"", "\"+1\"", "\"\""] {
            if_none_match(&w.reader, tags).get(&path).await.ok();
        }
        w.owner.patch(&path, json!({ "name": "Hydra" })).await.ok();
        let fresh = if_none_match(&w.reader, "\"1\"").get(&path).await.ok();
        assert_eq!((fresh.header("etag"), fresh.names().len()), (Some("\"2\""), 0));
    }

    async fn a_condition_does_not_bypass_permissions(w: &World) {
        let team = kraken(w).await;
        let path = team.path("");
        if_none_match(&w.stranger, "*").get(&path).await.assert_problem(404, "not_found");
        if_none_match(&w.bystander, "*").get(&path).await.assert_problem(403, "insufficient_scope");
        if_none_match(&w.nobody, "\"1\"").get(&path).await.assert_problem(401, "missing_credentials");
        let change = json!({ "name": "Hydra" });
        if_match(&w.reader, "\"1\"").patch(&path, change).await.assert_problem(403, "insufficient_scope");
    }

    async fn rejects_malformed_etags(w: &World) {
        let team = kraken(w).await;
        let path = team.path("");
        let wrong = ["1", "\"1", "1\"", "w/\"1\"", "W/1", "\"1\" \"2\"", "\"1\";", "\"a b\"", "ü"];
        for tag in wrong {
            let refused = if_match(&w.owner, tag).patch(&path, json!({ "name": "Hydra" })).await;
            refused.assert_problem(400, "invalid_request");
            let refused = if_none_match(&w.reader, tag).get(&path).await;
            refused.assert_problem(400, "invalid_request");
        }
        assert_eq!(w.reader.get(&path).await.ok().data(), team.data());
    }

    async fn a_resource_has_one_representation_and_one_etag(w: &World) {
        let team = kraken(w).await;
        // Answers are neither compressed nor expandable, so no two representations share a tag.
        let compressing = w.reader.with_header("Accept-Encoding", "gzip, br, zstd");
        let sent = compressing.get(&team.path("")).await.ok();
        assert_eq!((sent.header("content-encoding"), sent.data()), (None, team.data()));
        let expanded = w.reader.get(&team.path("?expand=roster")).await;
        assert_eq!(expanded.assert_problem(400, "invalid_parameter").parameters(), ["expand"]);
    }

    async fn head_is_get_without_the_body(w: &World) {
        let team = kraken(w).await;
        // Headers that differ between any two requests.
        let varying = ["request-id", "date", "ratelimit", "x-ratelimit-remaining", "x-ratelimit-reset"];
        let headers = |answer: &TestResponse| {
            let shared = answer.headers.iter().filter(|(name, _)| !varying.contains(&name.as_str()));
            shared.cloned().collect::<Vec<_>>()
        };
        for path in ["/me", "/teams", "/teams?limit=1", &team.path(""), MISSING_TEAM] {
            let (get, head) = (w.reader.get(path).await, w.reader.send("HEAD", path, None).await);
            assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
            assert_eq!(headers(&head), headers(&get), "{path}");
        }
        let known = if_none_match(&w.reader, "\"1\"").send("HEAD", &team.path(""), None).await;
        assert_not_modified(&known, "\"1\"");
    }
}
