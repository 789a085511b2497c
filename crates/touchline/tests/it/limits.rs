//! Tests of rate limits: quotas, who shares them, and the headers that report them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use futures_util::future::{join_all, select_all};
use testkit::client::read_response;
use testkit::world::new_key;
use testkit::{Client, Node, TestResponse, World, both, json, seconds};
use touchline::accounts::permissions::AnyCredential;
use touchline::config::{Config, Source};
use touchline::error::{Code, Error};
use touchline::web::caller::Caller;
use touchline::web::edge;

use super::http::Upload;
use super::keys::with_wrong_secret;

/// Sets the quota of the test's accounts, in requests per minute.
pub(crate) fn set_quota(config: &mut Config, requests: u32) {
    let mut source = Source::default();
    source.flags.insert("rate_limits".to_owned(), format!("league={requests}"));
    config.rate_limits = Config::load(&source).unwrap().rate_limits;
}

async fn node_with_quota(w: &World, requests: u32) -> Node {
    w.node(|config| set_quota(config, requests)).await
}

/// Sends `count` requests at once and returns how many were accepted; the others were over the quota.
pub(crate) async fn burst(callers: &[Client], count: usize) -> usize {
    let answers =
        join_all(callers.iter().cycle().take(count).map(|caller| caller.get("/me"))).await;
    let (accepted, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    for answer in refused {
        answer.assert_problem(429, "rate_limited");
    }
    accepted.len()
}

fn number(answer: &TestResponse, header: &str) -> i64 {
    answer.header(header).unwrap_or_else(|| panic!("{header} is there")).parse().unwrap()
}

both! {
    async fn accepts_exactly_the_quota_of_concurrent_requests(w: &World) {
        let node = node_with_quota(w, 40).await;
        let owner = w.owner.at(node.address);
        assert_eq!(burst(std::slice::from_ref(&owner), 80).await, 40);
        w.advance_clock(seconds(6));
        assert_eq!(burst(&[owner], 20).await, 4, "a tenth of a minute brings a tenth of the quota");
        node.stop().await;
    }

    async fn an_idle_hour_does_not_accumulate_more_than_the_quota(w: &World) {
        let node = node_with_quota(w, 100).await;
        let owner = w.owner.at(node.address);
        // Where nodes share a quota, this one now holds a few unused requests.
        owner.get("/me").await.ok();
        w.advance_clock(seconds(3600));
        assert_eq!(burst(&[owner], 150).await, 100);
        node.stop().await;
    }

    async fn a_caller_who_waits_for_retry_after_is_accepted(w: &World) {
        for quota in [6, 7, 60, 600] {
            let node = node_with_quota(w, quota).await;
            let owner = w.owner.at(node.address);
            burst(std::slice::from_ref(&owner), quota as usize).await;
            let refused = owner.get("/me").await.assert_problem(429, "rate_limited");
            assert_eq!(refused.body["retryable"], true);
            let wait = number(&refused, "retry-after");
            assert!((1..=60).contains(&wait), "{wait}");
            w.advance_clock(seconds(wait.unsigned_abs()));
            owner.get("/me").await.ok();
            node.stop().await;
            w.advance_clock(seconds(120));
        }
    }

    async fn retry_after_varies_between_rejected_callers(w: &World) {
        let node = node_with_quota(w, 60).await;
        let owner = w.owner.at(node.address);
        assert_eq!(burst(std::slice::from_ref(&owner), 60).await, 60, "nobody is refused too early");
        let refused = join_all((0..100).map(|_| owner.get("/me"))).await;
        let waits: BTreeSet<_> = refused.iter().map(|answer| number(answer, "retry-after")).collect();
        assert!(waits.len() >= 15, "{waits:?}");
        node.stop().await;
    }

    async fn adjusting_the_wall_clock_does_not_change_quotas(w: &World) {
        let node = node_with_quota(w, 10).await;
        let owner = w.owner.at(node.address);
        assert_eq!(burst(std::slice::from_ref(&owner), 6).await, 6);
        w.clock.adjust_wall_clock(-3600);
        assert_eq!(burst(std::slice::from_ref(&owner), 10).await, 4, "an hour back");
        w.clock.adjust_wall_clock(7200);
        assert_eq!(burst(std::slice::from_ref(&owner), 10).await, 0, "two hours forward");
        w.clock.adjust_wall_clock(-3600);
        w.advance_clock(seconds(12));
        assert_eq!(burst(&[owner], 10).await, 2, "only time that passes fills the bucket");
        node.stop().await;
    }

    async fn fifty_keys_of_an_account_share_one_quota(w: &World) {
        let node = node_with_quota(w, 20).await;
        let mut callers = Vec::new();
        for _ in 0..50 {
            let (_, caller) = w.client_with_key(new_key("teams:read")).await;
            callers.push(caller.at(node.address));
        }
        assert_eq!(burst(&callers, 50).await, 20);
        node.stop().await;
    }

    async fn requests_over_the_quota_cause_no_database_writes(w: &World) {
        let node = node_with_quota(w, 20).await;
        let owner = w.owner.at(node.address);
        assert_eq!(burst(std::slice::from_ref(&owner), 30).await, 20);
        let before = node.app.db.stats().jobs;
        assert_eq!(burst(&[owner], 200).await, 0);
        // The last use of the key may still be being written for the accepted requests.
        let writes = node.app.db.stats().jobs - before;
        assert!(writes < 20, "{writes}");
        node.stop().await;
    }

    async fn accounts_do_not_share_a_quota(w: &World) {
        let node = node_with_quota(w, 5).await;
        assert_eq!(burst(&[w.owner.at(node.address)], 10).await, 5);
        assert_eq!(burst(&[w.stranger.at(node.address)], 10).await, 5);
        node.stop().await;
    }

    async fn a_forged_forwarded_address_does_not_evade_the_failure_limit(w: &World) {
        let node = w.node(|config| config.auth_failures = 5.try_into().unwrap()).await;
        let guesser = Client::new(node.address, Some("tl_live_guess"));
        for host in 0..5 {
            let guesser = guesser.with_header("X-Forwarded-For", &format!("203.0.113.{host}"));
            guesser.get("/me").await.assert_problem(401, "invalid_credentials");
        }
        let guesser = guesser.with_header("X-Forwarded-For", "198.51.100.1");
        let refused = guesser.get("/me").await.assert_problem(429, "rate_limited");
        assert!(number(&refused, "retry-after") >= 1);
        // A valid key from the same address still works.
        w.owner.at(node.address).get("/me").await.ok();
        w.advance_clock(seconds(12));
        guesser.get("/me").await.assert_problem(401, "invalid_credentials");
        node.stop().await;
    }

    async fn an_ipv6_network_counts_as_one_address_behind_a_trusted_proxy(w: &World) {
        let node = w.node(|config| {
            config.auth_failures = 5.try_into().unwrap();
            config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        }).await;
        let guess = async |address: &str| {
            let guesser = Client::new(node.address, Some("tl_live_guess"));
            guesser.with_header("X-Forwarded-For", address).get("/me").await
        };
        for host in 0..5 {
            guess(&format!("2001:db8:1:2::{host}")).await.assert_problem(401, "invalid_credentials");
        }
        guess("2001:db8:1:2:ffff::1").await.assert_problem(429, "rate_limited");
        guess("2001:db8:1:3::1").await.assert_problem(401, "invalid_credentials");
        for host in 0..10_000u128 {
            let address = IpAddr::V6((0x2001_0db8_0001_0002_u128 << 64 | host << 20).into());
            assert_eq!(node.app.limits.count_failure(address, Error::not_found()).code, Code::RateLimited);
        }
        node.stop().await;
    }

    async fn wrong_secrets_do_not_use_up_the_quota_of_the_victim(w: &World) {
        let node = node_with_quota(w, 10).await;
        let victim = w.owner.at(node.address);
        let forged = with_wrong_secret(victim.key.as_deref().unwrap());
        let attacker = Client::new(node.address, Some(&forged));
        for answer in join_all((0..50).map(|_| attacker.get("/me"))).await {
            let answer = answer.assert_problem(401, "invalid_credentials");
            assert_eq!(answer.header("ratelimit"), None, "nothing is told of the victim's quota");
        }
        assert_eq!(burst(&[victim], 20).await, 10);
        node.stop().await;
    }

    async fn quota_headers_agree_with_each_other(w: &World) {
        for (quota, per_unit) in [(6, 10), (60, 1)] {
            let node = node_with_quota(w, quota).await;
            let owner = w.owner.at(node.address);
            for used in 1..=5 {
                let answer = owner.get("/me").await.ok();
                let left = i64::from(quota) - used;
                assert_eq!(answer.header("ratelimit-policy"), Some(&*format!("\"default\";q={quota};w=60")));
                assert_eq!(answer.header("ratelimit"), Some(&*format!("\"default\";r={left};t={per_unit}")));
                assert_eq!(number(&answer, "x-ratelimit-limit"), i64::from(quota));
                assert_eq!(number(&answer, "x-ratelimit-remaining"), left);
                let full_at = w.clock.clock().now().seconds() + used * per_unit;
                assert_eq!(number(&answer, "x-ratelimit-reset"), full_at);
            }
            burst(std::slice::from_ref(&owner), 60).await;
            let refused = owner.get("/me").await.assert_problem(429, "rate_limited");
            assert_eq!(refused.header("ratelimit"), Some(&*format!("\"default\";r=0;t={per_unit}")));
            assert!(number(&refused, "retry-after") >= per_unit);
            assert_eq!(number(&refused, "x-ratelimit-reset"), w.clock.clock().now().seconds() + 60);
            node.stop().await;
            w.advance_clock(seconds(120));
        }
    }

    async fn every_answer_to_an_authenticated_caller_has_quota_headers(w: &World) {
        let team = w.owner.post("/teams", json!({ "name": "Kraken" })).await.created();
        let unchanged = w.owner.with_header("If-None-Match", "\"1\"").get(&team.path("")).await;
        assert_eq!(unchanged.status, 304);
        let missing = w.owner.get("/teams/team_00000000000000000000000001").await;
        let forbidden = w.bystander.get("/teams").await.assert_problem(403, "insufficient_scope");
        let broken = answer_of_a_panicking_handler(w).await;
        let node = node_with_quota(w, 1).await;
        burst(&[w.owner.at(node.address)], 2).await;
        let refused = w.owner.at(node.address).get("/me").await.assert_problem(429, "rate_limited");
        node.stop().await;
        let missing = missing.assert_problem(404, "not_found");
        for answer in [team, unchanged, missing, forbidden, broken, refused] {
            let policy = parse_structured(answer.header("ratelimit-policy").unwrap());
            assert_eq!(policy.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["q", "w"]);
            let left = parse_structured(answer.header("ratelimit").unwrap());
            assert_eq!(left.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["r", "t"]);
            assert_eq!(left[0].1, number(&answer, "x-ratelimit-remaining"));
        }
        assert_eq!(w.nobody.get("/me").await.assert_problem(401, "missing_credentials").header("ratelimit"), None);
    }

    async fn rejects_the_twenty_first_slow_upload_until_another_ends(w: &World) {
        let body = r#"{ "name": "Kraken" }"#;
        let mut uploads = join_all((0..21).map(|_| Upload::begin(&w.owner, body))).await;
        // Only slow bodies count, so the rejection takes a moment.
        let waiting = uploads.iter_mut().map(|upload| Box::pin(read_response(&mut upload.stream, "POST")));
        let (refused, _, others) = select_all(waiting).await;
        let refused = refused.unwrap().assert_problem(429, "too_many_concurrent");
        assert!(number(&refused, "retry-after") >= 1);
        // The others are accepted by then, and stay so.
        assert!(tokio::time::timeout(seconds(2), select_all(others)).await.is_err(), "one is refused");
        // Another account has its own limit.
        let other = Upload::begin(&w.stranger, body).await;
        drop(uploads);
        // The service takes a moment to notice.
        let left = async {
            while w.node.app.metrics.connections.get() > 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(seconds(30), left).await.expect("they are noticed to be gone");
        let mut next = Upload::begin(&w.owner, body).await;
        let early = tokio::time::timeout(seconds(2), read_response(&mut next.stream, "POST")).await;
        assert!(early.is_err(), "a place was free");
        next.end(body).await.created();
        other.end(body).await.created();
    }

    async fn an_unavailable_shared_quota_is_503_and_not_429(w: &World) {
        let Some(server) = w.database.postgres_client().await else { return };
        let node = node_with_quota(w, 10).await;
        let owner = w.owner.at(node.address);
        // As after a failover: the database is read-only.
        let set = "do $$ begin execute format('alter database %I set default_transaction_read_only = on',
            current_database()); end $$";
        let end = "select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()";
        server.batch_execute(set).await.unwrap();
        server.batch_execute(end).await.unwrap();
        // The first answers may be due to the lost connections; the last one is due to the quota.
        for _ in 0..10 {
            let refused = owner.get("/me").await.assert_problem(503, "overloaded");
            assert!(number(&refused, "retry-after") >= 1);
        }
        server.batch_execute(&set.replace("= on", "= off")).await.unwrap();
        server.batch_execute(end).await.unwrap();
        let recovered = async {
            while owner.get("/me").await.status != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(seconds(30), recovered).await.expect("the service recovers");
        node.stop().await;
    }
}

/// The answer of a panicking handler to an authenticated caller.
async fn answer_of_a_panicking_handler(w: &World) -> TestResponse {
    async fn broken(_: Caller<AnyCredential>) {
        panic!("this handler is broken on purpose");
    }
    let router = Router::new().route("/broken", get(broken)).with_state(w.node.app.clone());
    let request = ::http::Request::get("/broken")
        .header("host", "here")
        .header("authorization", format!("Bearer {}", w.owner.key.as_deref().unwrap()))
        .body(Body::empty())
        .unwrap();
    let response = edge::handle(&w.node.app, &router, request, [127, 0, 0, 1].into()).await;
    assert_eq!(response.status(), 500);
    let text = |value: &::http::HeaderValue| value.to_str().unwrap().to_owned();
    let headers = response.headers().iter().map(|(name, value)| (name.to_string(), text(value)));
    TestResponse { status: 500, headers: headers.collect(), body: json!(null), text: String::new() }
}

/// Parses a structured field (RFC 8941): one string with integer parameters.
fn parse_structured(value: &str) -> Vec<(&str, i64)> {
    let mut parts = value.split(';');
    let name = parts.next().unwrap().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    assert_eq!(name, Some("default"), "{value}");
    parts
        .map(|part| {
            let (key, number) = part.split_once('=').unwrap();
            assert!(key.bytes().all(|byte| byte.is_ascii_lowercase()), "{value}");
            assert!(number.bytes().all(|byte| byte.is_ascii_digit()), "{value}");
            (key, number.parse().unwrap())
        })
        .collect()
}
