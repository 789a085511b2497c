//! Stories about teams.

use futures_util::future::join_all;
use store::Scope;
use testkit::{Answer, Value, World, both, json, seconds};
use touchline::signals;

/// Whether the team plays, and its version.
fn state(team: &Answer) -> (&str, u64) {
    let (status, version) = (team.data()["status"].as_str(), team.data()["version"].as_u64());
    (status.expect("a status"), version.expect("a version"))
}

/// The names of an object's members, in order.
fn members(object: &Value) -> Vec<&str> {
    let mut names: Vec<_> =
        object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// What is wrong, fault by fault.
fn fault_codes(refused: &Answer) -> Vec<&str> {
    let faults = refused.body["errors"].as_array().expect("a list of faults");
    faults.iter().filter_map(|fault| fault["code"].as_str()).collect()
}

/// Both logs of the account are whole: no gap, and every entry fits the one before.
async fn verifies(w: &World) {
    let scope = Scope::account(w.harbour, "test");
    assert_eq!(w.db().read(scope, signals::verify).await.unwrap(), None);
}

both! {
    async fn a_team_is_created_read_changed_archived_and_restored(w: &World) {
        let body = json!({ "name": "Kraken", "sport": "soccer" });
        let team = w.owner.post("/teams", body).await.created();
        assert_eq!(team.data()["object"], "team");
        assert_eq!(team.data()["season"], Value::Null);
        assert_eq!(team.data()["timezone"], "UTC");
        assert_eq!(team.header("etag"), Some("\"1\""));
        let place = format!("/api/public/v1{}", team.path(""));
        assert_eq!(team.header("location"), Some(place.as_str()));

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
        w.owner.delete(&team.path("")).await.refused(409, "invalid_state");
        w.owner.patch(&team.path(""), json!({ "name": "X" })).await.refused(409, "invalid_state");

        let restored = w.owner.send("POST", &team.path("/restore"), None).await.ok();
        assert_eq!(state(&restored), ("active", 4));
        w.owner.send("POST", &team.path("/restore"), None).await.refused(409, "invalid_state");

        let kinds: Vec<_> = w.news().await.iter().map(|news| news["type"].clone()).collect();
        assert_eq!(kinds, ["team.created", "team.updated", "team.archived", "team.restored"]);
        verifies(w).await;
    }

    async fn an_answer_has_exactly_its_members(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let list = w.reader.get("/teams").await.ok();
        assert_eq!(members(&team.body), ["data", "request_id"]);
        assert_eq!(members(&list.body), ["data", "has_more", "next_cursor", "request_id"]);
        for answer in [&team, &list] {
            assert_eq!(answer.body["request_id"].as_str(), answer.header("request-id"));
        }
        // What has no value is there all the same, as null.
        assert_eq!(members(team.data()), ["age_group", "color", "created_at", "description",
            "external_id", "gender", "id", "metadata", "name", "object", "roster_count", "season",
            "sport", "status", "timezone", "unique_jerseys", "updated_at", "version"]);
        let letters = team.id().strip_prefix("team_").expect("a typed id");
        assert_eq!(letters.len(), 26);
        assert!(letters.chars().all(|letter| "0123456789abcdefghjkmnpqrstvwxyz".contains(letter)));
        assert_eq!(team.data()["created_at"], "2026-09-05T10:00:00.000000Z");
        assert_eq!(list.data()[0], *team.data());
    }

    async fn a_name_is_one_whatever_its_case_and_its_normal_form(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "École" })).await.created();
        for name in ["École", " école ", "ÉCOLE", "E\u{301}cole", "e\u{301}COLE"] {
            let refused = w.owner.post("/teams", json!({ "name": name })).await;
            assert_eq!(refused.refused(409, "taken").pointers(), ["/name"]);
        }
        let other = w.owner.post("/teams", json!({ "name": "Ecole" })).await.created();
        let refused = w.owner.patch(&other.path(""), json!({ "name": "ÉCOLE" })).await;
        assert_eq!(refused.refused(409, "taken").pointers(), ["/name"]);
        // A team does not stand in its own way, nor in that of another account.
        let renamed = w.owner.patch(&team.path(""), json!({ "name": "ÉCOLE" })).await.ok();
        assert_eq!(renamed.data()["name"], "ÉCOLE");
        w.stranger.post("/teams", json!({ "name": "École" })).await.created();
    }

    async fn an_archived_team_gives_its_name_free_until_it_is_restored(w: &World) {
        let old = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        w.owner.delete(&old.path("")).await.ok();
        let new = w.owner.post("/teams", json!({ "name": "KRAKEN" })).await.created();
        let refused = w.owner.send("POST", &old.path("/restore"), None).await.refused(409, "taken");
        assert_eq!(refused.pointers(), ["/name"]);
        let still = w.reader.get(&old.path("")).await.ok();
        assert_eq!(state(&still), ("archived", 2));
        w.owner.delete(&new.path("")).await.ok();
        w.owner.send("POST", &old.path("/restore"), None).await.ok();
        w.owner.send("POST", &new.path("/restore"), None).await.refused(409, "taken");
    }

    async fn an_external_id_is_used_once_in_an_account(w: &World) {
        let body = |name: &str, id: Value| json!({ "name": name, "external_id": id });
        let first = w.owner.post("/teams", body("A", json!("fed-1"))).await.created();
        let refused = w.owner.post("/teams", body("B", json!(" fed-1 "))).await;
        assert_eq!(refused.refused(409, "taken").pointers(), ["/external_id"]);
        // It is somebody else's word: unlike a name, its case counts, and archiving keeps it.
        let second = w.owner.post("/teams", body("B", json!("FED-1"))).await.created();
        w.owner.delete(&first.path("")).await.ok();
        let refused = w.owner.patch(&second.path(""), json!({ "external_id": "fed-1" })).await;
        assert_eq!(refused.refused(409, "taken").pointers(), ["/external_id"]);
        for name in ["C", "D"] {
            w.owner.post("/teams", body(name, Value::Null)).await.created();
        }
        w.stranger.post("/teams", body("A", json!("fed-1"))).await.created();
    }

    async fn every_fault_is_told_at_once(w: &World) {
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
        let made = w.owner.post("/teams", wrong.clone()).await;
        let changed = w.owner.patch(&team.path(""), wrong).await;
        for refused in [made, changed] {
            let refused = refused.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), pointers);
            assert_eq!(fault_codes(&refused), codes);
        }
        let refused = w.owner.post("/teams", json!({})).await.refused(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["code"], "required");
        assert_eq!(refused.pointers(), ["/name"]);
    }

    async fn a_text_may_be_as_long_as_its_bound(w: &World) {
        let bounds = [("name", 120), ("sport", 60), ("season", 60), ("age_group", 60),
            ("gender", 60), ("description", 10_000), ("external_id", 120)];
        let body = |more: usize| -> Value {
            // A character counts once, however many bytes it has.
            bounds.iter().map(|(name, max)| (*name, json!("🏉".repeat(max + more)))).collect()
        };
        let team = w.owner.post("/teams", body(0)).await.created();
        assert_eq!(team.data()["description"].as_str().unwrap().chars().count(), 10_000);
        let refused = w.owner.post("/teams", body(1)).await.refused(422, "validation_failed");
        assert_eq!(refused.pointers(), bounds.map(|(name, _)| format!("/{name}")));
        assert_eq!(fault_codes(&refused), bounds.map(|_| "too_long"));
    }

    async fn metadata_has_fifty_pairs_of_bounded_text(w: &World) {
        let pairs = |count: usize| -> Value {
            (0..count).map(|n| (format!("{n:é<40}"), json!("ü".repeat(500)))).collect()
        };
        let body = json!({ "name": "Kraken", "metadata": pairs(50) });
        let team = w.owner.post("/teams", body).await.created();
        assert_eq!(team.data()["metadata"], pairs(50));
        let change = async |metadata: Value| {
            w.owner.patch(&team.path(""), json!({ "metadata": metadata })).await
        };
        let refused = change(pairs(51)).await.refused(422, "validation_failed");
        assert_eq!(refused.pointers(), ["/metadata"]);
        assert_eq!(fault_codes(&refused), ["too_many"]);
        let long = "k".repeat(41);
        let refused = change(json!({ &long: "x" })).await.refused(422, "validation_failed");
        assert_eq!(refused.pointers(), [format!("/metadata/{long}")]);
        let wrong = json!([{ "": "x" }, { "a": null }, { "a": ["b"] }, [], "a"]);
        for wrong in wrong.as_array().unwrap() {
            change(wrong.clone()).await.refused(422, "validation_failed");
        }
        // Metadata is replaced as a whole; an empty value says that its key is there.
        let replaced = change(json!({ "a": "", "b": " x\ny " })).await.ok();
        assert_eq!(replaced.data()["metadata"], json!({ "a": "", "b": "x\ny" }));
        assert_eq!(change(json!({})).await.ok().data()["metadata"], json!({}));
    }

    async fn zones_and_colours_are_real_ones(w: &World) {
        for zone in ["", "Mars/Olympus", "+02:00", "UTC+2", "EST5EDT4", "../etc/passwd"] {
            let refused = w.owner.post("/teams", json!({ "name": "A", "timezone": zone })).await;
            let refused = refused.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/timezone"], "{zone}");
        }
        for color in ["", "red", "#fff", "0b5cad", "#0b5cag", "#0b5cad00", "#0b5ca\u{e9}"] {
            let refused = w.owner.post("/teams", json!({ "name": "A", "color": color })).await;
            let refused = refused.refused(422, "validation_failed");
            assert_eq!(refused.pointers(), ["/color"], "{color}");
        }
        let body = json!({ "name": "A", "timezone": "europe/LISBON", "color": "#0B5cad" });
        let team = w.owner.post("/teams", body).await.created();
        assert_eq!(team.data()["timezone"], "Europe/Lisbon");
        assert_eq!(team.data()["color"], "#0B5cad");
    }

    async fn a_list_shows_what_its_filters_say(w: &World) {
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
            w.reader.get(&format!("/teams?{query}")).await.refused(400, "invalid_parameter");
        }
    }

    async fn a_search_takes_every_character_as_it_is(w: &World) {
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

    async fn news_tells_what_is_and_what_was(w: &World) {
        let body = json!({ "name": "Kraken", "sport": "soccer" });
        let team = w.owner.post("/teams", body).await.created();
        w.pass(seconds(5));
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
        let told = w.news().await;
        assert_eq!(told.len(), expected.len());
        for (number, (news, (kind, now, before))) in told.iter().zip(expected).enumerate() {
            assert!(news["id"].as_str().unwrap().starts_with("ntf_"));
            let body = json!({
                "id": news["id"],
                "type": kind,
                "timestamp": now.data()["updated_at"],
                "api_version": "v1",
                "account_id": w.harbour,
                "sequence": number + 1,
                "data": { "object": now.data(), "previous": before },
            });
            assert_eq!(*news, body);
        }
    }

    async fn nothing_is_told_of_what_did_not_happen(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let path = team.path("");
        w.pass(seconds(5));
        w.owner.patch(&path, json!({})).await.ok();
        let same = json!({ "name": " Kraken ", "season": null, "timezone": "utc", "metadata": {} });
        let kept = w.owner.patch(&path, same).await.ok();
        assert_eq!(kept.data(), team.data());
        w.owner.post("/teams", json!({ "name": "Kraken" })).await.refused(409, "taken");
        w.owner.post("/teams", json!({ "name": "" })).await.refused(422, "validation_failed");
        w.owner.send("POST", &team.path("/restore"), None).await.refused(409, "invalid_state");
        let stale = w.owner.with("If-Match", "\"7\"");
        stale.delete(&path).await.refused(412, "precondition_failed");
        w.reader.delete(&path).await.refused(403, "insufficient_scope");
        assert_eq!(w.news().await.len(), 1);
        verifies(w).await;
    }

    async fn the_log_has_no_gap_however_many_write_at_once(w: &World) {
        // Every other one is refused, since its name is taken.
        let bodies = (0..60).map(|number| json!({ "name": format!("Team {}", number / 2) }));
        let answers = join_all(bodies.map(|body| w.owner.post("/teams", body))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 30);
        let told: Vec<_> = w.news().await.iter().map(|news| news["sequence"].clone()).collect();
        assert_eq!(told, (1..=30).collect::<Vec<_>>());
        assert_eq!(w.count("team").await, 30);
        verifies(w).await;
    }

    async fn names_that_nobody_can_see_or_tell_apart_are_refused(w: &World) {
        let invisible = json!({ "name": "\u{200b}\u{2060}" });
        assert_eq!(w.owner.post("/teams", invisible).await.refused(422, "validation_failed").pointers(), ["/name"]);
        w.owner.post("/teams", json!({ "name": "Straße" })).await.created();
        w.owner.post("/teams", json!({ "name": "STRASSE" })).await.refused(409, "taken");
    }

    async fn a_query_that_is_not_text_is_refused(w: &World) {
        for query in ["q=%ff", "q=%", "q=%zz", "q=a%2"] {
            w.reader.get(&format!("/teams?{query}")).await.refused(400, "invalid_parameter");
        }
        w.reader.get("/teams?q=%C3%A9").await.ok();
    }
}
