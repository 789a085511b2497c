//! Tests of teams.

use futures_util::future::join_all;
use store::Scope;
use testkit::{TestResponse, Value, World, both, json, seconds};
use touchline::signals;

/// The status and version of a team.
fn state(team: &TestResponse) -> (&str, u64) {
    let (status, version) = (team.data()["status"].as_str(), team.data()["version"].as_u64());
    (status.expect("a status"), version.expect("a version"))
}

/// The field names of an object, sorted.
fn field_names(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> =
        object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// The code of each error.
fn error_codes(refused: &TestResponse) -> Vec<&str> {
    let faults = refused.body["errors"].as_array().expect("a list of faults");
    faults.iter().filter_map(|fault| fault["code"].as_str()).collect()
}

/// Asserts that both logs of the account verify: no gap, and each entry matches the previous one.
async fn assert_logs_verify(w: &World) {
    let scope = Scope::account(w.harbour, "test");
    assert_eq!(w.db().read(scope, signals::verify).await.unwrap(), None);
}

both! {
    async fn creates_reads_updates_archives_and_restores_a_team(w: &World) {
        let body = json!({ "name": "Kraken", "sport": "soccer" });
        let team = w.owner.post("/teams", body).await.created();
        assert_eq!(team.data()["object"], "team");
        assert_eq!(team.data()["season"], Value::Null);
        assert_eq!(team.data()["timezone"], "UTC");
        assert_eq!(team.header("etag"), Some("\"1\""));
        let location = format!("/api/public/v1{}", team.path(""));
        assert_eq!(team.header("location"), Some(location.as_str()));

        let read = w.reader.get(&team.path("")).await.ok();
        assert_eq!(read.data(), team.data());

        let change = json!({ "name": "Krakens", "sport": null, "metadata": { "a": "b" } });
        let changed = w.owner.patch(&team.path(""), change).await.ok();
        assert_eq!(changed.data()["name"], "Krakens");
        assert_eq!(changed.data()["sport"], Value::Null);
        assert_eq!(changed.data()["metadata"], json!({ "a": "b" }));
        assert_eq!(changed.data()["version"], 2);

        assert_eq!(w.owner.delete(&team.path("")).await.ok().data()["status"], "archived");
        assert!(w.reader.get("/teams").await.ok().names().is_empty());
        assert_eq!(w.reader.get("/teams?status=archived").await.ok().names(), ["Krakens"]);
        w.owner.delete(&team.path("")).await.assert_problem(409, "invalid_state");
        w.owner.patch(&team.path(""), json!({ "name": "X" })).await.assert_problem(409, "invalid_state");

        let restored = w.owner.send("POST", &team.path("/restore"), None).await.ok();
        assert_eq!(state(&restored), ("active", 4));
        w.owner.send("POST", &team.path("/restore"), None).await.assert_problem(409, "invalid_state");

        let kinds: Vec<_> = w.notifications().await.iter().map(|row| row["type"].clone()).collect();
        assert_eq!(kinds, ["team.created", "team.updated", "team.archived", "team.restored"]);
        assert_logs_verify(w).await;
    }

    async fn response_has_exactly_its_fields(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let list = w.reader.get("/teams").await.ok();
        assert_eq!(field_names(&team.body), ["data", "request_id"]);
        assert_eq!(field_names(&list.body), ["data", "has_more", "next_cursor", "request_id"]);
        for answer in [&team, &list] {
            assert_eq!(answer.body["request_id"].as_str(), answer.header("request-id"));
        }
        // Fields without a value are null, not missing.
        assert_eq!(field_names(team.data()), ["age_group", "color", "created_at", "description",
            "external_id", "gender", "id", "logo_file_id", "metadata", "name", "object", "roster_count",
            "rsvp_reminder_hours", "season", "sport", "status", "timezone", "unique_jerseys", "updated_at", "version"]);
        let id_text = team.id().strip_prefix("team_").expect("a typed id");
        assert_eq!(id_text.len(), 26);
        assert!(id_text.chars().all(|c| "0123456789abcdefghjkmnpqrstvwxyz".contains(c)));
        assert_eq!(team.data()["created_at"], "2026-09-05T10:00:00.000000Z");
        assert_eq!(list.data()[0], *team.data());
    }

    async fn names_are_unique_regardless_of_case_and_normalization(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "École" })).await.created();
        for name in ["École", " école ", "ÉCOLE", "E\u{301}cole", "e\u{301}COLE"] {
            let refused = w.owner.post("/teams", json!({ "name": name })).await;
            assert_eq!(refused.assert_problem(409, "taken").pointers(), ["/name"]);
        }
        let other = w.owner.post("/teams", json!({ "name": "Ecole" })).await.created();
        let refused = w.owner.patch(&other.path(""), json!({ "name": "ÉCOLE" })).await;
        assert_eq!(refused.assert_problem(409, "taken").pointers(), ["/name"]);
        // A team may keep its own name, and other accounts may use it.
        let renamed = w.owner.patch(&team.path(""), json!({ "name": "ÉCOLE" })).await.ok();
        assert_eq!(renamed.data()["name"], "ÉCOLE");
        w.stranger.post("/teams", json!({ "name": "École" })).await.created();
    }

    async fn archiving_a_team_frees_its_name(w: &World) {
        let old = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        w.owner.delete(&old.path("")).await.ok();
        let new = w.owner.post("/teams", json!({ "name": "KRAKEN" })).await.created();
        let refused = w.owner.send("POST", &old.path("/restore"), None).await.assert_problem(409, "taken");
        assert_eq!(refused.pointers(), ["/name"]);
        let unchanged = w.reader.get(&old.path("")).await.ok();
        assert_eq!(state(&unchanged), ("archived", 2));
        w.owner.delete(&new.path("")).await.ok();
        w.owner.send("POST", &old.path("/restore"), None).await.ok();
        w.owner.send("POST", &new.path("/restore"), None).await.assert_problem(409, "taken");
    }

    async fn rejects_a_duplicate_external_id(w: &World) {
        let body = |name: &str, id: Value| json!({ "name": name, "external_id": id });
        let first = w.owner.post("/teams", body("A", json!("fed-1"))).await.created();
        let refused = w.owner.post("/teams", body("B", json!(" fed-1 "))).await;
        assert_eq!(refused.assert_problem(409, "taken").pointers(), ["/external_id"]);
        // An external id belongs to another system: unlike a name, it is case-sensitive, and
        // archiving keeps it.
        let second = w.owner.post("/teams", body("B", json!("FED-1"))).await.created();
        w.owner.delete(&first.path("")).await.ok();
        let refused = w.owner.patch(&second.path(""), json!({ "external_id": "fed-1" })).await;
        assert_eq!(refused.assert_problem(409, "taken").pointers(), ["/external_id"]);
        for name in ["C", "D"] {
            w.owner.post("/teams", body(name, Value::Null)).await.created();
        }
        w.stranger.post("/teams", body("A", json!("fed-1"))).await.created();
    }

    async fn reports_all_errors_at_once(w: &World) {
        let wrong = json!({
            "name": "", "sport": 7, "season": "x".repeat(61), "age_group": " ", "gender": [],
            "timezone": "Mars/Olympus", "color": "red", "description": {}, "unique_jerseys": "yes",
            "external_id": "\u{7}", "metadata": { "a/b": 1, "c": "x".repeat(501) }
        });
        let pointers = ["/name", "/sport", "/season", "/age_group", "/gender", "/timezone",
            "/color", "/description", "/unique_jerseys", "/external_id", "/metadata/a~1b",
            "/metadata/c"];
        let codes = ["empty", "wrong_type", "too_long", "empty", "wrong_type", "unknown_timezone",
            "invalid_color", "wrong_type", "wrong_type", "control_character", "wrong_type",
            "too_long"];
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let created = w.owner.post("/teams", wrong.clone()).await;
        let changed = w.owner.patch(&team.path(""), wrong).await;
        for refused in [created, changed] {
            let refused = refused.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), pointers);
            assert_eq!(error_codes(&refused), codes);
        }
        let refused = w.owner.post("/teams", json!({})).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["code"], "required");
        assert_eq!(refused.pointers(), ["/name"]);
    }

    async fn texts_may_have_their_maximum_length(w: &World) {
        let bounds = [("name", 120), ("sport", 60), ("season", 60), ("age_group", 60),
            ("gender", 60), ("description", 10_000), ("external_id", 120)];
        let body = |more: usize| -> Value {
            // A character counts once, however many bytes it has.
            bounds.iter().map(|(name, max)| (*name, json!("🏉".repeat(max + more)))).collect()
        };
        let team = w.owner.post("/teams", body(0)).await.created();
        assert_eq!(team.data()["description"].as_str().unwrap().chars().count(), 10_000);
        let refused = w.owner.post("/teams", body(1)).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), bounds.map(|(name, _)| format!("/{name}")));
        assert_eq!(error_codes(&refused), bounds.map(|_| "too_long"));
    }

    async fn limits_metadata(w: &World) {
        let pairs = |count: usize| -> Value {
            (0..count).map(|n| (format!("{n:é<40}"), json!("ü".repeat(500)))).collect()
        };
        let body = json!({ "name": "Kraken", "metadata": pairs(50) });
        let team = w.owner.post("/teams", body).await.created();
        assert_eq!(team.data()["metadata"], pairs(50));
        let change = async |metadata: Value| {
            w.owner.patch(&team.path(""), json!({ "metadata": metadata })).await
        };
        let refused = change(pairs(51)).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/metadata"]);
        assert_eq!(error_codes(&refused), ["too_many"]);
        let long = "k".repeat(41);
        let refused = change(json!({ &long: "x" })).await.assert_problem(422, "validation_failed");
        assert_eq!(refused.pointers(), [format!("/metadata/{long}")]);
        let wrong = json!([{ "": "x" }, { "a": null }, { "a": ["b"] }, [], "a"]);
        for wrong in wrong.as_array().unwrap() {
            change(wrong.clone()).await.assert_problem(422, "validation_failed");
        }
        // Metadata is replaced as a whole; an empty value keeps its key.
        let replaced = change(json!({ "a": "", "b": " x\ny " })).await.ok();
        assert_eq!(replaced.data()["metadata"], json!({ "a": "", "b": "x\ny" }));
        assert_eq!(change(json!({})).await.ok().data()["metadata"], json!({}));
    }

    async fn rejects_invalid_time_zones_and_colors(w: &World) {
        for zone in ["", "Mars/Olympus", "+02:00", "UTC+2", "EST5EDT4", "../etc/passwd"] {
            let refused = w.owner.post("/teams", json!({ "name": "A", "timezone": zone })).await;
            let refused = refused.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/timezone"], "{zone}");
        }
        for color in ["", "red", "#fff", "0b5cad", "#0b5cag", "#0b5cad00", "#0b5ca\u{e9}"] {
            let refused = w.owner.post("/teams", json!({ "name": "A", "color": color })).await;
            let refused = refused.assert_problem(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/color"], "{color}");
        }
        let body = json!({ "name": "A", "timezone": "europe/LISBON", "color": "#0B5cad" });
        let team = w.owner.post("/teams", body).await.created();
        assert_eq!(team.data()["timezone"], "Europe/Lisbon");
        assert_eq!(team.data()["color"], "#0B5cad");
    }

    async fn filters_the_list(w: &World) {
        let body = |name: &str, sport: &str, season: &str, id: &str| {
            json!({ "name": name, "sport": sport, "season": season, "external_id": id })
        };
        w.owner.post("/teams", body("A", "soccer", "2026", "a")).await.created();
        w.owner.post("/teams", body("B", "soccer", "2027", "b")).await.created();
        let c = w.owner.post("/teams", body("C", "rugby", "2026", "c")).await.created();
        w.owner.delete(&c.path("")).await.ok();
        for (query, shown) in [
            ("", &["A", "B"][..]),
            ("status=active", &["A", "B"]),
            ("status=archived", &["C"]),
            ("status=all", &["A", "B", "C"]),
            ("sport=soccer", &["A", "B"]),
            ("sport=Soccer", &[]),
            ("sport=soccer&season=2027", &["B"]),
            ("season=2026&status=all", &["A", "C"]),
            ("external_id=b", &["B"]),
            ("external_id=b&sport=rugby", &[]),
            ("external_id=c", &[]),
            ("external_id=c&status=all&order=desc", &["C"]),
            ("q=a&season=2026", &["A"]),
        ] {
            let list = w.reader.get(&format!("/teams?{query}")).await.ok();
            assert_eq!(list.names(), shown, "{query}");
        }
        for query in ["status=", "status=deleted", "sport=", "q=%20", "q=%00", "external_id=%0A"] {
            w.reader.get(&format!("/teams?{query}")).await.assert_problem(400, "invalid_parameter");
        }
    }

    async fn search_treats_special_characters_literally(w: &World) {
        for name in ["100% Kraken", "Under_score", "Back\\slash", "Éclair", "Plain [a-z]*"] {
            w.owner.post("/teams", json!({ "name": name })).await.created();
        }
        for (q, shown) in [
            ("%25", &["100% Kraken"][..]),
            ("_", &["Under_score"]),
            ("%5C", &["Back\\slash"]),
            ("0%25%20k", &["100% Kraken"]),
            ("R_S", &["Under_score"]),
            ("a-z]*", &["Plain [a-z]*"]),
            ("E%CC%81CL", &["Éclair"]),
            ("%C3%A9clair", &["Éclair"]),
            ("eclair", &[]),
            ("%25_%25", &[]),
            ("'%20or%201=1--", &[]),
        ] {
            let list = w.reader.get(&format!("/teams?q={q}")).await.ok();
            assert_eq!(list.names(), shown, "{q}");
        }
    }

    async fn notifications_contain_the_object_and_its_previous_values(w: &World) {
        let body = json!({ "name": "Kraken", "sport": "soccer" });
        let team = w.owner.post("/teams", body).await.created();
        w.advance_clock(seconds(5));
        let metadata = json!({ "a": "b" });
        let change =
            json!({ "name": "Hydra", "sport": "soccer", "season": "2026", "metadata": metadata });
        let changed = w.owner.patch(&team.path(""), change).await.ok();
        let archived = w.owner.delete(&team.path("")).await.ok();
        let restored = w.owner.send("POST", &team.path("/restore"), None).await.ok();
        let expected = [
            ("team.created", &team, Value::Null),
            ("team.updated", &changed, json!({ "name": "Kraken", "season": null, "metadata": {} })),
            ("team.archived", &archived, json!({ "status": "active" })),
            ("team.restored", &restored, json!({ "status": "archived" })),
        ];
        let notifications = w.notifications().await;
        assert_eq!(notifications.len(), expected.len());
        for (number, (notification, (kind, answer, previous))) in notifications.iter().zip(expected).enumerate() {
            assert!(notification["id"].as_str().unwrap().starts_with("ntf_"));
            let body = json!({
                "id": notification["id"],
                "type": kind,
                "timestamp": answer.data()["updated_at"],
                "api_version": "v1",
                "account_id": w.harbour,
                "sequence": number + 1,
                "data": { "object": answer.data(), "previous": previous },
            });
            assert_eq!(*notification, body);
        }
    }

    async fn failed_and_empty_changes_publish_nothing(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let path = team.path("");
        w.advance_clock(seconds(5));
        w.owner.patch(&path, json!({})).await.ok();
        let same = json!({ "name": " Kraken ", "season": null, "timezone": "utc", "metadata": {} });
        let unchanged = w.owner.patch(&path, same).await.ok();
        assert_eq!(unchanged.data(), team.data());
        w.owner.post("/teams", json!({ "name": "Kraken" })).await.assert_problem(409, "taken");
        w.owner.post("/teams", json!({ "name": "" })).await.assert_problem(422, "validation_failed");
        w.owner.send("POST", &team.path("/restore"), None).await.assert_problem(409, "invalid_state");
        let stale = w.owner.with_header("If-Match", "\"7\"");
        stale.delete(&path).await.assert_problem(412, "precondition_failed");
        w.reader.delete(&path).await.assert_problem(403, "insufficient_scope");
        assert_eq!(w.notifications().await.len(), 1);
        assert_logs_verify(w).await;
    }

    async fn concurrent_writes_leave_no_gaps_in_the_log(w: &World) {
        // Every second one is refused, because its name is taken.
        let bodies = (0..60).map(|number| json!({ "name": format!("Team {}", number / 2) }));
        let answers = join_all(bodies.map(|body| w.owner.post("/teams", body))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 30);
        let sequences: Vec<_> = w.notifications().await.iter().map(|row| row["sequence"].clone()).collect();
        assert_eq!(sequences, (1..=30).collect::<Vec<_>>());
        assert_eq!(w.count("team").await, 30);
        assert_logs_verify(w).await;
    }

    async fn rejects_invisible_and_confusable_names(w: &World) {
        let invisible = json!({ "name": "\u{200b}\u{2060}" });
        assert_eq!(w.owner.post("/teams", invisible).await.assert_problem(422, "validation_failed").pointers(), ["/name"]);
        w.owner.post("/teams", json!({ "name": "Straße" })).await.created();
        w.owner.post("/teams", json!({ "name": "STRASSE" })).await.assert_problem(409, "taken");
    }

    async fn rejects_a_query_that_is_not_utf8(w: &World) {
        for query in ["q=%ff", "q=%", "q=%zz", "q=a%2"] {
            w.reader.get(&format!("/teams?{query}")).await.assert_problem(400, "invalid_parameter");
        }
        w.reader.get("/teams?q=%C3%A9").await.ok();
    }
}
