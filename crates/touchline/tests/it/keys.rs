//! Tests of API keys: which are accepted, and that rejections do not reveal the reason.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use kit::clock::ManualClock;
use store::Scope;
use testkit::process::Program;
use testkit::world::{new_key, test_config};
use testkit::{Client, Node, TestResponse, World, both, json, seconds};
use touchline::accounts::api_key::{self, Key, NewKey};

use super::http::Upload;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The checksum at the end of a key: CRC-32 in six base62 digits.
fn checksum(text: &str) -> String {
    let mut crc = u32::MAX;
    for byte in text.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let rest = !crc as usize;
    (0..6).rev().map(|digit| char::from(BASE62[rest / 62usize.pow(digit) % 62])).collect()
}

/// A well-formed key with the same public id and another secret.
pub(crate) fn with_wrong_secret(value: &str) -> String {
    let (public, _) = value.rsplit_once('_').unwrap();
    let body = format!("{public}_{}", "0".repeat(32));
    format!("{body}{}", checksum(&body))
}

/// A well-formed key that does not exist.
fn unknown_key() -> String {
    with_wrong_secret("tl_live_000000000000_x")
}

/// The secret part of a key.
fn secret_of(value: &str) -> &str {
    &value.rsplit_once('_').unwrap().1[..32]
}

pub(crate) async fn revoke(node: &Node, w: &World, key: &Key) {
    let id = key.id;
    let scope = Scope::account(w.harbour, "test");
    node.app.db.write(scope, move |tx| api_key::revoke(tx, id)).await.unwrap();
}

/// The parts of an answer that do not differ between requests.
fn comparable(answer: &TestResponse) -> (u16, String, Vec<(String, String)>) {
    let id = answer.header("request-id").unwrap();
    let headers = answer.headers.iter().filter(|(name, _)| name != "request-id" && name != "date");
    (answer.status, answer.text.replace(id, ""), headers.cloned().collect())
}

both! {
    async fn ignores_the_case_of_the_scheme_and_spaces_around_the_key(w: &World) {
        let key = w.owner.key.as_deref().unwrap();
        for line in [format!("Bearer {key}"), format!("bearer {key}"), format!("BEARER  {key}  ")] {
            w.nobody.with_header("Authorization", &line).get("/me").await.ok();
        }
        let twice = w.owner.with_header("Authorization", &format!("Bearer {key}"));
        twice.get("/me").await.assert_problem(400, "invalid_request");
    }

    async fn a_key_is_read_only_from_the_authorization_header(w: &World) {
        let key = w.owner.key.as_deref().unwrap();
        for name in ["api_key", "access_token", "key"] {
            let refused = w.nobody.get(&format!("/me?{name}={key}")).await;
            let refused = refused.assert_problem(401, "missing_credentials");
            assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        }
        w.nobody.with_header("X-Api-Key", key).get("/me").await.assert_problem(401, "missing_credentials");
        w.nobody.with_header("Cookie", &format!("key={key}")).get("/me").await.assert_problem(401, "missing_credentials");
        for line in [format!("Basic {key}"), key.to_owned(), "Bearer".to_owned(), "Bearer ".to_owned()] {
            let refused = w.nobody.with_header("Authorization", &line).get("/me").await;
            refused.assert_problem(401, "invalid_credentials");
        }
    }

    async fn rejects_a_mistyped_key_without_asking_the_database(w: &World) {
        let key = w.owner.key.clone().unwrap();
        let last = if key.ends_with('0') { "1" } else { "0" };
        let mistyped = format!("{}{last}", &key[..key.len() - 1]);
        let before = w.db().stats().reads;
        for wrong in [mistyped.as_str(), "", "x", "tl_live_", &key[1..], &"tl_live_".repeat(500)] {
            let caller = Client::new(w.node.address, Some(wrong));
            let refused = caller.get("/me").await.assert_problem(401, "invalid_credentials");
            assert_eq!(refused.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
        }
        assert_eq!(w.db().stats().reads, before);
        w.owner.get("/me").await.ok();
        assert!(w.db().stats().reads > before);
    }

    async fn unknown_wrong_expired_and_revoked_keys_get_the_same_answer(w: &World) {
        let (revoked, holder) = w.client_with_key(new_key("teams:read")).await;
        revoke(&w.node, w, &revoked).await;
        let soon = w.clock.clock().now().plus(seconds(1));
        let (_, late) = w.client_with_key(NewKey { expires_at: Some(soon), ..new_key("teams:read") }).await;
        w.advance_clock(seconds(2));
        let wrong = with_wrong_secret(w.owner.key.as_deref().unwrap());
        let mut answers = Vec::new();
        for value in [unknown_key(), wrong, holder.key.unwrap(), late.key.unwrap()] {
            let before = w.db().stats();
            let answer = Client::new(w.node.address, Some(&value)).get("/teams").await;
            let answer = answer.assert_problem(401, "invalid_credentials");
            let after = w.db().stats();
            let queries = (after.reads - before.reads, after.jobs - before.jobs);
            answers.push((comparable(&answer), queries));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        assert_eq!(answers[0].1, (1, 0));
        // A mistyped key needs no query, but gets the same answer.
        let mistyped = Client::new(w.node.address, Some("tl_live_x")).get("/teams").await;
        assert_eq!(comparable(&mistyped), answers[0].0);
    }

    async fn a_key_works_until_it_expires_by_the_clock_of_the_node(w: &World) {
        let end = w.clock.clock().now().plus(seconds(60));
        let (_, caller) = w.client_with_key(NewKey { expires_at: Some(end), ..new_key("teams:read") }).await;
        // A node whose clock is five seconds ahead uses its own clock.
        let ahead = ManualClock::at(w.clock.clock().now().plus(seconds(5)));
        let node = Node::start(&w.database, ahead.clock(), test_config()).await;
        w.advance_clock(seconds(54));
        ahead.advance(seconds(54));
        caller.at(node.address).get("/teams").await.ok();
        w.advance_clock(seconds(5));
        ahead.advance(seconds(5));
        caller.get("/teams").await.ok();
        caller.at(node.address).get("/teams").await.assert_problem(401, "invalid_credentials");
        w.advance_clock(seconds(1));
        caller.get("/teams").await.assert_problem(401, "invalid_credentials");
        node.stop().await;
    }

    async fn a_running_request_changes_nothing_once_its_key_is_revoked(w: &World) {
        let (key, caller) = w.client_with_key(new_key("teams:write")).await;
        let body = r#"{ "name": "Kraken" }"#;
        let upload = Upload::begin(&caller, body).await;
        revoke(&w.node, w, &key).await;
        upload.end(body).await.assert_problem(401, "invalid_credentials");
        caller.post("/teams", json!({ "name": "Too late" })).await.assert_problem(401, "invalid_credentials");
        assert_eq!(w.count("team").await, 0);
    }

    async fn a_key_works_only_from_its_networks_behind_trusted_proxies(w: &World) {
        let nets = ["203.0.113.0/24", "2001:db8::/32"].map(|net| net.parse().unwrap());
        let new = NewKey { cidrs: Some(nets.to_vec()), ..new_key("teams:read") };
        let (_, caller) = w.client_with_key(new).await;
        // Without trusted proxies, the header is ignored and the address of the peer counts.
        caller.with_header("X-Forwarded-For", "203.0.113.9").get("/teams").await.assert_problem(403, "forbidden");
        let node = w.node(|config| {
            config.trusted_proxies = ["127.0.0.0/8", "10.0.0.0/8"].map(|net| net.parse().unwrap()).to_vec();
        }).await;
        let from = async |line: &str| caller.at(node.address).with_header("X-Forwarded-For", line).get("/teams").await;
        for good in ["203.0.113.9", "::ffff:203.0.113.9", "2001:db8:7::1", "1.1.1.1, 203.0.113.9, 10.1.2.3"] {
            from(good).await.ok();
        }
        for bad in ["198.51.100.1", "203.0.113.9, 198.51.100.1", "2001:db9::1", "::ffff:198.51.100.1", "nonsense", ""] {
            from(bad).await.assert_problem(403, "forbidden");
        }
        // Two header lines are one list.
        let spoofed = caller.at(node.address).with_header("X-Forwarded-For", "203.0.113.9");
        spoofed.with_header("X-Forwarded-For", "198.51.100.1").get("/teams").await.assert_problem(403, "forbidden");
        node.stop().await;
    }

    async fn a_team_of_another_account_looks_like_a_missing_team(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let foreign = w.stranger.get(&team.path("")).await.assert_problem(404, "not_found");
        let absent = w.stranger.get("/teams/team_00000000000000000000000001").await.assert_problem(404, "not_found");
        let body = |answer: &TestResponse| answer.text.replace(answer.header("request-id").unwrap(), "");
        assert_eq!(body(&foreign), body(&absent));
        w.stranger.patch(&team.path(""), json!({ "name": "Mine" })).await.assert_problem(404, "not_found");
        w.stranger.delete(&team.path("")).await.assert_problem(404, "not_found");
    }

    async fn the_secret_of_a_key_is_not_stored(w: &World) {
        let key = w.owner.key.clone().unwrap();
        let keyed = w.owner.with_header("Idempotency-Key", "once");
        keyed.post("/teams", json!({ "name": "Kraken" })).await.created();
        let dump = w.db().snapshot(Scope::system("dump"), |db| {
            let mut dump = String::new();
            for table in db.tables()? {
                dump += &format!("{}\n", table.name);
                db.rows(&table, |row| {
                    for value in &row {
                        dump += &format!("{value:?} ");
                        if let store::Value::Bytes(bytes) = value {
                            dump += &String::from_utf8_lossy(bytes);
                        }
                    }
                    Ok(())
                })?;
            }
            Ok::<_, store::Error>(dump)
        }).await.unwrap();
        assert!(dump.contains("idempotency") && dump.contains("Kraken"), "the dump holds everything");
        assert!(!dump.contains(secret_of(&key)));
        for file in std::fs::read_dir(w.database.folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(secret_of(&key)));
        }
    }

    async fn the_secret_of_a_key_is_neither_logged_nor_returned(w: &World) {
        let program = Program::new(env!("CARGO_BIN_EXE_touchline"), w.database.folder.path())
            .flag("--database", &w.database.url);
        let service = program.variable("TOUCHLINE_LOG", "trace").serve(&[]);
        let key = w.owner.key.as_deref().unwrap();
        let owner = w.owner.at(service.address);
        let nobody = w.nobody.at(service.address);
        let answers = [
            owner.get("/me").await.ok(),
            owner.post("/teams", json!({ "name": "Kraken" })).await.created(),
            owner.post("/teams", json!({ "name": "Kraken" })).await.assert_problem(409, "taken"),
            owner.get(&format!("/teams?key={key}&x")).await.assert_problem(400, "invalid_parameter"),
            nobody.get(&format!("/me?key={key}")).await.assert_problem(401, "missing_credentials"),
            nobody.with_header("Authorization", &format!("Bearer {key}x")).get("/me").await.assert_problem(401, "invalid_credentials"),
            owner.with_header("Authorization", "Bearer x").get("/me").await.assert_problem(400, "invalid_request"),
        ];
        for answer in answers {
            assert!(!format!("{answer:?}").contains(secret_of(key)));
        }
        let log = tokio::task::spawn_blocking(|| service.stop().1).await.unwrap();
        assert!(log.contains("/api/public/v1/teams"), "the log was on: {log}");
        assert!(!log.contains(secret_of(key)));
    }
}
